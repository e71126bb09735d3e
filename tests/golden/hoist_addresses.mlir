// Addresses that several blocks compute leave the ifs that their indices do not depend on.
// args: --passes=hoist-addresses,cse
kiln.kernel @several storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32, f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  %i = kiln.argument 2 : i32
  %one = arith.constant 1 : i32
  %x = kiln.argument 3 : f32
  %c = arith.cmpi slt, %i, %one : i32
  kiln.if %c {
    %a = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %x, %a : <f32>
    kiln.if %c {
      %nested = kiln.global 0 component 1 [%i] : <f32>
      kiln.store %x, %nested : <f32>
      kiln.yield
    } else {
      kiln.yield
    }
    %j = arith.addi %i, %one : i32
    kiln.if %c {
      %inner = kiln.global 0 component 0 [%j] : <f32>
      kiln.store %x, %inner : <f32>
      kiln.yield
    } else {
      %other = kiln.global 0 component 0 [%j] : <f32>
      kiln.store %x, %other : <f32>
      kiln.yield
    }
    kiln.yield
  } else {
    %b = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %x, %b : <f32>
    %single = kiln.global 0 component 0 [%one] : <f32>
    kiln.store %x, %single : <f32>
    kiln.yield
  }
  %after = kiln.global 0 component 1 [%i] : <f32>
  %y = kiln.load %after : <f32>
  kiln.result 0, %y : f32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @several storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32, f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %0 = kiln.argument 2 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %1 = kiln.argument 3 : f32
// CHECK-NEXT:     %2 = arith.cmpi slt, %0, %c1_i32 : i32
// CHECK-NEXT:     %3 = kiln.global 0 component 0[%0] : <f32>
// CHECK-NEXT:     %4 = kiln.global 0 component 1[%0] : <f32>
// CHECK-NEXT:     kiln.if %2 {
// CHECK-NEXT:       kiln.store %1, %3 : <f32>
// CHECK-NEXT:       kiln.if %2 {
// CHECK-NEXT:         kiln.store %1, %4 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %6 = arith.addi %0, %c1_i32 : i32
// CHECK-NEXT:       %7 = kiln.global 0 component 0[%6] : <f32>
// CHECK-NEXT:       kiln.if %2 {
// CHECK-NEXT:         kiln.store %1, %7 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.store %1, %7 : <f32>
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } else {
// CHECK-NEXT:       kiln.store %1, %3 : <f32>
// CHECK-NEXT:       %6 = kiln.global 0 component 0[%c1_i32] : <f32>
// CHECK-NEXT:       kiln.store %1, %6 : <f32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %5 = kiln.load %4 : <f32>
// CHECK-NEXT:     kiln.result 0, %5 : f32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
