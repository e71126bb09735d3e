// Additions of zero go where the sign of zero does not count, and with them a carried value that
// never changes.
// args: --passes=fold-zeros,simplify-control,canonicalize
kiln.kernel @sums storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i32
  %n = kiln.argument 0 : i32
  %0 = kiln.global 0 component 0[%c0] : <f32>
  %1 = kiln.load %0 : <f32>
  %2 = kiln.for %i = %c0 to %n : i32 carry (%x = %1 : f32) {
    %3 = arith.addf %x, %zero fastmath<nsz> : f32
    %4 = kiln.global 0 component 0[%i] : <f32>
    kiln.store %3, %4 : <f32>
    kiln.continue %3 : f32
  }
  %5 = arith.addf %2, %zero : f32
  kiln.store %5, %0 : <f32>
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sums storages [#kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.global 0 component 0[%c0_i32] : <f32>
// CHECK-NEXT:     %2 = kiln.load %1 : <f32>
// CHECK-NEXT:     kiln.for %arg0 = %c0_i32 to %0 : i32 {
// CHECK-NEXT:       %4 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       kiln.store %2, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %3 = arith.addf %2, %cst : f32
// CHECK-NEXT:     kiln.store %3, %1 : <f32>
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
