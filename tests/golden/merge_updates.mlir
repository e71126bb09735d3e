// Updates of one address become one, where no memory is touched between them and nobody asks for
// what was there before the second.
// args: --passes=merge-updates
kiln.kernel @merge storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = kiln.outer_extent 0 : i32
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 attributes {over = 0 : i64} {
    %j = arith.andi %i, %one : i32
    %x = kiln.global 0 component 0 [%j] : <i32>
    %a = kiln.update %x : <i32> {
    ^bb0(%old: i32):
      %new = arith.addi %old, %one : i32
      kiln.yield %new : i32
    }
    %y = arith.addi %i, %one : i32
    %b = kiln.update %x : <i32> {
    ^bb0(%old: i32):
      %new = arith.ori %old, %y : i32
      kiln.yield %new : i32
    }
    %z = kiln.load %x : <i32>
    %c = kiln.update %x : <i32> {
    ^bb0(%old: i32):
      %new = arith.muli %old, %z : i32
      kiln.yield %new : i32
    }
    %d = kiln.update %x : <i32> {
    ^bb0(%old: i32):
      %new = arith.subi %old, %z : i32
      kiln.yield %new : i32
    }
    kiln.result 0, %d : i32
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @merge storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.outer_extent 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 attributes {over = 0 : i64} {
// CHECK-NEXT:       %1 = arith.andi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%1] : <i32>
// CHECK-NEXT:       %3 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %4 = kiln.update %2 : <i32> {
// CHECK-NEXT:       ^bb0(%arg1: i32):
// CHECK-NEXT:         %8 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %9 = arith.ori %8, %3 : i32
// CHECK-NEXT:         kiln.yield %9 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %5 = kiln.load %2 : <i32>
// CHECK-NEXT:       %6 = kiln.update %2 : <i32> {
// CHECK-NEXT:       ^bb0(%arg1: i32):
// CHECK-NEXT:         %8 = arith.muli %arg1, %5 : i32
// CHECK-NEXT:         kiln.yield %8 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %7 = kiln.update %2 : <i32> {
// CHECK-NEXT:       ^bb0(%arg1: i32):
// CHECK-NEXT:         %8 = arith.subi %arg1, %5 : i32
// CHECK-NEXT:         kiln.yield %8 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.result 0, %7 : i32
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
