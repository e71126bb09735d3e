// A sum and a minimum, one accumulator each; the sum under a branch and a continue.
// args: --passes=reduce,promote-locals,simplify-control,cse
kiln.kernel @sums storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    %low = kiln.temporary 64 : <f32>
    %m = kiln.atomic minf %v, %low : <f32>
    %skip = kiln.argument 2 : i1
    kiln.if %skip {
      kiln.continue
    }
    %total = kiln.temporary 0 : <f32>
    %o = kiln.atomic subf %v, %total : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sums storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : f32, %arg2 : f32) {
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %1 = kiln.load %0 : <f32>
// CHECK-NEXT:       %2 = arith.cmpf uno, %1, %1 : f32
// CHECK-NEXT:       %cst = arith.constant 0x7F800000 : f32
// CHECK-NEXT:       %3 = arith.select %2, %cst, %1 : f32
// CHECK-NEXT:       %4 = arith.minnumf %arg1, %3 fastmath<reassoc,nnan,nsz> : f32
// CHECK-NEXT:       %5 = kiln.argument 2 : i1
// CHECK-NEXT:       kiln.if %5 {
// CHECK-NEXT:         kiln.continue %4, %arg2 : f32, f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %6 = arith.subf %arg2, %1 fastmath<reassoc> : f32
// CHECK-NEXT:       kiln.continue %4, %6 : f32, f32
// CHECK-NEXT:     } finish (%arg0 = 0x7F800000 : f32, %arg1 = 0.000000e+00 : f32) {
// CHECK-NEXT:       %0 = kiln.temporary 64 : <f32>
// CHECK-NEXT:       %1 = kiln.atomic  minf %arg0, %0 : <f32>
// CHECK-NEXT:       %2 = kiln.temporary 0 : <f32>
// CHECK-NEXT:       %3 = kiln.atomic  addf %arg1, %2 : <f32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// The greatest of roots is the root of the greatest. The second root has another use.
kiln.kernel @roots storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %p = kiln.global 0 component 0 [%i] : <f32>
    %v = kiln.load %p : <f32>
    %fastest = kiln.temporary 0 : <f32>
    %speed = math.sqrt %v : f32
    %a = kiln.atomic maxf %speed, %fastest : <f32>
    %most = kiln.temporary 4 : <f32>
    %root = math.sqrt %v : f32
    %b = kiln.atomic maxf %root, %most : <f32>
    kiln.store %root, %p : <f32>
    %least = kiln.temporary 8 : <f32>
    %other = math.sqrt %v : f32
    %c = kiln.atomic minf %other, %least : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @roots storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 0 axis 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : f32, %arg2 : f32, %arg3 : f32) {
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %1 = kiln.load %0 : <f32>
// CHECK-NEXT:       %2 = arith.cmpf uno, %1, %1 : f32
// CHECK-NEXT:       %cst = arith.constant 0xFF800000 : f32
// CHECK-NEXT:       %3 = arith.select %2, %cst, %1 : f32
// CHECK-NEXT:       %4 = arith.maxnumf %arg1, %3 fastmath<reassoc,nnan,nsz> : f32
// CHECK-NEXT:       %5 = math.sqrt %1 : f32
// CHECK-NEXT:       %6 = arith.cmpf uno, %5, %5 : f32
// CHECK-NEXT:       %7 = arith.select %6, %cst, %5 : f32
// CHECK-NEXT:       %8 = arith.maxnumf %arg2, %7 fastmath<reassoc,nnan,nsz> : f32
// CHECK-NEXT:       kiln.store %5, %0 : <f32>
// CHECK-NEXT:       %cst_0 = arith.constant 0x7F800000 : f32
// CHECK-NEXT:       %9 = arith.select %6, %cst_0, %5 : f32
// CHECK-NEXT:       %10 = arith.minnumf %arg3, %9 fastmath<reassoc,nnan,nsz> : f32
// CHECK-NEXT:       kiln.continue %4, %8, %10 : f32, f32, f32
// CHECK-NEXT:     } finish (%arg0 = 0xFF800000 : f32, %arg1 = 0xFF800000 : f32, %arg2 = 0x7F800000 : f32) {
// CHECK-NEXT:       %0 = kiln.temporary 0 : <f32>
// CHECK-NEXT:       %1 = math.sqrt %arg0 : f32
// CHECK-NEXT:       %2 = kiln.atomic  maxf %1, %0 : <f32>
// CHECK-NEXT:       %3 = kiln.temporary 4 : <f32>
// CHECK-NEXT:       %4 = kiln.atomic  maxf %arg1, %3 : <f32>
// CHECK-NEXT:       %5 = kiln.temporary 8 : <f32>
// CHECK-NEXT:       %6 = kiln.atomic  minf %arg2, %5 : <f32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Not reduced: a histogram, an old value that is used, a cell that is also read.
kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %x = kiln.global 0 component 0 [%i] : <i32>
    %v = kiln.load %x : <i32>
    %bin = kiln.global 0 component 0 [%v] : <i32>
    %a = kiln.atomic addi %v, %bin : <i32>
    %list = kiln.temporary 0 : <i32>
    %b = kiln.atomic addi %v, %list : <i32>
    kiln.store %b, %bin : <i32>
    %flag = kiln.temporary 4 : <i32>
    %c = kiln.atomic ori %v, %flag : <i32>
    %d = kiln.load %flag : <i32>
    kiln.store %d, %x : <i32>
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
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%1] : <i32>
// CHECK-NEXT:       %3 = kiln.atomic  addi %1, %2 : <i32>
// CHECK-NEXT:       %4 = kiln.temporary 0 : <i32>
// CHECK-NEXT:       %5 = kiln.atomic  addi %1, %4 : <i32>
// CHECK-NEXT:       kiln.store %5, %2 : <i32>
// CHECK-NEXT:       %6 = kiln.temporary 4 : <i32>
// CHECK-NEXT:       %7 = kiln.atomic  ori %1, %6 : <i32>
// CHECK-NEXT:       %8 = kiln.load %6 : <i32>
// CHECK-NEXT:       kiln.store %8, %0 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Sums in a cell that an argument chooses, and in one of an array: a guard may keep the program from
// a cell that does not exist. The piece then adds nothing. Without a guard, each piece adds.
kiln.kernel @guarded storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.ndarray<slot = 6, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "kernel_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 1000 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %k = kiln.argument 4 : i32
    %few = kiln.argument 5 : i1
    kiln.if %few {
      %guarded = kiln.global 0 component 0 [%k] : <i32>
      %a = kiln.atomic addi %i, %guarded : <i32>
      kiln.yield
    }
    %c5 = arith.constant 5 : i32
    kiln.if %few {
      %of_array = kiln.global 2 component 0 [%c5] : <i32>
      %c = kiln.atomic addi %i, %of_array : <i32>
      kiln.yield
    }
    %always = kiln.global 1 component 0 [%k] : <i32>
    %b = kiln.atomic addi %i, %always : <i32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @guarded storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "kernel_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c1000_i64 = arith.constant 1000 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c1000_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32, %arg2 : i1, %arg3 : i32, %arg4 : i1, %arg5 : i32) {
