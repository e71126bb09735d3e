// A sum, an integer minimum and a float maximum in branches, and a maximum without one.
// args: --passes=reduction-form,canonicalize,cse
kiln.kernel @sums storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [f32, i32, f32, f32] {
  kiln.task.serial "kernel_0" {
    %c0 = arith.constant 0 : i32
    %n = kiln.argument 1 : i32
    %zero = arith.constant 0.0 : f32
    %most = arith.constant 2147483647 : i32
    %low = arith.constant -1.0e+30 : f32
    %r:4 = kiln.for %i = %c0 to %n : i32 carry (%sum = %zero : f32, %at = %most : i32, %max = %low : f32, %plain = %low : f32) {
      %x = kiln.global 0 component 0 [%i] : <f32>
      %v = kiln.load %x : <f32>
      %c = arith.cmpf ogt, %v, %zero : f32
      %b:3 = kiln.if %c -> (f32, i32, f32) {
        %s = arith.mulf %v, %v fastmath<reassoc,nsz> : f32
        %s1 = arith.addf %s, %sum fastmath<reassoc,nsz> : f32
        %s2 = arith.addf %s1, %v fastmath<reassoc,nsz> : f32
        %a = arith.minsi %at, %i : i32
        %m = arith.maxnumf %max, %v fastmath<reassoc,nsz> : f32
        kiln.yield %s2, %a, %m : f32, i32, f32
      } else {
        kiln.yield %sum, %at, %max : f32, i32, f32
      }
      %p = arith.maxnumf %plain, %v fastmath<reassoc,nsz> : f32
      kiln.continue %b#0, %b#1, %b#2, %p : f32, i32, f32, f32
    }
    kiln.result 0, %r#0 : f32
    kiln.result 1, %r#1 : i32
    kiln.result 2, %r#2 : f32
    kiln.result 3, %r#3 : f32
    kiln.return
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sums storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [f32, i32, f32, f32] {
// CHECK-NEXT:     kiln.task.serial "kernel_0" {
// CHECK-NEXT:       %cst = arith.constant 0xFF800000 : f32
// CHECK-NEXT:       %cst_0 = arith.constant 0x7FC00000 : f32
// CHECK-NEXT:       %cst_1 = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:       %cst_2 = arith.constant -1.000000e+30 : f32
// CHECK-NEXT:       %c2147483647_i32 = arith.constant 2147483647 : i32
// CHECK-NEXT:       %cst_3 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.argument 1 : i32
// CHECK-NEXT:       %1:4 = kiln.for %arg0 = %c0_i32 to %0 : i32 carry (%arg1 = %cst_3 : f32, %arg2 = %c2147483647_i32 : i32, %arg3 = %cst_2 : f32, %arg4 = %cst_2 : f32) {
// CHECK-NEXT:         %2 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:         %3 = kiln.load %2 : <f32>
// CHECK-NEXT:         %4 = arith.cmpf ogt, %3, %cst_3 : f32
// CHECK-NEXT:         %5:3 = kiln.if %4 -> (f32, i32, f32) {
// CHECK-NEXT:           %14 = arith.mulf %3, %3 fastmath<reassoc,nsz> : f32
// CHECK-NEXT:           %15 = arith.addf %14, %3 fastmath<reassoc,nsz> : f32
// CHECK-NEXT:           kiln.yield %15, %arg0, %3 : f32, i32, f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %cst_1, %c2147483647_i32, %cst_0 : f32, i32, f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %6 = arith.addf %arg1, %5#0 fastmath<reassoc,nsz> : f32
// CHECK-NEXT:         %7 = arith.minsi %arg2, %5#1 : i32
// CHECK-NEXT:         %8 = arith.cmpf uno, %5#2, %5#2 : f32
// CHECK-NEXT:         %9 = arith.select %8, %cst, %5#2 : f32
// CHECK-NEXT:         %10 = arith.maxnumf %arg3, %9 fastmath<reassoc,nnan,nsz> : f32
// CHECK-NEXT:         %11 = arith.cmpf uno, %3, %3 : f32
// CHECK-NEXT:         %12 = arith.select %11, %cst, %3 : f32
// CHECK-NEXT:         %13 = arith.maxnumf %arg4, %12 fastmath<reassoc,nnan,nsz> : f32
// CHECK-NEXT:         kiln.continue %6, %7, %10, %13 : f32, i32, f32, f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.result 0, %1#0 : f32
// CHECK-NEXT:       kiln.result 1, %1#1 : i32
// CHECK-NEXT:       kiln.result 2, %1#2 : f32
// CHECK-NEXT:       kiln.result 3, %1#3 : f32
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Left: without reassoc, a value that is used in between, a start that may be a NaN, a function.
kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [f32, i32, f32, f32] {
  kiln.task.serial "kernel_0" {
    %c0 = arith.constant 0 : i32
    %n = kiln.argument 1 : i32
    %zero = arith.constant 0.0 : f32
    %start = kiln.argument 2 : f32
    %r:3 = kiln.for %i = %c0 to %n : i32 carry (%sum = %zero : f32, %count = %c0 : i32, %max = %start : f32) {
      %x = kiln.global 0 component 0 [%i] : <f32>
      %v = kiln.load %x : <f32>
      %c = arith.cmpf ogt, %v, %zero : f32
      %b:2 = kiln.if %c -> (f32, i32) {
        %s = arith.addf %sum, %v : f32
        %one = arith.constant 1 : i32
        %t = arith.addi %count, %one : i32
        %y = kiln.global 0 component 0 [%count] : <f32>
        kiln.store %v, %y : <f32>
        kiln.yield %s, %t : f32, i32
      } else {
        kiln.yield %sum, %count : f32, i32
      }
      %m = arith.maxnumf %max, %v fastmath<reassoc,nsz> : f32
      kiln.continue %b#0, %b#1, %m : f32, i32, f32
    }
    %q = kiln.for %i = %c0 to %n : i32 carry (%sum = %zero : f32) {
      %x = kiln.global 0 component 0 [%i] : <f32>
      %v = kiln.load %x : <f32>
      %c = arith.cmpf ogt, %v, %zero : f32
      %b = kiln.if %c -> f32 {
        %e = math.exp %v : f32
        %s = arith.addf %sum, %e fastmath<reassoc,nsz> : f32
        kiln.yield %s : f32
      } else {
        kiln.yield %sum : f32
      }
      kiln.continue %b : f32
    }
    kiln.result 0, %r#0 : f32
    kiln.result 1, %r#1 : i32
    kiln.result 2, %r#2 : f32
    kiln.result 3, %q : f32
    kiln.return
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @not storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [f32, i32, f32, f32] {
// CHECK-NEXT:     kiln.task.serial "kernel_0" {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:       %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:       %0 = kiln.argument 1 : i32
// CHECK-NEXT:       %1 = kiln.argument 2 : f32
// CHECK-NEXT:       %2:3 = kiln.for %arg0 = %c0_i32 to %0 : i32 carry (%arg1 = %cst : f32, %arg2 = %c0_i32 : i32, %arg3 = %1 : f32) {
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:         %5 = kiln.load %4 : <f32>
// CHECK-NEXT:         %6 = arith.cmpf ogt, %5, %cst : f32
// CHECK-NEXT:         %7:2 = kiln.if %6 -> (f32, i32) {
// CHECK-NEXT:           %9 = arith.addf %arg1, %5 : f32
// CHECK-NEXT:           %10 = arith.addi %arg2, %c1_i32 : i32
// CHECK-NEXT:           %11 = kiln.global 0 component 0[%arg2] : <f32>
// CHECK-NEXT:           kiln.store %5, %11 : <f32>
// CHECK-NEXT:           kiln.yield %9, %10 : f32, i32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %arg1, %arg2 : f32, i32
// CHECK-NEXT:         }
// CHECK-NEXT:         %8 = arith.maxnumf %arg3, %5 fastmath<reassoc,nsz> : f32
// CHECK-NEXT:         kiln.continue %7#0, %7#1, %8 : f32, i32, f32
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = kiln.for %arg0 = %c0_i32 to %0 : i32 carry (%arg1 = %cst : f32) {
// CHECK-NEXT:         %4 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:         %5 = kiln.load %4 : <f32>
// CHECK-NEXT:         %6 = arith.cmpf ogt, %5, %cst : f32
// CHECK-NEXT:         %7 = kiln.if %6 -> f32 {
// CHECK-NEXT:           %8 = math.exp %5 : f32
// CHECK-NEXT:           %9 = arith.addf %arg1, %8 fastmath<reassoc,nsz> : f32
// CHECK-NEXT:           kiln.yield %9 : f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           kiln.yield %arg1 : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         kiln.continue %7 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.result 0, %2#0 : f32
// CHECK-NEXT:       kiln.result 1, %2#1 : i32
// CHECK-NEXT:       kiln.result 2, %2#2 : f32
// CHECK-NEXT:       kiln.result 3, %3 : f32
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
