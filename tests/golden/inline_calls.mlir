// A call becomes the function's code. One that returns within control flow is a loop that runs once.
// args: --passes=inline-calls
kiln.kernel @calls storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: -1>} {
  kiln.function 0 (%a : f32, %n : i32) -> (f32) {
    %c0 = arith.constant 0 : i32
    %two = arith.constant 2.0 : f32
    %r = kiln.for %j = %c0 to %n : i32 carry (%t = %a : f32) {
      %c = arith.cmpf ogt, %t, %two : f32
      kiln.if %c {
        kiln.return %t : f32
      }
      %u = arith.mulf %t, %t : f32
      kiln.continue %u : f32
    }
    kiln.return %r : f32
  }
  kiln.function 1 (%a : f32) -> (f32) {
    %b = arith.addf %a, %a : f32
    kiln.return %b : f32
  }
  %c3 = arith.constant 3 : i32
  %x = kiln.global 0 component 0 [%c3] : <f32>
  %v = kiln.load %x : <f32>
  %d = kiln.call 1(%v) : (f32) -> f32
  %w = kiln.call 0(%d, %c3) : (f32, i32) -> f32
  kiln.store %w, %x : <f32>
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @calls storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: -1>} {
// CHECK-NEXT:     %c3_i32 = arith.constant 3 : i32
// CHECK-NEXT:     %0 = kiln.global 0 component 0[%c3_i32] : <f32>
// CHECK-NEXT:     %1 = kiln.load %0 : <f32>
// CHECK-NEXT:     %2 = arith.addf %1, %1 : f32
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %3 = kiln.loop carry (%arg0 = %cst : f32) {
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %cst_0 = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:       %4 = kiln.local : <i1>
// CHECK-NEXT:       %false = arith.constant false
// CHECK-NEXT:       kiln.store %false, %4 : <i1>
// CHECK-NEXT:       %5 = kiln.local : <f32>
// CHECK-NEXT:       %6 = kiln.for %arg1 = %c0_i32 to %c3_i32 : i32 carry (%arg2 = %2 : f32) {
// CHECK-NEXT:         %8 = arith.cmpf ogt, %arg2, %cst_0 : f32
// CHECK-NEXT:         kiln.if %8 {
// CHECK-NEXT:           kiln.store %arg2, %5 : <f32>
// CHECK-NEXT:           %true = arith.constant true
// CHECK-NEXT:           kiln.store %true, %4 : <i1>
// CHECK-NEXT:           %cst_1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:           kiln.break %cst_1 : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %9 = arith.mulf %arg2, %arg2 : f32
// CHECK-NEXT:         kiln.continue %9 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %7 = kiln.load %4 : <i1>
// CHECK-NEXT:       kiln.if %7 {
// CHECK-NEXT:         %8 = kiln.load %5 : <f32>
// CHECK-NEXT:         kiln.break %8 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.break %6 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.store %3, %0 : <f32>
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
