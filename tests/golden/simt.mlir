// What other threads do at a barrier: no load is known across it, no atomic of a shared array becomes
// a sum of the thread or a plain addition, nothing is merged, and iterations keep their threads.
// args: --passes=cse,forward-stores,narrow-bounds,reduce,demote-atomics,canonicalize
kiln.kernel @blocks storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
  kiln.task.range_for "blocks_0" bounds {
    %c0 = arith.constant 0 : i32
    %n = kiln.argument 1 : i32
    kiln.yield %c0, %n : i32, i32
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %inside = arith.cmpi sge, %i, %five : i32
    kiln.if %inside {
      %one = arith.constant 1 : i32
      %pad = kiln.shared_array 32 : <i32>
      %first = kiln.element %pad[%zero] : <i32>
      %x = kiln.global 0 component 0 [%i] : <i32>
      %a = kiln.load %x : <i32>
      kiln.store %a, %first : <i32>
      kiln.simt "block.sync"() : () -> ()
      %b = kiln.load %x : <i32>
      %c = kiln.load %first : <i32>
      %old = kiln.atomic addi %b, %first : <i32>
      kiln.simt "block.sync"() : () -> ()
      %votes = kiln.simt "warp.ballot"(%c) : (i32) -> i32
      %again = kiln.simt "warp.ballot"(%c) : (i32) -> i32
      %both = arith.addi %votes, %again : i32
      kiln.store %both, %x : <i32>
      kiln.yield
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @blocks storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "blocks_0" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.argument 1 : i32
// CHECK-NEXT:       kiln.yield %c0_i32, %0 : i32, i32
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c5_i32 = arith.constant 5 : i32
// CHECK-NEXT:       %0 = arith.cmpi sge, %arg0, %c5_i32 : i32
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         %1 = kiln.shared_array 32 : <i32>
// CHECK-NEXT:         %2 = kiln.element %1[%c0_i32] : <i32>
// CHECK-NEXT:         %3 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:         %4 = kiln.load %3 : <i32>
// CHECK-NEXT:         kiln.store %4, %2 : <i32>
// CHECK-NEXT:         kiln.simt "block.sync"() : () -> ()
// CHECK-NEXT:         %5 = kiln.load %3 : <i32>
// CHECK-NEXT:         %6 = kiln.load %2 : <i32>
// CHECK-NEXT:         %7 = kiln.atomic  addi %5, %2 : <i32>
// CHECK-NEXT:         kiln.simt "block.sync"() : () -> ()
// CHECK-NEXT:         %8 = kiln.simt "warp.ballot"(%6) : (i32) -> i32
// CHECK-NEXT:         %9 = kiln.simt "warp.ballot"(%6) : (i32) -> i32
// CHECK-NEXT:         %10 = arith.addi %8, %9 : i32
// CHECK-NEXT:         kiln.store %10, %3 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