// CHECK-NEXT:       %0 = kiln.argument 5 : i1
// CHECK-NEXT:       %1:2 = kiln.if %0 -> (i1, i32) {
// CHECK-NEXT:         %4 = arith.addi %arg1, %arg0 : i32
// CHECK-NEXT:         %true = arith.constant true
// CHECK-NEXT:         kiln.yield %true, %4 : i1, i32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.yield %arg2, %arg1 : i1, i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %2:2 = kiln.if %0 -> (i1, i32) {
// CHECK-NEXT:         %4 = arith.addi %arg3, %arg0 : i32
// CHECK-NEXT:         %true = arith.constant true
// CHECK-NEXT:         kiln.yield %true, %4 : i1, i32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.yield %arg4, %arg3 : i1, i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = arith.addi %arg5, %arg0 : i32
// CHECK-NEXT:       kiln.continue %1#1, %1#0, %2#1, %2#0, %3 : i32, i1, i32, i1, i32
// CHECK-NEXT:     } finish (%arg0 = 0 : i32, %arg1 = false, %arg2 = 0 : i32, %arg3 = false, %arg4 = 0 : i32) {
// CHECK-NEXT:       kiln.if %arg1 {
// CHECK-NEXT:         %3 = kiln.argument 4 : i32
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%3] : <i32>
// CHECK-NEXT:         %5 = kiln.atomic  addi %arg0, %4 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.if %arg3 {
// CHECK-NEXT:         %c5_i32 = arith.constant 5 : i32
// CHECK-NEXT:         %3 = kiln.global 2 component 0[%c5_i32] : <i32>
// CHECK-NEXT:         %4 = kiln.atomic  addi %arg2, %3 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %0 = kiln.argument 4 : i32
// CHECK-NEXT:       %1 = kiln.global 1 component 0[%0] : <i32>
// CHECK-NEXT:       %2 = kiln.atomic  addi %arg4, %1 : <i32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
