// Loops over the digits of a blocked field compute addresses without divisions.
// args: --llvm
kiln.kernel @digits storages [#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 32, 0, 8, 4], offset = [], types = [i32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "digits" bounds {
    %z = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    %b = arith.constant 8 : i64
    kiln.yield %z, %n, %z, %b : i64, i64, i64, i64
  } body (%hi : i32, %lo : i32) {
    %eight = arith.constant 8 : i32
    %h = arith.muli %hi, %eight : i32
    %i = arith.addi %h, %lo : i32
    %p = kiln.global 0 component 0 [%i] : !kiln.addr<i32>
    kiln.store %i, %p : !kiln.addr<i32>
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
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %5, i64 8
// CHECK-NEXT:   %7 = load i64, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %5, i64 0
// CHECK-NEXT:   %9 = load ptr, ptr %8, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %10 = sub i64 %7, 0
// CHECK-NEXT:   %11 = icmp sgt i64 %10, 0
// CHECK-NEXT:   %12 = select i1 %11, i64 %10, i64 0
// CHECK-NEXT:   %13 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %13, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %14 = sub i64 %12, 512
// CHECK-NEXT:   %15 = call i64 @llvm.smax.i64(i64 %14, i64 0)
// CHECK-NEXT:   %16 = call i64 @llvm.smin.i64(i64 %1, i64 %15)
// CHECK-NEXT:   %17 = and i64 %16, -512
// CHECK-NEXT:   %18 = sub i64 %1, %1
// CHECK-NEXT:   %19 = add i64 %18, %17
// CHECK-NEXT:   %20 = icmp eq i64 %1, %12
// CHECK-NEXT:   %21 = select i1 %20, i64 %1, i64 %19
// CHECK-NEXT:   %22 = sub i64 %12, 512
// CHECK-NEXT:   %23 = call i64 @llvm.smax.i64(i64 %22, i64 0)
// CHECK-NEXT:   %24 = call i64 @llvm.smin.i64(i64 %2, i64 %23)
// CHECK-NEXT:   %25 = and i64 %24, -512
// CHECK-NEXT:   %26 = sub i64 %2, %2
// CHECK-NEXT:   %27 = add i64 %26, %25
// CHECK-NEXT:   %28 = icmp eq i64 %2, %12
// CHECK-NEXT:   %29 = select i1 %28, i64 %2, i64 %27
// CHECK-NEXT:   %30 = icmp slt i64 %21, %29
// CHECK-NEXT:   br i1 %30, label %left, label %return
// CHECK-NEXT: left:                                             ; preds = %some
// CHECK-NEXT:   %31 = add nsw i64 %29, 0
// CHECK-NEXT:   %32 = add nsw i64 %21, 0
// CHECK-NEXT:   %33 = shl i64 %31, 31
// CHECK-NEXT:   %34 = ashr i64 %33, 31
// CHECK-NEXT:   %35 = shl i64 %32, 31
// CHECK-NEXT:   %36 = ashr i64 %35, 31
// CHECK-NEXT:   br label %row
// CHECK-NEXT: row:                                              ; preds = %next, %left
// CHECK-NEXT:   %37 = phi i64 [ %36, %left ], [ %40, %next ]
// CHECK-NEXT:   %38 = icmp slt i64 %37, %34
// CHECK-NEXT:   br i1 %38, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %39 = trunc i64 %37 to i32
// CHECK-NEXT:   br label %row1
// CHECK-NEXT: next:                                             ; preds = %row_end4
// CHECK-NEXT:   %40 = add nsw i64 %37, 1
// CHECK-NEXT:   br label %row, !llvm.loop !1
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   br label %return
// CHECK-NEXT: row1:                                             ; preds = %next3, %iteration
// CHECK-NEXT:   %41 = phi i64 [ 0, %iteration ], [ %50, %next3 ]
// CHECK-NEXT:   %42 = icmp slt i64 %41, 8
// CHECK-NEXT:   br i1 %42, label %iteration2, label %row_end4
// CHECK-NEXT: iteration2:                                       ; preds = %row1
// CHECK-NEXT:   %43 = trunc i64 %41 to i32
// CHECK-NEXT:   %44 = mul i32 %39, 8
// CHECK-NEXT:   %45 = add i32 %44, %43
// CHECK-NEXT:   %46 = mul nsw i64 %41, 4
// CHECK-NEXT:   %47 = mul nsw i64 %37, 32
// CHECK-NEXT:   %48 = add nsw i64 %46, %47
// CHECK-NEXT:   %49 = getelementptr inbounds i8, ptr %9, i64 %48
// CHECK-NEXT:   store i32 %45, ptr %49, align 4, !alias.scope !3, !noalias !6
// CHECK-NEXT:   br label %next3
// CHECK-NEXT: next3:                                            ; preds = %iteration2
// CHECK-NEXT:   %50 = add nsw i64 %41, 1
// CHECK-NEXT:   br label %row1, !llvm.loop !10
// CHECK-NEXT: row_end4:                                         ; preds = %row1
// CHECK-NEXT:   br label %next
// CHECK-NEXT: return:                                           ; preds = %row_end, %some, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smax.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smin.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_0_bounds(ptr readonly %0, ptr %1) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %3 = load ptr, ptr %2, align 8, !invariant.load !0
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %3, i64 8
// CHECK-NEXT:   %5 = load i64, ptr %4, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %6 = sub i64 %5, 0
// CHECK-NEXT:   %7 = icmp sgt i64 %6, 0
// CHECK-NEXT:   %8 = select i1 %7, i64 %6, i64 0
// CHECK-NEXT:   %9 = mul i64 1, %8
// CHECK-NEXT:   store i64 0, ptr %1, align 8
// CHECK-NEXT:   %10 = getelementptr inbounds i64, ptr %1, i64 1
// CHECK-NEXT:   store i64 %9, ptr %10, align 8
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = distinct !{!1, !2}
// CHECK-NEXT: !2 = !{!"llvm.loop.mustprogress"}
// CHECK-NEXT: !3 = !{!4}
// CHECK-NEXT: !4 = distinct !{!4, !5}
// CHECK-NEXT: !5 = distinct !{!5}
// CHECK-NEXT: !6 = !{!7, !8, !9}
// CHECK-NEXT: !7 = distinct !{!7, !5}
// CHECK-NEXT: !8 = distinct !{!8, !5}
// CHECK-NEXT: !9 = distinct !{!9, !5}
// CHECK-NEXT: !10 = distinct !{!10, !2}
