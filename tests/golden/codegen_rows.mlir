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
// CHECK-NEXT:   %9 = urem i64 %1, 126
// CHECK-NEXT:   %10 = call i64 @llvm.smax.i64(i64 -386, i64 0)
// CHECK-NEXT:   %11 = call i64 @llvm.smin.i64(i64 %9, i64 %10)
// CHECK-NEXT:   %12 = and i64 %11, -512
// CHECK-NEXT:   %13 = sub i64 %1, %9
// CHECK-NEXT:   %14 = add i64 %13, %12
// CHECK-NEXT:   %15 = urem i64 %2, 126
// CHECK-NEXT:   %16 = call i64 @llvm.smax.i64(i64 -386, i64 0)
// CHECK-NEXT:   %17 = call i64 @llvm.smin.i64(i64 %15, i64 %16)
// CHECK-NEXT:   %18 = and i64 %17, -512
// CHECK-NEXT:   %19 = sub i64 %2, %15
// CHECK-NEXT:   %20 = add i64 %19, %18
// CHECK-NEXT:   %21 = icmp slt i64 %14, %20
// CHECK-NEXT:   br i1 %21, label %left, label %return
// CHECK-NEXT: left:                                             ; preds = %some
// CHECK-NEXT:   %22 = udiv i64 %14, 126
// CHECK-NEXT:   %23 = urem i64 %14, 126
// CHECK-NEXT:   br label %rows
// CHECK-NEXT: rows:                                             ; preds = %row_end, %left
// CHECK-NEXT:   %24 = phi i64 [ %14, %left ], [ %53, %row_end ]
// CHECK-NEXT:   %25 = phi i64 [ %23, %left ], [ 0, %row_end ]
// CHECK-NEXT:   %26 = phi i64 [ %22, %left ], [ %54, %row_end ]
// CHECK-NEXT:   %27 = add nsw i64 %26, 1
// CHECK-NEXT:   %28 = trunc i64 %27 to i32
// CHECK-NEXT:   %29 = sub nsw i64 126, %25
// CHECK-NEXT:   %30 = sub i64 %20, %24
// CHECK-NEXT:   %31 = call i64 @llvm.smin.i64(i64 %30, i64 %29)
// CHECK-NEXT:   %32 = add nsw i64 %25, 1
// CHECK-NEXT:   %33 = add nsw i64 %32, %31
// CHECK-NEXT:   %34 = shl i64 %33, 31
// CHECK-NEXT:   %35 = ashr i64 %34, 31
// CHECK-NEXT:   %36 = shl i64 %32, 31
// CHECK-NEXT:   %37 = ashr i64 %36, 31
// CHECK-NEXT:   br label %row
// CHECK-NEXT: rows_end:                                         ; preds = %row_end
// CHECK-NEXT:   br label %return
// CHECK-NEXT: row:                                              ; preds = %next, %rows
// CHECK-NEXT:   %38 = phi i64 [ %37, %rows ], [ %52, %next ]
// CHECK-NEXT:   %39 = icmp slt i64 %38, %35
// CHECK-NEXT:   br i1 %39, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %40 = trunc i64 %38 to i32
// CHECK-NEXT:   %41 = add i32 %40, 1
// CHECK-NEXT:   %42 = mul nsw i64 %27, 512
// CHECK-NEXT:   %43 = mul nsw i64 %38, 4
// CHECK-NEXT:   %44 = add nsw i64 %42, %43
// CHECK-NEXT:   %45 = getelementptr inbounds i8, ptr %7, i64 %44
// CHECK-NEXT:   %46 = getelementptr inbounds i8, ptr %45, i64 4
// CHECK-NEXT:   %47 = load float, ptr %46, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %48 = mul nsw i64 %27, 512
// CHECK-NEXT:   %49 = mul nsw i64 %38, 4
// CHECK-NEXT:   %50 = add nsw i64 %48, %49
// CHECK-NEXT:   %51 = getelementptr inbounds i8, ptr %7, i64 %50
// CHECK-NEXT:   store float %47, ptr %51, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   br label %next
// CHECK-NEXT: next:                                             ; preds = %iteration
// CHECK-NEXT:   %52 = add nsw i64 %38, 1
// CHECK-NEXT:   br label %row, !llvm.loop !8
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   %53 = add nsw i64 %24, %31
// CHECK-NEXT:   %54 = add nsw i64 %26, 1
// CHECK-NEXT:   %55 = icmp slt i64 %53, %20
// CHECK-NEXT:   br i1 %55, label %rows, label %rows_end
// CHECK-NEXT: return:                                           ; preds = %rows_end, %some, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smax.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smin.i64(i64, i64) #1
// CHECK-NEXT: attributes #0 = { nounwind "kiln-ragged-rows" }
// CHECK-NEXT: attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
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
