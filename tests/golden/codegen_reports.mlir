// Prints and failed asserts leave as (node, values) through the runtime's table; the
// failure ends the task. One thread needs no atomics.
// args: --llvm
kiln.kernel @reports storages [] results [i32] {
  kiln.task.serial "reports" {
    %x = kiln.argument 0 : i32
    %t = kiln.temporary 8 : !kiln.addr<i32>
    %old = kiln.atomic addi %x, %t : !kiln.addr<i32>
    kiln.print 7 (%old) : (i32)
    %z = arith.constant 0 : i32
    %ok = arith.cmpi sgt, %x, %z : i32
    kiln.assert %ok, 9 (%x) : (i32)
    kiln.result 0, %old : i32
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
// CHECK-NEXT:   %4 = alloca [2 x i64], align 8
// CHECK-NEXT:   %5 = alloca [2 x i64], align 8
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %7 = load ptr, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %7, i64 0
// CHECK-NEXT:   %9 = load i32, ptr %8, align 8, !invariant.load !0
// CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %0, i64 16
// CHECK-NEXT:   %11 = load ptr, ptr %10, align 8, !invariant.load !0
// CHECK-NEXT:   %12 = getelementptr inbounds i8, ptr %0, i64 24
// CHECK-NEXT:   %13 = load ptr, ptr %12, align 8, !invariant.load !0
// CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %0, i64 8
// CHECK-NEXT:   %15 = load ptr, ptr %14, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %16 = getelementptr inbounds i8, ptr %11, i64 8
// CHECK-NEXT:   %17 = load i32, ptr %16, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %18 = add i32 %17, %9
// CHECK-NEXT:   store i32 %18, ptr %16, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %19 = getelementptr inbounds i64, ptr %5, i64 0
// CHECK-NEXT:   %20 = zext i32 %17 to i64
// CHECK-NEXT:   store i64 %20, ptr %19, align 8
// CHECK-NEXT:   %21 = getelementptr inbounds i8, ptr %13, i64 0
// CHECK-NEXT:   %22 = load ptr, ptr %21, align 8
// CHECK-NEXT:   call void %22(ptr %0, i32 7, i32 1, ptr %5) #1
// CHECK-NEXT:   %23 = icmp sgt i32 %9, 0
// CHECK-NEXT:   br i1 %23, label %passed, label %fail
// CHECK-NEXT: fail:                                             ; preds = %start
// CHECK-NEXT:   %24 = getelementptr inbounds i64, ptr %4, i64 0
// CHECK-NEXT:   %25 = zext i32 %9 to i64
// CHECK-NEXT:   store i64 %25, ptr %24, align 8
// CHECK-NEXT:   %26 = getelementptr inbounds i8, ptr %13, i64 8
// CHECK-NEXT:   %27 = load ptr, ptr %26, align 8
// CHECK-NEXT:   call void %27(ptr %0, i32 9, i32 1, ptr %4) #1
// CHECK-NEXT:   br label %return
// CHECK-NEXT: passed:                                           ; preds = %start
// CHECK-NEXT:   %28 = getelementptr inbounds i64, ptr %15, i64 0
// CHECK-NEXT:   %29 = zext i32 %17 to i64
// CHECK-NEXT:   store i64 %29, ptr %28, align 8, !alias.scope !7, !noalias !8
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %passed, %fail
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: attributes #1 = { cold nounwind }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = !{!2}
// CHECK-NEXT: !2 = distinct !{!2, !3}
// CHECK-NEXT: !3 = distinct !{!3}
// CHECK-NEXT: !4 = !{!5, !6}
// CHECK-NEXT: !5 = distinct !{!5, !3}
// CHECK-NEXT: !6 = distinct !{!6, !3}
// CHECK-NEXT: !7 = !{!5}
// CHECK-NEXT: !8 = !{!2, !6}
