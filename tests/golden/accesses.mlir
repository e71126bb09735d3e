// x[t + 1, i] = x[t, i] * x[t, i + 1] for 1 <= i < n, and loss += x[t, a[i]]: the kernel's writes,
// and what its gradient reads again. Neighbours make one box; an index from memory may be any.
// args: --passes=differentiate,promote-locals,canonicalize,cse,check-reads
kiln.kernel @step storages [#kiln.dense<slot = 2, axes = 2, digits = [0, 0, 32, 1, 8, 4], offset = [], types = [f32], components = [0, 16], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.dense<slot = 6, axes = 2, digits = [0, 0, 32, 1, 8, 4], offset = [], types = [f32], components = [0, 16], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, -1, -1>} {
  %c1 = arith.constant 1 : i32
  %t = kiln.argument 0 : i32
  %n = kiln.argument 1 : i32
  %next = arith.addi %t, %c1 : i32
  kiln.parallel_for (%i) = (%c1) to (%n) : i32 {
    %right = arith.addi %i, %c1 : i32
    %0 = kiln.global 0 component 0[%t, %i] : <f32>
    %1 = kiln.load %0 : <f32>
    %2 = kiln.global 0 component 0[%t, %right] : <f32>
    %3 = kiln.load %2 : <f32>
    %4 = arith.mulf %1, %3 : f32
    %5 = kiln.global 0 component 0[%next, %i] : <f32>
    kiln.store %4, %5 : <f32>
    kiln.continue
  }
  kiln.parallel_for (%i) = (%c1) to (%n) : i32 {
    %0 = kiln.global 1 component 0[%i] : <i32>
    %1 = kiln.load %0 : <i32>
    %2 = kiln.global 0 component 0[%t, %1] : <f32>
    %3 = kiln.load %2 : <f32>
    %4 = arith.mulf %3, %3 : f32
    %5 = kiln.global 0 component 0[%next, %1] : <f32>
    kiln.store %4, %5 : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @step storages [#kiln.dense<slot = 2, axes = 2, digits = [0, 0, 32, 1, 8, 4], offset = [], types = [f32], components = [0, 16], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.dense<slot = 6, axes = 2, digits = [0, 0, 32, 1, 8, 4], offset = [], types = [f32], components = [0, 16], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {accesses = [#kiln.access<writes = true, slot = 2, tree_node = 0, offset = 16, source = 17, bounds = [0, 1, 1, 0, 1, 1, -1, 0, 1, 1, 1, -1]>, #kiln.access<writes = true, slot = 2, tree_node = 0, offset = 16, source = 27, bounds = [0, 1, 1, 0, 1, 1, -2, 0, 0, -2, 0, 0]>, #kiln.access<writes = false, slot = 4, tree_node = 0, offset = 0, source = 22, bounds = [-1, 0, 1, 1, 1, -1]>, #kiln.access<writes = false, slot = 2, tree_node = 0, offset = 16, source = 24, bounds = [0, 1, 0, 0, 1, 0, -2, 0, 0, -2, 0, 0]>, #kiln.access<writes = false, slot = 2, tree_node = 0, offset = 16, source = 12, bounds = [0, 1, 0, 0, 1, 0, -1, 0, 1, 1, 1, 0]>]} {
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.argument 1 : i32
// CHECK-NEXT:     %2 = arith.addi %0, %c1_i32 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%1) : i32 {
// CHECK-NEXT:       %3 = kiln.global 1 component 0[%arg0] : <i32>
// CHECK-NEXT:       %4 = kiln.load %3 : <i32>
// CHECK-NEXT:       %5 = kiln.global 0 component 0[%0, %4] : <f32>
// CHECK-NEXT:       %6 = kiln.load %5 : <f32>
// CHECK-NEXT:       %7 = kiln.global 2 component 0[%2, %4] : <f32>
// CHECK-NEXT:       %8 = kiln.load %7 : <f32>
// CHECK-NEXT:       kiln.store %cst, %7 : <f32>
// CHECK-NEXT:       %9 = arith.addf %8, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %10 = arith.mulf %9, %6 : f32
// CHECK-NEXT:       %11 = arith.addf %10, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %12 = arith.addf %11, %10 fastmath<nsz> : f32
// CHECK-NEXT:       %13 = kiln.global 2 component 0[%0, %4] : <f32>
// CHECK-NEXT:       %14 = kiln.atomic  addf %12, %13 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%1) : i32 {
// CHECK-NEXT:       %3 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%0, %arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %4 : <f32>
// CHECK-NEXT:       %6 = kiln.global 0 component 0[%0, %3] : <f32>
// CHECK-NEXT:       %7 = kiln.load %6 : <f32>
// CHECK-NEXT:       %8 = kiln.global 2 component 0[%2, %arg0] : <f32>
// CHECK-NEXT:       %9 = kiln.load %8 : <f32>
// CHECK-NEXT:       kiln.store %cst, %8 : <f32>
// CHECK-NEXT:       %10 = arith.addf %9, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %11 = arith.mulf %10, %7 : f32
// CHECK-NEXT:       %12 = arith.addf %11, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %13 = arith.mulf %10, %5 : f32
// CHECK-NEXT:       %14 = arith.addf %13, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %15 = kiln.global 2 component 0[%0, %3] : <f32>
// CHECK-NEXT:       %16 = kiln.atomic  addf %14, %15 : <f32>
// CHECK-NEXT:       %17 = kiln.global 2 component 0[%0, %arg0] : <f32>
// CHECK-NEXT:       %18 = kiln.atomic  addf %12, %17 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
