// Operations of a GPU's threads where these cannot do them together: in loops over sparse SNodes,
// and of a warp in code that one thread runs. Functions are refused by the tasks that call them.
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

// CHECK: loc("-":11:5): error: ti.simt.block.sync in a loop over sparse SNodes: the threads of a block do not all have an active cell

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

// CHECK: loc("-":13:12): error: ti.simt.block.SharedArray in a loop over sparse SNodes: the threads of a block do not all have an active cell

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

// CHECK: loc("-":5:14): error: ti.simt.warp.ballot outside of a parallel loop: one thread alone is no warp

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

// CHECK: loc("-":7:14): error: ti.simt.warp.ballot outside of a parallel loop: one thread alone is no warp

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
