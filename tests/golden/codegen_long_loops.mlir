// Code looks whether the launch has failed: in loops around loops of many iterations, and in loops
// without an end. It does not look around loops of few or unknown iterations, in innermost loops,
// and in loops of which LLVM may tell the number of iterations.
// args: --llvm
kiln.kernel @long_loops storages [] results [i32] {
  kiln.task.serial "task_0" {
    %n = kiln.argument 0 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %many = arith.constant 100 : i32
    %sum = kiln.for %i = %zero to %n : i32 carry (%s = %zero : i32) {
      %inner = kiln.for %j = %zero to %n : i32 carry (%u = %s : i32) {
        %more = kiln.for %k = %zero to %many : i32 carry (%v = %u : i32) {
          %v1 = arith.muli %v, %n : i32
          kiln.continue %v1 : i32
        }
        kiln.continue %more : i32
      }
      kiln.continue %inner : i32
    }
    %counted = kiln.loop carry (%a = %sum : i32) {
      %done = arith.cmpi eq, %a, %zero : i32
      kiln.if %done {
        kiln.break %a : i32
      }
      %b = arith.subi %a, %one : i32
      kiln.continue %b : i32
    }
    %never = arith.cmpi eq, %n, %one : i32
    %r = kiln.loop carry (%a = %counted : i32) {
      kiln.if %never {
        kiln.break %a : i32
      }
      %b = arith.muli %a, %n : i32
      kiln.continue %b : i32
    }
    kiln.result 0, %r : i32
    kiln.return
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
// CHECK-NEXT:   %7 = load i32, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %0, i64 40
// CHECK-NEXT:   %9 = load ptr, ptr %8, align 8, !invariant.load !0
// CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %0, i64 8
// CHECK-NEXT:   %11 = load ptr, ptr %10, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   br label %for
// CHECK-NEXT: for:                                              ; preds = %next, %start
// CHECK-NEXT:   %12 = phi i32 [ 0, %start ], [ %16, %next ]
// CHECK-NEXT:   %13 = phi i32 [ 0, %start ], [ %15, %next ]
// CHECK-NEXT:   %14 = icmp slt i32 %12, %7
// CHECK-NEXT:   br i1 %14, label %body, label %end
// CHECK-NEXT: body:                                             ; preds = %for
// CHECK-NEXT:   br label %for1
// CHECK-NEXT: next:                                             ; preds = %end4
// CHECK-NEXT:   %15 = phi i32 [ %24, %end4 ]
// CHECK-NEXT:   %16 = add nsw i32 %12, 1
// CHECK-NEXT:   br label %for, !llvm.loop !1
// CHECK-NEXT: end:                                              ; preds = %for
// CHECK-NEXT:   %17 = phi i32 [ %13, %for ]
// CHECK-NEXT:   br label %loop
// CHECK-NEXT: for1:                                             ; preds = %passed, %body
// CHECK-NEXT:   %18 = phi i32 [ 0, %body ], [ %32, %passed ]
// CHECK-NEXT:   %19 = phi i32 [ %13, %body ], [ %21, %passed ]
// CHECK-NEXT:   %20 = icmp slt i32 %18, %7
// CHECK-NEXT:   br i1 %20, label %body2, label %end4
// CHECK-NEXT: body2:                                            ; preds = %for1
// CHECK-NEXT:   br label %for5
// CHECK-NEXT: next3:                                            ; preds = %end8
// CHECK-NEXT:   %21 = phi i32 [ %31, %end8 ]
// CHECK-NEXT:   %22 = load volatile i32, ptr %9, align 4, !alias.scope !3, !noalias !6
// CHECK-NEXT:   %23 = icmp eq i32 %22, 0
// CHECK-NEXT:   br i1 %23, label %passed, label %fail
// CHECK-NEXT: end4:                                             ; preds = %for1
// CHECK-NEXT:   %24 = phi i32 [ %19, %for1 ]
// CHECK-NEXT:   br label %next
// CHECK-NEXT: for5:                                             ; preds = %next7, %body2
// CHECK-NEXT:   %25 = phi i32 [ 0, %body2 ], [ %30, %next7 ]
// CHECK-NEXT:   %26 = phi i32 [ %19, %body2 ], [ %29, %next7 ]
// CHECK-NEXT:   %27 = icmp slt i32 %25, 100
// CHECK-NEXT:   br i1 %27, label %body6, label %end8
// CHECK-NEXT: body6:                                            ; preds = %for5
// CHECK-NEXT:   %28 = mul i32 %26, %7
// CHECK-NEXT:   br label %next7
// CHECK-NEXT: next7:                                            ; preds = %body6
// CHECK-NEXT:   %29 = phi i32 [ %28, %body6 ]
// CHECK-NEXT:   %30 = add nsw i32 %25, 1
// CHECK-NEXT:   br label %for5, !llvm.loop !9
// CHECK-NEXT: end8:                                             ; preds = %for5
// CHECK-NEXT:   %31 = phi i32 [ %26, %for5 ]
// CHECK-NEXT:   br label %next3
// CHECK-NEXT: fail:                                             ; preds = %next3
// CHECK-NEXT:   br label %return
// CHECK-NEXT: passed:                                           ; preds = %next3
// CHECK-NEXT:   %32 = add nsw i32 %18, 1
// CHECK-NEXT:   br label %for1, !llvm.loop !10
// CHECK-NEXT: loop:                                             ; preds = %merge, %end
// CHECK-NEXT:   %33 = phi i32 [ %17, %end ], [ %37, %merge ]
// CHECK-NEXT:   %34 = icmp eq i32 %33, 0
// CHECK-NEXT:   br i1 %34, label %then, label %merge
// CHECK-NEXT: end9:                                             ; preds = %then
// CHECK-NEXT:   %35 = phi i32 [ %33, %then ]
// CHECK-NEXT:   %36 = icmp eq i32 %7, 1
// CHECK-NEXT:   br label %loop10
// CHECK-NEXT: merge:                                            ; preds = %loop
// CHECK-NEXT:   %37 = sub i32 %33, 1
// CHECK-NEXT:   br label %loop
// CHECK-NEXT: then:                                             ; preds = %loop
// CHECK-NEXT:   br label %end9
// CHECK-NEXT: loop10:                                           ; preds = %merge14, %end9
// CHECK-NEXT:   %38 = phi i32 [ %35, %end9 ], [ %44, %merge14 ]
// CHECK-NEXT:   %39 = load volatile i32, ptr %9, align 4, !alias.scope !3, !noalias !6
// CHECK-NEXT:   %40 = icmp eq i32 %39, 0
// CHECK-NEXT:   br i1 %40, label %passed13, label %fail12
// CHECK-NEXT: end11:                                            ; preds = %then15
// CHECK-NEXT:   %41 = phi i32 [ %38, %then15 ]
// CHECK-NEXT:   %42 = getelementptr inbounds i64, ptr %11, i64 0
// CHECK-NEXT:   %43 = zext i32 %41 to i64
// CHECK-NEXT:   store i64 %43, ptr %42, align 8, !alias.scope !11, !noalias !12
// CHECK-NEXT:   br label %return
// CHECK-NEXT: fail12:                                           ; preds = %loop10
// CHECK-NEXT:   br label %return
// CHECK-NEXT: passed13:                                         ; preds = %loop10
// CHECK-NEXT:   br i1 %36, label %then15, label %merge14
// CHECK-NEXT: merge14:                                          ; preds = %passed13
// CHECK-NEXT:   %44 = mul i32 %38, %7
// CHECK-NEXT:   br label %loop10
// CHECK-NEXT: then15:                                           ; preds = %passed13
// CHECK-NEXT:   br label %end11
// CHECK-NEXT: return:                                           ; preds = %end11, %fail12, %fail
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = distinct !{!1, !2}
// CHECK-NEXT: !2 = !{!"llvm.loop.mustprogress"}
// CHECK-NEXT: !3 = !{!4}
// CHECK-NEXT: !4 = distinct !{!4, !5}
// CHECK-NEXT: !5 = distinct !{!5}
// CHECK-NEXT: !6 = !{!7, !8}
// CHECK-NEXT: !7 = distinct !{!7, !5}
// CHECK-NEXT: !8 = distinct !{!8, !5}
// CHECK-NEXT: !9 = distinct !{!9, !2}
// CHECK-NEXT: !10 = distinct !{!10, !2}
// CHECK-NEXT: !11 = !{!8}
// CHECK-NEXT: !12 = !{!7, !4}
