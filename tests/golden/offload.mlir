// Serial code, a parallel loop, serial code: three tasks. The local that the loop
// updates and the loaded bound live in temporaries.
// args: --passes=offload
kiln.kernel @three storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = kiln.global 0 component 0 [%zero] : <i32>
  %n = kiln.load %first : <i32>
  %sum = kiln.local : <i32>
  kiln.store %zero, %sum : <i32>
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 attributes {max_threads = 3 : i32} {
    %next = arith.addi %i, %one : i32
    %x = kiln.global 0 component 0 [%next] : <i32>
    %v = kiln.load %x : <i32>
    %old = kiln.atomic addi %v, %sum : <i32>
    kiln.continue
  }
  %result = kiln.load %sum : <i32>
  kiln.result 0, %result : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @three storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [i32] attributes {temporary_bytes = 68 : i64} {
// CHECK-NEXT:     kiln.task.serial "task_0" {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%c0_i32] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       %2 = kiln.temporary 64 : <i32>
// CHECK-NEXT:       kiln.store %1, %2 : <i32>
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.task.range_for "task_1" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.temporary 64 : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       %2 = arith.extsi %1 : i32 to i64
// CHECK-NEXT:       kiln.yield %c0_i64, %2 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = kiln.temporary 0 : <i32>
// CHECK-NEXT:       %1 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %2 = kiln.global 0 component 0[%1] : <i32>
// CHECK-NEXT:       %3 = kiln.load %2 : <i32>
// CHECK-NEXT:       %4 = kiln.atomic  addi %3, %0 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 6 : i32, max_threads = 3 : i32}
// CHECK-NEXT:     kiln.task.serial "task_2" {
// CHECK-NEXT:       %0 = kiln.temporary 0 : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       kiln.result 0, %1 : i32
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Nothing but a parallel loop: its bounds are computed where they are needed.
kiln.kernel @one storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 32, 1, 8, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %zero = arith.constant 0 : i32
  %value = arith.constant 1.0 : f32
  %rows = kiln.outer_extent 0 : i32
  %columns = arith.constant 8 : i32
  kiln.parallel_for (%i, %j) = (%zero, %zero) to (%rows, %columns) : i32 attributes {over = 0 : i64} {
    %x = kiln.global 0 component 0 [%i, %j] : <f32>
    kiln.store %value, %x : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @one storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 32, 1, 8, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 0 : i64} {
// CHECK-NEXT:     kiln.task.range_for "task_0" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %0 = kiln.outer_extent 0 : i32
// CHECK-NEXT:       %1 = arith.extsi %0 : i32 to i64
// CHECK-NEXT:       %c0_i64_0 = arith.constant 0 : i64
// CHECK-NEXT:       %c8_i32 = arith.constant 8 : i32
// CHECK-NEXT:       %c8_i64 = arith.constant 8 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %1, %c0_i64_0, %c8_i64 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:       kiln.store %cst, %0 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32, over = 0 : i64}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// After a return from within a branch, later tasks do nothing.
kiln.kernel @early storages [] results [i32] {
  %c = kiln.argument 0 : i1
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  kiln.if %c {
    kiln.result 0, %nine : i32
    kiln.return
  }
  kiln.parallel_for (%i, %j) = (%zero, %zero) to (%nine, %nine) : i32 {
    kiln.continue
  }
  kiln.result 0, %zero : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @early storages [] results [i32] attributes {temporary_bytes = 1 : i64} {
// CHECK-NEXT:     kiln.task.serial "task_0" {
// CHECK-NEXT:       %0 = kiln.argument 0 : i1
// CHECK-NEXT:       %c9_i32 = arith.constant 9 : i32
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         kiln.result 0, %c9_i32 : i32
// CHECK-NEXT:         %true = arith.constant true
// CHECK-NEXT:         %1 = kiln.temporary 0 : <i1>
// CHECK-NEXT:         kiln.store %true, %1 : <i1>
// CHECK-NEXT:         kiln.return
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.task.range_for "task_1" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c9_i32 = arith.constant 9 : i32
// CHECK-NEXT:       %c9_i64 = arith.constant 9 : i64
// CHECK-NEXT:       %c0_i64_0 = arith.constant 0 : i64
// CHECK-NEXT:       %c9_i64_1 = arith.constant 9 : i64
// CHECK-NEXT:       %0 = kiln.temporary 0 : <i1>
// CHECK-NEXT:       %1 = kiln.load %0 : <i1>
// CHECK-NEXT:       %2 = arith.select %1, %c0_i64, %c9_i64 : i64
// CHECK-NEXT:       %3 = arith.select %1, %c0_i64_0, %c9_i64_1 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %2, %c0_i64_0, %3 : i64, i64, i64, i64
// CHECK-NEXT:     } body (%arg0 : i32, %arg1 : i32) {
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.serial "task_2" {
// CHECK-NEXT:       %0 = kiln.temporary 0 : <i1>
// CHECK-NEXT:       %1 = kiln.load %0 : <i1>
// CHECK-NEXT:       kiln.if %1 {
// CHECK-NEXT:         kiln.return
// CHECK-NEXT:       }
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       kiln.result 0, %c0_i32 : i32
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
