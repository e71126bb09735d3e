// The derivative of a gradient along a direction: records of the tape take duals behind their
// values, a product whose factor is 0 changes with the factor, and what is taken from a gradient is
// taken from its dual, too.
// args: --passes=differentiate
kiln.kernel @second storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {duals = array<i64: 1, -1>} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %none = arith.constant 0 : i64
  %0 = kiln.global 0 component 0[%c0] : <f32>
  %1 = kiln.update %0 : <f32> {
  ^bb0(%old: f32):
    kiln.yield %zero : f32
  }
  %2 = kiln.tape.push 7, %one x 8 : <i8>
  %3 = kiln.tape.slot %2[%none] x 8 at 4 : <i8>, <f32>
  kiln.store %1, %3 : <f32>
  %4 = kiln.tape.top %one x 8 : <i8>
  %5 = kiln.tape.slot %4[%none] x 8 at 4 : <i8>, <f32>
  %6 = kiln.load %5 : <f32>
  kiln.tape.pop %one x 8
  %7 = math.sqrt %6 : f32
  %8 = arith.mulf %6, %7 : f32
  %9 = arith.cmpf oeq, %6, %zero : f32
  %10 = arith.select %9, %zero, %8 {strong_zero} : f32
  kiln.store %10, %0 : <f32>
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @second storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {companions = array<i64: 1, -1>, forward} {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %c1_i64 = arith.constant 1 : i64
// CHECK-NEXT:     %c0_i64 = arith.constant 0 : i64
// CHECK-NEXT:     %0 = kiln.global 0 component 0[%c0_i32] : <f32>
// CHECK-NEXT:     %1 = kiln.update %0 : <f32> {
// CHECK-NEXT:     ^bb0(%arg0: f32):
// CHECK-NEXT:       kiln.yield %cst : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %2 = kiln.global 1 component 0[%c0_i32] : <f32>
// CHECK-NEXT:     %3 = kiln.update %2 : <f32> {
// CHECK-NEXT:     ^bb0(%arg0: f32):
// CHECK-NEXT:       kiln.yield %cst : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %4 = kiln.tape.push 7, %c1_i64 x 16 : <i8>
// CHECK-NEXT:     %5 = kiln.tape.slot %4[%c0_i64] x 16 at 4 : <i8>, <f32>
// CHECK-NEXT:     kiln.store %1, %5 : <f32>
// CHECK-NEXT:     %6 = kiln.tape.slot %4[%c0_i64] x 16 at 12 : <i8>, <f32>
// CHECK-NEXT:     kiln.store %3, %6 : <f32>
// CHECK-NEXT:     %7 = kiln.tape.top %c1_i64 x 16 : <i8>
// CHECK-NEXT:     %8 = kiln.tape.slot %7[%c0_i64] x 16 at 4 : <i8>, <f32>
// CHECK-NEXT:     %9 = kiln.load %8 : <f32>
// CHECK-NEXT:     %10 = kiln.tape.slot %7[%c0_i64] x 16 at 12 : <i8>, <f32>
// CHECK-NEXT:     %11 = kiln.load %10 : <f32>
// CHECK-NEXT:     kiln.tape.pop %c1_i64 x 16
// CHECK-NEXT:     %12 = math.sqrt %9 : f32
// CHECK-NEXT:     %cst_0 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:     %13 = arith.mulf %11, %cst_0 : f32
// CHECK-NEXT:     %14 = arith.divf %13, %12 : f32
// CHECK-NEXT:     %cst_1 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %15 = arith.cmpf oeq, %11, %cst_1 : f32
// CHECK-NEXT:     %cst_2 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %16 = arith.select %15, %cst_2, %14 {strong_zero} : f32
// CHECK-NEXT:     %17 = arith.mulf %9, %12 : f32
// CHECK-NEXT:     %18 = arith.mulf %11, %12 : f32
// CHECK-NEXT:     %19 = arith.mulf %16, %9 : f32
// CHECK-NEXT:     %20 = arith.addf %18, %19 : f32
// CHECK-NEXT:     %21 = arith.cmpf oeq, %9, %cst : f32
// CHECK-NEXT:     %22 = arith.select %21, %cst, %17 {strong_zero} : f32
// CHECK-NEXT:     %cst_3 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %23 = arith.cmpf oeq, %11, %cst_3 : f32
// CHECK-NEXT:     %24 = arith.andi %21, %23 : i1
// CHECK-NEXT:     %cst_4 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     %25 = arith.select %24, %cst_4, %20 : f32
// CHECK-NEXT:     kiln.store %22, %0 : <f32>
// CHECK-NEXT:     %26 = kiln.global 1 component 0[%c0_i32] : <f32>
// CHECK-NEXT:     kiln.store %25, %26 : <f32>
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
