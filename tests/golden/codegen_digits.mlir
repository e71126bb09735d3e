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
// CHECK-NEXT:   %14 = add nsw i64 %2, 0
// CHECK-NEXT:   %15 = add nsw i64 %1, 0
// CHECK-NEXT:   br label %row
// CHECK-NEXT: row:                                              ; preds = %next, %some
// CHECK-NEXT:   %16 = phi i64 [ %15, %some ], [ %19, %next ]
// CHECK-NEXT:   %17 = icmp slt i64 %16, %14
// CHECK-NEXT:   br i1 %17, label %iteration, label %row_end
// CHECK-NEXT: iteration:                                        ; preds = %row
// CHECK-NEXT:   %18 = trunc i64 %16 to i32
// CHECK-NEXT:   br label %row1
// CHECK-NEXT: next:                                             ; preds = %row_end4
// CHECK-NEXT:   %19 = add nsw i64 %16, 1
// CHECK-NEXT:   br label %row, !llvm.loop !1
// CHECK-NEXT: row_end:                                          ; preds = %row
// CHECK-NEXT:   br label %return
// CHECK-NEXT: row1:                                             ; preds = %next3, %iteration
// CHECK-NEXT:   %20 = phi i64 [ 0, %iteration ], [ %29, %next3 ]
// CHECK-NEXT:   %21 = icmp slt i64 %20, 8
// CHECK-NEXT:   br i1 %21, label %iteration2, label %row_end4
// CHECK-NEXT: iteration2:                                       ; preds = %row1
// CHECK-NEXT:   %22 = trunc i64 %20 to i32
// CHECK-NEXT:   %23 = mul i32 %18, 8
// CHECK-NEXT:   %24 = add i32 %23, %22
// CHECK-NEXT:   %25 = mul nsw i64 %20, 4
// CHECK-NEXT:   %26 = mul nsw i64 %16, 32
// CHECK-NEXT:   %27 = add nsw i64 %25, %26
// CHECK-NEXT:   %28 = getelementptr inbounds i8, ptr %9, i64 %27
// CHECK-NEXT:   store i32 %24, ptr %28, align 4, !alias.scope !3, !noalias !6
// CHECK-NEXT:   br label %next3
// CHECK-NEXT: next3:                                            ; preds = %iteration2
// CHECK-NEXT:   %29 = add nsw i64 %20, 1
// CHECK-NEXT:   br label %row1, !llvm.loop !11
// CHECK-NEXT: row_end4:                                         ; preds = %row1
// CHECK-NEXT:   br label %next
// CHECK-NEXT: return:                                           ; preds = %row_end, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
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
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = distinct !{!1, !2}
// CHECK-NEXT: !2 = !{!"llvm.loop.mustprogress"}
// CHECK-NEXT: !3 = !{!4}
// CHECK-NEXT: !4 = distinct !{!4, !5}
// CHECK-NEXT: !5 = distinct !{!5}
// CHECK-NEXT: !6 = !{!7, !8, !9, !10}
// CHECK-NEXT: !7 = distinct !{!7, !5}
// CHECK-NEXT: !8 = distinct !{!8, !5}
// CHECK-NEXT: !9 = distinct !{!9, !5}
// CHECK-NEXT: !10 = distinct !{!10, !5}
// CHECK-NEXT: !11 = distinct !{!11, !2}
