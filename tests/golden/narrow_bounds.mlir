// A guard over both indices, one that is an argument, and a condition that stays.
// args: --passes=narrow-bounds,canonicalize,simplify-control
kiln.kernel @guards storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    %m = arith.constant 100 : i64
    kiln.yield %c0, %n, %c0, %m : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %last = arith.constant 99 : i32
    %n = kiln.argument 1 : i32
    %limit = arith.subi %n, %one : i32
    %before = arith.subi %i, %one : i32
    %a = arith.cmpi sge, %before, %zero : i32
    %b = arith.cmpi sgt, %limit, %i : i32
    %c = arith.cmpi sge, %j, %one : i32
    %d = arith.cmpi ne, %j, %last : i32
    %e = arith.cmpi ne, %i, %j : i32
    %ab = arith.andi %a, %b : i1
    %cd = arith.andi %c, %d : i1
    %cde = arith.andi %cd, %e : i1
    %all = arith.andi %ab, %cde : i1
    kiln.if %all {
      %x = kiln.global 0 component 0 [%before, %j] : <f32>
      %v = kiln.load %x : <f32>
      %y = kiln.global 0 component 0 [%i, %j] : <f32>
      kiln.store %v, %y : <f32>
      kiln.yield
    }
    kiln.continue
  }
  // An iteration that ends early, where both comparisons fail.
  kiln.task.range_for "kernel_1" bounds {
    %c0 = arith.constant 0 : i32
    %n = kiln.argument 1 : i32
    kiln.yield %c0, %n : i32, i32
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %m = kiln.argument 2 : i32
    %a = arith.cmpi eq, %i, %zero : i32
    %b = arith.cmpi sgt, %i, %m : i32
    %c = arith.ori %a, %b : i1
    kiln.if %c {
      kiln.continue
    }
    %y = kiln.global 0 component 0 [%i, %i] : <f32>
    %v = arith.constant 1.0 : f32
    kiln.store %v, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @guards storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c99_i64 = arith.constant 99 : i64
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       %1 = kiln.argument 1 : i32
// CHECK-NEXT:       %2 = arith.subi %1, %c1_i32 : i32
// CHECK-NEXT:       %3 = arith.extsi %2 : i32 to i64
// CHECK-NEXT:       %4 = arith.minsi %0, %3 : i64
// CHECK-NEXT:       kiln.yield %c1_i64, %4, %c1_i64, %c99_i64 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = arith.subi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %1 = arith.cmpi ne, %arg0, %arg1 : i32
// CHECK-NEXT:       kiln.if %1 {
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%0, %arg1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         kiln.store %3, %4 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "kernel_1" bounds {
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       %0 = kiln.argument 1 : i32
// CHECK-NEXT:       %1 = arith.extsi %0 : i32 to i64
// CHECK-NEXT:       %2 = kiln.argument 2 : i32
// CHECK-NEXT:       %3 = arith.extsi %2 : i32 to i64
// CHECK-NEXT:       %4 = arith.addi %3, %c1_i64 : i64
// CHECK-NEXT:       %5 = arith.minsi %1, %4 : i64
// CHECK-NEXT:       kiln.yield %c1_i64, %5 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0, %arg0] : <f32>
// CHECK-NEXT:       kiln.store %cst, %0 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Left: i + 1 may overflow, a limit that the task may change, an effect outside of the branch,
// random numbers.
kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %next = arith.addi %i, %one : i32
    %a = arith.cmpi sgt, %next, %one : i32
    %x = kiln.global 0 component 0 [%zero] : <i32>
    %limit = kiln.load %x : <i32>
    %b = arith.cmpi slt, %i, %limit : i32
    %c = arith.andi %a, %b : i1
    kiln.if %c {
      %y = kiln.global 0 component 0 [%i] : <i32>
      kiln.store %i, %y : <i32>
      kiln.yield
    }
    kiln.continue
  }
  kiln.task.range_for "kernel_1" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %a = arith.cmpi sgt, %i, %zero : i32
    %y = kiln.global 0 component 0 [%i] : <i32>
    kiln.if %a {
      kiln.store %i, %y : <i32>
      kiln.yield
    } else {
      kiln.store %zero, %y : <i32>
      kiln.yield
    }
    kiln.continue
  }
  kiln.task.range_for "kernel_2" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %a = arith.cmpi sgt, %i, %zero : i32
    kiln.if %a {
      %y = kiln.global 0 component 0 [%i] : <i32>
      %r = kiln.random : i32
      kiln.store %r, %y : <i32>
      kiln.yield
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %1 = arith.cmpi sgt, %0, %c1_i32 : i32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%c0_i32] : <i32>
// CHECK-NEXT:       %3 = kiln.load %2 : <i32>
// CHECK-NEXT:       %4 = arith.cmpi slt, %arg0, %3 : i32
// CHECK-NEXT:       %5 = arith.andi %1, %4 : i1
// CHECK-NEXT:       kiln.if %5 {
// CHECK-NEXT:         %6 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:         kiln.store %arg0, %6 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "kernel_1" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = arith.cmpi sgt, %arg0, %c0_i32 : i32
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         kiln.store %arg0, %1 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.store %c0_i32, %1 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "kernel_2" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = arith.cmpi sgt, %arg0, %c0_i32 : i32
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         %1 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:         %2 = kiln.random : i32
// CHECK-NEXT:         kiln.store %2, %1 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
