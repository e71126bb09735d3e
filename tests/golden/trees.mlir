// What kernels with sparse trees look like, before and after they are parted into tasks.
// args: --passes=cse
kiln.kernel @structured
    trees [#kiln.tree<slot = 1, nodes = [
      #kiln.snode<root, axes = [], cell_bytes = 32>,
      #kiln.snode<pointer, axes = [0, 4], cell_bytes = 16>,
      #kiln.snode<dense, parent = 1, axes = [0, 2], cell_bytes = 8>]>,
    #kiln.tree<slot = 3, nodes = [
      #kiln.snode<root, axes = [], cell_bytes = 24>,
      #kiln.snode<bitmasked, axes = [0, 4, 1, 2], cell_bytes = 4, mask = 32>,
      #kiln.snode<dynamic, axes = [2, 64], cell_bytes = 4, offset = 8, chunk = 16>]>]
    storages [
      #kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [-1], types = [f32, i32],
        components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>,
      #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [],
        alias = 0, read_only = false>,
      #kiln.tree_field<tree = 1, node = 2, axes = [2], offset = [], types = [], components = [],
        alias = 0, read_only = false>]
    results [] {
  %c = arith.constant 7 : i32
  kiln.parallel_for (%i) struct_for 0 : i32 attributes {max_threads = 2 : i32} {
    %p = kiln.global 0 component 1 [%i] {no_activate} : <i32>
    %x = kiln.load %p : <i32>
    %n = kiln.append 2 []
    %l = kiln.length 2 []
    kiln.deactivate 1 [%n]
    kiln.activate 1 [%l]
    %on = kiln.is_active 1 [%c]
    kiln.assert %on, 4 (%l) : (i32)
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @structured trees [#kiln.tree<slot = 1, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 16>, <dense, parent = 1, axes = [0, 2], cell_bytes = 8>]>, #kiln.tree<slot = 3, nodes = [<root, axes = [], cell_bytes = 24>, <bitmasked, axes = [0, 4, 1, 2], cell_bytes = 4, mask = 32>, <dynamic, axes = [2, 64], cell_bytes = 4, offset = 8, chunk = 16>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [-1], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 1, node = 2, axes = [2], offset = [], types = [], components = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c7_i32 = arith.constant 7 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) struct_for 0 : i32 attributes {max_threads = 2 : i32} {
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%arg0] {no_activate} : <i32>
// CHECK-NEXT:       %1 = kiln.append 2[]
// CHECK-NEXT:       %2 = kiln.length 2[]
// CHECK-NEXT:       kiln.deactivate 1[%1]
// CHECK-NEXT:       kiln.activate 1[%2]
// CHECK-NEXT:       %3 = kiln.is_active 1[%c7_i32]
// CHECK-NEXT:       kiln.assert %3, 4(%2) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
kiln.kernel @components
    trees [#kiln.tree<slot = 1, nodes = [
      #kiln.snode<root, axes = [], cell_bytes = 48>,
      #kiln.snode<pointer, axes = [0, 4], cell_bytes = 4>,
      #kiln.snode<bitmasked, axes = [2, 4], cell_bytes = 4, offset = 32, mask = 16>]>]
    storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [i32, i32],
        components = [0, 1, 0, 0, 2, 0], alias = 0, read_only = false, component_axes = [0, 2]>]
    results [] {
  kiln.parallel_for (%i) struct_for 0 : i32 {
    %p = kiln.global 0 component 1 [%i] : <i32>
    %x = kiln.load %p : <i32>
    kiln.store %x, %p : <i32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @components trees [#kiln.tree<slot = 1, nodes = [<root, axes = [], cell_bytes = 48>, <pointer, axes = [0, 4], cell_bytes = 4>, <bitmasked, axes = [2, 4], cell_bytes = 4, offset = 32, mask = 16>]>] storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [i32, i32], components = [0, 1, 0, 0, 2, 0], alias = 0, read_only = false, component_axes = [0, 2]>] results [] {
// CHECK-NEXT:     kiln.parallel_for (%arg0) struct_for 0 : i32 {
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%arg0] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       kiln.store %1, %0 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
kiln.kernel @offloaded
    trees [#kiln.tree<slot = 1, nodes = [
      #kiln.snode<root, axes = [], cell_bytes = 32>,
      #kiln.snode<pointer, axes = [0, 4], cell_bytes = 16>]>]
    storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [],
        components = [], alias = 0, read_only = false>]
    results [] {
  kiln.task.listgen "task_0" tree 0 node 1 "S0root->S1pointer"
  kiln.task.range_for "task_1" struct_for 0 body (%i : i32) {
    kiln.deactivate 0 [%i]
    kiln.continue
  } attributes {cost = 3 : i32}
  kiln.task.gc "task_2" tree 0 node 1 "S0root->S1pointer"
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @offloaded trees [#kiln.tree<slot = 1, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 16>]>] storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.listgen "task_0" tree 0 node 1 "S0root->S1pointer"
// CHECK-NEXT:     kiln.task.range_for "task_1" struct_for 0 body (%arg0 : i32) {
// CHECK-NEXT:       kiln.deactivate 0[%arg0]
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 3 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.task.gc "task_2" tree 0 node 1 "S0root->S1pointer"
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
