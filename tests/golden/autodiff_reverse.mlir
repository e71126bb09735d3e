// y[i] = x[i] * sin(x[i]): the store's gradient is taken and cleared, the two uses of x[i] add up.
// args: --passes=differentiate,demote-atomics,promote-locals,simplify-control,canonicalize,cse
kiln.kernel @straight storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 1 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    %s = math.sin %v : f32
    %w = arith.mulf %v, %s : f32
    kiln.store %w, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @straight storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {accesses = [#kiln.access<writes = true, slot = 2, tree_node = 0, offset = 0, source = 12, bounds = [-1, 0, 0, -2, 0, 0]>], companions = array<i64: 2, 3, -1, -1>} {
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.load %1 : <f32>
// CHECK-NEXT:       %3 = math.sin %2 : f32
// CHECK-NEXT:       %4 = kiln.global 3 component 0[%arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %4 : <f32>
// CHECK-NEXT:       kiln.store %cst, %4 : <f32>
// CHECK-NEXT:       %6 = arith.addf %5, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %7 = arith.mulf %6, %3 : f32
// CHECK-NEXT:       %8 = arith.addf %7, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %9 = arith.mulf %6, %2 : f32
// CHECK-NEXT:       %10 = arith.addf %9, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %11 = math.cos %2 : f32
// CHECK-NEXT:       %12 = arith.mulf %10, %11 : f32
// CHECK-NEXT:       %13 = arith.addf %8, %12 fastmath<nsz> : f32
// CHECK-NEXT:       %14 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %15 = kiln.load %14 : <f32>
// CHECK-NEXT:       %16 = arith.addf %15, %13 : f32
// CHECK-NEXT:       kiln.store %16, %14 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// t = x[i] * x[i]; for j: loss += t. The adjoint of t is of the block that makes t: all iterations'.
kiln.kernel @before_the_loop storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 3, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 5, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %loss = kiln.global 1 component 0 [] : <f32>
    %v = kiln.load %x : <f32>
    %t = arith.mulf %v, %v : f32
    kiln.for %j = %c0 to %n : i32 {
      %old = kiln.atomic addf %t, %loss : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @before_the_loop storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 3, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 5, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {accesses = [#kiln.access<writes = true, slot = 2, tree_node = 0, offset = 0, source = 11, bounds = []>], companions = array<i64: 2, 3, -1, -1>} {
// CHECK-NEXT:     %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.load %1 : <f32>
// CHECK-NEXT:       %3 = arith.extsi %0 : i32 to i64
// CHECK-NEXT:       %4 = arith.maxsi %3, %c0_i64 : i64
// CHECK-NEXT:       %5 = kiln.for %arg1 = %c0_i64 to %4 : i64 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %12 = kiln.global 3 component 0[] : <f32>
// CHECK-NEXT:         %13 = kiln.load %12 : <f32>
// CHECK-NEXT:         %14 = arith.addf %arg2, %13 fastmath<nsz> : f32
// CHECK-NEXT:         kiln.continue %14 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %6 = arith.mulf %5, %2 : f32
// CHECK-NEXT:       %7 = arith.addf %6, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %8 = arith.addf %7, %6 fastmath<nsz> : f32
// CHECK-NEXT:       %9 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %10 = kiln.load %9 : <f32>
// CHECK-NEXT:       %11 = arith.addf %10, %8 : f32
// CHECK-NEXT:       kiln.store %11, %9 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A carried value that each iteration squares is taped: the reverse needs what each one started with.
kiln.kernel @carried storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 1 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    %r = kiln.for %j = %c0 to %n : i32 carry (%a = %v : f32) {
      %b = arith.mulf %a, %a : f32
      kiln.continue %b : f32
    }
    kiln.store %r, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @carried storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {accesses = [#kiln.access<writes = true, slot = 2, tree_node = 0, offset = 0, source = 13, bounds = [-1, 0, 0, -2, 0, 0]>], companions = array<i64: 2, 3, -1, -1>} {
// CHECK-NEXT:     %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:     %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.load %1 : <f32>
// CHECK-NEXT:       %3 = arith.extsi %0 : i32 to i64
// CHECK-NEXT:       %4 = arith.maxsi %3, %c0_i64 : i64
// CHECK-NEXT:       %5 = kiln.tape.push 9, %4 x 8 : <i8>
// CHECK-NEXT:       %6 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %2 : f32) {
// CHECK-NEXT:         %15 = arith.extsi %arg1 : i32 to i64
// CHECK-NEXT:         %16 = kiln.tape.slot %5[%15] x 8 at 0 : <i8>, <f32>
// CHECK-NEXT:         kiln.store %arg2, %16 : <f32>
// CHECK-NEXT:         %17 = arith.mulf %arg2, %arg2 : f32
// CHECK-NEXT:         kiln.continue %17 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %7 = kiln.global 3 component 0[%arg0] : <f32>
// CHECK-NEXT:       %8 = kiln.load %7 : <f32>
// CHECK-NEXT:       kiln.store %cst, %7 : <f32>
// CHECK-NEXT:       %9 = arith.addf %8, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %10 = kiln.tape.top %4 x 8 : <i8>
// CHECK-NEXT:       %11 = kiln.for %arg1 = %c0_i64 to %4 : i64 carry (%arg2 = %9 : f32) {
// CHECK-NEXT:         %15 = arith.subi %4, %c1_i64 : i64
// CHECK-NEXT:         %16 = arith.subi %15, %arg1 : i64
// CHECK-NEXT:         %17 = kiln.tape.slot %10[%16] x 8 at 0 : <i8>, <f32>
// CHECK-NEXT:         %18 = kiln.load %17 : <f32>
// CHECK-NEXT:         %19 = arith.addf %arg2, %cst fastmath<nsz> : f32
// CHECK-NEXT:         %20 = arith.mulf %19, %18 : f32
// CHECK-NEXT:         %21 = arith.addf %20, %cst fastmath<nsz> : f32
// CHECK-NEXT:         %22 = arith.addf %21, %20 fastmath<nsz> : f32
// CHECK-NEXT:         kiln.continue %22 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.tape.pop %4 x 8
// CHECK-NEXT:       %12 = arith.addf %11, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %13 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %14 = kiln.atomic  addf %12, %13 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// y[i + 1] = sin(y[i]) in a serial loop, whose iterations are reversed. No cell that a later one
// writes is read.
kiln.kernel @recurrence storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 1, -1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  kiln.for %i = %c0 to %c8 : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %next = arith.addi %i, %c1 : i32
    %y = kiln.global 0 component 0 [%next] : <f32>
    %v = kiln.load %x : <f32>
    %s = math.sin %v : f32
    kiln.store %s, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @recurrence storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {accesses = [#kiln.access<writes = true, slot = 0, tree_node = 0, offset = 0, source = 13, bounds = [-1, 0, 1, -1, 0, 8]>], companions = array<i64: 1, -1>} {
// CHECK-NEXT:     %c7_i64 = arith.constant 7 : i64
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %c8_i64 = arith.constant 8 : i64
// CHECK-NEXT:     %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:     kiln.for %arg0 = %c0_i64 to %c8_i64 : i64 {
// CHECK-NEXT:       %0 = arith.subi %c7_i64, %arg0 : i64
// CHECK-NEXT:       %1 = arith.trunci %0 : i64 to i32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%1] : <f32>
// CHECK-NEXT:       %3 = arith.addi %1, %c1_i32 : i32
// CHECK-NEXT:       %4 = kiln.load %2 : <f32>
// CHECK-NEXT:       %5 = kiln.global 1 component 0[%3] : <f32>
// CHECK-NEXT:       %6 = kiln.load %5 : <f32>
// CHECK-NEXT:       kiln.store %cst, %5 : <f32>
// CHECK-NEXT:       %7 = arith.addf %6, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %8 = math.cos %4 : f32
// CHECK-NEXT:       %9 = arith.mulf %7, %8 : f32
// CHECK-NEXT:       %10 = arith.addf %9, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %11 = kiln.global 1 component 0[%1] : <f32>
// CHECK-NEXT:       %12 = kiln.load %11 : <f32>
// CHECK-NEXT:       %13 = arith.addf %12, %10 : f32
// CHECK-NEXT:       kiln.store %13, %11 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// t = x; for j: if t > 9: break; t = sin(t) * w. Conditions of floats are taped; what follows the if
// runs backwards only where it ran.
kiln.kernel @breaks storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
  %c0 = arith.constant 0 : i32
  %nine = arith.constant 9.0 : f32
  %n = kiln.extent 0 axis 0 : i32
  %w = kiln.argument 0 : f32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 1 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    %r = kiln.for %j = %c0 to %n : i32 carry (%t = %v : f32) {
      %c = arith.cmpf ogt, %t, %nine : f32
      kiln.if %c {
        kiln.break %t : f32
      }
      %s = math.sin %t : f32
      %u = arith.mulf %s, %w : f32
      kiln.continue %u : f32
    }
    kiln.store %r, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @breaks storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {accesses = [#kiln.access<writes = true, slot = 2, tree_node = 0, offset = 0, source = 21, bounds = [-1, 0, 0, -2, 0, 0]>], companions = array<i64: 2, 3, -1, -1>} {
// CHECK-NEXT:     %true = arith.constant true
// CHECK-NEXT:     %false = arith.constant false
// CHECK-NEXT:     %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:     %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %cst_0 = arith.constant 9.000000e+00 : f32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     %1 = kiln.argument 0 : f32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %3 = kiln.load %2 : <f32>
// CHECK-NEXT:       %4:2 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %3 : f32, %arg3 = %c0_i64 : i64) {
// CHECK-NEXT:         %12 = kiln.tape.push 12, %c1_i64 x 8 : <i8>
// CHECK-NEXT:         %13 = kiln.tape.slot %12[%c0_i64] x 8 at 0 : <i8>, <f32>
// CHECK-NEXT:         kiln.store %arg2, %13 : <f32>
// CHECK-NEXT:         %14 = arith.addi %arg3, %c1_i64 : i64
// CHECK-NEXT:         %15 = arith.cmpf ogt, %arg2, %cst_0 : f32
// CHECK-NEXT:         %16 = kiln.tape.slot %12[%c0_i64] x 8 at 4 : <i8>, <i1>
// CHECK-NEXT:         kiln.store %15, %16 : <i1>
// CHECK-NEXT:         kiln.if %15 {
// CHECK-NEXT:           kiln.break %arg2, %14 : f32, i64
// CHECK-NEXT:         }
// CHECK-NEXT:         %17 = math.sin %arg2 : f32
// CHECK-NEXT:         %18 = arith.mulf %17, %1 : f32
// CHECK-NEXT:         kiln.continue %18, %14 : f32, i64
// CHECK-NEXT:       }
// CHECK-NEXT:       %5 = kiln.global 3 component 0[%arg0] : <f32>
// CHECK-NEXT:       %6 = kiln.load %5 : <f32>
// CHECK-NEXT:       kiln.store %cst, %5 : <f32>
// CHECK-NEXT:       %7 = arith.addf %6, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %8 = kiln.for %arg1 = %c0_i64 to %4#1 : i64 carry (%arg2 = %7 : f32) {
// CHECK-NEXT:         %12 = kiln.tape.top %c1_i64 x 8 : <i8>
// CHECK-NEXT:         %13 = kiln.tape.slot %12[%c0_i64] x 8 at 0 : <i8>, <f32>
// CHECK-NEXT:         %14 = kiln.load %13 : <f32>
// CHECK-NEXT:         %15 = kiln.tape.slot %12[%c0_i64] x 8 at 4 : <i8>, <i1>
// CHECK-NEXT:         %16 = kiln.load %15 : <i1>
// CHECK-NEXT:         %17 = kiln.if %16 -> i1 {
// CHECK-NEXT:           kiln.yield %false : i1
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %true : i1
// CHECK-NEXT:         }
// CHECK-NEXT:         %18 = kiln.if %17 -> f32 {
// CHECK-NEXT:           %20 = arith.addf %arg2, %cst fastmath<nsz> : f32
// CHECK-NEXT:           %21 = arith.mulf %20, %1 : f32
// CHECK-NEXT:           %22 = arith.addf %21, %cst fastmath<nsz> : f32
// CHECK-NEXT:           %23 = math.cos %14 : f32
// CHECK-NEXT:           %24 = arith.mulf %22, %23 : f32
// CHECK-NEXT:           %25 = arith.addf %24, %cst fastmath<nsz> : f32
// CHECK-NEXT:           kiln.yield %25 : f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %cst : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %19 = kiln.if %16 -> f32 {
// CHECK-NEXT:           %20 = arith.addf %18, %arg2 fastmath<nsz> : f32
// CHECK-NEXT:           kiln.yield %20 : f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %18 : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.tape.pop %c1_i64 x 8
// CHECK-NEXT:         kiln.continue %19 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %9 = arith.addf %8, %cst fastmath<nsz> : f32
// CHECK-NEXT:       %10 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %11 = kiln.atomic  addf %9, %10 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
