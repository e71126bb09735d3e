// A box is walked by rows: one counted loop inside, an odometer outside. Terms of an
// address that do not depend on the row's index come from the odometer.
// args: --llvm
kiln.kernel @rows storages [#kiln.dense<slot = 0, axes = 2, digits = [0, 0, 512, 1, 128, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "rows" bounds {
    %l = arith.constant 1 : i64
    %u = arith.constant 127 : i64
    kiln.yield %l, %u, %l, %u : i64, i64, i64, i64
  } body (%i : i32, %j : i32) {
    %one = arith.constant 1 : i32
    %right = arith.addi %j, %one : i32
    %p = kiln.global 0 component 0 [%i, %right] : !kiln.addr<f32>
    %v = kiln.load %p : !kiln.addr<f32>
    %q = kiln.global 0 component 0 [%i, %j] : !kiln.addr<f32>
    kiln.store %v, %q : !kiln.addr<f32>
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
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %5, i64 0
// CHECK-NEXT:   %7 = load ptr, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %8 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %8, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %9 = udiv i64 %1, 126
// CHECK-NEXT:   %10 = urem i64 %1, 126
// CHECK-NEXT:   br label %rows
// CHECK-NEXT: rows:                                             ; preds = %row_end, %some
// CHECK-NEXT:   %11 = phi i64 [ %1, %some ], [ %36, %row_end ]
// CHECK-NEXT:   %12 = phi i64 [ %10, %some ], [ 0, %row_end ]
// CHECK-NEXT:   %13 = phi i64 [ %9, %some ], [ %37, %row_end ]
// CHECK-NEXT:   %14 = add nsw i64 %13, 1
// CHECK-NEXT:   %15 = trunc i64 %14 to i32
// CHECK-NEXT:   %16 = sub nsw i64 126, %12
// CHECK-NEXT:   %17 = sub i64 %2, %11
// CHECK-NEXT:   %18 = call i64 @llvm.smin.i64(i64 %17, i64 %16)
// CHECK-NEXT:   %19 = add nsw i64 %12, 1
// CHECK-NEXT:   %20 = add nsw i64 %19, %18
// CHECK-NEXT:   br label %row
// CHECK-NEXT: rows_end:                                         ; preds = %row_end
// CHECK-NEXT:   br label %return
// CHECK-NEXT: row:                                              ; preds = %next, %rows
// CHECK-NEXT:   %21 = phi i64 [ %19, %rows ], [ %35, %next ]
// CHECK-NEXT:   %22 = icmp slt i64 %21, %20
// CHECK-NEXT:   br i1 %22, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %23 = trunc i64 %21 to i32
// CHECK-NEXT:   %24 = add i32 %23, 1
// CHECK-NEXT:   %25 = mul nsw i64 %14, 512
// CHECK-NEXT:   %26 = mul nsw i64 %21, 4
// CHECK-NEXT:   %27 = add nsw i64 %25, %26
// CHECK-NEXT:   %28 = getelementptr inbounds i8, ptr %7, i64 %27
// CHECK-NEXT:   %29 = getelementptr inbounds i8, ptr %28, i64 4
// CHECK-NEXT:   %30 = load float, ptr %29, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %31 = mul nsw i64 %14, 512
// CHECK-NEXT:   %32 = mul nsw i64 %21, 4
// CHECK-NEXT:   %33 = add nsw i64 %31, %32
// CHECK-NEXT:   %34 = getelementptr inbounds i8, ptr %7, i64 %33
// CHECK-NEXT:   store float %30, ptr %34, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   br label %next
// CHECK-NEXT: next:                                             ; preds = %iteration
// CHECK-NEXT:   %35 = add nsw i64 %21, 1
// CHECK-NEXT:   br label %row, !llvm.loop !9
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   %36 = add nsw i64 %11, %18
// CHECK-NEXT:   %37 = add nsw i64 %13, 1
// CHECK-NEXT:   %38 = icmp slt i64 %36, %2
// CHECK-NEXT:   br i1 %38, label %rows, label %rows_end
// CHECK-NEXT: return:                                           ; preds = %rows_end, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smin.i64(i64, i64) #1
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = !{!2}
// CHECK-NEXT: !2 = distinct !{!2, !3}
// CHECK-NEXT: !3 = distinct !{!3}
// CHECK-NEXT: !4 = !{!5, !6, !7, !8}
// CHECK-NEXT: !5 = distinct !{!5, !3}
// CHECK-NEXT: !6 = distinct !{!6, !3}
// CHECK-NEXT: !7 = distinct !{!7, !3}
// CHECK-NEXT: !8 = distinct !{!8, !3}
// CHECK-NEXT: !9 = distinct !{!9, !10}
// CHECK-NEXT: !10 = !{!"llvm.loop.mustprogress"}
