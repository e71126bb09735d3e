// What was stored or loaded is known until something may have overwritten it.
// args: --passes=cse,forward-stores
kiln.kernel @known storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  %i = kiln.argument 6 : i32
  %one = arith.constant 1 : i32
  %j = arith.addi %i, %one : i32
  %x = kiln.global 0 component 0 [%i] : <i32>
  %next = kiln.global 0 component 0 [%j] : <i32>
  %alias = kiln.global 1 component 0 [%i] : <i32>
  %other = kiln.global 2 component 0 [%i] : <i32>
  kiln.store %i, %x : <i32>
  kiln.store %j, %next : <i32>
  kiln.store %one, %other : <i32>
  %a = kiln.load %x : <i32>
  kiln.result 0, %a : i32
  kiln.store %a, %alias : <i32>
  %b = kiln.load %x : <i32>
  kiln.result 1, %b : i32
  %c = kiln.load %other : <i32>
  kiln.result 2, %c : i32
  kiln.for %k = %one to %i : i32 {
    %d = kiln.load %x : <i32>
    kiln.result 3, %d : i32
    %e = kiln.load %other : <i32>
    kiln.store %k, %other : <i32>
    kiln.result 4, %e : i32
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @known storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 4, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %0 = kiln.argument 6 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %1 = arith.addi %0, %c1_i32 : i32
// CHECK-NEXT:     %2 = kiln.global 0 component 0[%0] : <i32>
// CHECK-NEXT:     %3 = kiln.global 0 component 0[%1] : <i32>
// CHECK-NEXT:     %4 = kiln.global 1 component 0[%0] : <i32>
// CHECK-NEXT:     %5 = kiln.global 2 component 0[%0] : <i32>
// CHECK-NEXT:     kiln.store %0, %2 : <i32>
// CHECK-NEXT:     kiln.store %1, %3 : <i32>
// CHECK-NEXT:     kiln.store %c1_i32, %5 : <i32>
// CHECK-NEXT:     kiln.result 0, %0 : i32
// CHECK-NEXT:     kiln.store %0, %4 : <i32>
// CHECK-NEXT:     %6 = kiln.load %2 : <i32>
// CHECK-NEXT:     kiln.result 1, %6 : i32
// CHECK-NEXT:     kiln.result 2, %c1_i32 : i32
// CHECK-NEXT:     kiln.for %arg0 = %c1_i32 to %0 : i32 {
// CHECK-NEXT:       kiln.result 3, %6 : i32
// CHECK-NEXT:       %7 = kiln.load %5 : <i32>
// CHECK-NEXT:       kiln.store %arg0, %5 : <i32>
// CHECK-NEXT:       kiln.result 4, %7 : i32
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
