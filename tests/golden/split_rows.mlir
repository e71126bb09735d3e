// A clamped and a wrapped neighbour, a branch for cells of the boundary, and a sum.
// args: --passes=split-rows
kiln.kernel @clamp storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    %m = kiln.extent 0 axis 1 : i64
    kiln.yield %c0, %n, %c0, %m : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %m = kiln.extent 0 axis 1 : i32
    %last = arith.subi %m, %one : i32
    %before = arith.subi %j, %one : i32
    %left = arith.maxsi %before, %zero : i32
    %after = arith.addi %j, %one : i32
    %right = arith.minsi %after, %last : i32
    %x = kiln.global 0 component 0 [%i, %left] : <f32>
    %v = kiln.load %x : <f32>
    %y = kiln.global 0 component 0 [%i, %right] : <f32>
    kiln.store %v, %y : <f32>
    kiln.continue
  }
  // x % 100, as lowering makes it, of what is one row further.
  kiln.task.range_for "kernel_1" bounds {
    %c0 = arith.constant 0 : i32
    %c100 = arith.constant 100 : i32
    kiln.yield %c0, %c100 : i32, i32
  } body (%i : i32, %sum : f32) {
    %c99 = arith.constant 99 : i32
    %c100 = arith.constant 100 : i32
    %c31 = arith.constant 31 : i32
    %further = arith.addi %i, %c99 : i32
    %sign = arith.shrsi %further, %c31 : i32
    %positive = arith.xori %further, %sign : i32
    %divided = arith.divui %positive, %c100 : i32
    %quotient = arith.xori %divided, %sign : i32
    %product = arith.muli %quotient, %c100 : i32
    %rest = arith.subi %further, %product : i32
    %x = kiln.global 0 component 0 [%i, %rest] : <f32>
    %v = kiln.load %x : <f32>
    %next = arith.addf %sum, %v : f32
    kiln.continue %next : f32
  } finish (%sum = 0.0 : f32) {
    %total = kiln.temporary 0 : <f32>
    %old = kiln.atomic addf %sum, %total : <f32>
    kiln.yield
  }
  kiln.task.range_for "kernel_2" bounds {
    %c0 = arith.constant 0 : i32
    %n = kiln.argument 1 : i32
    kiln.yield %c0, %n : i32, i32
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %n = kiln.argument 1 : i32
    %after = arith.addi %i, %one : i32
    %is_last = arith.cmpi sge, %after, %n : i32
    %y = kiln.global 0 component 0 [%i, %i] : <f32>
    kiln.if %is_last {
      %v = arith.constant 1.0 : f32
      kiln.store %v, %y : <f32>
      kiln.yield
    } else {
      %x = kiln.global 0 component 0 [%i, %after] : <f32>
      %v = kiln.load %x : <f32>
      kiln.store %v, %y : <f32>
      kiln.yield
    }
    kiln.continue
  }
  // Only a value depends on the comparison: left as it is.
  kiln.task.range_for "kernel_3" bounds {
    %c0 = arith.constant 0 : i32
    %c100 = arith.constant 100 : i32
    kiln.yield %c0, %c100 : i32, i32
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %a = arith.constant 1.0 : f32
    %b = arith.constant 2.0 : f32
    %is_first = arith.cmpi eq, %i, %zero : i32
    %v = arith.select %is_first, %a, %b : f32
    %y = kiln.global 0 component 0 [%i, %i] : <f32>
    kiln.store %v, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @clamp storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       %1 = kiln.extent 0 axis 1 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0, %c0_i64, %1 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       %c2147483647_i64 = arith.constant 2147483647 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 1 : i32
// CHECK-NEXT:       %1 = arith.subi %0, %c1_i32 : i32
// CHECK-NEXT:       %2 = arith.extsi %1 : i32 to i64
// CHECK-NEXT:       %3 = arith.minsi %2, %c2147483647_i64 : i64
// CHECK-NEXT:       %4 = kiln.inside %arg1 from %c1_i64 to %3 : i32
// CHECK-NEXT:       kiln.if %4 {
// CHECK-NEXT:         %5 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %6 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %7 = kiln.global 0 component 0[%arg0, %5] : <f32>
// CHECK-NEXT:         %8 = kiln.load %7 : <f32>
// CHECK-NEXT:         %9 = kiln.global 0 component 0[%arg0, %6] : <f32>
// CHECK-NEXT:         kiln.store %8, %9 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %5 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %6 = arith.maxsi %5, %c0_i32 : i32
// CHECK-NEXT:         %7 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %8 = arith.minsi %7, %1 : i32
// CHECK-NEXT:         %9 = kiln.global 0 component 0[%arg0, %6] : <f32>
// CHECK-NEXT:         %10 = kiln.load %9 : <f32>
// CHECK-NEXT:         %11 = kiln.global 0 component 0[%arg0, %8] : <f32>
// CHECK-NEXT:         kiln.store %10, %11 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "kernel_1" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c100_i32 = arith.constant 100 : i32
// CHECK-NEXT:       kiln.yield %c0_i32, %c100_i32 : i32, i32
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : f32) {
// CHECK-NEXT:       %c-1_i32 = arith.constant -1 : i32
// CHECK-NEXT:       %c31_i32 = arith.constant 31 : i32
// CHECK-NEXT:       %c100_i32 = arith.constant 100 : i32
// CHECK-NEXT:       %c99_i32 = arith.constant 99 : i32
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       %c101_i64 = arith.constant 101 : i64
// CHECK-NEXT:       %0 = kiln.inside %arg0 from %c1_i64 to %c101_i64 : i32
// CHECK-NEXT:       %1 = kiln.if %0 -> f32 {
// CHECK-NEXT:         %2 = arith.addi %arg0, %c-1_i32 : i32
// CHECK-NEXT:         %3 = kiln.global 0 component 0[%arg0, %2] : <f32>
// CHECK-NEXT:         %4 = kiln.load %3 : <f32>
// CHECK-NEXT:         %5 = arith.addf %arg1, %4 : f32
// CHECK-NEXT:         kiln.yield %5 : f32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %2 = arith.addi %arg0, %c99_i32 : i32
// CHECK-NEXT:         %3 = arith.shrsi %2, %c31_i32 : i32
// CHECK-NEXT:         %4 = arith.xori %2, %3 : i32
// CHECK-NEXT:         %5 = arith.divui %4, %c100_i32 : i32
// CHECK-NEXT:         %6 = arith.xori %5, %3 : i32
// CHECK-NEXT:         %7 = arith.muli %6, %c100_i32 : i32
// CHECK-NEXT:         %8 = arith.subi %2, %7 : i32
// CHECK-NEXT:         %9 = kiln.global 0 component 0[%arg0, %8] : <f32>
// CHECK-NEXT:         %10 = kiln.load %9 : <f32>
// CHECK-NEXT:         %11 = arith.addf %arg1, %10 : f32
// CHECK-NEXT:         kiln.yield %11 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue %1 : f32
// CHECK-NEXT:     } finish (%arg0 = 0.000000e+00 : f32) {
// CHECK-NEXT:       %0 = kiln.temporary 0 : <f32>
// CHECK-NEXT:       %1 = kiln.atomic  addf %arg0, %0 : <f32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "kernel_2" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.argument 1 : i32
// CHECK-NEXT:       kiln.yield %c0_i32, %0 : i32, i32
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c-2147483649_i64 = arith.constant -2147483649 : i64
// CHECK-NEXT:       %c2147483647_i64 = arith.constant 2147483647 : i64
// CHECK-NEXT:       %c-1_i64 = arith.constant -1 : i64
// CHECK-NEXT:       %0 = kiln.argument 1 : i32
// CHECK-NEXT:       %1 = arith.extsi %0 : i32 to i64
// CHECK-NEXT:       %2 = arith.addi %1, %c-1_i64 : i64
// CHECK-NEXT:       %3 = arith.minsi %2, %c2147483647_i64 : i64
// CHECK-NEXT:       %4 = kiln.inside %arg0 from %c-2147483649_i64 to %3 : i32
// CHECK-NEXT:       kiln.if %4 {
// CHECK-NEXT:         %5 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:         %6 = kiln.global 0 component 0[%arg0, %arg0] : <f32>
// CHECK-NEXT:         %7 = kiln.global 0 component 0[%arg0, %5] : <f32>
// CHECK-NEXT:         %8 = kiln.load %7 : <f32>
// CHECK-NEXT:         kiln.store %8, %6 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %5 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:         %6 = arith.cmpi sge, %5, %0 : i32
// CHECK-NEXT:         %7 = kiln.global 0 component 0[%arg0, %arg0] : <f32>
// CHECK-NEXT:         kiln.if %6 {
// CHECK-NEXT:           kiln.store %cst, %7 : <f32>
// CHECK-NEXT:           kiln.yield
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %8 = kiln.global 0 component 0[%arg0, %5] : <f32>
// CHECK-NEXT:           %9 = kiln.load %8 : <f32>
// CHECK-NEXT:           kiln.store %9, %7 : <f32>
// CHECK-NEXT:           kiln.yield
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "kernel_3" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c100_i32 = arith.constant 100 : i32
// CHECK-NEXT:       kiln.yield %c0_i32, %c100_i32 : i32, i32
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %cst_0 = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:       %0 = arith.cmpi eq, %arg0, %c0_i32 : i32
// CHECK-NEXT:       %1 = arith.select %0, %cst, %cst_0 : f32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0, %arg0] : <f32>
// CHECK-NEXT:       kiln.store %1, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Rows of 40 cells: split for a clamped neighbour, whole where cells of the boundary only are a
// branch.
kiln.kernel @short storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "clamped" bounds {
    %c0 = arith.constant 0 : i32
    %n = arith.constant 40 : i32
    kiln.yield %c0, %n, %c0, %n : i32, i32, i32, i32
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %before = arith.subi %j, %one : i32
    %left = arith.maxsi %before, %zero : i32
    %x = kiln.global 0 component 0 [%i, %left] : <f32>
    %v = kiln.load %x : <f32>
    %y = kiln.global 0 component 0 [%j, %i] : <f32>
    kiln.store %v, %y : <f32>
    kiln.continue
  }
  kiln.task.range_for "branch" bounds {
    %c0 = arith.constant 0 : i32
    %n = arith.constant 40 : i32
    kiln.yield %c0, %n, %c0, %n : i32, i32, i32, i32
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %inside = arith.cmpi sgt, %j, %zero : i32
    %before = arith.subi %j, %one : i32
    kiln.if %inside {
      %x = kiln.global 0 component 0 [%i, %before] : <f32>
      %v = kiln.load %x : <f32>
      %y = kiln.global 0 component 0 [%j, %i] : <f32>
      kiln.store %v, %y : <f32>
      kiln.yield
    } else {
      kiln.yield
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @short storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "clamped" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c40_i32 = arith.constant 40 : i32
// CHECK-NEXT:       kiln.yield %c0_i32, %c40_i32, %c0_i32, %c40_i32 : i32, i32, i32, i32
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       %c9223372036854775807_i64 = arith.constant 9223372036854775807 : i64
// CHECK-NEXT:       %0 = kiln.inside %arg1 from %c1_i64 to %c9223372036854775807_i64 : i32
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         %1 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%arg0, %1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg1, %arg0] : <f32>
// CHECK-NEXT:         kiln.store %3, %4 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %1 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %2 = arith.maxsi %1, %c0_i32 : i32
// CHECK-NEXT:         %3 = kiln.global 0 component 0[%arg0, %2] : <f32>
// CHECK-NEXT:         %4 = kiln.load %3 : <f32>
// CHECK-NEXT:         %5 = kiln.global 0 component 0[%arg1, %arg0] : <f32>
// CHECK-NEXT:         kiln.store %4, %5 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "branch" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c40_i32 = arith.constant 40 : i32
// CHECK-NEXT:       kiln.yield %c0_i32, %c40_i32, %c0_i32, %c40_i32 : i32, i32, i32, i32
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = arith.cmpi sgt, %arg1, %c0_i32 : i32
// CHECK-NEXT:       %1 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%arg0, %1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg1, %arg0] : <f32>
// CHECK-NEXT:         kiln.store %3, %4 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A remainder of an index that is never negative: one body, without a question.
kiln.kernel @columns storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 20000 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %c140 = arith.constant 140 : i32
    %c31 = arith.constant 31 : i32
    %sign = arith.shrsi %i, %c31 : i32
    %positive = arith.xori %i, %sign : i32
    %divided = arith.divui %positive, %c140 : i32
    %quotient = arith.xori %divided, %sign : i32
    %product = arith.muli %quotient, %c140 : i32
    %rest = arith.subi %i, %product : i32
    %from = kiln.global 0 component 0 [%rest] : <f32>
    %x = kiln.load %from : <f32>
    %cell = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %x, %cell : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @columns storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c20000_i64 = arith.constant 20000 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c20000_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c140_i32 = arith.constant 140 : i32
// CHECK-NEXT:       %0 = arith.divui %arg0, %c140_i32 : i32
// CHECK-NEXT:       %1 = arith.muli %0, %c140_i32 : i32
// CHECK-NEXT:       %2 = arith.subi %arg0, %1 : i32
// CHECK-NEXT:       %3 = kiln.global 0 component 0[%2] : <f32>
// CHECK-NEXT:       %4 = kiln.load %3 : <f32>
// CHECK-NEXT:       %5 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %4, %5 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
