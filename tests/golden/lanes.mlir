// A product of matrices: the inner loop reads one cell in all lanes, and a row. Lanes pay.
// args: --passes=lanes
kiln.kernel @product storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 2048, 1, 512, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 2048, 1, 512, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "product_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n, %c0, %n : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 512 : i32
    %none = arith.constant 0.0 : f32
    %sum = kiln.for %k = %zero to %n : i32 carry (%s = %none : f32) {
      %a = kiln.global 0 component 0 [%i, %k] : <f32>
      %b = kiln.global 0 component 0 [%k, %j] : <f32>
      %x = kiln.load %a : <f32>
      %y = kiln.load %b : <f32>
      %xy = arith.mulf %x, %y fastmath<reassoc> : f32
      %next = arith.addf %s, %xy fastmath<reassoc> : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 1 component 0 [%i, %j] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @product storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 2048, 1, 512, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 2048, 1, 512, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "product_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64, %c0_i64, %c512_i64 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c512_i32 = arith.constant 512 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.for %arg2 = %c0_i32 to %c512_i32 : i32 carry (%arg3 = %cst : f32) {
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%arg0, %arg2] : <f32>
// CHECK-NEXT:         %3 = kiln.global 0 component 0[%arg2, %arg1] : <f32>
// CHECK-NEXT:         %4 = kiln.load %2 : <f32>
// CHECK-NEXT:         %5 = kiln.load %3 : <f32>
// CHECK-NEXT:         %6 = arith.mulf %4, %5 fastmath<reassoc> : f32
// CHECK-NEXT:         %7 = arith.addf %arg3, %6 fastmath<reassoc> : f32
// CHECK-NEXT:         kiln.continue %7 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 1 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:       kiln.store %0, %1 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Sums of rows: LLVM vectorises the inner loop, where lanes would gather.
kiln.kernel @rows storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 2048, 1, 512, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "rows_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 512 : i32
    %none = arith.constant 0.0 : f32
    %sum = kiln.for %k = %zero to %n : i32 carry (%s = %none : f32) {
      %a = kiln.global 0 component 0 [%i, %k] : <f32>
      %x = kiln.load %a : <f32>
      %next = arith.addf %s, %x fastmath<reassoc> : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 1 component 0 [%i] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @rows storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 2048, 1, 512, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "rows_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c512_i32 = arith.constant 512 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c512_i32 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.addf %arg2, %3 fastmath<reassoc> : f32
// CHECK-NEXT:         kiln.continue %4 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %0, %1 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// No form in lanes: a print. With the wish for lanes wherever they are possible, the other task has
// them although LLVM vectorises it.
kiln.kernel @wish storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {lanes = 2 : i32} {
  kiln.task.range_for "wish_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    kiln.print 1 (%i) : (i32)
    kiln.continue
  }
  kiln.task.range_for "wish_1" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %none = arith.constant 0.0 : f32
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %none, %c : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @wish storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {lanes = 2 : i32} {
// CHECK-NEXT:     kiln.task.range_for "wish_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       kiln.print 1(%arg0) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "wish_1" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %cst, %0 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// LLVM unrolls sixteen steps of a root and then vectorises the task, but neither a hundred of them
// nor sixteen calls.
kiln.kernel @steps storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {fast_math} {
  kiln.task.range_for "few_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 16 : i32
    %x = arith.sitofp %i : i32 to f32
    %z = kiln.for %k = %zero to %n : i32 carry (%s = %x : f32) {
      %next = math.sqrt %s : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %z, %c : <f32>
    kiln.continue
  }
  kiln.task.range_for "many_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 100 : i32
    %x = arith.sitofp %i : i32 to f32
    %z = kiln.for %k = %zero to %n : i32 carry (%s = %x : f32) {
      %next = math.sqrt %s : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %z, %c : <f32>
    kiln.continue
  }
  kiln.task.range_for "calls_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 16 : i32
    %x = arith.sitofp %i : i32 to f32
    %z = kiln.for %k = %zero to %n : i32 carry (%s = %x : f32) {
      %next = math.sin %s : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %z, %c : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @steps storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {fast_math} {
// CHECK-NEXT:     kiln.task.range_for "few_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c16_i32 = arith.constant 16 : i32
// CHECK-NEXT:       %0 = arith.sitofp %arg0 : i32 to f32
// CHECK-NEXT:       %1 = kiln.for %arg1 = %c0_i32 to %c16_i32 : i32 carry (%arg2 = %0 : f32) {
// CHECK-NEXT:         %3 = math.sqrt %arg2 : f32
// CHECK-NEXT:         kiln.continue %3 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %1, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "many_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c100_i32 = arith.constant 100 : i32
// CHECK-NEXT:       %0 = arith.sitofp %arg0 : i32 to f32
// CHECK-NEXT:       %1 = kiln.for %arg1 = %c0_i32 to %c100_i32 : i32 carry (%arg2 = %0 : f32) {
// CHECK-NEXT:         %3 = math.sqrt %arg2 : f32
// CHECK-NEXT:         kiln.continue %3 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %1, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "calls_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c16_i32 = arith.constant 16 : i32
// CHECK-NEXT:       %0 = arith.sitofp %arg0 : i32 to f32
// CHECK-NEXT:       %1 = kiln.for %arg1 = %c0_i32 to %c16_i32 : i32 carry (%arg2 = %0 : f32) {
// CHECK-NEXT:         %3 = math.sin %arg2 : f32
// CHECK-NEXT:         kiln.continue %3 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %1, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
