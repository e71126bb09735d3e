// An element's address that one task computes and another uses: the array moves to a temporary, and
// the address is computed again.
// args: --passes=offload
kiln.kernel @element storages [] results [i32] {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %array = kiln.local_array 4 : <i32>
  %element = kiln.element %array[%one] : <i32>
  kiln.parallel_for (%i) = (%zero) to (%one) : i32 {
    kiln.continue
  }
  %result = kiln.load %element : <i32>
  kiln.result 0, %result : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @element storages [] results [i32] attributes {temporary_bytes = 64 : i64} {
// CHECK-NEXT:     kiln.task.range_for "task_0" bounds {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c1_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.serial "task_1" {
// CHECK-NEXT:       %0 = kiln.temporary 0 : <i32>
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %1 = kiln.element %0[%c1_i32] : <i32>
// CHECK-NEXT:       %2 = kiln.load %1 : <i32>
// CHECK-NEXT:       kiln.result 0, %2 : i32
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
