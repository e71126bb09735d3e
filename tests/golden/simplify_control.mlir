// What is carried but never changes, or is never looked at; loops that never run, or in vain.
// args: --passes=simplify-control
kiln.kernel @loops storages [] results [i32] {
  %zero = arith.constant 0 : i32
  %n = kiln.argument 0 : i32
  %a, %b, %c = kiln.for %i = %zero to %n : i32 carry (%same = %n : i32, %dead = %zero : i32, %sum = %zero : i32) {
    %next = arith.addi %i, %i : i32
    %more = arith.addi %sum, %same : i32
    %stop = arith.cmpi eq, %more, %n : i32
    kiln.if %stop {
      kiln.break %same, %next, %more : i32, i32, i32
    }
    kiln.continue %same, %next, %more : i32, i32, i32
  }
  %d = kiln.for %i = %zero to %n : i32 carry (%x = %n : i32) {
    kiln.continue %i : i32
  }
  %e = kiln.for %i = %zero to %zero : i32 carry (%x = %a : i32) {
    kiln.continue %i : i32
  }
  %f = kiln.for %i = %zero to %n : i32 carry (%x = %n : i32) {
    %g = kiln.for %j = %zero to %i : i32 carry (%y = %x : i32) {
      %even = arith.cmpi eq, %y, %n : i32
      kiln.if %even {
        kiln.break %j : i32
      }
      kiln.continue %y : i32
    }
    kiln.continue %g : i32
  }
  kiln.for %i = %zero to %n : i32 {
    %first = arith.cmpi eq, %i, %zero : i32
    kiln.if %first {
      kiln.result 1, %i : i32
      kiln.yield
    }
    kiln.continue
  }
  kiln.result 0, %c : i32
  kiln.result 1, %e : i32
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @loops storages [] results [i32] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.for %arg0 = %c0_i32 to %0 : i32 carry (%arg1 = %c0_i32 : i32) {
// CHECK-NEXT:       %2 = arith.addi %arg1, %0 : i32
// CHECK-NEXT:       %3 = arith.cmpi eq, %2, %0 : i32
// CHECK-NEXT:       kiln.if %3 {
// CHECK-NEXT:         kiln.break %2 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue %2 : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.for %arg0 = %c0_i32 to %0 : i32 {
// CHECK-NEXT:       %2 = arith.cmpi eq, %arg0, %c0_i32 : i32
// CHECK-NEXT:       kiln.if %2 {
// CHECK-NEXT:         kiln.result 1, %arg0 : i32
// CHECK-NEXT:         kiln.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.result 0, %1 : i32
// CHECK-NEXT:     kiln.result 1, %0 : i32
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// A choice among values; an if that is not needed; one whose way is known.
kiln.kernel @ifs storages [] results [i32] {
  %true = arith.constant true
  %a = kiln.argument 0 : i32
  %b = kiln.argument 1 : i32
  %c = arith.cmpi slt, %a, %b : i32
  %min, %same = kiln.if %c -> (i32, i32) {
    kiln.yield %a, %b : i32, i32
  } else {
    kiln.yield %b, %b : i32, i32
  }
  %unused = kiln.if %c -> i32 {
    kiln.result 1, %a : i32
    kiln.yield %a : i32
  } else {
    kiln.yield %b : i32
  }
  %known = kiln.if %true -> i32 {
    %d = arith.addi %min, %same : i32
    kiln.yield %d : i32
  } else {
    kiln.yield %a : i32
  }
  kiln.result 0, %known : i32
  kiln.loop {
    kiln.if %true {
      kiln.break
    }
    kiln.result 2, %a : i32
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @ifs storages [] results [i32] {
// CHECK-NEXT:     %0 = kiln.argument 0 : i32
// CHECK-NEXT:     %1 = kiln.argument 1 : i32
// CHECK-NEXT:     %2 = arith.cmpi slt, %0, %1 : i32
// CHECK-NEXT:     %3 = arith.select %2, %0, %1 : i32
// CHECK-NEXT:     kiln.if %2 {
// CHECK-NEXT:       kiln.result 1, %0 : i32
// CHECK-NEXT:       kiln.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %4 = arith.addi %3, %1 : i32
// CHECK-NEXT:     kiln.result 0, %4 : i32
// CHECK-NEXT:     kiln.loop {
// CHECK-NEXT:       kiln.break
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
