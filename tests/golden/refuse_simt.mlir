// Operations of a GPU's threads in code for a CPU: the first one is an error, wherever it is.
// args: --passes=refuse-simt
kiln.kernel @in_function storages [] results [] {
  kiln.function 0 (%v : i32) {
    %votes = kiln.simt "warp.ballot"(%v) : (i32) -> i32
    kiln.return
  }
  kiln.return
}

// CHECK: loc("-":5:14): error: ti.simt.warp.ballot needs a CUDA target, such as sm_80 or compute_75, and this compilation is for a CPU

// -----
kiln.kernel @in_loop storages [] results [] {
  kiln.task.range_for "task_0" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 64 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %pad = kiln.shared_array 64 : <f64>
    kiln.simt "block.sync"() : () -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: loc("-":7:12): error: ti.simt.block.SharedArray needs a CUDA target, such as sm_80 or compute_75, and this compilation is for a CPU
