// y[i] = x[i] * sin(x[i]): each value has its dual beside it; a store stores its dual, too.
// args: --passes=differentiate,promote-locals,simplify-control,canonicalize,cse
kiln.kernel @straight storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>, forward} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 1 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    %s = math.sin %v : f32
    %w = arith.mulf %v, %s : f32
    kiln.store %w, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @straight storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>, forward} {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %3 = kiln.load %1 : <f32>
// CHECK-NEXT:       %4 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %4 : <f32>
// CHECK-NEXT:       %6 = math.sin %3 : f32
// CHECK-NEXT:       %7 = math.cos %3 : f32
// CHECK-NEXT:       %8 = arith.mulf %5, %7 : f32
// CHECK-NEXT:       %9 = arith.mulf %3, %6 : f32
// CHECK-NEXT:       %10 = arith.mulf %5, %6 : f32
// CHECK-NEXT:       %11 = arith.mulf %8, %3 : f32
// CHECK-NEXT:       %12 = arith.addf %10, %11 : f32
// CHECK-NEXT:       kiln.store %9, %2 : <f32>
// CHECK-NEXT:       %13 = kiln.global 3 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %12, %13 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A loop carries the dual of what it carries.
kiln.kernel @carried storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>, forward} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  %nine = arith.constant 9.0 : f32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %y = kiln.global 1 component 0 [%i] : <f32>
    %v = kiln.load %x : <f32>
    %r = kiln.for %j = %c0 to %n : i32 carry (%a = %v : f32) {
      %c = arith.cmpf ogt, %a, %nine : f32
      kiln.if %c {
        kiln.break %a : f32
      }
      %b = arith.mulf %a, %a : f32
      kiln.continue %b : f32
    }
    kiln.store %r, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @carried storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 6, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>, forward} {
// CHECK-NEXT:     %cst = arith.constant 9.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 1 component 0[%arg0] : <f32>
// CHECK-NEXT:       %3 = kiln.load %1 : <f32>
// CHECK-NEXT:       %4 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %4 : <f32>
// CHECK-NEXT:       %6:2 = kiln.for %arg1 = %c0_i32 to %0 : i32 carry (%arg2 = %3 : f32, %arg3 = %5 : f32) {
// CHECK-NEXT:         %8 = arith.cmpf ogt, %arg2, %cst : f32
// CHECK-NEXT:         kiln.if %8 {
// CHECK-NEXT:           kiln.break %arg2, %arg3 : f32, f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %9 = arith.mulf %arg2, %arg2 : f32
// CHECK-NEXT:         %10 = arith.mulf %arg3, %arg2 : f32
// CHECK-NEXT:         %11 = arith.addf %10, %10 : f32
// CHECK-NEXT:         kiln.continue %9, %11 : f32, f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.store %6#0, %2 : <f32>
// CHECK-NEXT:       %7 = kiln.global 3 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %6#1, %7 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// The winner of an atomic maximum is known behind the loop: a copy of the loop stores its dual.
kiln.kernel @winner storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 3, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 5, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>, forward} {
  %c0 = arith.constant 0 : i32
  %n = kiln.extent 0 axis 0 : i32
  kiln.parallel_for (%i) = (%c0) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %m = kiln.global 1 component 0 [] : <f32>
    %v = kiln.load %x : <f32>
    %old = kiln.atomic maxf %v, %m : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @winner storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 3, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 5, axes = 0, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 2, 3, -1, -1>, forward} {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 1 component 0[] : <f32>
// CHECK-NEXT:       %3 = kiln.load %1 : <f32>
// CHECK-NEXT:       %4 = kiln.atomic  maxf %3, %2 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.global 1 component 0[] : <f32>
// CHECK-NEXT:       %3 = kiln.load %1 : <f32>
// CHECK-NEXT:       %4 = kiln.global 2 component 0[%arg0] : <f32>
// CHECK-NEXT:       %5 = kiln.load %4 : <f32>
// CHECK-NEXT:       %6 = kiln.global 3 component 0[] : <f32>
// CHECK-NEXT:       %7 = kiln.load %2 : <f32>
// CHECK-NEXT:       %8 = arith.cmpf oeq, %3, %7 : f32
// CHECK-NEXT:       kiln.if %8 {
// CHECK-NEXT:         kiln.store %5, %6 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
