// An if yields what a cell holds behind it, if the code there is sure to load that.
// args: --passes=cse,carry-branches
kiln.kernel @stored_by_one_block storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  %i = kiln.argument 2 : i32
  %c = kiln.argument 3 : i1
  %x = kiln.global 0 component 0 [%i] : <i32>
  kiln.if %c {
    kiln.store %i, %x : <i32>
    kiln.yield
  } else {
    kiln.yield
  }
  %a = kiln.load %x : <i32>
  kiln.result 0, %a : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @stored_by_one_block storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %0 = kiln.argument 2 : i32
// CHECK-NEXT:     %1 = kiln.argument 3 : i1
// CHECK-NEXT:     %2 = kiln.global 0 component 0[%0] : <i32>
// CHECK-NEXT:     %3 = kiln.load %2 : <i32>
// CHECK-NEXT:     %4 = kiln.if %1 -> i32 {
// CHECK-NEXT:       kiln.store %0, %2 : <i32>
// CHECK-NEXT:       kiln.yield %0 : i32
// CHECK-NEXT:     } else {
// CHECK-NEXT:       kiln.yield %3 : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.result 0, %4 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Nothing is loaded before an if whose blocks both store. Values of a nested if are those of the
// outer one. Results that the if had stay.
kiln.kernel @stored_by_both storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  %i = kiln.argument 2 : i32
  %c = kiln.argument 3 : i1
  %x = kiln.global 0 component 0 [%i] : <i32>
  %r = kiln.if %c -> i32 {
    kiln.store %i, %x : <i32>
    kiln.if %c {
      %one = arith.constant 1 : i32
      kiln.store %one, %x : <i32>
      kiln.yield
    } else {
      kiln.yield
    }
    %b = kiln.load %x : <i32>
    kiln.yield %b : i32
  } else {
    %two = arith.constant 2 : i32
    kiln.store %two, %x : <i32>
    kiln.yield %i : i32
  }
  %a = kiln.load %x : <i32>
  kiln.result 0, %a : i32
  kiln.result 1, %r : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @stored_by_both storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %0 = kiln.argument 2 : i32
// CHECK-NEXT:     %1 = kiln.argument 3 : i1
// CHECK-NEXT:     %2 = kiln.global 0 component 0[%0] : <i32>
// CHECK-NEXT:     %3:2 = kiln.if %1 -> (i32, i32) {
// CHECK-NEXT:       kiln.store %0, %2 : <i32>
// CHECK-NEXT:       %4 = kiln.if %1 -> i32 {
// CHECK-NEXT:         %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:         kiln.store %c1_i32, %2 : <i32>
// CHECK-NEXT:         kiln.yield %c1_i32 : i32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.yield %0 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.yield %4, %4 : i32, i32
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %c2_i32 = arith.constant 2 : i32
// CHECK-NEXT:       kiln.store %c2_i32, %2 : <i32>
// CHECK-NEXT:       kiln.yield %0, %c2_i32 : i32, i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.result 0, %3#1 : i32
// CHECK-NEXT:     kiln.result 1, %3#0 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// What may be written between them stays in memory, and so does what the code may not reach.
kiln.kernel @stays storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
  %i = kiln.argument 4 : i32
  %c = kiln.argument 5 : i1
  %x = kiln.global 0 component 0 [%i] : <i32>
  %alias = kiln.global 1 component 0 [%i] : <i32>
  kiln.if %c {
    kiln.store %i, %x : <i32>
    kiln.yield
  } else {
    kiln.yield
  }
  kiln.store %i, %alias : <i32>
  %a = kiln.load %x : <i32>
  kiln.result 0, %a : i32
  kiln.if %c {
    kiln.store %i, %x : <i32>
    kiln.yield
  } else {
    kiln.return
  }
  %b = kiln.load %x : <i32>
  kiln.result 1, %b : i32
  kiln.if %c {
    kiln.store %i, %x : <i32>
    kiln.yield
  } else {
    kiln.yield
  }
  kiln.if %c {
    kiln.return
  } else {
    kiln.yield
  }
  %d = kiln.load %x : <i32>
  kiln.result 2, %d : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @stays storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [i32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
// CHECK-NEXT:     %0 = kiln.argument 4 : i32
// CHECK-NEXT:     %1 = kiln.argument 5 : i1
// CHECK-NEXT:     %2 = kiln.global 0 component 0[%0] : <i32>
// CHECK-NEXT:     %3 = kiln.global 1 component 0[%0] : <i32>
// CHECK-NEXT:     kiln.if %1 {
// CHECK-NEXT:       kiln.store %0, %2 : <i32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.store %0, %3 : <i32>
// CHECK-NEXT:     %4 = kiln.load %2 : <i32>
// CHECK-NEXT:     kiln.result 0, %4 : i32
// CHECK-NEXT:     kiln.if %1 {
// CHECK-NEXT:       kiln.store %0, %2 : <i32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     } else {
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     %5 = kiln.load %2 : <i32>
// CHECK-NEXT:     kiln.result 1, %5 : i32
// CHECK-NEXT:     kiln.if %1 {
// CHECK-NEXT:       kiln.store %0, %2 : <i32>
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.if %1 {
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     %6 = kiln.load %2 : <i32>
// CHECK-NEXT:     kiln.result 2, %6 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
