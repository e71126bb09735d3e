// The sums of a particle over its neighbours: registers of the outer loop. A cell of another
// iteration is read; one at a fixed index is not the iteration's own.
// args: --passes=carry-cells,promote-locals,canonicalize
kiln.kernel @neighbours storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 128, 1, 32, 4], offset = [0, -16], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.dense<slot = 4, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = kiln.extent 1 axis 0 : i32
  kiln.parallel_for (%i, %k) = (%c0, %c0) to (%n, %n) : i32 {
    kiln.for %j = %c0 to %n : i32 {
      kiln.for %m = %c0 to %j : i32 {
        %p = kiln.global 1 component 0 [%m] : <f32>
        %f = kiln.load %p : <f32>
        %near = arith.cmpi ne, %j, %i : i32
        kiln.if %near {
          %x = kiln.global 0 component 0 [%i, %k] : <f32>
          %old = kiln.load %x : <f32>
          %new = arith.addf %old, %f : f32
          kiln.store %new, %x : <f32>
          %fixed = kiln.global 2 component 0 [%c1] : <f32>
          kiln.store %new, %fixed : <f32>
          kiln.yield
        }
        kiln.continue
      }
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @neighbours storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 128, 1, 32, 4], offset = [0, -16], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.dense<slot = 4, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %false = arith.constant false
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c-16_i32 = arith.constant -16 : i32
// CHECK-NEXT:     %c32_i32 = arith.constant 32 : i32
// CHECK-NEXT:     %true = arith.constant true
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.extent 1 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0, %arg1) = (%c0_i32, %c0_i32) to (%0, %0) : i32 {
// CHECK-NEXT:       %1 = kiln.outer_extent 0 : i32
// CHECK-NEXT:       %2 = arith.cmpi ult, %arg0, %1 : i32
// CHECK-NEXT:       %3 = arith.subi %arg1, %c-16_i32 : i32
// CHECK-NEXT:       %4 = arith.cmpi ult, %3, %c32_i32 : i32
// CHECK-NEXT:       %5 = arith.andi %2, %4 : i1
// CHECK-NEXT:       %6 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:       %7 = kiln.if %5 -> f32 {
// CHECK-NEXT:         %10 = kiln.load %6 : <f32>
// CHECK-NEXT:         kiln.yield %10 : f32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.yield %cst : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %8:2 = kiln.for %arg2 = %c0_i32 to %0 : i32 carry (%arg3 = %7 : f32, %arg4 = %false : i1) {
// CHECK-NEXT:         %10:2 = kiln.for %arg5 = %c0_i32 to %arg2 : i32 carry (%arg6 = %arg3 : f32, %arg7 = %arg4 : i1) {
// CHECK-NEXT:           %11 = kiln.global 1 component 0[%arg5] : <f32>
// CHECK-NEXT:           %12 = kiln.load %11 : <f32>
// CHECK-NEXT:           %13 = arith.cmpi ne, %arg2, %arg0 : i32
// CHECK-NEXT:           %14:2 = kiln.if %13 -> (f32, i1) {
// CHECK-NEXT:             %15 = arith.addf %arg6, %12 : f32
// CHECK-NEXT:             %16 = kiln.global 2 component 0[%c1_i32] : <f32>
// CHECK-NEXT:             kiln.store %15, %16 : <f32>
// CHECK-NEXT:             kiln.yield %15, %true : f32, i1
// CHECK-NEXT:           } else {
// CHECK-NEXT:             kiln.yield %arg6, %arg7 : f32, i1
// CHECK-NEXT:           }
// CHECK-NEXT:           kiln.continue %14#0, %14#1 : f32, i1
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue %10#0, %10#1 : f32, i1
// CHECK-NEXT:       }
// CHECK-NEXT:       %9 = arith.andi %5, %8#1 : i1
// CHECK-NEXT:       kiln.if %9 {
// CHECK-NEXT:         kiln.store %8#0, %6 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Not carried: an address that may be the same, an index that the loop changes, a store in no
// branch, a short loop, and a cell that two iterations write.
kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    kiln.for %j = %c0 to %n : i32 {
      %near = arith.cmpi ne, %j, %i : i32
      kiln.if %near {
        %other = kiln.global 0 component 0 [%j] : <f32>
        %f = kiln.load %other : <f32>
        kiln.store %f, %x : <f32>
        kiln.yield
      }
      kiln.continue
    }
    kiln.for %j = %c0 to %n : i32 {
      %f = kiln.load %x : <f32>
      %g = arith.addf %f, %f : f32
      kiln.store %g, %x : <f32>
      kiln.continue
    }
    kiln.for %j = %c0 to %c3 : i32 {
      %near = arith.cmpi ne, %j, %i : i32
      kiln.if %near {
        %f = kiln.load %x : <f32>
        %g = arith.addf %f, %f : f32
        kiln.store %g, %x : <f32>
        kiln.yield
      }
      kiln.continue
    }
    %y = kiln.global 1 component 0 [%i] : <f32>
    %after = arith.addi %i, %c1 : i32
    %z = kiln.global 1 component 0 [%after] : <f32>
    kiln.for %j = %c0 to %n : i32 {
      %near = arith.cmpi ne, %j, %i : i32
      kiln.if %near {
        %f = kiln.load %y : <f32>
        kiln.store %f, %z : <f32>
        kiln.store %f, %y : <f32>
        kiln.yield
      }
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %c3_i32 = arith.constant 3 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %0 : i32 {
// CHECK-NEXT:         %5 = arith.cmpi ne, %arg1, %arg0 : i32
// CHECK-NEXT:         kiln.if %5 {
// CHECK-NEXT:           %6 = kiln.global 0 component 0[%arg1] : <f32>
// CHECK-NEXT:           %7 = kiln.load %6 : <f32>
// CHECK-NEXT:           kiln.store %7, %1 : <f32>
// CHECK-NEXT:           kiln.yield
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %0 : i32 {
// CHECK-NEXT:         %5 = kiln.load %1 : <f32>
// CHECK-NEXT:         %6 = arith.addf %5, %5 : f32
// CHECK-NEXT:         kiln.store %6, %1 : <f32>
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %c3_i32 : i32 {
// CHECK-NEXT:         %5 = arith.cmpi ne, %arg1, %arg0 : i32
// CHECK-NEXT:         kiln.if %5 {
// CHECK-NEXT:           %6 = kiln.load %1 : <f32>
// CHECK-NEXT:           %7 = arith.addf %6, %6 : f32
// CHECK-NEXT:           kiln.store %7, %1 : <f32>
// CHECK-NEXT:           kiln.yield
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       %2 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %3 = arith.addi %arg0, %c1_i32 : i32
// CHECK-NEXT:       %4 = kiln.global 1 component 0[%3] : <f32>
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %0 : i32 {
// CHECK-NEXT:         %5 = arith.cmpi ne, %arg1, %arg0 : i32
// CHECK-NEXT:         kiln.if %5 {
// CHECK-NEXT:           %6 = kiln.load %2 : <f32>
// CHECK-NEXT:           kiln.store %6, %4 : <f32>
// CHECK-NEXT:           kiln.store %6, %2 : <f32>
// CHECK-NEXT:           kiln.yield
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
