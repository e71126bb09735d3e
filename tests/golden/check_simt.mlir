// Operations of a GPU's threads where these cannot do them together: in loops over cells that may
// be inactive, and of a warp in code that one thread runs. Functions are refused by the tasks that
// call them. In loops over dense cells below sparse SNodes, they decide the size of blocks.
// args: --passes=check-simt
kiln.kernel @sparse
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 16>]>]
    storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>]
    results [] {
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    kiln.simt "block.sync"() : () -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: loc("-":12:5): error: ti.simt.block.sync in a loop over pointer cells: not all threads of a block have an active cell; they do in a loop over a dense SNode below

// -----
// Through two functions, which a dense loop may call.
kiln.kernel @called
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 16>]>]
    storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>]
    results [] {
  kiln.function 0 () {
    kiln.call 1 () : () -> ()
    kiln.return
  }
  kiln.function 1 () {
    %pad = kiln.shared_array 4 : <i32>
    kiln.call 0 () : () -> ()
    kiln.return
  }
  kiln.task.range_for "task_0" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 64 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    kiln.call 0 () : () -> ()
    kiln.continue
  }
  kiln.task.range_for "task_1" struct_for 0 body (%i : i32) {
    kiln.call 0 () : () -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: loc("-":13:12): error: ti.simt.block.SharedArray in a loop over pointer cells: not all threads of a block have an active cell; they do in a loop over a dense SNode below

// -----
// A block of one thread has barriers, and no warp.
kiln.kernel @alone storages [] results [] {
  kiln.function 0 (%v : i32) {
    kiln.simt "block.sync"() : () -> ()
    %votes = kiln.simt "warp.ballot"(%v) : (i32) -> i32
    kiln.return
  }
  kiln.task.serial "task_0" {
    %v = arith.constant 1 : i32
    kiln.call 0 (%v) : (i32) -> ()
    kiln.return
  }
  kiln.return
}

// CHECK: loc("-":5:14): error: ti.simt.warp.ballot outside of a parallel loop: one thread alone is not a warp

// -----
kiln.kernel @one_thread storages [] results [] {
  kiln.task.range_for "task_0" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 64 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %votes = kiln.simt "warp.ballot"(%i) : (i32) -> i32
    kiln.continue
  } attributes {max_threads = 1 : i32}
  kiln.return
}

// CHECK: loc("-":7:14): error: ti.simt.warp.ballot outside of a parallel loop: one thread alone is not a warp

// -----
// More shared memory than a block has, of the loop and a function together.
kiln.kernel @large storages [] results [] {
  kiln.function 0 () {
    %pad = kiln.shared_array 8192 : <f32>
    kiln.return
  }
  kiln.task.range_for "task_0" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 64 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %pad = kiln.shared_array 4096 : <f64>
    kiln.call 0 () : () -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: loc("-":4:12): error: 65536 bytes of shared arrays in a loop (at most 49152)

// -----
// A thread's own number needs no other thread, nor do fences.
kiln.kernel @own_number
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 16>]>]
    storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>]
    results [] {
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    %t = kiln.simt "block.thread_idx"() : () -> i32
    kiln.simt "grid.memfence"() : () -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @own_number trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 16>]>] storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "task_0" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.simt "block.thread_idx"() : () -> i32
// CHECK-NEXT:       kiln.simt "grid.memfence"() : () -> ()
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// By default as many threads as a block has cells; the second task has no such operation, the third
// one a size that divides the cells.
kiln.kernel @dense_cells
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 48], cell_bytes = 4>]>]
    storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>]
    results [] {
  kiln.function 0 () {
    kiln.simt "block.sync"() : () -> ()
    kiln.return
  }
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    kiln.call 0 () : () -> ()
    kiln.continue
  }
  kiln.task.range_for "task_1" struct_for 0 body (%i : i32) {
    kiln.continue
  }
  kiln.task.range_for "task_2" struct_for 0 body (%i : i32) {
    kiln.call 0 () : () -> ()
    kiln.continue
  } attributes {block_dim = 12 : i32}
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @dense_cells trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 48], cell_bytes = 4>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.function 0 () {
// CHECK-NEXT:       kiln.simt "block.sync"() : () -> ()
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.task.range_for "task_0" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.call 0() : () -> ()
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 48 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "task_2" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.call 0() : () -> ()
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 12 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Of many cells, whole warps.
kiln.kernel @many_cells
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 320], cell_bytes = 4>]>]
    storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>]
    results [] {
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    %pad = kiln.shared_array 4 : <i32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @many_cells trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 320], cell_bytes = 4>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "task_0" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.shared_array 4 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 64 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
kiln.kernel @other_size
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 48], cell_bytes = 4>]>]
    storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>]
    results [] {
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    kiln.simt "block.sync"() : () -> ()
    kiln.continue
  } attributes {block_dim = 32 : i32}
  kiln.return
}

// CHECK: loc("-":9:5): error: ti.simt.block.sync in a loop over blocks of 48 cells: each thread of a block needs a cell, so block_dim, here 32, has to divide them: 48, 24, 16, 12, 8, 6, 4, 3

// -----
// Only the program can want blocks of one thread, or of so many.
kiln.kernel @prime
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 257], cell_bytes = 4>]>]
    storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>]
    results [] {
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    kiln.simt "block.sync"() : () -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: loc("-":10:5): error: ti.simt.block.sync in a loop over blocks of 257 cells: each thread of a block needs a cell, so block_dim has to divide them: 257, 1

// -----
kiln.kernel @wide storages [] results [] {
  kiln.task.range_for "task_0" bounds {
    %c0 = arith.constant 0 : i64
    %c4096 = arith.constant 4096 : i64
    kiln.yield %c0, %c4096 : i64, i64
  } body (%i : i32) {
    kiln.simt "block.sync"() : () -> ()
    kiln.continue
  } attributes {block_dim = 2048 : i32}
  kiln.return
}

// CHECK: loc("-":7:5): error: ti.simt.block.sync in a loop with block_dim=2048: a block has at most 1024 threads

// -----
// One thread runs all iterations.
kiln.kernel @serial
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 257], cell_bytes = 4>]>]
    storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>]
    results [] {
  kiln.task.range_for "task_0" struct_for 0 body (%i : i32) {
    kiln.simt "block.sync"() : () -> ()
    kiln.continue
  } attributes {max_threads = 1 : i32}
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @serial trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 257], cell_bytes = 4>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "task_0" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.simt "block.sync"() : () -> ()
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 1 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
