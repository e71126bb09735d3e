// Only this iteration's cell, through equal indices: plain. Neighbours: atomic.
// args: --passes=demote-atomics
kiln.kernel @own storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 64, 0, 16, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %radix = arith.constant 16 : i32
  %n = kiln.outer_extent 0 : i32
  %value = arith.constant 1.0 : f32
  kiln.parallel_for (%d, %e) = (%zero, %zero) to (%n, %radix) : i32 attributes {over = 0 : i64} {
    %h = arith.muli %d, %radix : i32
    %i = arith.addi %h, %e : i32
    %x = kiln.global 0 component 0 [%i] : <f32>
    %a = kiln.atomic addf %value, %x : <f32>
    %y = kiln.global 1 component 0 [%i] : <i32>
    %b = kiln.atomic addi %one, %y : <i32>
    %next = arith.addi %i, %one : i32
    %z = kiln.global 1 component 0 [%next] : <i32>
    %c = kiln.atomic addi %one, %z : <i32>
    kiln.continue
  }
  %first = kiln.global 1 component 0 [%zero] : <i32>
  %d = kiln.atomic maxsi %one, %first : <i32>
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @own storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 64, 0, 16, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %c16_i32 = arith.constant 16 : i32
// CHECK-NEXT:     %0 = kiln.outer_extent 0 : i32
// CHECK-NEXT:     %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     kiln.parallel_for (%arg0, %arg1) = (%c0_i32, %c0_i32) to (%0, %c16_i32) : i32 attributes {over = 0 : i64} {
// CHECK-NEXT:       %4 = arith.muli %arg0, %c16_i32 : i32
// CHECK-NEXT:       %5 = arith.addi %4, %arg1 : i32
// CHECK-NEXT:       %6 = kiln.global 0 component 0[%5] : <f32>
// CHECK-NEXT:       %7 = kiln.load %6 : <f32>
// CHECK-NEXT:       %8 = arith.addf %7, %cst : f32
// CHECK-NEXT:       kiln.store %8, %6 : <f32>
// CHECK-NEXT:       %9 = kiln.global 1 component 0[%5] : <i32>
// CHECK-NEXT:       %10 = kiln.atomic  addi %c1_i32, %9 : <i32>
// CHECK-NEXT:       %11 = arith.addi %5, %c1_i32 : i32
// CHECK-NEXT:       %12 = kiln.global 1 component 0[%11] : <i32>
// CHECK-NEXT:       %13 = kiln.atomic  addi %c1_i32, %12 : <i32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     %1 = kiln.global 1 component 0[%c0_i32] : <i32>
// CHECK-NEXT:     %2 = kiln.load %1 : <i32>
// CHECK-NEXT:     %3 = arith.maxsi %2, %c1_i32 : i32
// CHECK-NEXT:     kiln.store %3, %1 : <i32>
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Atomics in functions may meet other threads, but for those on their own locals.
kiln.kernel @atomics storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.function 0 (%i : i32, %at : !kiln.addr<i32>) {
    %x = kiln.global 0 component 0 [%i] : <i32>
    %own = kiln.local : <i32>
    kiln.store %i, %own : <i32>
    %a = kiln.atomic addi %i, %own : <i32>
    %b = kiln.atomic addi %i, %x : <i32>
    %c = kiln.atomic addi %i, %at : <i32>
    kiln.return
  }
  %zero = arith.constant 0 : i32
  %n = kiln.argument 2 : i32
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <i32>
    %own = kiln.local : <i32>
    kiln.store %i, %own : <i32>
    %a = kiln.atomic addi %i, %x : <i32>
    kiln.call 0(%i, %own) : (i32, !kiln.addr<i32>) -> ()
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @atomics storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     kiln.function 0 (%arg0 : i32, %arg1 : !kiln.addr<i32>) {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       %2 = kiln.local : <i32>
// CHECK-NEXT:       kiln.store %arg0, %2 : <i32>
// CHECK-NEXT:       %3 = kiln.load %2 : <i32>
// CHECK-NEXT:       %4 = arith.addi %3, %arg0 : i32
// CHECK-NEXT:       kiln.store %4, %2 : <i32>
// CHECK-NEXT:       %5 = kiln.atomic  addi %arg0, %1 : <i32>
// CHECK-NEXT:       %6 = kiln.atomic  addi %arg0, %arg1 : <i32>
// CHECK-NEXT:       kiln.return
// CHECK-NEXT:     }
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %0 = kiln.argument 2 : i32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <i32>
// CHECK-NEXT:       %2 = kiln.local : <i32>
// CHECK-NEXT:       kiln.store %arg0, %2 : <i32>
// CHECK-NEXT:       %3 = kiln.atomic  addi %arg0, %1 : <i32>
// CHECK-NEXT:       kiln.call 0(%arg0, %2) : (i32, !kiln.addr<i32>) -> ()
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Cells of one iteration in which a loop chooses: no other iteration has its first index. With the
// second one alone, which iterations share, the update stays atomic.
kiln.kernel @rows storages [
    #kiln.dense<slot = 0, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  %zero = arith.constant 0 : i32
  %n = arith.constant 250 : i32
  %x = arith.constant 1.0 : f32
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 {
    kiln.for %j = %zero to %n : i32 {
      %own = kiln.global 0 component 0 [%i, %j] : <f32>
      %a = kiln.atomic addf %x, %own : <f32>
      %shared = kiln.global 1 component 0 [%j, %j] : <f32>
      %b = kiln.atomic addf %x, %shared : <f32>
      kiln.continue
    }
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @rows storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>, #kiln.dense<slot = 2, axes = 2, digits = [0, 0, 1000, 1, 250, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c250_i32 = arith.constant 250 : i32
// CHECK-NEXT:     %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%c250_i32) : i32 {
// CHECK-NEXT:       kiln.for %arg1 = %c0_i32 to %c250_i32 : i32 {
// CHECK-NEXT:         %0 = kiln.global 0 component 0[%arg0, %arg1] : <f32>
// CHECK-NEXT:         %1 = kiln.load %0 : <f32>
// CHECK-NEXT:         %2 = arith.addf %1, %cst : f32
// CHECK-NEXT:         kiln.store %2, %0 : <f32>
// CHECK-NEXT:         %3 = kiln.global 1 component 0[%arg1, %arg1] : <f32>
// CHECK-NEXT:         %4 = kiln.atomic  addf %cst, %3 : <f32>
// CHECK-NEXT:         kiln.continue
// CHECK-NEXT:       }
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// -----
// Arguments that may be one array: the first update is of the iteration's own cell, if the arrays
// are apart. The second one has another iteration's cell anyway.
kiln.kernel @arrays storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = kiln.extent 0 axis 0 : i32
  %value = arith.constant 1.0 : f32
  kiln.parallel_for (%i) = (%zero) to (%n) : i32 {
    %x = kiln.global 0 component 0 [%i] : <f32>
    %a = kiln.atomic addf %value, %x : <f32>
    %flipped = arith.subi %n, %i : i32
    %y = kiln.global 1 component 0 [%flipped] : <f32>
    %b = kiln.atomic addf %value, %y : <f32>
    kiln.continue
  }
  kiln.return
}

// CHECK: module {
// CHECK-NEXT:   kiln.kernel @arrays storages [#kiln.ndarray<slot = 0, axes = 1, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>, #kiln.ndarray<slot = 2, axes = 1, types = [f32], soa = false, clamp = false, alias = 1, read_only = false>] results [] {
// CHECK-NEXT:     %c0_i32 = arith.constant 0 : i32
// CHECK-NEXT:     %c1_i32 = arith.constant 1 : i32
// CHECK-NEXT:     %0 = kiln.extent 0 axis 0 : i32
// CHECK-NEXT:     %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     kiln.parallel_for (%arg0) = (%c0_i32) to (%0) : i32 {
// CHECK-NEXT:       %1 = kiln.global 0 component 0[%arg0] : <f32>
// CHECK-NEXT:       %2 = kiln.atomic  addf %cst, %1 {apart = array<i64: 1>} : <f32>
// CHECK-NEXT:       %3 = arith.subi %0, %arg0 : i32
// CHECK-NEXT:       %4 = kiln.global 1 component 0[%3] : <f32>
// CHECK-NEXT:       %5 = kiln.atomic  addf %cst, %4 : <f32>
// CHECK-NEXT:       kiln.continue
// CHECK-NEXT:     }
// CHECK-NEXT:     kiln.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
