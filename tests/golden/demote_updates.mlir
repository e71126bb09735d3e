// Updates that only one iteration, or the serial code, makes are plain.
// args: --passes=demote-atomics
kiln.kernel @own storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = kiln.outer_extent 0 : i32
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 attributes {over = 0 : i64} {
    %x = kiln.global 0 component 0 [%i] : <i32>
    %a = kiln.update %x : <i32> {
    ^bb0(%old: i32):
      %new = arith.addi %old, %one : i32
      kiln.yield %new : i32
    }
    kiln.continue
  }
  %x = kiln.global 0 component 0 [%one] : <i32>
  %a = kiln.update %x : <i32> {
  ^bb0(%old: i32):
    %new = arith.addi %old, %one : i32
    kiln.yield %new : i32
  }
  kiln.result 0, %a : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @own storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.outer_extent 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 attributes {over = 0 : i64} {
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       %5 = kiln.load %4 : <i32>
// CHECK-NEXT:       %6 = arith.addi %5, %c1_i32 : i32
// CHECK-NEXT:       kiln.store %6, %4 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = kiln.global 0 component 0[%c1_i32] : <i32>
// CHECK-NEXT:     %2 = kiln.load %1 : <i32>
// CHECK-NEXT:     %3 = arith.addi %2, %c1_i32 : i32
// CHECK-NEXT:     kiln.store %3, %1 : <i32>
// CHECK-NEXT:     kiln.result 0, %2 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
