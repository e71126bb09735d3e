// Loops over trees get tasks that make their lists, where no earlier list holds; a task that makes
// cells inactive gets one that takes them back.
// args: --passes=offload
kiln.kernel @lists
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
  // Two loops over one node: one list.
  kiln.parallel_for (%i) struct_for 0 : i32 {
    %x = kiln.global 0 component 1 [%i] : <i32>
    %v = kiln.load %x : <i32>
    kiln.print 1 (%v) : (i32)
    kiln.continue
  }
  // Makes cells of node 3 active, and of node 1 none.
  kiln.parallel_for (%i) struct_for 0 : i32 {
    %y = kiln.global 1 component 0 [%i] : <i32>
    kiln.store %i, %y : <i32>
    kiln.continue
  }
  kiln.parallel_for (%i) struct_for 1 : i32 {
    %x = kiln.global 0 component 1 [%i] {no_activate} : <i32>
    kiln.store %i, %x : <i32>
    kiln.continue
  }
  // The pointer's cells themselves: a list of slices.
  kiln.parallel_for (%i) struct_for 2 : i32 attributes {max_threads = 1 : i32} {
    kiln.deactivate 2 [%i]
    kiln.continue
  }
  kiln.parallel_for (%i) struct_for 2 : i32 {
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @lists trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 0 : i64} {
// CHECK-NEXT:     kiln.task.listgen "task_0" tree 0 node 1 "S0root->S1pointer"
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%arg0] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       kiln.print 1(%1) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 6 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.range_for "task_2" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.global 1 component 0[%arg0] : <i32>
// CHECK-NEXT:       kiln.store %arg0, %0 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.listgen "task_3" tree 0 node 3 "S0root->S3bitmasked" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_4" struct_for 1 body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%arg0] {no_activate} : <i32>
// CHECK-NEXT:       kiln.store %arg0, %0 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.listgen "task_5" tree 0 node 1 "S0root->S1pointer" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_6" struct_for 2 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.deactivate 2[%arg0]
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 1 : i32}
// CHECK-NEXT:     kiln.task.gc "task_7" tree 0 node 1 "S0root->S1pointer"
// CHECK-NEXT:     kiln.task.listgen "task_8" tree 0 node 1 "S0root->S1pointer" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_9" struct_for 2 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
kiln.kernel @functions
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
  %zero = arith.constant 0 : i32
  %x = kiln.global 0 component 1 [%zero] : <i32>
  kiln.function 0 (%at : !kiln.addr<i32>) {
    kiln.call 1 () : () -> ()
    kiln.return
  }
  kiln.function 1 () {
    %one = arith.constant 1 : i32
    kiln.deactivate 1 [%one]
    kiln.return
  }
  kiln.parallel_for (%i) struct_for 1 : i32 {
    kiln.continue
  }
  kiln.call 0 (%x) : (!kiln.addr<i32>) -> ()
  kiln.parallel_for (%i) struct_for 1 : i32 {
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @functions trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 0 : i64} {
// CHECK-NEXT:     kiln.function 0 (%arg0 : !kiln.addr<i32>) {
// CHECK-NEXT:       kiln.call 1() : () -> ()
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.function 1 () {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       kiln.deactivate 1[%c1_i32]
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.task.listgen "task_0" tree 0 node 3 "S0root->S3bitmasked" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 1 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.serial "task_2" {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%c0_i32] : <i32>
// CHECK-NEXT:       kiln.call 0(%0) : (!kiln.addr<i32>) -> ()
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.task.gc "task_3" tree 0 node 3 "S0root->S3bitmasked"
// CHECK-NEXT:     kiln.task.listgen "task_4" tree 0 node 3 "S0root->S3bitmasked" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_5" struct_for 1 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 1 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A return before a loop over a list.
kiln.kernel @leaves
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
  %zero = arith.constant 0 : i32
  %on = kiln.is_active 2 [%zero]
  kiln.if %on {
    kiln.return
  }
  kiln.parallel_for (%i) struct_for 1 : i32 {
    kiln.print 1 (%i) : (i32)
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @leaves trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 1 : i64} {
// CHECK-NEXT:     kiln.task.serial "task_0" {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.is_active 2[%c0_i32]
// CHECK-NEXT:       kiln.if %0 {
// CHECK-NEXT:         %true = arith.constant true
// CHECK-NEXT:         %1 = kiln.temporary 0 : <i1>
// CHECK-NEXT:         kiln.store %true, %1 : <i1>
// CHECK-NEXT:         kiln.return
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.task.listgen "task_1" tree 0 node 3 "S0root->S3bitmasked" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_2" struct_for 1 body (%arg0 : i32) {
// CHECK-NEXT:       %0 = kiln.temporary 0 : <i1>
// CHECK-NEXT:       %1 = kiln.load %0 : <i1>
// CHECK-NEXT:       kiln.if %1 {
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.print 1(%arg0) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 5 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Lists of a node's cells and of slices of its containers are different lists.
kiln.kernel @both_kinds
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>,
      <pointer, axes = [0, 4], cell_bytes = 32>,
      <dense, parent = 1, axes = [0, 8], cell_bytes = 4>]>]
    storages [
      #kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>]
    results [] {
  kiln.parallel_for (%i) struct_for 0 : i32 {
    kiln.print 1 (%i) : (i32)
    kiln.continue
  }
  kiln.parallel_for (%i) struct_for 1 : i32 {
    kiln.print 2 (%i) : (i32)
    kiln.continue
  }
  kiln.parallel_for (%i) struct_for 0 : i32 {
    kiln.print 3 (%i) : (i32)
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @both_kinds trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 32>, <dense, parent = 1, axes = [0, 8], cell_bytes = 4>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [i32], components = [0, 2, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>] results [] attributes {temporary_bytes = 0 : i64} {
// CHECK-NEXT:     kiln.task.listgen "task_0" tree 0 node 1 "S0root->S1pointer"
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.print 1(%arg0) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 5 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.listgen "task_2" tree 0 node 1 "S0root->S1pointer" {slices}
// CHECK-NEXT:     kiln.task.range_for "task_3" struct_for 1 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.print 2(%arg0) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 5 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.listgen "task_4" tree 0 node 1 "S0root->S1pointer"
// CHECK-NEXT:     kiln.task.range_for "task_5" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.print 3(%arg0) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 5 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
