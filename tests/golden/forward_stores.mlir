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

// -----
// A call that touches no memory of its own forgets only what it is given by reference; one that
// does forgets all but locals.
kiln.kernel @known storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.function 0 (%a : i32, %at : !kiln.addr<i32>) -> (i32) {
    kiln.store %a, %at : <i32>
    %b = kiln.load %at : <i32>
    kiln.return %b : i32
  }
  kiln.function 1 (%i : i32) {
    %x = kiln.global 0 component 0 [%i] : <i32>
    kiln.store %i, %x : <i32>
    kiln.return
  }
  kiln.function 2 () {
    %one = arith.constant 1 : i32
    kiln.call 1(%one) : (i32) -> ()
    kiln.call 2() : () -> ()
    kiln.return
  }
  %i = kiln.argument 2 : i32
  %x = kiln.global 0 component 0 [%i] : <i32>
  %given = kiln.local : <i32>
  %kept = kiln.local : <i32>
  kiln.store %i, %x : <i32>
  kiln.store %i, %given : <i32>
  kiln.store %i, %kept : <i32>
  %r = kiln.call 0(%i, %given) : (i32, !kiln.addr<i32>) -> i32
  %a = kiln.load %x : <i32>
  kiln.result 0, %a : i32
  %b = kiln.load %given : <i32>
  kiln.result 1, %b : i32
  %c = kiln.load %kept : <i32>
  kiln.result 2, %c : i32
  kiln.call 2() : () -> ()
  %d = kiln.load %x : <i32>
  kiln.result 3, %d : i32
  %e = kiln.load %kept : <i32>
  kiln.result 4, %e : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @known storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.function 0 (%arg0 : i32, %arg1 : !kiln.addr<i32>) -> i32 {
// CHECK-NEXT:       kiln.store %arg0, %arg1 : <i32>
// CHECK-NEXT:       kiln.return %arg0 : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.function 1 (%arg0 : i32) {
// CHECK-NEXT:       %7 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       kiln.store %arg0, %7 : <i32>
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.function 2 () {
// CHECK-NEXT:       %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:       kiln.call 1(%c1_i32) : (i32) -> ()
// CHECK-NEXT:       kiln.call 2() : () -> ()
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     %0 = kiln.argument 2 : i32
// CHECK-NEXT:     %1 = kiln.global 0 component 0[%0] : <i32>
// CHECK-NEXT:     %2 = kiln.local : <i32>
// CHECK-NEXT:     %3 = kiln.local : <i32>
// CHECK-NEXT:     kiln.store %0, %1 : <i32>
// CHECK-NEXT:     kiln.store %0, %2 : <i32>
// CHECK-NEXT:     kiln.store %0, %3 : <i32>
// CHECK-NEXT:     %4 = kiln.call 0(%0, %2) : (i32, !kiln.addr<i32>) -> i32
// CHECK-NEXT:     kiln.result 0, %0 : i32
// CHECK-NEXT:     %5 = kiln.load %2 : <i32>
// CHECK-NEXT:     kiln.result 1, %5 : i32
// CHECK-NEXT:     kiln.result 2, %0 : i32
// CHECK-NEXT:     kiln.call 2() : () -> ()
// CHECK-NEXT:     %6 = kiln.load %1 : <i32>
// CHECK-NEXT:     kiln.result 3, %6 : i32
// CHECK-NEXT:     kiln.result 4, %0 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
