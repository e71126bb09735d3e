// A sum into a cell of a tree makes it active only where an iteration would have.
// args: --passes=offload,reduce,promote-locals,simplify-control
kiln.kernel @sum
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 256>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 8], cell_bytes = 8>,
      <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>]
    storages [
      #kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>]
    results [] {
  kiln.parallel_for (%i) struct_for 1 : i32 {
    %zero = arith.constant 0 : i32
    %x = kiln.global 0 component 1 [%zero] : <i32>
    %odd = arith.trunci %i : i32 to i1
    kiln.if %odd {
      %old = kiln.atomic addi %i, %x : <i32>
      kiln.yield
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sum trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 0 : i64} {
// CHECK-NEXT:     kiln.task.listgen "task_0" tree 0 node 3 "S0root->S3bitmasked" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 1 body (%arg0 : i32, %arg1 : i32, %arg2 : i1) {
// CHECK-NEXT:       %0 = arith.trunci %arg0 : i32 to i1
// CHECK-NEXT:       %1:2 = kiln.if %0 -> (i1, i32) {
// CHECK-NEXT:         %2 = arith.addi %arg1, %arg0 : i32
// CHECK-NEXT:         %true = arith.constant true
// CHECK-NEXT:         kiln.yield %true, %2 : i1, i32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.yield %arg2, %arg1 : i1, i32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue %1#1, %1#0 : i32, i1
// CHECK-NEXT:     } finish (%arg0 = 0 : i32, %arg1 = false) {
// CHECK-NEXT:       kiln.if %arg1 {
// CHECK-NEXT:         %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:         %0 = kiln.global 0 component 1[%c0_i32] : <i32>
// CHECK-NEXT:         %1 = kiln.atomic  addi %arg0, %0 : <i32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 6 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Where the iteration asks for activity, its atomics stay.
kiln.kernel @asks
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 256>,
      <pointer, axes = [0, 4], cell_bytes = 64>,
      <dense, parent = 1, axes = [0, 8], cell_bytes = 8>,
      <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>]
    storages [
      #kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>]
    results [] {
  kiln.parallel_for (%i) struct_for 1 : i32 {
    %zero = arith.constant 0 : i32
    %x = kiln.global 0 component 1 [%zero] : <i32>
    %old = kiln.atomic addi %i, %x : <i32>
    %on = kiln.is_active 2 [%zero]
    kiln.print 1 (%on) : (i1)
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @asks trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 0 : i64} {
// CHECK-NEXT:     kiln.task.listgen "task_0" tree 0 node 3 "S0root->S3bitmasked" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 1 body (%arg0 : i32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%c0_i32] : <i32>
// CHECK-NEXT:       %1 = kiln.atomic  addi %arg0, %0 : <i32>
// CHECK-NEXT:       %2 = kiln.is_active 2[%c0_i32]
// CHECK-NEXT:       kiln.print 1(%2) : (i1)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 10 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
