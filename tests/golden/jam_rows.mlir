// Products of matrices: four rows share a column of the second one.
// args: --passes=jam-rows
kiln.kernel @product storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = true>, #kiln.ndarray<slot = 3, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = true>, #kiln.ndarray<slot = 6, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
  kiln.task.range_for "k" bounds {
    %c2 = arith.constant 2 : i64
    %rows = kiln.extent 2 axis 0 : i64
    %columns = kiln.extent 2 axis 1 : i64
    kiln.yield %c2, %rows, %c2, %columns : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %length = kiln.extent 0 axis 1 : i32
    %sum = kiln.for %k = %zero to %length : i32 carry (%s = %none : f32) {
      %a = kiln.global 0 component 0 [%i, %k] : <f32>
      %b = kiln.global 1 component 0 [%k, %j] : <f32>
      %x = kiln.load %a : <f32>
      %y = kiln.load %b : <f32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %s, %xy : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 2 component 0 [%i, %j] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  } attributes {cost = 5 : i32}
  // Rows whose loops have different lengths stay apart.
  kiln.task.range_for "triangle" bounds {
    %c0 = arith.constant 0 : i64
    %rows = kiln.extent 2 axis 0 : i64
    %columns = kiln.extent 2 axis 1 : i64
    kiln.yield %c0, %rows, %c0, %columns : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %sum = kiln.for %k = %zero to %i : i32 carry (%s = %none : f32) {
      %b = kiln.global 1 component 0 [%k, %j] : <f32>
      %y = kiln.load %b : <f32>
      %next = arith.addf %s, %y : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 2 component 0 [%i, %j] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  } attributes {cost = 5 : i32}
  // A GPU has more threads than this loop would leave.
  kiln.task.range_for "small" bounds {
    %c0 = arith.constant 0 : i64
    %c100 = arith.constant 100 : i64
    kiln.yield %c0, %c100, %c0, %c100 : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %length = kiln.extent 0 axis 1 : i32
    %sum = kiln.for %k = %zero to %length : i32 carry (%s = %none : f32) {
      %b = kiln.global 1 component 0 [%k, %j] : <f32>
      %a = kiln.global 0 component 0 [%i, %k] : <f32>
      %x = kiln.load %a : <f32>
      %y = kiln.load %b : <f32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %s, %xy : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 2 component 0 [%i, %j] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  } attributes {cost = 5 : i32}
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @product storages [#kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = true>, #kiln.ndarray<slot = 3, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = true>, #kiln.ndarray<slot = 6, axes = 2, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "k" bounds {
// CHECK-NEXT:       %c2_i64 = arith.constant 2 : i64
// CHECK-NEXT:       %0 = kiln.extent 2 axis 0 : i64
// CHECK-NEXT:       %1 = kiln.extent 2 axis 1 : i64
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       %2 = arith.addi %0, %c1_i64 : i64
// CHECK-NEXT:       %c4_i64 = arith.constant 4 : i64
// CHECK-NEXT:       %3 = arith.divsi %2, %c4_i64 : i64
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %3, %c2_i64, %1 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c4_i32 = arith.constant 4 : i32
// CHECK-NEXT:       %0 = arith.muli %arg0, %c4_i32 : i32
// CHECK-NEXT:       %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:       %1 = arith.addi %0, %c2_i32 : i32
// CHECK-NEXT:       %2 = kiln.extent 2 axis 0 : i64
// CHECK-NEXT:       %3 = arith.extsi %1 : i32 to i64
// CHECK-NEXT:       %c4_i64 = arith.constant 4 : i64
// CHECK-NEXT:       %4 = arith.addi %3, %c4_i64 : i64
// CHECK-NEXT:       %5 = arith.cmpi sle, %4, %2 : i64
// CHECK-NEXT:       kiln.if %5 {
// CHECK-NEXT:         %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:         %6 = arith.addi %1, %c0_i32 : i32
// CHECK-NEXT:         %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:         %7 = arith.addi %1, %c1_i32 : i32
// CHECK-NEXT:         %c2_i32_0 = arith.constant 2 : i32
// CHECK-NEXT:         %8 = arith.addi %1, %c2_i32_0 : i32
// CHECK-NEXT:         %c3_i32 = arith.constant 3 : i32
// CHECK-NEXT:         %9 = arith.addi %1, %c3_i32 : i32
// CHECK-NEXT:         %c0_i32_1 = arith.constant 0 : i32
// CHECK-NEXT:         %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:         %10 = kiln.extent 0 axis 1 : i32
// CHECK-NEXT:         %11:4 = kiln.for %arg2 = %c0_i32_1 to %10 : i32 carry (%arg3 = %cst : f32, %arg4 = %cst : f32, %arg5 = %cst : f32, %arg6 = %cst : f32) {
// CHECK-NEXT:           %16 = kiln.global 0 component 0[%6, %arg2] : <f32>
// CHECK-NEXT:           %17 = kiln.global 0 component 0[%7, %arg2] : <f32>
// CHECK-NEXT:           %18 = kiln.global 0 component 0[%8, %arg2] : <f32>
// CHECK-NEXT:           %19 = kiln.global 0 component 0[%9, %arg2] : <f32>
// CHECK-NEXT:           %20 = kiln.global 1 component 0[%arg2, %arg1] : <f32>
// CHECK-NEXT:           %21 = kiln.load %16 : <f32>
// CHECK-NEXT:           %22 = kiln.load %17 : <f32>
// CHECK-NEXT:           %23 = kiln.load %18 : <f32>
// CHECK-NEXT:           %24 = kiln.load %19 : <f32>
// CHECK-NEXT:           %25 = kiln.load %20 : <f32>
// CHECK-NEXT:           %26 = arith.mulf %21, %25 : f32
// CHECK-NEXT:           %27 = arith.mulf %22, %25 : f32
// CHECK-NEXT:           %28 = arith.mulf %23, %25 : f32
// CHECK-NEXT:           %29 = arith.mulf %24, %25 : f32
// CHECK-NEXT:           %30 = arith.addf %arg3, %26 : f32
// CHECK-NEXT:           %31 = arith.addf %arg4, %27 : f32
// CHECK-NEXT:           %32 = arith.addf %arg5, %28 : f32
// CHECK-NEXT:           %33 = arith.addf %arg6, %29 : f32
// CHECK-NEXT:           kiln.continue %30, %31, %32, %33 : f32, f32, f32, f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %12 = kiln.global 2 component 0[%6, %arg1] : <f32>
// CHECK-NEXT:         %13 = kiln.global 2 component 0[%7, %arg1] : <f32>
// CHECK-NEXT:         %14 = kiln.global 2 component 0[%8, %arg1] : <f32>
// CHECK-NEXT:         %15 = kiln.global 2 component 0[%9, %arg1] : <f32>
// CHECK-NEXT:         kiln.store %11#0, %12 : <f32>
// CHECK-NEXT:         kiln.store %11#1, %13 : <f32>
// CHECK-NEXT:         kiln.store %11#2, %14 : <f32>
// CHECK-NEXT:         kiln.store %11#3, %15 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %6 = arith.trunci %2 : i64 to i32
// CHECK-NEXT:         kiln.for %arg2 = %1 to %6 : i32 {
// CHECK-NEXT:           %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:           %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:           %7 = kiln.extent 0 axis 1 : i32
// CHECK-NEXT:           %8 = kiln.for %arg3 = %c0_i32 to %7 : i32 carry (%arg4 = %cst : f32) {
// CHECK-NEXT:             %10 = kiln.global 0 component 0[%arg2, %arg3] : <f32>
// CHECK-NEXT:             %11 = kiln.global 1 component 0[%arg3, %arg1] : <f32>
// CHECK-NEXT:             %12 = kiln.load %10 : <f32>
// CHECK-NEXT:             %13 = kiln.load %11 : <f32>
// CHECK-NEXT:             %14 = arith.mulf %12, %13 : f32
// CHECK-NEXT:             %15 = arith.addf %arg4, %14 : f32
// CHECK-NEXT:             kiln.continue %15 : f32
// CHECK-NEXT:           }
// CHECK-NEXT:           %9 = kiln.global 2 component 0[%arg2, %arg1] : <f32>
// CHECK-NEXT:           kiln.store %8, %9 : <f32>
// CHECK-NEXT:           kiln.continue
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 20 : i32, max_threads = 0 : i32, rows = 4 : i32}
// CHECK-NEXT:     kiln.task.range_for "triangle" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 2 axis 0 : i64
// CHECK-NEXT:       %1 = kiln.extent 2 axis 1 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0, %c0_i64, %1 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.for %arg2 = %c0_i32 to %arg0 : i32 carry (%arg3 = %cst : f32) {
// CHECK-NEXT:         %2 = kiln.global 1 component 0[%arg2, %arg1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.addf %arg3, %3 : f32
// CHECK-NEXT:         kiln.continue %4 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 2 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:       kiln.store %0, %1 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 5 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "small" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c100_i64 = arith.constant 100 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c100_i64, %c0_i64, %c100_i64 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.extent 0 axis 1 : i32
// CHECK-NEXT:       %1 = kiln.for %arg2 = %c0_i32 to %0 : i32 carry (%arg3 = %cst : f32) {
// CHECK-NEXT:         %3 = kiln.global 1 component 0[%arg2, %arg1] : <f32>
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg0, %arg2] : <f32>
// CHECK-NEXT:         %5 = kiln.load %4 : <f32>
// CHECK-NEXT:         %6 = kiln.load %3 : <f32>
// CHECK-NEXT:         %7 = arith.mulf %5, %6 : f32
// CHECK-NEXT:         %8 = arith.addf %arg3, %7 : f32
// CHECK-NEXT:         kiln.continue %8 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = kiln.global 2 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:       kiln.store %1, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 5 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
