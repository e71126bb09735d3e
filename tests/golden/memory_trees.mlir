// What is known of cells in trees: what deactivating forgets, what is lost where nothing may become
// active, and indices that do not tell cells apart.
// args: --passes=cse,forward-stores,demote-atomics
kiln.kernel @known
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
  kiln.parallel_for (%i) struct_for 0 : i32 {
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %x = kiln.global 0 component 1 [%i] : <i32>
    kiln.store %i, %x : <i32>
    %a = kiln.load %x : <i32>
    kiln.print 1 (%a) : (i32)
    kiln.activate 2 [%i]
    %b = kiln.load %x : <i32>
    kiln.print 2 (%b) : (i32)
    kiln.deactivate 2 [%i]
    %c = kiln.load %x : <i32>
    kiln.print 3 (%c) : (i32)
    // What was just loaded activates where it is stored.
    kiln.store %c, %x : <i32>
    %y = kiln.global 1 component 0 [%i] {no_activate} : <i32>
    kiln.store %i, %y : <i32>
    %d = kiln.load %y : <i32>
    kiln.print 4 (%d) : (i32)
    // The second index of storage 3 is none of the tree's.
    %z = kiln.global 3 component 0 [%i, %i] : <i32>
    %w = kiln.global 3 component 0 [%i, %j] : <i32>
    kiln.store %one, %z : <i32>
    kiln.store %j, %w : <i32>
    %e = kiln.load %z : <i32>
    kiln.print 5 (%e) : (i32)
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @known trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.parallel_for (%arg0) struct_for 0 : i32 {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %1 = kiln.global 0 component 1[%arg0] : <i32>
// CHECK-NEXT:       kiln.store %arg0, %1 : <i32>
// CHECK-NEXT:       kiln.print 1(%arg0) : (i32)
// CHECK-NEXT:       kiln.activate 2[%arg0]
// CHECK-NEXT:       kiln.print 2(%arg0) : (i32)
// CHECK-NEXT:       kiln.deactivate 2[%arg0]
// CHECK-NEXT:       %2 = kiln.load %1 : <i32>
// CHECK-NEXT:       kiln.print 3(%2) : (i32)
// CHECK-NEXT:       kiln.store %2, %1 : <i32>
// CHECK-NEXT:       %3 = kiln.global 1 component 0[%arg0] {no_activate} : <i32>
// CHECK-NEXT:       kiln.store %arg0, %3 : <i32>
// CHECK-NEXT:       %4 = kiln.load %3 : <i32>
// CHECK-NEXT:       kiln.print 4(%4) : (i32)
// CHECK-NEXT:       %5 = kiln.global 3 component 0[%arg0, %arg0] : <i32>
// CHECK-NEXT:       %6 = kiln.global 3 component 0[%arg0, %0] : <i32>
// CHECK-NEXT:       kiln.store %c1_i32, %5 : <i32>
// CHECK-NEXT:       kiln.store %0, %6 : <i32>
// CHECK-NEXT:       %7 = kiln.load %5 : <i32>
// CHECK-NEXT:       kiln.print 5(%7) : (i32)
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// An iteration's own cell, and cells that it shares.
kiln.kernel @own
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
  kiln.parallel_for (%i) struct_for 0 : i32 {
    %one = arith.constant 1 : i32
    %x = kiln.global 0 component 1 [%i] : <i32>
    %old1 = kiln.atomic addi %one, %x : <i32>
    %j = arith.addi %i, %one : i32
    %y = kiln.global 1 component 0 [%j] : <i32>
    %old2 = kiln.atomic addi %one, %y : <i32>
    %z = kiln.global 3 component 0 [%one, %i] : <i32>
    %old3 = kiln.atomic addi %one, %z : <i32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @own trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 256>, <pointer, axes = [0, 4], cell_bytes = 64>, <dense, parent = 1, axes = [0, 8], cell_bytes = 8>, <bitmasked, axes = [0, 32], cell_bytes = 4, offset = 32, mask = 128>]>] storages [#kiln.tree_field<tree = 0, node = 2, axes = [0], offset = [], types = [f32, i32], components = [0, 2, 0, 0, 2, 4], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [], components = [], alias = 0, read_only = false>, #kiln.tree_field<tree = 0, node = 3, axes = [0, -1], offset = [], types = [i32], components = [0, 3, 0], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.parallel_for (%arg0) struct_for 0 : i32 {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = kiln.global 0 component 1[%arg0] : <i32>
// CHECK-NEXT:       %1 = kiln.load %0 : <i32>
// CHECK-NEXT:       %2 = arith.addi %1, %c1_i32 : i32
// CHECK-NEXT:       kiln.store %2, %0 : <i32>
// CHECK-NEXT:       %3 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %4 = kiln.global 1 component 0[%3] : <i32>
// CHECK-NEXT:       %5 = kiln.load %4 : <i32>
// CHECK-NEXT:       %6 = arith.addi %5, %c1_i32 : i32
// CHECK-NEXT:       kiln.store %6, %4 : <i32>
// CHECK-NEXT:       %7 = kiln.global 3 component 0[%c1_i32, %arg0] : <i32>
// CHECK-NEXT:       %8 = kiln.atomic  addi %c1_i32, %7 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
