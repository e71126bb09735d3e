// Float sums on the halves of one 8-byte word are pairs, whichever comes first.
// args: --passes=pair-atomics
kiln.kernel @pairs storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 16], offset = [], types = [f32, f32, f32], components = [0, 0, 0, 4, 0, 8], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "task_0" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 100 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %v = arith.constant 1.0 : f32
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 0 component 1 [%i] : <f32>
    %z = kiln.global 0 component 2 [%i] : <f32>
    // The third component has a word of its own, and no atomic is in two pairs.
    %a = kiln.atomic addf %v, %x : <f32>
    %w = arith.addf %v, %v : f32
    %b = kiln.atomic addf %w, %y : <f32>
    %c = kiln.atomic addf %v, %z : <f32>
    %d = kiln.atomic subf %v, %y : <f32>
    %e = kiln.atomic subf %v, %x : <f32>
    %f = kiln.atomic subf %v, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @pairs storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 16], offset = [], types = [f32, f32, f32], components = [0, 0, 0, 4, 0, 8], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.range_for "task_0" bounds {
// CHECK-NEXT:       %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:       %c100_i64 = arith.constant 100 : i64
// CHECK-NEXT:       kiln.yield %c0_i64, %c100_i64 : i64, i64
// CHECK-NEXT:     } body (%arg0 : i32) {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %1 = kiln.global 0 component 1[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 0 component 2[%arg0] : <f32>
// CHECK-NEXT:       %3 = kiln.atomic  addf %cst, %0 {pair_offset = 4 : i64} : <f32>
// CHECK-NEXT:       %4 = arith.addf %cst, %cst : f32
// CHECK-NEXT:       %5 = kiln.atomic  addf %4, %1 : <f32>
// CHECK-NEXT:       %6 = kiln.atomic  addf %cst, %2 : <f32>
// CHECK-NEXT:       %7 = kiln.atomic  subf %cst, %1 {pair_offset = -4 : i64} : <f32>
// CHECK-NEXT:       %8 = kiln.atomic  subf %cst, %0 : <f32>
// CHECK-NEXT:       %9 = kiln.atomic  subf %cst, %1 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     } attributes {block_dim = 0 : i32, cost = 0 : i32, max_threads = 0 : i32}
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Not of different kinds or cells, nor with an access in between, nor if the old value is used.
kiln.kernel @none storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 1, axes = 1, digits = [0, 0, 12], offset = [], types = [f32, f32, f32], components = [0, 0, 0, 4, 0, 8], bases = 1, base_strides = [], alias = 0, read_only = false>] results [f32] {
  kiln.task.serial "task_0" {
    %v = arith.constant 1.0 : f32
    %i = arith.constant 1 : i32
    %j = kiln.argument 2 : i32
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 0 component 1 [%i] : <f32>
    %y_j = kiln.global 0 component 1 [%j] : <f32>
    %a = kiln.atomic addf %v, %x : <f32>
    %b = kiln.atomic subf %v, %y : <f32>
    %c = kiln.atomic addf %v, %x : <f32>
    %d = kiln.atomic addf %v, %y_j : <f32>
    %e = kiln.atomic addf %v, %x : <f32>
    %loaded = kiln.load %y_j : <f32>
    %f = kiln.atomic addf %v, %y : <f32>
    %g = kiln.atomic addf %v, %x : <f32>
    %h = kiln.atomic addf %loaded, %y : <f32>
    kiln.result 0, %h : f32
    // Cells of 12 bytes do not all begin at a word.
    %s = kiln.global 1 component 0 [%i] : <f32>
    %t = kiln.global 1 component 1 [%i] : <f32>
    %k = kiln.atomic addf %v, %s : <f32>
    %l = kiln.atomic addf %v, %t : <f32>
    kiln.return
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @none storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 1, axes = 1, digits = [0, 0, 12], offset = [], types = [f32, f32, f32], components = [0, 0, 0, 4, 0, 8], bases = 1, base_strides = [], alias = 0, read_only = false>] results [f32] {
// CHECK-NEXT:     kiln.task.serial "task_0" {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = kiln.argument 2 : i32
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%c1_i32] : <f32>
// CHECK-NEXT:       %2 = kiln.global 0 component 1[%c1_i32] : <f32>
// CHECK-NEXT:       %3 = kiln.global 0 component 1[%0] : <f32>
// CHECK-NEXT:       %4 = kiln.atomic  addf %cst, %1 : <f32>
// CHECK-NEXT:       %5 = kiln.atomic  subf %cst, %2 : <f32>
// CHECK-NEXT:       %6 = kiln.atomic  addf %cst, %1 : <f32>
// CHECK-NEXT:       %7 = kiln.atomic  addf %cst, %3 : <f32>
// CHECK-NEXT:       %8 = kiln.atomic  addf %cst, %1 : <f32>
// CHECK-NEXT:       %9 = kiln.load %3 : <f32>
// CHECK-NEXT:       %10 = kiln.atomic  addf %cst, %2 {pair_offset = -4 : i64} : <f32>
// CHECK-NEXT:       %11 = kiln.atomic  addf %cst, %1 : <f32>
// CHECK-NEXT:       %12 = kiln.atomic  addf %9, %2 : <f32>
// CHECK-NEXT:       kiln.result 0, %12 : f32
// CHECK-NEXT:       %13 = kiln.global 1 component 0[%c1_i32] : <f32>
// CHECK-NEXT:       %14 = kiln.global 1 component 1[%c1_i32] : <f32>
// CHECK-NEXT:       %15 = kiln.atomic  addf %cst, %13 : <f32>
// CHECK-NEXT:       %16 = kiln.atomic  addf %cst, %14 : <f32>
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// In a tree, components of one node's cells.
kiln.kernel @cells
    trees [#kiln.tree<slot = 0, nodes = [
      <root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 8>]>]
    storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [f32, f32], components = [0, 1, 0, 0, 1, 4], alias = 0, read_only = false>]
    results [] {
  kiln.task.serial "task_0" {
    %v = arith.constant 1.0 : f32
    %i = arith.constant 1 : i32
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 0 component 1 [%i] : <f32>
    %a = kiln.atomic addf %v, %x : <f32>
    %b = kiln.atomic addf %v, %y : <f32>
    kiln.return
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @cells trees [#kiln.tree<slot = 0, nodes = [<root, axes = [], cell_bytes = 32>, <pointer, axes = [0, 4], cell_bytes = 8>]>] storages [#kiln.tree_field<tree = 0, node = 1, axes = [0], offset = [], types = [f32, f32], components = [0, 1, 0, 0, 1, 4], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.task.serial "task_0" {
// CHECK-NEXT:       %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %0 = kiln.global 0 component 0[%c1_i32] : <f32>
// CHECK-NEXT:       %1 = kiln.global 0 component 1[%c1_i32] : <f32>
// CHECK-NEXT:       %2 = kiln.atomic  addf %cst, %0 {pair_offset = 4 : i64} : <f32>
// CHECK-NEXT:       %3 = kiln.atomic  addf %cst, %1 : <f32>
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
