// Of operations that compute the same, the first one remains. Loads are the same while nothing
// between them writes: not behind a store, or an if that stores. Loads in another block stay.
// args: --passes=cse
kiln.kernel @cse storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
  %n = kiln.outer_extent 0 : i32
  %i = kiln.argument 0 : i32
  %one = arith.constant 1 : i32
  %x = kiln.global 0 component 0 [%i] : <i32>
  %next = arith.addi %i, %one : i32
  %y = kiln.global 0 component 0 [%next] : <i32>
  %a = kiln.load %x : <i32>
  // The same as %next, %y and %a; %unused goes.
  %same = arith.addi %one, %i : i32
  %z = kiln.global 0 component 0 [%same] : <i32>
  %b = kiln.load %x : <i32>
  %unused = arith.muli %a, %b : i32
  %sum = arith.addi %a, %b : i32
  kiln.store %sum, %z : <i32>
  // Loads again, once.
  %c = kiln.load %x : <i32>
  %d = kiln.load %x : <i32>
  %product = arith.muli %c, %d : i32
  %some = arith.cmpi slt, %product, %n : i32
  // An if that only reads. Its load stays, as it is in another block.
  %e = kiln.if %some -> i32 {
    %read = kiln.load %x : <i32>
    kiln.yield %read : i32
  } else {
    kiln.yield %sum : i32
  }
  %f = kiln.load %x : <i32>
  // An if that writes.
  kiln.if %some {
    kiln.store %e, %y : <i32>
    kiln.yield
  } else {
    kiln.yield
  }
  %g = kiln.load %x : <i32>
  %last = arith.addi %f, %g : i32
  kiln.result 0, %last : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @cse storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
// CHECK-NEXT:     %0 = kiln.outer_extent 0 : i32
// CHECK-NEXT:     %1 = kiln.argument 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %2 = kiln.global 0 component 0[%1] : <i32>
// CHECK-NEXT:     %3 = arith.addi %1, %c1_i32 : i32
// CHECK-NEXT:     %4 = kiln.global 0 component 0[%3] : <i32>
// CHECK-NEXT:     %5 = kiln.load %2 : <i32>
// CHECK-NEXT:     %6 = arith.addi %5, %5 : i32
// CHECK-NEXT:     kiln.store %6, %4 : <i32>
// CHECK-NEXT:     %7 = kiln.load %2 : <i32>
// CHECK-NEXT:     %8 = arith.muli %7, %7 : i32
// CHECK-NEXT:     %9 = arith.cmpi slt, %8, %0 : i32
// CHECK-NEXT:     %10 = kiln.if %9 -> i32 {
// CHECK-NEXT:       %13 = kiln.load %2 : <i32>
// CHECK-NEXT:       kiln.yield %13 : i32
// CHECK-NEXT:     } else {
// CHECK-NEXT:       kiln.yield %6 : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.if %9 {
// CHECK-NEXT:       kiln.store %10, %4 : <i32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %11 = kiln.load %2 : <i32>
// CHECK-NEXT:     %12 = arith.addi %7, %11 : i32
// CHECK-NEXT:     kiln.result 0, %12 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
