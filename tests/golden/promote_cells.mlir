// y[i] = 1; for j: y[i] *= x[i]. The loop carries the cell's value.
// args: --passes=promote-cells,promote-locals,canonicalize
kiln.kernel @rewritten storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
  %c0 = arith.constant 0 : i32
  %one = arith.constant 1.0 : f32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 1 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    kiln.store %one, %y : <f32>
    kiln.for %j = %c0 to %n : i32 {
      %old = kiln.load %y : <f32>
      %new = arith.mulf %old, %v : f32
      kiln.store %new, %y : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @rewritten storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %3 = kiln.load %1 : <f32>
// CHECK-NEXT:       %4 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %cst : f32) {
// CHECK-NEXT:         %5 = arith.mulf %arg2, %3 : f32
// CHECK-NEXT:         kiln.continue %5 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.store %4, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Not if the first access is in the loop: the program may guard it with the loop's bounds.
kiln.kernel @guarded storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %y = kiln.global 1 component 0 [%i] : <f32>
    kiln.for %j = %c0 to %n : i32 {
      %old = kiln.load %y : <f32>
      %new = arith.mulf %old, %old : f32
      kiln.store %new, %y : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @guarded storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>} {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %0 : i32 {
// CHECK-NEXT:         %2 = kiln.load %1 : <f32>
// CHECK-NEXT:         %3 = arith.mulf %2, %2 : f32
// CHECK-NEXT:         kiln.store %3, %1 : <f32>
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
