// A sum over a loop with continue and break: two carried values, none left in memory.
// args: --passes=promote-locals,simplify-control
kiln.kernel @sum storages [] results [i32] {
  %zero = arith.constant 0 : i32
  %n = kiln.argument 0 : i32
  %sum = kiln.local : <i32>
  kiln.store %zero, %sum : <i32>
  kiln.for %i = %zero to %n : i32 {
    %skip = kiln.argument 1 : i32
    %is = arith.cmpi eq, %i, %skip : i32
    kiln.if %is {
      kiln.continue
    }
    %old = kiln.load %sum : <i32>
    %new = arith.addi %old, %i : i32
    kiln.store %new, %sum : <i32>
    %big = arith.cmpi sgt, %new, %n : i32
    kiln.if %big {
      kiln.break
    }
    kiln.continue
  }
  %result = kiln.load %sum : <i32>
  kiln.result 0, %result : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @sum storages [] results [i32] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.for %arg0 = %c0_i32 to %0 : i32 carry (%arg1 = %c0_i32 : i32) {
// CHECK-NEXT:       %2 = kiln.argument 1 : i32
// CHECK-NEXT:       %3 = arith.cmpi eq, %arg0, %2 : i32
// CHECK-NEXT:       kiln.if %3 {
// CHECK-NEXT:         kiln.continue %arg1 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %4 = arith.addi %arg1, %arg0 : i32
// CHECK-NEXT:       %5 = arith.cmpi sgt, %4, %0 : i32
// CHECK-NEXT:       kiln.if %5 {
// CHECK-NEXT:         kiln.break %4 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue %4 : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.result 0, %1 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A while loop whose condition is a local; a branch that stores on one side only.
kiln.kernel @collatz storages [] results [i32] {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %n = kiln.argument 0 : i32
  %x = kiln.local : <i32>
  kiln.store %n, %x : <i32>
  kiln.loop {
    %a = kiln.load %x : <i32>
    %done = arith.cmpi eq, %a, %one : i32
    kiln.if %done {
      kiln.break
    }
    %odd = arith.trunci %a : i32 to i1
    kiln.if %odd {
      %b = arith.muli %a, %n : i32
      kiln.store %b, %x : <i32>
      kiln.yield
    }
    %c = kiln.load %x : <i32>
    %d = arith.addi %c, %one : i32
    kiln.store %d, %x : <i32>
    kiln.continue
  }
  %r = kiln.load %x : <i32>
  kiln.result 0, %r : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @collatz storages [] results [i32] {
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.loop carry (%arg0 = %0 : i32) {
// CHECK-NEXT:       %2 = arith.cmpi eq, %arg0, %c1_i32 : i32
// CHECK-NEXT:       kiln.if %2 {
// CHECK-NEXT:         kiln.break %arg0 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %3 = arith.trunci %arg0 : i32 to i1
// CHECK-NEXT:       %4 = kiln.if %3 -> i32 {
// CHECK-NEXT:         %6 = arith.muli %arg0, %0 : i32
// CHECK-NEXT:         kiln.yield %6 : i32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         kiln.yield %arg0 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %5 = arith.addi %4, %c1_i32 : i32
// CHECK-NEXT:       kiln.continue %5 : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.result 0, %1 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Locals of an iteration are promoted; one that parallel iterations store is not.
kiln.kernel @scopes storages [] results [] {
  %zero = arith.constant 0 : i32
  %n = kiln.argument 0 : i32
  %shared = kiln.local : <i32>
  kiln.store %zero, %shared : <i32>
  %read = kiln.local : <i32>
  kiln.store %n, %read : <i32>
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 {
    %own = kiln.local : <i32>
    kiln.store %i, %own : <i32>
    %a = kiln.load %own : <i32>
    %b = kiln.load %read : <i32>
    %c = arith.addi %a, %b : i32
    kiln.store %c, %shared : <i32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @scopes storages [] results [] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.local : <i32>
// CHECK-NEXT:     kiln.store %c0_i32, %1 : <i32>
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %2 = arith.addi %arg0, %0 : i32
// CHECK-NEXT:       kiln.store %2, %1 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
