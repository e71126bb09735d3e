// Components of a field that lie apart: one base each, found in the argument slots; of an
// array of structs of arrays by arithmetic. No alias scope fits an access to any base.
// args: --llvm
kiln.kernel @k storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 8, 4], offset = [], types = [f32, f32, f32],
                components = [0, 0, 1, 0, 2, 0], bases = 3, base_strides = [], alias = 0,
                read_only = false>,
    #kiln.ndarray<slot = 3, axes = 1, types = [f32, f32, f32], soa = true, clamp = false, alias = 0,
                  read_only = false>] results [] {
  kiln.task.serial "task_0" {
    %i = kiln.argument 5 : i32
    %e = kiln.argument 6[%i] : i32
    %a = kiln.component 0 components 0, 3 at %e [%i] : <f32>
    %b = kiln.component 1 components 0, 3 at %e [%i] : <f32>
    %v = kiln.load %a : <f32>
    kiln.store %v, %b : <f32>
    kiln.result 0[%i], %v : f32
    kiln.return
  }
  kiln.return
}

// CHECK: ; ModuleID = 'kernel'
// CHECK-NEXT: source_filename = "kernel"
// CHECK-NEXT: target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
// CHECK-NEXT: target triple = "x86_64-unknown-linux-gnu"
// CHECK-NEXT: @0 = private constant [3 x i64] [i64 0, i64 1, i64 2]
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_0(ptr readonly %0, i64 %1, i64 %2, i32 %3) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %5 = load ptr, ptr %4, align 8, !invariant.load !0
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %5, i64 40
// CHECK-NEXT:   %7 = load i32, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %5, i64 32
// CHECK-NEXT:   %9 = load i64, ptr %8, align 8, !invariant.load !0
// CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %5, i64 24
// CHECK-NEXT:   %11 = load ptr, ptr %10, align 8, !invariant.load !0
// CHECK-NEXT:   %12 = getelementptr inbounds i8, ptr %0, i64 8
// CHECK-NEXT:   %13 = load ptr, ptr %12, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %14 = getelementptr inbounds i64, ptr %5, i64 6
// CHECK-NEXT:   %15 = sext i32 %7 to i64
// CHECK-NEXT:   %16 = getelementptr inbounds i64, ptr %14, i64 %15
// CHECK-NEXT:   %17 = load i32, ptr %16, align 8, !invariant.load !0
// CHECK-NEXT:   %18 = sext i32 %17 to i64
// CHECK-NEXT:   %19 = getelementptr inbounds i64, ptr @0, i64 %18
// CHECK-NEXT:   %20 = load i64, ptr %19, align 8
// CHECK-NEXT:   %21 = getelementptr inbounds i64, ptr %5, i64 %20
// CHECK-NEXT:   %22 = load ptr, ptr %21, align 8, !invariant.load !0
// CHECK-NEXT:   %23 = getelementptr inbounds i8, ptr %22, i64 0
// CHECK-NEXT:   %24 = sext i32 %7 to i64
// CHECK-NEXT:   %25 = mul nsw i64 %24, 4
// CHECK-NEXT:   %26 = getelementptr inbounds i8, ptr %23, i64 %25
// CHECK-NEXT:   %27 = sext i32 %17 to i64
// CHECK-NEXT:   %28 = add nsw i64 %27, 0
// CHECK-NEXT:   %29 = mul nsw i64 1, %9
// CHECK-NEXT:   %30 = mul nsw i64 %28, %29
// CHECK-NEXT:   %31 = sext i32 %7 to i64
// CHECK-NEXT:   %32 = add nsw i64 %31, %30
// CHECK-NEXT:   %33 = getelementptr inbounds float, ptr %11, i64 %32
// CHECK-NEXT:   %34 = load float, ptr %26, align 4
// CHECK-NEXT:   store float %34, ptr %33, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %35 = getelementptr inbounds i64, ptr %13, i64 0
// CHECK-NEXT:   %36 = sext i32 %7 to i64
// CHECK-NEXT:   %37 = getelementptr inbounds i64, ptr %35, i64 %36
// CHECK-NEXT:   %38 = bitcast float %34 to i32
// CHECK-NEXT:   %39 = zext i32 %38 to i64
// CHECK-NEXT:   store i64 %39, ptr %37, align 8, !alias.scope !11, !noalias !12
// CHECK-NEXT:   br label %return
// CHECK-NEXT: return:                                           ; preds = %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = !{!2}
// CHECK-NEXT: !2 = distinct !{!2, !3}
// CHECK-NEXT: !3 = distinct !{!3}
// CHECK-NEXT: !4 = !{!5, !6, !7, !8, !9, !10}
// CHECK-NEXT: !5 = distinct !{!5, !3}
// CHECK-NEXT: !6 = distinct !{!6, !3}
// CHECK-NEXT: !7 = distinct !{!7, !3}
// CHECK-NEXT: !8 = distinct !{!8, !3}
// CHECK-NEXT: !9 = distinct !{!9, !3}
// CHECK-NEXT: !10 = distinct !{!10, !3}
// CHECK-NEXT: !11 = !{!6}
// CHECK-NEXT: !12 = !{!5, !7, !8, !9, !10, !2}
