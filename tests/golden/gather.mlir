// The reverse of y[i] = x[i - 1] * x[i + 1]: one loop over the cells both of whose additions are
// there, one over the iterations at the edges, and the rest.
// args: --passes=unroll-additions,share-values,gather,demote-atomics,canonicalize,cse
kiln.kernel @stencil storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 5, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : i32
  %n = kiln.argument 0 : i32
  kiln.parallel_for (%i) = (%c1) to (%n) : i32 {
    %left = arith.subi %i, %c1 : i32
    %right = arith.addi %i, %c1 : i32
    %0 = kiln.global 0 component 0[%left] : <f32>
    %1 = kiln.load %0 : <f32>
    %2 = kiln.global 0 component 0[%right] : <f32>
    %3 = kiln.load %2 : <f32>
    %4 = kiln.global 2 component 0[%i] : <f32>
    %5 = kiln.load %4 : <f32>
    kiln.store %zero, %4 : <f32>
    %6 = arith.mulf %5, %3 : f32
    %7 = kiln.global 1 component 0[%left] : <f32>
    %8 = kiln.atomic addf %6, %7 : <f32>
    %9 = arith.mulf %5, %1 : f32
    %10 = kiln.global 1 component 0[%right] : <f32>
    %11 = kiln.atomic addf %9, %10 : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @stencil storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 5, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c-2_i32 = arith.constant -2 : i32
// CHECK-NEXT:     %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:     %c4_i32 = arith.constant 4 : i32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c-1_i32 = arith.constant -1 : i32
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = arith.addi %0, %c-1_i32 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c2_i32) to (%1) : i32 {
// CHECK-NEXT:       %4 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %5 = kiln.global 2 component 0[%4] : <f32>
// CHECK-NEXT:       %6 = kiln.load %5 : <f32>
// CHECK-NEXT:       %7 = arith.addi %arg0, %c2_i32 : i32
// CHECK-NEXT:       %8 = kiln.global 0 component 0[%7] : <f32>
// CHECK-NEXT:       %9 = kiln.load %8 : <f32>
// CHECK-NEXT:       %10 = arith.mulf %6, %9 : f32
// CHECK-NEXT:       %11 = arith.addi %arg0, %c-1_i32 : i32
// CHECK-NEXT:       %12 = kiln.global 2 component 0[%11] : <f32>
// CHECK-NEXT:       %13 = kiln.load %12 : <f32>
// CHECK-NEXT:       %14 = arith.addi %arg0, %c-2_i32 : i32
// CHECK-NEXT:       %15 = kiln.global 0 component 0[%14] : <f32>
// CHECK-NEXT:       %16 = kiln.load %15 : <f32>
// CHECK-NEXT:       %17 = arith.mulf %13, %16 : f32
// CHECK-NEXT:       %18 = arith.addf %10, %17 : f32
// CHECK-NEXT:       %19 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %20 = kiln.load %19 : <f32>
// CHECK-NEXT:       %21 = arith.addf %20, %18 : f32
// CHECK-NEXT:       kiln.store %21, %19 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %2 = arith.subi %0, %c1_i32 : i32
// CHECK-NEXT:     %3 = arith.minsi %2, %c4_i32 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%3) : i32 {
// CHECK-NEXT:       %4 = arith.subi %0, %3 : i32
// CHECK-NEXT:       %5 = arith.addi %4, %arg0 : i32
// CHECK-NEXT:       %6 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %7 = arith.cmpi slt, %arg0, %c2_i32 : i32
// CHECK-NEXT:       %8 = arith.select %7, %6, %5 : i32
// CHECK-NEXT:       %9 = arith.addi %8, %c-1_i32 : i32
// CHECK-NEXT:       %10 = arith.cmpi sge, %9, %c2_i32 : i32
// CHECK-NEXT:       %11 = arith.cmpi slt, %9, %1 : i32
// CHECK-NEXT:       %12 = arith.andi %10, %11 : i1
// CHECK-NEXT:       kiln.if %12 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %17 = kiln.global 2 component 0[%8] : <f32>
// CHECK-NEXT:         %18 = kiln.load %17 : <f32>
// CHECK-NEXT:         %19 = arith.addi %8, %c1_i32 : i32
// CHECK-NEXT:         %20 = kiln.global 0 component 0[%19] : <f32>
// CHECK-NEXT:         %21 = kiln.load %20 : <f32>
// CHECK-NEXT:         %22 = arith.mulf %18, %21 : f32
// CHECK-NEXT:         %23 = kiln.global 1 component 0[%9] : <f32>
// CHECK-NEXT:         %24 = kiln.atomic  addf %22, %23 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %13 = arith.addi %8, %c1_i32 : i32
// CHECK-NEXT:       %14 = arith.cmpi sge, %13, %c2_i32 : i32
// CHECK-NEXT:       %15 = arith.cmpi slt, %13, %1 : i32
// CHECK-NEXT:       %16 = arith.andi %14, %15 : i1
// CHECK-NEXT:       kiln.if %16 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %17 = kiln.global 2 component 0[%8] : <f32>
// CHECK-NEXT:         %18 = kiln.load %17 : <f32>
// CHECK-NEXT:         %19 = arith.subi %8, %c1_i32 : i32
// CHECK-NEXT:         %20 = kiln.global 0 component 0[%19] : <f32>
// CHECK-NEXT:         %21 = kiln.load %20 : <f32>
// CHECK-NEXT:         %22 = arith.mulf %18, %21 : f32
// CHECK-NEXT:         %23 = kiln.global 1 component 0[%13] : <f32>
// CHECK-NEXT:         %24 = kiln.atomic  addf %22, %23 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%0) : i32 {
// CHECK-NEXT:       %4 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %cst, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// The reverse of a loop over pairs: g[m - 1 - k] is summed over i. The addition to g[i] is own then.
kiln.kernel @pairs storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %c0 = arith.constant 0 : i32
  %c511 = arith.constant 511 : i32
  %c512 = arith.constant 512 : i32
  %n = kiln.argument 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %0 = kiln.global 0 component 0[%i] : <f32>
    %1 = kiln.load %0 : <f32>
    kiln.for %k = %c0 to %c512 : i32 {
      %j = arith.subi %c511, %k : i32
      %2 = kiln.global 0 component 0[%j] : <f32>
      %3 = kiln.load %2 : <f32>
      %4 = arith.mulf %1, %3 : f32
      %5 = kiln.global 1 component 0[%j] : <f32>
      %6 = kiln.atomic addf %4, %5 : <f32>
      kiln.continue
    }
    %7 = kiln.global 1 component 0[%i] : <f32>
    %8 = kiln.atomic addf %1, %7 : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @pairs storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c512_i32 = arith.constant 512 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%c512_i32) : i32 {
// CHECK-NEXT:       %1 = arith.cmpi sgt, %0, %c0_i32 : i32
// CHECK-NEXT:       %2 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %3 = kiln.global 0 component 0[%arg1] : <f32>
// CHECK-NEXT:         %4 = kiln.load %3 : <f32>
// CHECK-NEXT:         %5 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:         %6 = kiln.load %5 : <f32>
// CHECK-NEXT:         %7 = arith.mulf %4, %6 : f32
// CHECK-NEXT:         %8 = arith.addf %arg2, %7 : f32
// CHECK-NEXT:         kiln.continue %8 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.if %1 {
// CHECK-NEXT:         %3 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:         %4 = kiln.load %3 : <f32>
// CHECK-NEXT:         %5 = arith.addf %4, %2 : f32
// CHECK-NEXT:         kiln.store %5, %3 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.load %1 : <f32>
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %c512_i32 : i32 {
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %4 = kiln.load %3 : <f32>
// CHECK-NEXT:       %5 = arith.addf %4, %2 : f32
// CHECK-NEXT:       kiln.store %5, %3 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A guarded sum: cells to which nothing is added stay untouched, as they may not exist.
kiln.kernel @guarded storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %c0 = arith.constant 0 : i32
  %c512 = arith.constant 512 : i32
  %n = kiln.argument 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %0 = kiln.global 0 component 0[%i] : <f32>
    %1 = kiln.load %0 : <f32>
    kiln.for %k = %c0 to %c512 : i32 {
      %c = arith.cmpi ne, %i, %k : i32
      kiln.if %c {
        %2 = kiln.global 1 component 0[%k] : <f32>
        %3 = kiln.atomic addf %1, %2 : <f32>
        kiln.yield
      } else {
        kiln.yield
      }
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @guarded storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %true = arith.constant true
// CHECK-NEXT:     %false = arith.constant false
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c512_i32 = arith.constant 512 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%c512_i32) : i32 {
// CHECK-NEXT:       %1:2 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %cst : f32, %arg3 = %false : i1) {
// CHECK-NEXT:         %2 = arith.cmpi ne, %arg1, %arg0 : i32
// CHECK-NEXT:         %3:2 = kiln.if %2 -> (f32, i1) {
// CHECK-NEXT:           %6 = kiln.global 0 component 0[%arg1] : <f32>
// CHECK-NEXT:           %7 = kiln.load %6 : <f32>
// CHECK-NEXT:           kiln.yield %7, %true : f32, i1
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %cst, %false : f32, i1
// CHECK-NEXT:         }
// CHECK-NEXT:         %4 = arith.addf %arg2, %3#0 : f32
// CHECK-NEXT:         %5 = arith.ori %arg3, %3#1 : i1
// CHECK-NEXT:         kiln.continue %4, %5 : f32, i1
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.if %1#1 {
// CHECK-NEXT:         %2 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.addf %3, %1#0 : f32
// CHECK-NEXT:         kiln.store %4, %2 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %c512_i32 : i32 {
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Nothing moves: the loop reads the cells to which it adds, or an index comes from memory.
kiln.kernel @kept storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 5, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  %c1 = arith.constant 1 : i32
  %n = kiln.argument 0 : i32
  kiln.parallel_for (%i) = (%c1) to (%n) : i32 {
    %left = arith.subi %i, %c1 : i32
    %0 = kiln.global 0 component 0[%i] : <f32>
    %1 = kiln.load %0 : <f32>
    %2 = kiln.global 0 component 0[%left] : <f32>
    %3 = kiln.atomic addf %1, %2 : <f32>
    %4 = kiln.global 0 component 0[%i] : <f32>
    %5 = kiln.atomic addf %1, %4 : <f32>
    kiln.continue
  }
  kiln.parallel_for (%i) = (%c1) to (%n) : i32 {
    %0 = kiln.global 2 component 0[%i] : <i32>
    %1 = kiln.load %0 : <i32>
    %2 = kiln.global 0 component 0[%i] : <f32>
    %3 = kiln.load %2 : <f32>
    %4 = kiln.global 1 component 0[%1] : <f32>
    %5 = kiln.atomic addf %3, %4 : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @kept storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 5, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = arith.subi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %3 = kiln.load %2 : <f32>
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%1] : <f32>
// CHECK-NEXT:       %5 = kiln.atomic  addf %3, %4 : <f32>
// CHECK-NEXT:       %6 = kiln.atomic  addf %3, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 2 component 0[%arg0] : <i32>
// CHECK-NEXT:       %2 = kiln.load %1 : <i32>
// CHECK-NEXT:       %3 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %4 = kiln.load %3 : <f32>
// CHECK-NEXT:       %5 = kiln.global 1 component 0[%2] : <f32>
// CHECK-NEXT:       %6 = kiln.atomic  addf %4, %5 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A short loop is unrolled: g[i + k] is at fixed distances then, w[k] at constant indices.
kiln.kernel @weights storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %n = kiln.argument 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = arith.sitofp %i : i32 to f32
    kiln.for %k = %c0 to %c2 : i32 {
      %j = arith.addi %i, %k : i32
      %0 = kiln.global 0 component 0[%j] : <f32>
      %1 = kiln.atomic addf %x, %0 : <f32>
      %2 = kiln.global 1 component 0[%k] : <f32>
      %3 = kiln.atomic addf %x, %2 : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @weights storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c-1_i32 = arith.constant -1 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%0) : i32 {
// CHECK-NEXT:       %2 = arith.sitofp %arg0 : i32 to f32
// CHECK-NEXT:       %3 = arith.addi %arg0, %c-1_i32 : i32
// CHECK-NEXT:       %4 = arith.sitofp %3 : i32 to f32
// CHECK-NEXT:       %5 = arith.addf %2, %4 : f32
// CHECK-NEXT:       %6 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %7 = kiln.load %6 : <f32>
// CHECK-NEXT:       %8 = arith.addf %7, %5 : f32
// CHECK-NEXT:       kiln.store %8, %6 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = arith.minsi %0, %c2_i32 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%1) : i32 {
// CHECK-NEXT:       %2 = arith.subi %0, %1 : i32
// CHECK-NEXT:       %3 = arith.addi %2, %arg0 : i32
// CHECK-NEXT:       %4 = arith.cmpi slt, %arg0, %c1_i32 : i32
// CHECK-NEXT:       %5 = arith.select %4, %arg0, %3 : i32
// CHECK-NEXT:       %6 = arith.cmpi sge, %5, %c1_i32 : i32
// CHECK-NEXT:       %7 = arith.cmpi slt, %5, %0 : i32
// CHECK-NEXT:       %8 = arith.andi %6, %7 : i1
// CHECK-NEXT:       kiln.if %8 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %13 = arith.sitofp %5 : i32 to f32
// CHECK-NEXT:         %14 = kiln.global 0 component 0[%5] : <f32>
// CHECK-NEXT:         %15 = kiln.atomic  addf %13, %14 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %9 = arith.addi %5, %c1_i32 : i32
// CHECK-NEXT:       %10 = arith.cmpi sge, %9, %c1_i32 : i32
// CHECK-NEXT:       %11 = arith.cmpi slt, %9, %0 : i32
// CHECK-NEXT:       %12 = arith.andi %10, %11 : i1
// CHECK-NEXT:       kiln.if %12 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %13 = arith.sitofp %5 : i32 to f32
// CHECK-NEXT:         %14 = kiln.global 0 component 0[%9] : <f32>
// CHECK-NEXT:         %15 = kiln.atomic  addf %13, %14 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %2 = arith.sitofp %arg0 : i32 to f32
// CHECK-NEXT:       %3 = kiln.global 1 component 0[%c0_i32] : <f32>
// CHECK-NEXT:       %4 = kiln.atomic  addf %2, %3 : <f32>
// CHECK-NEXT:       %5 = kiln.global 1 component 0[%c1_i32] : <f32>
// CHECK-NEXT:       %6 = kiln.atomic  addf %2, %5 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A value that three cells take and that costs much is kept in the cell that the loop clears.
kiln.kernel @shared storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 5, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -2.0 : f32
  %c1 = arith.constant 1 : i32
  %n = kiln.argument 0 : i32
  kiln.parallel_for (%i) = (%c1) to (%n) : i32 {
    %left = arith.subi %i, %c1 : i32
    %right = arith.addi %i, %c1 : i32
    %0 = kiln.global 0 component 0[%i] : <f32>
    %1 = kiln.load %0 : <f32>
    %2 = math.sin %1 : f32
    %3 = kiln.global 2 component 0[%i] : <f32>
    %4 = kiln.load %3 : <f32>
    kiln.store %zero, %3 : <f32>
    %5 = arith.mulf %4, %2 : f32
    %6 = math.exp %5 : f32
    %7 = kiln.global 1 component 0[%left] : <f32>
    %8 = kiln.atomic addf %6, %7 : <f32>
    %9 = arith.mulf %6, %minus : f32
    %10 = kiln.global 1 component 0[%i] : <f32>
    %11 = kiln.atomic addf %9, %10 : <f32>
    %12 = kiln.global 1 component 0[%right] : <f32>
    %13 = kiln.atomic addf %6, %12 : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @shared storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 3, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 5, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:     %c4_i32 = arith.constant 4 : i32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c-1_i32 = arith.constant -1 : i32
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %cst_0 = arith.constant -2.000000e+00 : f32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%0) : i32 {
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %4 : <f32>
// CHECK-NEXT:       %6 = math.sin %5 : f32
// CHECK-NEXT:       %7 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %8 = kiln.load %7 : <f32>
// CHECK-NEXT:       %9 = arith.mulf %8, %6 : f32
// CHECK-NEXT:       %10 = math.exp %9 : f32
// CHECK-NEXT:       kiln.store %10, %7 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = arith.addi %0, %c-1_i32 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c2_i32) to (%1) : i32 {
// CHECK-NEXT:       %4 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %5 = kiln.global 2 component 0[%4] : <f32>
// CHECK-NEXT:       %6 = kiln.load %5 : <f32>
// CHECK-NEXT:       %7 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %8 = kiln.load %7 : <f32>
// CHECK-NEXT:       %9 = arith.mulf %8, %cst_0 : f32
// CHECK-NEXT:       %10 = arith.addf %6, %9 : f32
// CHECK-NEXT:       %11 = arith.addi %arg0, %c-1_i32 : i32
// CHECK-NEXT:       %12 = kiln.global 2 component 0[%11] : <f32>
// CHECK-NEXT:       %13 = kiln.load %12 : <f32>
// CHECK-NEXT:       %14 = arith.addf %10, %13 : f32
// CHECK-NEXT:       %15 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %16 = kiln.load %15 : <f32>
// CHECK-NEXT:       %17 = arith.addf %16, %14 : f32
// CHECK-NEXT:       kiln.store %17, %15 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %2 = arith.subi %0, %c1_i32 : i32
// CHECK-NEXT:     %3 = arith.minsi %2, %c4_i32 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%3) : i32 {
// CHECK-NEXT:       %4 = arith.subi %0, %3 : i32
// CHECK-NEXT:       %5 = arith.addi %4, %arg0 : i32
// CHECK-NEXT:       %6 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %7 = arith.cmpi slt, %arg0, %c2_i32 : i32
// CHECK-NEXT:       %8 = arith.select %7, %6, %5 : i32
// CHECK-NEXT:       %9 = arith.addi %8, %c-1_i32 : i32
// CHECK-NEXT:       %10 = arith.cmpi sge, %9, %c2_i32 : i32
// CHECK-NEXT:       %11 = arith.cmpi slt, %9, %1 : i32
// CHECK-NEXT:       %12 = arith.andi %10, %11 : i1
// CHECK-NEXT:       kiln.if %12 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %20 = kiln.global 2 component 0[%8] : <f32>
// CHECK-NEXT:         %21 = kiln.load %20 : <f32>
// CHECK-NEXT:         %22 = kiln.global 1 component 0[%9] : <f32>
// CHECK-NEXT:         %23 = kiln.atomic  addf %21, %22 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %13 = arith.cmpi sge, %8, %c2_i32 : i32
// CHECK-NEXT:       %14 = arith.cmpi slt, %8, %1 : i32
// CHECK-NEXT:       %15 = arith.andi %13, %14 : i1
// CHECK-NEXT:       kiln.if %15 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %20 = kiln.global 2 component 0[%8] : <f32>
// CHECK-NEXT:         %21 = kiln.load %20 : <f32>
// CHECK-NEXT:         %22 = arith.mulf %21, %cst_0 : f32
// CHECK-NEXT:         %23 = kiln.global 1 component 0[%8] : <f32>
// CHECK-NEXT:         %24 = kiln.atomic  addf %22, %23 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %16 = arith.addi %8, %c1_i32 : i32
// CHECK-NEXT:       %17 = arith.cmpi sge, %16, %c2_i32 : i32
// CHECK-NEXT:       %18 = arith.cmpi slt, %16, %1 : i32
// CHECK-NEXT:       %19 = arith.andi %17, %18 : i1
// CHECK-NEXT:       kiln.if %19 {
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %20 = kiln.global 2 component 0[%8] : <f32>
// CHECK-NEXT:         %21 = kiln.load %20 : <f32>
// CHECK-NEXT:         %22 = kiln.global 1 component 0[%16] : <f32>
// CHECK-NEXT:         %23 = kiln.atomic  addf %21, %22 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c1_i32) to (%0) : i32 {
// CHECK-NEXT:       %4 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %cst, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
