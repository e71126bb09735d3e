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

// -----
// A filter along rows of 4 KiB: the lines of all lanes are in one set of the first-level cache, so
// the task stays scalar. Rows of 4,000 bytes are in lanes.
kiln.kernel @filter storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 4096, 1, 1024, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 4000, 1, 1000, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "crowded" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 1000 : i32
    %none = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %sum = kiln.for %k = %zero to %n : i32 carry (%s = %none : f32) {
      %p = kiln.global 0 component 0 [%i, %k] : <f32>
      %x = kiln.load %p : <f32>
      %rest = arith.mulf %s, %half : f32
      %less = arith.subf %x, %rest : f32
      %scaled = arith.mulf %less, %half : f32
      %next = arith.addf %scaled, %rest : f32
      kiln.store %next, %p : <f32>
      kiln.continue %next : f32
    }
    kiln.continue
  }
  kiln.task.range_for "apart" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 1000 : i32
    %none = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %sum = kiln.for %k = %zero to %n : i32 carry (%s = %none : f32) {
      %p = kiln.global 1 component 0 [%i, %k] : <f32>
      %x = kiln.load %p : <f32>
      %rest = arith.mulf %s, %half : f32
      %less = arith.subf %x, %rest : f32
      %scaled = arith.mulf %less, %half : f32
      %next = arith.addf %scaled, %rest : f32
      kiln.store %next, %p : <f32>
      kiln.continue %next : f32
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @filter storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 4096, 1, 1024, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 4000, 1, 1000, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "crowded" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1000_i32 = arith.constant 1000 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %cst_0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c1000_i32 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %1 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         %2 = kiln.load %1 : <f32>
// CHECK-NEXT:         %3 = arith.mulf %arg2, %cst_0 : f32
// CHECK-NEXT:         %4 = arith.subf %2, %3 : f32
// CHECK-NEXT:         %5 = arith.mulf %4, %cst_0 : f32
// CHECK-NEXT:         %6 = arith.addf %5, %3 : f32
// CHECK-NEXT:         kiln.store %6, %1 : <f32>
// CHECK-NEXT:         kiln.continue %6 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "apart" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1000_i32 = arith.constant 1000 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %cst_0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c1000_i32 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %1 = kiln.global 1 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         %2 = kiln.load %1 : <f32>
// CHECK-NEXT:         %3 = arith.mulf %arg2, %cst_0 : f32
// CHECK-NEXT:         %4 = arith.subf %2, %3 : f32
// CHECK-NEXT:         %5 = arith.mulf %4, %cst_0 : f32
// CHECK-NEXT:         %6 = arith.addf %5, %3 : f32
// CHECK-NEXT:         kiln.store %6, %1 : <f32>
// CHECK-NEXT:         kiln.continue %6 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A triangle of loops. LLVM unrolls the outer one, then each of the inner ones, and vectorises the
// task if all are short: a sort of 9 elements, but not one of 40.
kiln.kernel @sort storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "nine" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %n = arith.constant 9 : i32
    %half = arith.constant 5 : i32
    %a = kiln.local_array 9 : <i32>
    kiln.for %p = %zero to %half : i32 {
      %first = arith.addi %p, %one : i32
      kiln.for %q = %first to %n : i32 {
        %at = kiln.element %a[%p] : <i32>
        %to = kiln.element %a[%q] : <i32>
        %x = kiln.load %at : <i32>
        %y = kiln.load %to : <i32>
        %less = arith.cmpi slt, %y, %x : i32
        kiln.if %less {
          kiln.store %y, %at : <i32>
          kiln.store %x, %to : <i32>
          kiln.yield
        } else {
          kiln.yield
        }
        kiln.continue
      }
      kiln.continue
    }
    kiln.continue
  }
  kiln.task.range_for "forty" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %n = arith.constant 40 : i32
    %a = kiln.local_array 40 : <i32>
    kiln.for %p = %zero to %n : i32 {
      %first = arith.addi %p, %one : i32
      kiln.for %q = %first to %n : i32 {
        %at = kiln.element %a[%p] : <i32>
        %to = kiln.element %a[%q] : <i32>
        %x = kiln.load %at : <i32>
        %y = kiln.load %to : <i32>
        %less = arith.cmpi slt, %y, %x : i32
        kiln.if %less {
          kiln.store %y, %at : <i32>
          kiln.store %x, %to : <i32>
          kiln.yield
        } else {
          kiln.yield
        }
        kiln.continue
      }
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sort storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "nine" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c9_i32 = arith.constant 9 : i32
// CHECK-NEXT:       %c5_i32 = arith.constant 5 : i32
// CHECK-NEXT:       %0 = kiln.local_array 9 : <i32>
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %c5_i32 : i32 {
// CHECK-NEXT:         %1 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         kiln.for %arg2 = %1 to %c9_i32 : i32 {
// CHECK-NEXT:           %2 = kiln.element %0[%arg1] : <i32>
// CHECK-NEXT:           %3 = kiln.element %0[%arg2] : <i32>
// CHECK-NEXT:           %4 = kiln.load %2 : <i32>
// CHECK-NEXT:           %5 = kiln.load %3 : <i32>
// CHECK-NEXT:           %6 = arith.cmpi slt, %5, %4 : i32
// CHECK-NEXT:           kiln.if %6 {
// CHECK-NEXT:             kiln.store %5, %2 : <i32>
// CHECK-NEXT:             kiln.store %4, %3 : <i32>
// CHECK-NEXT:             kiln.yield
// CHECK-NEXT:           }
// CHECK-NEXT:           kiln.continue
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "forty" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c40_i32 = arith.constant 40 : i32
// CHECK-NEXT:       %0 = kiln.local_array 40 : <i32>
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %c40_i32 : i32 {
// CHECK-NEXT:         %1 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         kiln.for %arg2 = %1 to %c40_i32 : i32 {
// CHECK-NEXT:           %2 = kiln.element %0[%arg1] : <i32>
// CHECK-NEXT:           %3 = kiln.element %0[%arg2] : <i32>
// CHECK-NEXT:           %4 = kiln.load %2 : <i32>
// CHECK-NEXT:           %5 = kiln.load %3 : <i32>
// CHECK-NEXT:           %6 = arith.cmpi slt, %5, %4 : i32
// CHECK-NEXT:           kiln.if %6 {
// CHECK-NEXT:             kiln.store %5, %2 : <i32>
// CHECK-NEXT:             kiln.store %4, %3 : <i32>
// CHECK-NEXT:             kiln.yield
// CHECK-NEXT:           }
// CHECK-NEXT:           kiln.continue
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Sums over a window around each cell, which ends where the field ends. LLVM could vectorise the
// inner loop, but it runs for at most 7 cells.
kiln.kernel @window storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {fast_math} {
  kiln.task.range_for "window_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 512 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 512 : i32
    %none = arith.constant 0.0 : f32
    %behind = arith.constant 3 : i32
    %ahead = arith.constant 4 : i32
    %left = arith.subi %i, %behind : i32
    %right = arith.addi %i, %ahead : i32
    %lower = arith.maxsi %left, %zero : i32
    %upper = arith.minsi %right, %n : i32
    %sum = kiln.for %k = %lower to %upper : i32 carry (%s = %none : f32) {
      %p = kiln.global 0 component 0 [%k] : <f32>
      %x = kiln.load %p : <f32>
      %e = math.exp %x fastmath<reassoc> : f32
      %next = arith.addf %s, %e fastmath<reassoc> : f32
      kiln.continue %next : f32
    }
    %to = kiln.global 1 component 0 [%i] : <f32>
    kiln.store %sum, %to : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @window storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {fast_math} {
// CHECK-NEXT:     kiln.task.range_for "window_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c512_i64 = arith.constant 512 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c512_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c512_i32 = arith.constant 512 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %c3_i32 = arith.constant 3 : i32
// CHECK-NEXT:       %c4_i32 = arith.constant 4 : i32
// CHECK-NEXT:       %0 = arith.subi %arg0, %c3_i32 : i32
// CHECK-NEXT:       %1 = arith.addi %arg0, %c4_i32 : i32
// CHECK-NEXT:       %2 = arith.maxsi %0, %c0_i32 : i32
// CHECK-NEXT:       %3 = arith.minsi %1, %c512_i32 : i32
// CHECK-NEXT:       %4 = kiln.for %arg1 = %2 to %3 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %6 = kiln.global 0 component 0[%arg1] : <f32>
// CHECK-NEXT:         %7 = kiln.load %6 : <f32>
// CHECK-NEXT:         %8 = math.exp %7 fastmath<reassoc> : f32
// CHECK-NEXT:         %9 = arith.addf %arg2, %8 fastmath<reassoc> : f32
// CHECK-NEXT:         kiln.continue %9 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %5 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %4, %5 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A recurrence through memory: scalar code waits for each quotient, which the next iteration needs.
// In a sum of integers along a row it waits for little, and its rows are consecutive.
kiln.kernel @recurrences storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "quotients" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %one = arith.constant 1 : i32
    %n = arith.constant 250 : i32
    %x = arith.constant 1.0 : f32
    kiln.for %j = %one to %n : i32 {
      %k = arith.subi %j, %one : i32
      %from = kiln.global 0 component 0 [%i, %k] : <f32>
      %before = kiln.load %from : <f32>
      %sum = arith.addf %before, %x : f32
      %quotient = arith.divf %x, %sum : f32
      %to = kiln.global 0 component 0 [%i, %j] : <f32>
      kiln.store %quotient, %to : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.task.range_for "sums" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 250 : i32
    %all = kiln.for %j = %zero to %n : i32 carry (%s = %zero : i32) {
      %cell = kiln.global 1 component 0 [%i, %j] : <i32>
      %v = kiln.load %cell : <i32>
      %next = arith.addi %s, %v : i32
      kiln.store %next, %cell : <i32>
      kiln.continue %next : i32
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @recurrences storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "quotients" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c250_i32 = arith.constant 250 : i32
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       kiln.for %arg1 = %c1_i32 to %c250_i32 : i32 {
// CHECK-NEXT:         %0 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %1 = kiln.global 0 component 0[%arg0, %0] : <f32>
// CHECK-NEXT:         %2 = kiln.load %1 : <f32>
// CHECK-NEXT:         %3 = arith.addf %2, %cst : f32
// CHECK-NEXT:         %4 = arith.divf %cst, %3 : f32
// CHECK-NEXT:         %5 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         kiln.store %4, %5 : <f32>
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "sums" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c250_i32 = arith.constant 250 : i32
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c250_i32 : i32 carry (%arg2 = %c0_i32 : i32) {
// CHECK-NEXT:         %1 = kiln.global 1 component 0[%arg0, %arg1] : <i32>
// CHECK-NEXT:         %2 = kiln.load %1 : <i32>
// CHECK-NEXT:         %3 = arith.addi %arg2, %2 : i32
// CHECK-NEXT:         kiln.store %3, %1 : <i32>
// CHECK-NEXT:         kiln.continue %3 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Divisions, which processors have for scalars alone: lanes divide doubles. A search for a divisor
// stays scalar, since most iterations end at once and the others keep their lanes waiting.
kiln.kernel @divisions storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "quotients" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %n = kiln.argument 0 : i32
    %q = arith.divsi %i, %n : i32
    %cell = kiln.global 0 component 0 [%i] : <i32>
    kiln.store %q, %cell : <i32>
    kiln.continue
  }
  kiln.task.range_for "divisors" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %found = kiln.loop carry (%d = %two : i32) {
      %rest = arith.remsi %i, %d : i32
      %divides = arith.cmpi eq, %rest, %zero : i32
      kiln.if %divides {
        kiln.break %d : i32
      } else {
        kiln.yield
      }
      %next = arith.addi %d, %one : i32
      kiln.continue %next : i32
    }
    %cell = kiln.global 0 component 0 [%i] : <i32>
    kiln.store %found, %cell : <i32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @divisions storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "quotients" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.argument 0 : i32
// CHECK-NEXT:       %1 = arith.divsi %arg0, %0 : i32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       kiln.store %1, %2 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "divisors" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:       %0 = kiln.loop carry (%arg1 = %c2_i32 : i32) {
// CHECK-NEXT:         %2 = arith.remsi %arg0, %arg1 : i32
// CHECK-NEXT:         %3 = arith.cmpi eq, %2, %c0_i32 : i32
// CHECK-NEXT:         kiln.if %3 {
// CHECK-NEXT:           kiln.break %arg1 : i32
// CHECK-NEXT:         }
// CHECK-NEXT:         %4 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         kiln.continue %4 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       kiln.store %0, %1 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A step of the shortest paths: all of a row read one of its cells. LLVM would have to know that
// none of them writes it.
kiln.kernel @paths storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "k" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n, %c0, %n : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %k = kiln.argument 0 : i32
    %a = kiln.global 0 component 0 [%i, %k] : <f32>
    %b = kiln.global 0 component 0 [%k, %j] : <f32>
    %c = kiln.global 0 component 0 [%i, %j] : <f32>
    %x = kiln.load %a : <f32>
    %y = kiln.load %b : <f32>
    %z = kiln.load %c : <f32>
    %sum = arith.addf %x, %y : f32
    %shorter = arith.cmpf olt, %sum, %z : f32
    kiln.if %shorter {
      kiln.store %sum, %c : <f32>
      kiln.yield
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @paths storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "k" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64, %c0_i64, %c250_i64 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %0 = kiln.argument 0 : i32
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0, %0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%0, %arg1] : <f32>
// CHECK-NEXT:       %3 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:       %4 = kiln.load %1 : <f32>
// CHECK-NEXT:       %5 = kiln.load %2 : <f32>
// CHECK-NEXT:       %6 = kiln.load %3 : <f32>
// CHECK-NEXT:       %7 = arith.addf %4, %5 : f32
// CHECK-NEXT:       %8 = arith.cmpf olt, %7, %6 : f32
// CHECK-NEXT:       kiln.if %8 {
// CHECK-NEXT:         kiln.store %7, %3 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Loads at addresses of their own under a mask: AVX-512 has an instruction for them, and lanes pay.
kiln.kernel @gathers storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {cpu_level = 4 : i32} {
  kiln.task.range_for "k" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %end_cell = kiln.global 1 component 0 [%i] : <i32>
    %end = kiln.load %end_cell : <i32>
    %middle = arith.muli %i, %i : i32
    %sum = kiln.for %k = %zero to %end : i32 carry (%s = %none : f32) {
      %up = arith.addi %middle, %k : i32
      %down = arith.subi %middle, %k : i32
      %a = kiln.global 0 component 0 [%up] : <f32>
      %b = kiln.global 0 component 0 [%down] : <f32>
      %x = kiln.load %a : <f32>
      %y = kiln.load %b : <f32>
      %xy = arith.mulf %x, %y : f32
      %more = arith.addf %xy, %x : f32
      %next = arith.addf %s, %more : f32
      kiln.continue %next : f32
    }
    %cell = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %cell : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @gathers storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {cpu_level = 4 : i32} {
// CHECK-NEXT:     kiln.task.range_for "k" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 1 component 0[%arg0] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       %2 = arith.muli %arg0, %arg0 : i32
// CHECK-NEXT:       %3 = kiln.for %arg1 = %c0_i32 to %1 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %5 = arith.addi %2, %arg1 : i32
// CHECK-NEXT:         %6 = arith.subi %2, %arg1 : i32
// CHECK-NEXT:         %7 = kiln.global 0 component 0[%5] : <f32>
// CHECK-NEXT:         %8 = kiln.global 0 component 0[%6] : <f32>
// CHECK-NEXT:         %9 = kiln.load %7 : <f32>
// CHECK-NEXT:         %10 = kiln.load %8 : <f32>
// CHECK-NEXT:         %11 = arith.mulf %9, %10 : f32
// CHECK-NEXT:         %12 = arith.addf %11, %9 : f32
// CHECK-NEXT:         %13 = arith.addf %arg2, %12 : f32
// CHECK-NEXT:         kiln.continue %13 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %3, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// With AVX2 they do not.
kiln.kernel @gathers storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {cpu_level = 3 : i32} {
  kiln.task.range_for "k" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 250 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %end_cell = kiln.global 1 component 0 [%i] : <i32>
    %end = kiln.load %end_cell : <i32>
    %middle = arith.muli %i, %i : i32
    %sum = kiln.for %k = %zero to %end : i32 carry (%s = %none : f32) {
      %up = arith.addi %middle, %k : i32
      %down = arith.subi %middle, %k : i32
      %a = kiln.global 0 component 0 [%up] : <f32>
      %b = kiln.global 0 component 0 [%down] : <f32>
      %x = kiln.load %a : <f32>
      %y = kiln.load %b : <f32>
      %xy = arith.mulf %x, %y : f32
      %more = arith.addf %xy, %x : f32
      %next = arith.addf %s, %more : f32
      kiln.continue %next : f32
    }
    %cell = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %cell : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @gathers storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {cpu_level = 3 : i32} {
// CHECK-NEXT:     kiln.task.range_for "k" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c250_i64 = arith.constant 250 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c250_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 1 component 0[%arg0] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       %2 = arith.muli %arg0, %arg0 : i32
// CHECK-NEXT:       %3 = kiln.for %arg1 = %c0_i32 to %1 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %5 = arith.addi %2, %arg1 : i32
// CHECK-NEXT:         %6 = arith.subi %2, %arg1 : i32
// CHECK-NEXT:         %7 = kiln.global 0 component 0[%5] : <f32>
// CHECK-NEXT:         %8 = kiln.global 0 component 0[%6] : <f32>
// CHECK-NEXT:         %9 = kiln.load %7 : <f32>
// CHECK-NEXT:         %10 = kiln.load %8 : <f32>
// CHECK-NEXT:         %11 = arith.mulf %9, %10 : f32
// CHECK-NEXT:         %12 = arith.addf %11, %9 : f32
// CHECK-NEXT:         %13 = arith.addf %arg2, %12 : f32
// CHECK-NEXT:         kiln.continue %13 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %3, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Cells of several components, one of which all iterations read: LLVM makes vectors within the
// cell.
kiln.kernel @pairs storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "k" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 1000 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %k = kiln.argument 0 : i32
    %a = kiln.global 0 component 0 [%k] : <f32>
    %b = kiln.global 0 component 1 [%k] : <f32>
    %c = kiln.global 0 component 0 [%i] : <f32>
    %d = kiln.global 0 component 1 [%i] : <f32>
    %w = kiln.load %a : <f32>
    %x = kiln.load %b : <f32>
    %y = kiln.load %c : <f32>
    %z = kiln.load %d : <f32>
    %wy = arith.mulf %w, %y : f32
    %xz = arith.mulf %x, %z : f32
    kiln.store %wy, %c : <f32>
    kiln.store %xz, %d : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @pairs storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "k" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c1000_i64 = arith.constant 1000 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c1000_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.argument 0 : i32
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 0 component 1[%0] : <f32>
// CHECK-NEXT:       %3 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %4 = kiln.global 0 component 1[%arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %1 : <f32>
// CHECK-NEXT:       %6 = kiln.load %2 : <f32>
// CHECK-NEXT:       %7 = kiln.load %3 : <f32>
// CHECK-NEXT:       %8 = kiln.load %4 : <f32>
// CHECK-NEXT:       %9 = arith.mulf %5, %7 : f32
// CHECK-NEXT:       %10 = arith.mulf %6, %8 : f32
// CHECK-NEXT:       kiln.store %9, %3 : <f32>
// CHECK-NEXT:       kiln.store %10, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A load of each lane's own cell in a branch: the loop does not change the cell, so a lane keeps what
// it has read. Where the loop stores to the component, lanes read again.
kiln.kernel @near storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "near_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 100 : i32
    %none = arith.constant 0.0 : f32
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f32) {
      %a = kiln.global 1 component 0 [%j] : <f32>
      %x = kiln.load %a : <f32>
      %less = arith.cmpf olt, %x, %s : f32
      %next = kiln.if %less -> f32 {
        %b = kiln.global 1 component 1 [%i] : <f32>
        %y = kiln.load %b : <f32>
        %more = arith.addf %s, %y fastmath<reassoc> : f32
        kiln.yield %more : f32
      } else {
        kiln.yield %s : f32
      }
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  }
  kiln.return
}
kiln.kernel @written storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "written_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 100 : i32
    %none = arith.constant 0.0 : f32
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f32) {
      %a = kiln.global 1 component 0 [%j] : <f32>
      %x = kiln.load %a : <f32>
      %less = arith.cmpf olt, %x, %s : f32
      %next = kiln.if %less -> f32 {
        %b = kiln.global 1 component 1 [%i] : <f32>
        %y = kiln.load %b : <f32>
        %more = arith.addf %s, %y fastmath<reassoc> : f32
        kiln.yield %more : f32
      } else {
        kiln.yield %s : f32
      }
      %d = kiln.global 1 component 1 [%j] : <f32>
      kiln.store %next, %d : <f32>
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @near storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "near_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c100_i32 = arith.constant 100 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c100_i32 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %2 = kiln.global 1 component 0[%arg1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.cmpf olt, %3, %arg2 : f32
// CHECK-NEXT:         %5 = kiln.if %4 -> f32 {
// CHECK-NEXT:           %6 = kiln.global 1 component 1[%arg0] : <f32>
// CHECK-NEXT:           %7 = kiln.load %6 {kept = 1 : i32} : <f32>
// CHECK-NEXT:           %8 = arith.addf %arg2, %7 fastmath<reassoc> : f32
// CHECK-NEXT:           kiln.yield %8 : f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %arg2 : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue %5 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %0, %1 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT:   kiln.kernel @written storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "written_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c100_i32 = arith.constant 100 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c100_i32 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %2 = kiln.global 1 component 0[%arg1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.cmpf olt, %3, %arg2 : f32
// CHECK-NEXT:         %5 = kiln.if %4 -> f32 {
// CHECK-NEXT:           %7 = kiln.global 1 component 1[%arg0] : <f32>
// CHECK-NEXT:           %8 = kiln.load %7 : <f32>
// CHECK-NEXT:           %9 = arith.addf %arg2, %8 fastmath<reassoc> : f32
// CHECK-NEXT:           kiln.yield %9 : f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %arg2 : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %6 = kiln.global 1 component 1[%arg1] : <f32>
// CHECK-NEXT:         kiln.store %5, %6 : <f32>
// CHECK-NEXT:         kiln.continue %5 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %0, %1 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Reading cells of a tree is possible where all lanes read one, but not where each reads its own.
kiln.kernel @list trees [#kiln.tree<slot = 2, nodes = [<root, axes = [], cell_bytes = 16>, <dynamic, axes = [0, 64], cell_bytes = 4, chunk = 16>]>] storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>,
    #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [f32], components = [0, 1, 0], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "all_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %n = kiln.length 1 []
    %f = arith.sitofp %i : i32 to f32
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f32) {
      %less = arith.mulf %s, %half : f32
      %a = kiln.global 2 component 0 [%j] : <f32>
      %x = kiln.load %a : <f32>
      %y = arith.mulf %x, %f : f32
      %next = arith.addf %less, %y : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  }
  kiln.task.range_for "own_1" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %n = kiln.length 1 []
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f32) {
      %less = arith.mulf %s, %half : f32
      %a = kiln.global 2 component 0 [%i] : <f32>
      %x = kiln.load %a : <f32>
      %next = arith.addf %less, %x : f32
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %c : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @list trees [#kiln.tree<slot = 2, nodes = [<root, axes = [], cell_bytes = 16>, <dynamic, axes = [0, 64], cell_bytes = 4, chunk = 16>]>] storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [f32], components = [0, 1, 0], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "all_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %cst_0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:       %0 = kiln.length 1[]
// CHECK-NEXT:       %1 = arith.sitofp %arg0 : i32 to f32
// CHECK-NEXT:       %2 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %4 = arith.mulf %arg2, %cst_0 : f32
// CHECK-NEXT:         %5 = kiln.global 2 component 0[%arg1] : <f32>
// CHECK-NEXT:         %6 = kiln.load %5 : <f32>
// CHECK-NEXT:         %7 = arith.mulf %6, %1 : f32
// CHECK-NEXT:         %8 = arith.addf %4, %7 : f32
// CHECK-NEXT:         kiln.continue %8 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %2, %3 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "own_1" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %cst_0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:       %0 = kiln.length 1[]
// CHECK-NEXT:       %1 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %3 = arith.mulf %arg2, %cst_0 : f32
// CHECK-NEXT:         %4 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:         %5 = kiln.load %4 : <f32>
// CHECK-NEXT:         %6 = arith.addf %3, %5 : f32
// CHECK-NEXT:         kiln.continue %6 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %1, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// LLVM has no vectors where only some iterations of an inner loop read a cell that is the same for
// all of them.
kiln.kernel @sums storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "others_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 500 : i32
    %none = arith.constant 0.0 : f64
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f64) {
      %same = arith.cmpi eq, %i, %j : i32
      %next = kiln.if %same -> f64 {
        kiln.yield %s : f64
      } else {
        %a = kiln.global 1 component 0 [%j] : <f64>
        %x = kiln.load %a : <f64>
        %b = kiln.global 1 component 0 [%i] : <f64>
        %y = kiln.load %b : <f64>
        %xy = arith.mulf %x, %y fastmath<reassoc> : f64
        %more = arith.addf %s, %xy fastmath<reassoc> : f64
        kiln.yield %more : f64
      }
      kiln.continue %next : f64
    }
    %c = kiln.global 0 component 0 [%i] : <f64>
    kiln.store %sum, %c : <f64>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sums storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "others_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c500_i32 = arith.constant 500 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c500_i32 : i32 carry (%arg2 = %cst : f64) {
// CHECK-NEXT:         %2 = arith.cmpi eq, %arg0, %arg1 : i32
// CHECK-NEXT:         %3 = kiln.if %2 -> f64 {
// CHECK-NEXT:           kiln.yield %arg2 : f64
// CHECK-NEXT:         } else {
// CHECK-NEXT:           %4 = kiln.global 1 component 0[%arg1] : <f64>
// CHECK-NEXT:           %5 = kiln.load %4 : <f64>
// CHECK-NEXT:           %6 = kiln.global 1 component 0[%arg0] : <f64>
// CHECK-NEXT:           %7 = kiln.load %6 : <f64>
// CHECK-NEXT:           %8 = arith.mulf %5, %7 fastmath<reassoc> : f64
// CHECK-NEXT:           %9 = arith.addf %arg2, %8 fastmath<reassoc> : f64
// CHECK-NEXT:           kiln.yield %9 : f64
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue %3 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f64>
// CHECK-NEXT:       kiln.store %0, %1 : <f64>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// LLVM vectorises the inner loop. With AVX-512, lanes have vectors of twice its width for 64 bits.
kiln.kernel @sums storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {cpu_level = 4 : i32} {
  kiln.task.range_for "all_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 500 : i32
    %none = arith.constant 0.0 : f64
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f64) {
      %a = kiln.global 1 component 0 [%j] : <f64>
      %x = kiln.load %a : <f64>
      %b = kiln.global 1 component 0 [%i] : <f64>
      %y = kiln.load %b : <f64>
      %xy = arith.mulf %x, %y fastmath<reassoc> : f64
      %more = arith.addf %s, %xy fastmath<reassoc> : f64
      kiln.continue %more : f64
    }
    %c = kiln.global 0 component 0 [%i] : <f64>
    kiln.store %sum, %c : <f64>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sums storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f64], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {cpu_level = 4 : i32} {
// CHECK-NEXT:     kiln.task.range_for "all_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c500_i32 = arith.constant 500 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f64
// CHECK-NEXT:       %0 = kiln.for %arg1 = %c0_i32 to %c500_i32 : i32 carry (%arg2 = %cst : f64) {
// CHECK-NEXT:         %2 = kiln.global 1 component 0[%arg1] : <f64>
// CHECK-NEXT:         %3 = kiln.load %2 : <f64>
// CHECK-NEXT:         %4 = kiln.global 1 component 0[%arg0] : <f64>
// CHECK-NEXT:         %5 = kiln.load %4 : <f64>
// CHECK-NEXT:         %6 = arith.mulf %3, %5 fastmath<reassoc> : f64
// CHECK-NEXT:         %7 = arith.addf %arg2, %6 fastmath<reassoc> : f64
// CHECK-NEXT:         kiln.continue %7 : f64
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f64>
// CHECK-NEXT:       kiln.store %0, %1 : <f64>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, lanes, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Searches along rows, which end where data says: scalar code is faster. So it is for recurrences
// along rows of an array, whose length may be one at which rows compete for the cache.
kiln.kernel @search storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 400, 1, 100, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.ndarray<slot = 4, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.task.range_for "search_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = arith.constant 4000 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %first = arith.constant 0 : i32
    %limit = arith.constant 0.9 : f32
    %one = arith.constant 1 : i32
    %found = kiln.loop carry (%j = %first : i32) {
      %x = kiln.global 0 component 0 [%i, %j] : <f32>
      %v = kiln.load %x : <f32>
      %less = arith.cmpf olt, %v, %limit : f32
      kiln.if %less {
        kiln.yield
      } else {
        kiln.break %j : i32
      }
      %next = arith.addi %j, %one : i32
      kiln.continue %next : i32
    }
    %y = kiln.global 1 component 0 [%i] : <i32>
    kiln.store %found, %y : <i32>
    kiln.continue
  }
  kiln.task.range_for "recurrence_1" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 2 axis 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %one = arith.constant 1 : i32
    %end = kiln.extent 2 axis 1 : i32
    kiln.for %j = %one to %end : i32 {
      %before = arith.subi %j, %one : i32
      %x = kiln.global 2 component 0 [%i, %before] : <f32>
      %y = kiln.global 2 component 0 [%i, %j] : <f32>
      %a = kiln.load %x : <f32>
      %b = kiln.load %y : <f32>
      %s = arith.addf %a, %b : f32
      kiln.store %s, %y : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @search storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 400, 1, 100, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "search_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c4000_i64 = arith.constant 4000 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c4000_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst = arith.constant 0.899999976 : f32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = kiln.loop carry (%arg1 = %c0_i32 : i32) {
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.cmpf olt, %3, %cst : f32
// CHECK-NEXT:         kiln.if %4 {
// CHECK-NEXT:           kiln.yield
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.break %arg1 : i32
// CHECK-NEXT:         }
// CHECK-NEXT:         %5 = arith.addi %arg1, %c1_i32 : i32
// CHECK-NEXT:         kiln.continue %5 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %1 = kiln.global 1 component 0[%arg0] : <i32>
// CHECK-NEXT:       kiln.store %0, %1 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "recurrence_1" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.extent 2 axis 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = kiln.extent 2 axis 1 : i32
// CHECK-NEXT:       kiln.for %arg1 = %c1_i32 to %0 : i32 {
// CHECK-NEXT:         %1 = arith.subi %arg1, %c1_i32 : i32
// CHECK-NEXT:         %2 = kiln.global 2 component 0[%arg0, %1] : <f32>
// CHECK-NEXT:         %3 = kiln.global 2 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         %4 = kiln.load %2 : <f32>
// CHECK-NEXT:         %5 = kiln.load %3 : <f32>
// CHECK-NEXT:         %6 = arith.addf %4, %5 : f32
// CHECK-NEXT:         kiln.store %6, %3 : <f32>
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A loop over a list of neighbours: LLVM gathers their cells one by one, and makes vectors of the
// arithmetic. Lanes would gather as much under masks.
kiln.kernel @neighbours storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 160, 1, 40, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 4, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "neighbours_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 40 : i32
    %none = arith.constant 0.0 : f32
    %c = kiln.global 1 component 0 [%i] : <f32>
    %x = kiln.load %c : <f32>
    %sum = kiln.for %k = %zero to %n : i32 carry (%s = %none : f32) {
      %a = kiln.global 0 component 0 [%i, %k] : <i32>
      %j = kiln.load %a : <i32>
      %b = kiln.global 1 component 0 [%j] : <f32>
      %y = kiln.load %b : <f32>
      %d = arith.subf %x, %y : f32
      %d2 = arith.mulf %d, %d : f32
      %d4 = arith.mulf %d2, %d2 : f32
      %d6 = arith.mulf %d4, %d2 : f32
      %w = arith.addf %d6, %d4 : f32
      %more = arith.addf %s, %w fastmath<reassoc> : f32
      kiln.continue %more : f32
    }
    %o = kiln.global 2 component 0 [%i] : <f32>
    kiln.store %sum, %o : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @neighbours storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 160, 1, 40, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 4, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "neighbours_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %0 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c40_i32 = arith.constant 40 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %1 = kiln.load %0 : <f32>
// CHECK-NEXT:       %2 = kiln.for %arg1 = %c0_i32 to %c40_i32 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg0, %arg1] : <i32>
// CHECK-NEXT:         %5 = kiln.load %4 : <i32>
// CHECK-NEXT:         %6 = kiln.global 1 component 0[%5] : <f32>
// CHECK-NEXT:         %7 = kiln.load %6 : <f32>
// CHECK-NEXT:         %8 = arith.subf %1, %7 : f32
// CHECK-NEXT:         %9 = arith.mulf %8, %8 : f32
// CHECK-NEXT:         %10 = arith.mulf %9, %9 : f32
// CHECK-NEXT:         %11 = arith.mulf %10, %9 : f32
// CHECK-NEXT:         %12 = arith.addf %11, %10 : f32
// CHECK-NEXT:         %13 = arith.addf %arg2, %12 fastmath<reassoc> : f32
// CHECK-NEXT:         kiln.continue %13 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %2, %3 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
