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
// CHECK-NEXT:   %14 = udiv i64 %1, 8
// CHECK-NEXT:   %15 = urem i64 %1, 8
// CHECK-NEXT:   br label %rows
// CHECK-NEXT: rows:                                             ; preds = %row_end, %some
// CHECK-NEXT:   %16 = phi i64 [ %1, %some ], [ %36, %row_end ]
// CHECK-NEXT:   %17 = phi i64 [ %15, %some ], [ 0, %row_end ]
// CHECK-NEXT:   %18 = phi i64 [ %14, %some ], [ %38, %row_end ]
// CHECK-NEXT:   %19 = add nsw i64 %18, 0
// CHECK-NEXT:   %20 = trunc i64 %19 to i32
// CHECK-NEXT:   %21 = sub nsw i64 8, %17
// CHECK-NEXT:   %22 = sub i64 %2, %16
// CHECK-NEXT:   %23 = call i64 @llvm.smin.i64(i64 %22, i64 %21)
// CHECK-NEXT:   %24 = add nsw i64 %17, 0
// CHECK-NEXT:   %25 = add nsw i64 %24, %23
// CHECK-NEXT:   br label %row
// CHECK-NEXT: rows_end:                                         ; preds = %row_end
// CHECK-NEXT:   br label %return
// CHECK-NEXT: row:                                              ; preds = %next, %rows
// CHECK-NEXT:   %26 = phi i64 [ %24, %rows ], [ %35, %next ]
// CHECK-NEXT:   %27 = icmp slt i64 %26, %25
// CHECK-NEXT:   br i1 %27, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %28 = trunc i64 %26 to i32
// CHECK-NEXT:   %29 = mul i32 %20, 8
// CHECK-NEXT:   %30 = add i32 %29, %28
// CHECK-NEXT:   %31 = mul nsw i64 %26, 4
// CHECK-NEXT:   %32 = mul nsw i64 %19, 32
// CHECK-NEXT:   %33 = add nsw i64 %31, %32
// CHECK-NEXT:   %34 = getelementptr inbounds i8, ptr %9, i64 %33
// CHECK-NEXT:   store i32 %30, ptr %34, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   br label %next
// CHECK-NEXT: next:                                             ; preds = %iteration
// CHECK-NEXT:   %35 = add nsw i64 %26, 1
// CHECK-NEXT:   br label %row, !llvm.loop !8
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   %36 = add nsw i64 %16, %23
// CHECK-NEXT:   %37 = add nsw i64 %18, 1
// CHECK-NEXT:   %38 = select i1 true, i64 %37, i64 %18
// CHECK-NEXT:   %39 = icmp slt i64 %36, %2
// CHECK-NEXT:   br i1 %39, label %rows, label %rows_end
// CHECK-NEXT: return:                                           ; preds = %rows_end, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
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
// CHECK-NEXT:   %10 = mul i64 %9, 8
// CHECK-NEXT:   store i64 0, ptr %1, align 8
// CHECK-NEXT:   %11 = getelementptr inbounds i64, ptr %1, i64 1
// CHECK-NEXT:   store i64 %10, ptr %11, align 8
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
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
