// A function gets the context and the thread; several results are a struct. With atomics, in code
// that runs alone, it is another.
// args: --llvm
kiln.kernel @functions storages [#kiln.ndarray<slot = 0, axes = 1, types = [i32], soa = false, clamp = false, alias = 0, read_only = false>] results [] {
  kiln.function 0 (%i : i32, %at : !kiln.addr<i32>) -> (i32, i1) {
    %old = kiln.atomic addi %i, %at : <i32>
    %no = arith.constant false
    kiln.return %old, %no : i32, i1
  }
  kiln.function 1 (%c : i1) {
    kiln.assert %c, 7 (%c) : (i1)
    kiln.return
  }
  kiln.task.serial "task_0" {
    %i = kiln.argument 2 : i32
    %x = kiln.global 0 component 0 [%i] : <i32>
    %r:2 = kiln.call 0(%i, %x) : (i32, !kiln.addr<i32>) -> (i32, i1)
    kiln.call 1(%r#1) : (i1) -> ()
    kiln.return
  }
  kiln.task.range_for "task_1" bounds {
    %l = arith.constant 0 : i64
    %u = arith.constant 9 : i64
    kiln.yield %l, %u : i64, i64
  } body (%i : i32) {
    %x = kiln.global 0 component 0 [%i] : <i32>
    %r:2 = kiln.call 0(%i, %x) : (i32, !kiln.addr<i32>) -> (i32, i1)
    kiln.continue
  }
  kiln.return
}

// CHECK: ; ModuleID = 'kernel'
// CHECK-NEXT: source_filename = "kernel"
// CHECK-NEXT: target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
// CHECK-NEXT: target triple = "x86_64-unknown-linux-gnu"
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_0(ptr readonly %0, i64 %1, i64 %2, i32 %3) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %5 = load ptr, ptr %4, align 8, !invariant.load !0
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %5, i64 16
// CHECK-NEXT:   %7 = load i32, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %5, i64 0
// CHECK-NEXT:   %9 = load ptr, ptr %8, align 8, !invariant.load !0
// CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %0, i64 40
// CHECK-NEXT:   %11 = load ptr, ptr %10, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %12 = sext i32 %7 to i64
// CHECK-NEXT:   %13 = mul nsw i64 %12, 4
// CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %9, i64 %13
// CHECK-NEXT:   %15 = call { i32, i1 } @function_0_alone(ptr %0, ptr null, i64 0, i32 %7, ptr %14)
// CHECK-NEXT:   %16 = extractvalue { i32, i1 } %15, 0
// CHECK-NEXT:   %17 = extractvalue { i32, i1 } %15, 1
// CHECK-NEXT:   call void @function_1(ptr %0, ptr null, i64 0, i1 %17)
// CHECK-NEXT:   %18 = load volatile i32, ptr %11, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %19 = icmp eq i32 %18, 0
// CHECK-NEXT:   br i1 %19, label %passed, label %fail
// CHECK-NEXT: fail:                                             ; preds = %start
// CHECK-NEXT:   br label %return
// CHECK-NEXT: passed:                                           ; preds = %start
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %passed, %fail
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define internal { i32, i1 } @function_0_alone(ptr readonly %0, ptr %1, i64 %2, i32 %3, ptr %4) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %5 = load i32, ptr %4, align 4
// CHECK-NEXT:   %6 = add i32 %5, %3
// CHECK-NEXT:   store i32 %6, ptr %4, align 4
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %start
// CHECK-NEXT:   %7 = phi i32 [ %5, %start ]
// CHECK-NEXT:   %8 = phi i1 [ false, %start ]
// CHECK-NEXT:   %9 = insertvalue { i32, i1 } poison, i32 %7, 0
// CHECK-NEXT:   %10 = insertvalue { i32, i1 } %9, i1 %8, 1
// CHECK-NEXT:   ret { i32, i1 } %10
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define internal void @function_1(ptr readonly %0, ptr %1, i64 %2, i1 %3) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %4 = alloca [2 x i64], align 8
// CHECK-NEXT:   %5 = getelementptr inbounds i8, ptr %0, i64 24
// CHECK-NEXT:   %6 = load ptr, ptr %5, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   br i1 %3, label %passed, label %fail
// CHECK-NEXT: fail:                                             ; preds = %start
// CHECK-NEXT:   %7 = getelementptr inbounds i64, ptr %4, i64 0
// CHECK-NEXT:   %8 = zext i1 %3 to i64
// CHECK-NEXT:   store i64 %8, ptr %7, align 8
// CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %6, i64 8
// CHECK-NEXT:   %10 = load ptr, ptr %9, align 8
// CHECK-NEXT:   call void %10(ptr %0, i32 7, i32 1, ptr %4) #1
// CHECK-NEXT:   br label %return
// CHECK-NEXT: passed:                                           ; preds = %start
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %passed, %fail
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_1(ptr readonly %0, i64 %1, i64 %2, i32 %3) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %5 = load ptr, ptr %4, align 8, !invariant.load !0
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %5, i64 0
// CHECK-NEXT:   %7 = load ptr, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %8 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %8, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %9 = add nsw i64 %2, 0
// CHECK-NEXT:   %10 = add nsw i64 %1, 0
// CHECK-NEXT:   %11 = shl i64 %9, 31
// CHECK-NEXT:   %12 = ashr i64 %11, 31
// CHECK-NEXT:   %13 = shl i64 %10, 31
// CHECK-NEXT:   %14 = ashr i64 %13, 31
// CHECK-NEXT:   br label %row
// CHECK-NEXT: row:                                              ; preds = %next, %some
// CHECK-NEXT:   %15 = phi i64 [ %14, %some ], [ %23, %next ]
// CHECK-NEXT:   %16 = icmp slt i64 %15, %12
// CHECK-NEXT:   br i1 %16, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %17 = trunc i64 %15 to i32
// CHECK-NEXT:   %18 = mul nsw i64 %15, 4
// CHECK-NEXT:   %19 = getelementptr inbounds i8, ptr %7, i64 %18
// CHECK-NEXT:   %20 = call { i32, i1 } @function_0(ptr %0, ptr null, i64 0, i32 %17, ptr %19)
// CHECK-NEXT:   %21 = extractvalue { i32, i1 } %20, 0
// CHECK-NEXT:   %22 = extractvalue { i32, i1 } %20, 1
// CHECK-NEXT:   br label %next
// CHECK-NEXT: next:                                             ; preds = %iteration
// CHECK-NEXT:   %23 = add nsw i64 %15, 1
// CHECK-NEXT:   br label %row, !llvm.loop !8
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %row_end, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define internal { i32, i1 } @function_0(ptr readonly %0, ptr %1, i64 %2, i32 %3, ptr %4) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %5 = atomicrmw add ptr %4, i32 %3 monotonic, align 4
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %start
// CHECK-NEXT:   %6 = phi i32 [ %5, %start ]
// CHECK-NEXT:   %7 = phi i1 [ false, %start ]
// CHECK-NEXT:   %8 = insertvalue { i32, i1 } poison, i32 %6, 0
// CHECK-NEXT:   %9 = insertvalue { i32, i1 } %8, i1 %7, 1
// CHECK-NEXT:   ret { i32, i1 } %9
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_1_alone(ptr readonly %0, i64 %1, i64 %2, i32 %3) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %5 = load ptr, ptr %4, align 8, !invariant.load !0
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %5, i64 0
// CHECK-NEXT:   %7 = load ptr, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %8 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %8, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %9 = add nsw i64 %2, 0
// CHECK-NEXT:   %10 = add nsw i64 %1, 0
// CHECK-NEXT:   %11 = shl i64 %9, 31
// CHECK-NEXT:   %12 = ashr i64 %11, 31
// CHECK-NEXT:   %13 = shl i64 %10, 31
// CHECK-NEXT:   %14 = ashr i64 %13, 31
// CHECK-NEXT:   br label %row
// CHECK-NEXT: row:                                              ; preds = %next, %some
// CHECK-NEXT:   %15 = phi i64 [ %14, %some ], [ %23, %next ]
// CHECK-NEXT:   %16 = icmp slt i64 %15, %12
// CHECK-NEXT:   br i1 %16, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %17 = trunc i64 %15 to i32
// CHECK-NEXT:   %18 = mul nsw i64 %15, 4
// CHECK-NEXT:   %19 = getelementptr inbounds i8, ptr %7, i64 %18
// CHECK-NEXT:   %20 = call { i32, i1 } @function_0_alone(ptr %0, ptr null, i64 0, i32 %17, ptr %19)
// CHECK-NEXT:   %21 = extractvalue { i32, i1 } %20, 0
// CHECK-NEXT:   %22 = extractvalue { i32, i1 } %20, 1
// CHECK-NEXT:   br label %next
// CHECK-NEXT: next:                                             ; preds = %iteration
// CHECK-NEXT:   %23 = add nsw i64 %15, 1
// CHECK-NEXT:   br label %row, !llvm.loop !10
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %row_end, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: attributes #1 = { cold nounwind }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = !{!2}
// CHECK-NEXT: !2 = distinct !{!2, !3}
// CHECK-NEXT: !3 = distinct !{!3}
// CHECK-NEXT: !4 = !{!5, !6, !7}
// CHECK-NEXT: !5 = distinct !{!5, !3}
// CHECK-NEXT: !6 = distinct !{!6, !3}
// CHECK-NEXT: !7 = distinct !{!7, !3}
// CHECK-NEXT: !8 = distinct !{!8, !9}
// CHECK-NEXT: !9 = !{!"llvm.loop.mustprogress"}
// CHECK-NEXT: !10 = distinct !{!10, !9}
