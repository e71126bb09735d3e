// A loop that lanes leave in different iterations, with a store under a branch: the loop runs while
// any lane is live, and the branch's side under its part of the mask.
// args: --passes=lanes --llvm
kiln.kernel @escape storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "escape_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %limit = arith.constant 4.0 : f32
    %start = arith.sitofp %i : i32 to f32
    %r:2 = kiln.loop carry (%x = %start : f32, %count = %zero : i32) {
      %inside = arith.cmpf olt, %x, %limit : f32
      kiln.if %inside {
        kiln.yield
      } else {
        kiln.break %x, %count : f32, i32
      }
      %y = arith.mulf %x, %x : f32
      %more = arith.addi %count, %one : i32
      kiln.continue %y, %more : f32, i32
    }
    %some = arith.cmpi sgt, %r#1, %zero : i32
    kiln.if %some {
      %c = kiln.global 0 component 0 [%i] : <f32>
      kiln.store %r#0, %c : <f32>
      kiln.yield
    }
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
// CHECK-NEXT:   %4 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %5 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %6 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %7 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %8 = alloca <8 x float>, align 32
// CHECK-NEXT:   %9 = alloca i32, align 4
// CHECK-NEXT:   %10 = alloca <8 x float>, align 32
// CHECK-NEXT:   %11 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %12 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %13 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %14 = alloca <8 x i32>, align 32
// CHECK-NEXT:   %15 = alloca <8 x float>, align 32
// CHECK-NEXT:   %16 = alloca i32, align 4
// CHECK-NEXT:   %17 = alloca <8 x float>, align 32
// CHECK-NEXT:   %18 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %19 = load ptr, ptr %18, align 8, !invariant.load !0
// CHECK-NEXT:   %20 = getelementptr inbounds i8, ptr %19, i64 8
// CHECK-NEXT:   %21 = load i64, ptr %20, align 8, !invariant.load !0
// CHECK-NEXT:   %22 = getelementptr inbounds i8, ptr %19, i64 0
// CHECK-NEXT:   %23 = load ptr, ptr %22, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %24 = sub i64 %21, 0
// CHECK-NEXT:   %25 = icmp sgt i64 %24, 0
// CHECK-NEXT:   %26 = select i1 %25, i64 %24, i64 0
// CHECK-NEXT:   %27 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %27, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %28 = sub i64 %26, 512
// CHECK-NEXT:   %29 = call i64 @llvm.smax.i64(i64 %28, i64 0)
// CHECK-NEXT:   %30 = call i64 @llvm.smin.i64(i64 %1, i64 %29)
// CHECK-NEXT:   %31 = and i64 %30, -512
// CHECK-NEXT:   %32 = sub i64 %1, %1
// CHECK-NEXT:   %33 = add i64 %32, %31
// CHECK-NEXT:   %34 = icmp eq i64 %1, %26
// CHECK-NEXT:   %35 = select i1 %34, i64 %1, i64 %33
// CHECK-NEXT:   %36 = sub i64 %26, 512
// CHECK-NEXT:   %37 = call i64 @llvm.smax.i64(i64 %36, i64 0)
// CHECK-NEXT:   %38 = call i64 @llvm.smin.i64(i64 %2, i64 %37)
// CHECK-NEXT:   %39 = and i64 %38, -512
// CHECK-NEXT:   %40 = sub i64 %2, %2
// CHECK-NEXT:   %41 = add i64 %40, %39
// CHECK-NEXT:   %42 = icmp eq i64 %2, %26
// CHECK-NEXT:   %43 = select i1 %42, i64 %2, i64 %41
// CHECK-NEXT:   %44 = icmp slt i64 %35, %43
// CHECK-NEXT:   br i1 %44, label %left, label %return
// CHECK-NEXT: left:                                             ; preds = %some
// CHECK-NEXT:   %45 = add nsw i64 %43, 0
// CHECK-NEXT:   %46 = add nsw i64 %35, 0
// CHECK-NEXT:   %47 = sub nsw i64 %45, %46
// CHECK-NEXT:   %48 = and i64 %47, -8
// CHECK-NEXT:   %49 = add nsw i64 %46, %48
// CHECK-NEXT:   br label %lanes
// CHECK-NEXT: lanes:                                            ; preds = %after, %left
// CHECK-NEXT:   %50 = phi i64 [ %46, %left ], [ %88, %after ]
// CHECK-NEXT:   %51 = icmp slt i64 %50, %49
// CHECK-NEXT:   br i1 %51, label %iterations, label %lanes_end
// CHECK-NEXT: iterations:                                       ; preds = %lanes
// CHECK-NEXT:   %52 = trunc i64 %50 to i32
// CHECK-NEXT:   %.splatinsert = insertelement <8 x i32> poison, i32 %52, i64 0
// CHECK-NEXT:   %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %53 = add <8 x i32> %.splat, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
// CHECK-NEXT:   %54 = sitofp <8 x i32> %53 to <8 x float>
// CHECK-NEXT:   store <8 x float> zeroinitializer, ptr %17, align 32
// CHECK-NEXT:   store <8 x float> %54, ptr %17, align 32
// CHECK-NEXT:   store i32 0, ptr %16, align 4
// CHECK-NEXT:   store i32 0, ptr %16, align 4
// CHECK-NEXT:   store <8 x float> zeroinitializer, ptr %15, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %14, align 32
// CHECK-NEXT:   store <8 x i32> <i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1, i32 -1>, ptr %13, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %12, align 32
// CHECK-NEXT:   br label %loop
// CHECK-NEXT: lanes_end:                                        ; preds = %lanes
// CHECK-NEXT:   br label %lanes3
// CHECK-NEXT: loop:                                             ; preds = %again, %iterations
// CHECK-NEXT:   %55 = load <8 x i32>, ptr %13, align 32
// CHECK-NEXT:   %56 = icmp slt <8 x i32> %55, zeroinitializer
// CHECK-NEXT:   br label %body
// CHECK-NEXT: body:                                             ; preds = %loop
// CHECK-NEXT:   %57 = load <8 x float>, ptr %17, align 32
// CHECK-NEXT:   %58 = load i32, ptr %16, align 4
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %12, align 32
// CHECK-NEXT:   %59 = fcmp olt <8 x float> %57, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
// CHECK-NEXT:   %60 = select <8 x i1> %56, <8 x i1> %59, <8 x i1> zeroinitializer
// CHECK-NEXT:   %61 = xor <8 x i1> %59, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %62 = select <8 x i1> %56, <8 x i1> %61, <8 x i1> zeroinitializer
// CHECK-NEXT:   %63 = load <8 x float>, ptr %15, align 32
// CHECK-NEXT:   %64 = select <8 x i1> %62, <8 x float> %57, <8 x float> %63
// CHECK-NEXT:   store <8 x float> %64, ptr %15, align 32
// CHECK-NEXT:   %65 = load <8 x i32>, ptr %14, align 32
// CHECK-NEXT:   %.splatinsert1 = insertelement <8 x i32> poison, i32 %58, i64 0
// CHECK-NEXT:   %.splat2 = shufflevector <8 x i32> %.splatinsert1, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %66 = select <8 x i1> %62, <8 x i32> %.splat2, <8 x i32> %65
// CHECK-NEXT:   store <8 x i32> %66, ptr %14, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %11, align 32
// CHECK-NEXT:   %67 = bitcast <8 x i1> %60 to i8
// CHECK-NEXT:   %68 = icmp ne i8 %67, 0
// CHECK-NEXT:   br i1 %68, label %rest, label %join
// CHECK-NEXT: end:                                              ; preds = %join
// CHECK-NEXT:   %69 = load <8 x float>, ptr %15, align 32
// CHECK-NEXT:   %70 = load <8 x i32>, ptr %14, align 32
// CHECK-NEXT:   %71 = icmp sgt <8 x i32> %70, zeroinitializer
// CHECK-NEXT:   %72 = xor <8 x i1> %71, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %73 = bitcast <8 x i1> %71 to i8
// CHECK-NEXT:   %74 = icmp ne i8 %73, 0
// CHECK-NEXT:   br i1 %74, label %then, label %after
// CHECK-NEXT: rest:                                             ; preds = %body
// CHECK-NEXT:   %75 = fmul <8 x float> %57, %57
// CHECK-NEXT:   %76 = add i32 %58, 1
// CHECK-NEXT:   store <8 x float> %75, ptr %17, align 32
// CHECK-NEXT:   store i32 %76, ptr %16, align 4
// CHECK-NEXT:   %77 = load <8 x i32>, ptr %12, align 32
// CHECK-NEXT:   %78 = icmp slt <8 x i32> %77, zeroinitializer
// CHECK-NEXT:   %79 = or <8 x i1> %78, %60
// CHECK-NEXT:   %80 = sext <8 x i1> %79 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %80, ptr %12, align 32
// CHECK-NEXT:   br label %join
// CHECK-NEXT: join:                                             ; preds = %rest, %body
// CHECK-NEXT:   %81 = load <8 x i32>, ptr %12, align 32
// CHECK-NEXT:   %82 = icmp slt <8 x i32> %81, zeroinitializer
// CHECK-NEXT:   %83 = sext <8 x i1> %82 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %83, ptr %13, align 32
// CHECK-NEXT:   %84 = bitcast <8 x i1> %82 to i8
// CHECK-NEXT:   %85 = icmp ne i8 %84, 0
// CHECK-NEXT:   br i1 %85, label %again, label %end
// CHECK-NEXT: again:                                            ; preds = %join
// CHECK-NEXT:   br label %loop
// CHECK-NEXT: then:                                             ; preds = %end
// CHECK-NEXT:   %86 = mul nsw i64 %50, 4
// CHECK-NEXT:   %87 = getelementptr i8, ptr %23, i64 %86
// CHECK-NEXT:   call void @llvm.masked.store.v8f32.p0(<8 x float> %69, ptr %87, i32 4, <8 x i1> %71), !alias.scope !1, !noalias !4
// CHECK-NEXT:   br label %after
// CHECK-NEXT: after:                                            ; preds = %then, %end
// CHECK-NEXT:   %88 = add nsw i64 %50, 8
// CHECK-NEXT:   br label %lanes, !llvm.loop !8
// CHECK-NEXT: lanes3:                                           ; preds = %after19, %lanes_end
// CHECK-NEXT:   %89 = phi i64 [ %49, %lanes_end ], [ %134, %after19 ]
// CHECK-NEXT:   %90 = icmp slt i64 %89, %45
// CHECK-NEXT:   br i1 %90, label %iterations4, label %lanes_end5
// CHECK-NEXT: iterations4:                                      ; preds = %lanes3
// CHECK-NEXT:   %91 = sub nsw i64 %45, %89
// CHECK-NEXT:   %92 = call i64 @llvm.smin.i64(i64 %91, i64 8)
// CHECK-NEXT:   %93 = trunc i64 %92 to i32
// CHECK-NEXT:   %.splatinsert6 = insertelement <8 x i32> poison, i32 %93, i64 0
// CHECK-NEXT:   %.splat7 = shufflevector <8 x i32> %.splatinsert6, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %94 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat7
// CHECK-NEXT:   %95 = trunc i64 %89 to i32
// CHECK-NEXT:   %.splatinsert8 = insertelement <8 x i32> poison, i32 %95, i64 0
// CHECK-NEXT:   %.splat9 = shufflevector <8 x i32> %.splatinsert8, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %96 = add <8 x i32> %.splat9, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
// CHECK-NEXT:   %97 = sitofp <8 x i32> %96 to <8 x float>
// CHECK-NEXT:   store <8 x float> zeroinitializer, ptr %10, align 32
// CHECK-NEXT:   store <8 x float> %97, ptr %10, align 32
// CHECK-NEXT:   store i32 0, ptr %9, align 4
// CHECK-NEXT:   store i32 0, ptr %9, align 4
// CHECK-NEXT:   store <8 x float> zeroinitializer, ptr %8, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %7, align 32
// CHECK-NEXT:   %98 = sext <8 x i1> %94 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %98, ptr %6, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %5, align 32
// CHECK-NEXT:   br label %loop10
// CHECK-NEXT: lanes_end5:                                       ; preds = %lanes3
// CHECK-NEXT:   br label %return
// CHECK-NEXT: loop10:                                           ; preds = %again17, %iterations4
// CHECK-NEXT:   %99 = load <8 x i32>, ptr %6, align 32
// CHECK-NEXT:   %100 = icmp slt <8 x i32> %99, zeroinitializer
// CHECK-NEXT:   br label %body11
// CHECK-NEXT: body11:                                           ; preds = %loop10
// CHECK-NEXT:   %101 = load <8 x float>, ptr %10, align 32
// CHECK-NEXT:   %102 = load i32, ptr %9, align 4
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %5, align 32
// CHECK-NEXT:   %103 = fcmp olt <8 x float> %101, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
// CHECK-NEXT:   %104 = select <8 x i1> %100, <8 x i1> %103, <8 x i1> zeroinitializer
// CHECK-NEXT:   %105 = xor <8 x i1> %103, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %106 = select <8 x i1> %100, <8 x i1> %105, <8 x i1> zeroinitializer
// CHECK-NEXT:   %107 = load <8 x float>, ptr %8, align 32
// CHECK-NEXT:   %108 = select <8 x i1> %106, <8 x float> %101, <8 x float> %107
// CHECK-NEXT:   store <8 x float> %108, ptr %8, align 32
// CHECK-NEXT:   %109 = load <8 x i32>, ptr %7, align 32
// CHECK-NEXT:   %.splatinsert13 = insertelement <8 x i32> poison, i32 %102, i64 0
// CHECK-NEXT:   %.splat14 = shufflevector <8 x i32> %.splatinsert13, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %110 = select <8 x i1> %106, <8 x i32> %.splat14, <8 x i32> %109
// CHECK-NEXT:   store <8 x i32> %110, ptr %7, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %4, align 32
// CHECK-NEXT:   %111 = bitcast <8 x i1> %104 to i8
// CHECK-NEXT:   %112 = icmp ne i8 %111, 0
// CHECK-NEXT:   br i1 %112, label %rest15, label %join16
// CHECK-NEXT: end12:                                            ; preds = %join16
// CHECK-NEXT:   %113 = load <8 x float>, ptr %8, align 32
// CHECK-NEXT:   %114 = load <8 x i32>, ptr %7, align 32
// CHECK-NEXT:   %115 = icmp sgt <8 x i32> %114, zeroinitializer
// CHECK-NEXT:   %116 = select <8 x i1> %94, <8 x i1> %115, <8 x i1> zeroinitializer
// CHECK-NEXT:   %117 = xor <8 x i1> %115, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %118 = select <8 x i1> %94, <8 x i1> %117, <8 x i1> zeroinitializer
// CHECK-NEXT:   %119 = bitcast <8 x i1> %116 to i8
// CHECK-NEXT:   %120 = icmp ne i8 %119, 0
// CHECK-NEXT:   br i1 %120, label %then18, label %after19
// CHECK-NEXT: rest15:                                           ; preds = %body11
// CHECK-NEXT:   %121 = fmul <8 x float> %101, %101
// CHECK-NEXT:   %122 = add i32 %102, 1
// CHECK-NEXT:   store <8 x float> %121, ptr %10, align 32
// CHECK-NEXT:   store i32 %122, ptr %9, align 4
// CHECK-NEXT:   %123 = load <8 x i32>, ptr %5, align 32
// CHECK-NEXT:   %124 = icmp slt <8 x i32> %123, zeroinitializer
// CHECK-NEXT:   %125 = or <8 x i1> %124, %104
// CHECK-NEXT:   %126 = sext <8 x i1> %125 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %126, ptr %5, align 32
// CHECK-NEXT:   br label %join16
// CHECK-NEXT: join16:                                           ; preds = %rest15, %body11
// CHECK-NEXT:   %127 = load <8 x i32>, ptr %5, align 32
// CHECK-NEXT:   %128 = icmp slt <8 x i32> %127, zeroinitializer
// CHECK-NEXT:   %129 = sext <8 x i1> %128 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %129, ptr %6, align 32
// CHECK-NEXT:   %130 = bitcast <8 x i1> %128 to i8
// CHECK-NEXT:   %131 = icmp ne i8 %130, 0
// CHECK-NEXT:   br i1 %131, label %again17, label %end12
// CHECK-NEXT: again17:                                          ; preds = %join16
// CHECK-NEXT:   br label %loop10
// CHECK-NEXT: then18:                                           ; preds = %end12
// CHECK-NEXT:   %132 = mul nsw i64 %89, 4
// CHECK-NEXT:   %133 = getelementptr i8, ptr %23, i64 %132
// CHECK-NEXT:   call void @llvm.masked.store.v8f32.p0(<8 x float> %113, ptr %133, i32 4, <8 x i1> %116), !alias.scope !1, !noalias !4
// CHECK-NEXT:   br label %after19
// CHECK-NEXT: after19:                                          ; preds = %then18, %end12
// CHECK-NEXT:   %134 = add nsw i64 %89, 8
// CHECK-NEXT:   br label %lanes3, !llvm.loop !10
// CHECK-NEXT: return:                                           ; preds = %lanes_end5, %some, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smax.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smin.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
// CHECK-NEXT: declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #2
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
// CHECK-NEXT: attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
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

// -----
// A uniform loop without divergence carries vectors; sums of the lanes are combined at the end.
kiln.kernel @sums storages [
    #kiln.ndarray<slot = 0, axes = 2, types = [f32], soa = false, clamp = false, alias = 0, read_only = false>] results [] attributes {lanes = 2 : i32} {
  kiln.task.range_for "sums_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.extent 0 axis 1 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32, %sum : f32) {
    %zero = arith.constant 0 : i32
    %n = kiln.extent 0 axis 0 : i32
    %all = kiln.for %k = %zero to %n : i32 carry (%s = %sum : f32) {
      %a = kiln.global 0 component 0 [%k, %i] : <f32>
      %x = kiln.load %a : <f32>
      %next = arith.addf %s, %x fastmath<reassoc> : f32
      kiln.continue %next : f32
    }
    kiln.continue %all : f32
  } finish (%sum = 0.0 : f32) {
    %total = kiln.temporary 0 : <f32>
    %old = kiln.atomic addf %sum, %total : <f32>
    kiln.yield
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
// CHECK-NEXT:   %4 = alloca <16 x float>, align 64
// CHECK-NEXT:   %5 = alloca <16 x float>, align 64
// CHECK-NEXT:   %6 = alloca <16 x float>, align 64
// CHECK-NEXT:   %7 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %8 = load ptr, ptr %7, align 8, !invariant.load !0
// CHECK-NEXT:   %9 = getelementptr inbounds i8, ptr %8, i64 16
// CHECK-NEXT:   %10 = load i64, ptr %9, align 8, !invariant.load !0
// CHECK-NEXT:   %11 = getelementptr inbounds i8, ptr %8, i64 8
// CHECK-NEXT:   %12 = load i64, ptr %11, align 8, !invariant.load !0
// CHECK-NEXT:   %13 = getelementptr inbounds i8, ptr %8, i64 0
// CHECK-NEXT:   %14 = load ptr, ptr %13, align 8, !invariant.load !0
// CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %0, i64 64
// CHECK-NEXT:   %16 = load ptr, ptr %15, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %17 = sub i64 %10, 0
// CHECK-NEXT:   %18 = icmp sgt i64 %17, 0
// CHECK-NEXT:   %19 = select i1 %18, i64 %17, i64 0
// CHECK-NEXT:   %20 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %20, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %21 = add nsw i64 %2, 0
// CHECK-NEXT:   %22 = add nsw i64 %1, 0
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %6, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %6, align 64
// CHECK-NEXT:   %23 = sub nsw i64 %21, %22
// CHECK-NEXT:   %24 = and i64 %23, -16
// CHECK-NEXT:   %25 = add nsw i64 %22, %24
// CHECK-NEXT:   br label %lanes
// CHECK-NEXT: lanes:                                            ; preds = %end, %some
// CHECK-NEXT:   %26 = phi i64 [ %22, %some ], [ %47, %end ]
// CHECK-NEXT:   %27 = icmp slt i64 %26, %25
// CHECK-NEXT:   br i1 %27, label %iterations, label %lanes_end
// CHECK-NEXT: iterations:                                       ; preds = %lanes
// CHECK-NEXT:   %28 = trunc i64 %26 to i32
// CHECK-NEXT:   %.splatinsert = insertelement <16 x i32> poison, i32 %28, i64 0
// CHECK-NEXT:   %.splat = shufflevector <16 x i32> %.splatinsert, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %29 = add <16 x i32> %.splat, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
// CHECK-NEXT:   %30 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   %31 = trunc i64 %12 to i32
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %5, align 64
// CHECK-NEXT:   store <16 x float> %30, ptr %5, align 64
// CHECK-NEXT:   br label %for
// CHECK-NEXT: lanes_end:                                        ; preds = %lanes
// CHECK-NEXT:   br label %lanes1
// CHECK-NEXT: for:                                              ; preds = %body, %iterations
// CHECK-NEXT:   %32 = phi i32 [ 0, %iterations ], [ %44, %body ]
// CHECK-NEXT:   %33 = icmp slt i32 %32, %31
// CHECK-NEXT:   br i1 %33, label %body, label %end
// CHECK-NEXT: body:                                             ; preds = %for
// CHECK-NEXT:   %34 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %35 = sext i32 %32 to i64
// CHECK-NEXT:   %36 = add i64 0, %35
// CHECK-NEXT:   %37 = mul nsw i64 %36, %10
// CHECK-NEXT:   %38 = add i64 %37, %26
// CHECK-NEXT:   %39 = mul nsw i64 %38, 4
// CHECK-NEXT:   %40 = add i64 %39, 0
// CHECK-NEXT:   %41 = getelementptr i8, ptr %14, i64 %40
// CHECK-NEXT:   %42 = load <16 x float>, ptr %41, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %43 = fadd reassoc <16 x float> %34, %42
// CHECK-NEXT:   store <16 x float> %43, ptr %5, align 64
// CHECK-NEXT:   %44 = add nsw i32 %32, 1
// CHECK-NEXT:   br label %for, !llvm.loop !8
// CHECK-NEXT: end:                                              ; preds = %for
// CHECK-NEXT:   %45 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %46 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   store <16 x float> %45, ptr %6, align 64
// CHECK-NEXT:   %47 = add nsw i64 %26, 16
// CHECK-NEXT:   br label %lanes, !llvm.loop !10
// CHECK-NEXT: lanes1:                                           ; preds = %end10, %lanes_end
// CHECK-NEXT:   %48 = phi i64 [ %25, %lanes_end ], [ %80, %end10 ]
// CHECK-NEXT:   %49 = icmp slt i64 %48, %21
// CHECK-NEXT:   br i1 %49, label %iterations2, label %lanes_end3
// CHECK-NEXT: iterations2:                                      ; preds = %lanes1
// CHECK-NEXT:   %50 = sub nsw i64 %21, %48
// CHECK-NEXT:   %51 = call i64 @llvm.smin.i64(i64 %50, i64 16)
// CHECK-NEXT:   %52 = trunc i64 %51 to i32
// CHECK-NEXT:   %.splatinsert4 = insertelement <16 x i32> poison, i32 %52, i64 0
// CHECK-NEXT:   %.splat5 = shufflevector <16 x i32> %.splatinsert4, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %53 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.splat5
// CHECK-NEXT:   %54 = trunc i64 %48 to i32
// CHECK-NEXT:   %.splatinsert6 = insertelement <16 x i32> poison, i32 %54, i64 0
// CHECK-NEXT:   %.splat7 = shufflevector <16 x i32> %.splatinsert6, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %55 = add <16 x i32> %.splat7, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
// CHECK-NEXT:   %56 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   %57 = trunc i64 %12 to i32
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %4, align 64
// CHECK-NEXT:   store <16 x float> %56, ptr %4, align 64
// CHECK-NEXT:   br label %for8
// CHECK-NEXT: lanes_end3:                                       ; preds = %lanes1
// CHECK-NEXT:   %58 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   %59 = call reassoc float @llvm.vector.reduce.fadd.v16f32(float -0.000000e+00, <16 x float> %58)
// CHECK-NEXT:   %60 = sext i32 %3 to i64
// CHECK-NEXT:   %61 = mul i64 %60, 1
// CHECK-NEXT:   %62 = add i64 %61, 0
// CHECK-NEXT:   %63 = getelementptr inbounds i64, ptr %16, i64 %62
// CHECK-NEXT:   store float %59, ptr %63, align 4
// CHECK-NEXT:   br label %return
// CHECK-NEXT: for8:                                             ; preds = %body9, %iterations2
// CHECK-NEXT:   %64 = phi i32 [ 0, %iterations2 ], [ %76, %body9 ]
// CHECK-NEXT:   %65 = icmp slt i32 %64, %57
// CHECK-NEXT:   br i1 %65, label %body9, label %end10
// CHECK-NEXT: body9:                                            ; preds = %for8
// CHECK-NEXT:   %66 = load <16 x float>, ptr %4, align 64
// CHECK-NEXT:   %67 = sext i32 %64 to i64
// CHECK-NEXT:   %68 = add i64 0, %67
// CHECK-NEXT:   %69 = mul nsw i64 %68, %10
// CHECK-NEXT:   %70 = add i64 %69, %48
// CHECK-NEXT:   %71 = mul nsw i64 %70, 4
// CHECK-NEXT:   %72 = add i64 %71, 0
// CHECK-NEXT:   %73 = getelementptr i8, ptr %14, i64 %72
// CHECK-NEXT:   %74 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %73, i32 4, <16 x i1> %53, <16 x float> zeroinitializer), !alias.scope !1, !noalias !4
// CHECK-NEXT:   %75 = fadd reassoc <16 x float> %66, %74
// CHECK-NEXT:   store <16 x float> %75, ptr %4, align 64
// CHECK-NEXT:   %76 = add nsw i32 %64, 1
// CHECK-NEXT:   br label %for8, !llvm.loop !11
// CHECK-NEXT: end10:                                            ; preds = %for8
// CHECK-NEXT:   %77 = load <16 x float>, ptr %4, align 64
// CHECK-NEXT:   %78 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   %79 = select <16 x i1> %53, <16 x float> %77, <16 x float> %78
// CHECK-NEXT:   store <16 x float> %79, ptr %6, align 64
// CHECK-NEXT:   %80 = add nsw i64 %48, 16
// CHECK-NEXT:   br label %lanes1, !llvm.loop !12
// CHECK-NEXT: return:                                           ; preds = %lanes_end3, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smin.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
// CHECK-NEXT: declare <16 x float> @llvm.masked.load.v16f32.p0(ptr nocapture, i32 immarg, <16 x i1>, <16 x float>) #2
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare float @llvm.vector.reduce.fadd.v16f32(float, <16 x float>) #1
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_0_bounds(ptr readonly %0, ptr %1) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %2 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %3 = load ptr, ptr %2, align 8, !invariant.load !0
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %3, i64 16
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
// CHECK-NEXT: ; Function Attrs: nounwind
// CHECK-NEXT: define void @task_0_finish(ptr readonly %0, i64 %1, i64 %2, i32 %3) #0 {
// CHECK-NEXT: entry:
// CHECK-NEXT:   %4 = getelementptr inbounds i8, ptr %0, i64 64
// CHECK-NEXT:   %5 = load ptr, ptr %4, align 8, !invariant.load !0
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %0, i64 16
// CHECK-NEXT:   %7 = load ptr, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   br label %pieces
// CHECK-NEXT: pieces:                                           ; preds = %done, %start
// CHECK-NEXT:   %8 = phi i64 [ %1, %start ], [ %24, %done ]
// CHECK-NEXT:   %9 = icmp slt i64 %8, %2
// CHECK-NEXT:   br i1 %9, label %piece, label %return
// CHECK-NEXT: piece:                                            ; preds = %pieces
// CHECK-NEXT:   %10 = mul i64 %8, 1
// CHECK-NEXT:   %11 = add i64 %10, 0
// CHECK-NEXT:   %12 = getelementptr inbounds i64, ptr %5, i64 %11
// CHECK-NEXT:   %13 = load float, ptr %12, align 4
// CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %7, i64 0
// CHECK-NEXT:   %15 = load atomic i32, ptr %14 monotonic, align 4
// CHECK-NEXT:   br label %retry
// CHECK-NEXT: retry:                                            ; preds = %retry, %piece
// CHECK-NEXT:   %16 = phi i32 [ %15, %piece ], [ %21, %retry ]
// CHECK-NEXT:   %17 = bitcast i32 %16 to float
// CHECK-NEXT:   %18 = fadd float %17, %13
// CHECK-NEXT:   %19 = bitcast float %18 to i32
// CHECK-NEXT:   %20 = cmpxchg ptr %14, i32 %16, i32 %19 monotonic monotonic, align 4
// CHECK-NEXT:   %21 = extractvalue { i32, i1 } %20, 0
// CHECK-NEXT:   %22 = extractvalue { i32, i1 } %20, 1
// CHECK-NEXT:   br i1 %22, label %done, label %retry
// CHECK-NEXT: done:                                             ; preds = %retry
// CHECK-NEXT:   %23 = bitcast i32 %16 to float
// CHECK-NEXT:   %24 = add nsw i64 %8, 1
// CHECK-NEXT:   br label %pieces
// CHECK-NEXT: return:                                           ; preds = %pieces
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: attributes #0 = { nounwind }
// CHECK-NEXT: attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
// CHECK-NEXT: attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
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
// CHECK-NEXT: !11 = distinct !{!11, !9}
// CHECK-NEXT: !12 = distinct !{!12, !9}

// -----
// A kept load: lanes that run the branch for the first time read, and the value is there afterwards.
kiln.kernel @near storages [
    #kiln.dense<slot = 0, axes = 1, digits = [0, 0, 4], offset = [], types = [f32], components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>,
    #kiln.dense<slot = 2, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>] results [] {
  kiln.task.range_for "near_0" bounds {
    %c0 = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %c0, %n : i64, i64
  } body (%i : i32) {
    %zero = arith.constant 0 : i32
    %n = arith.constant 100 : i32
    %none = arith.constant 0.0 : f32
    %sum = kiln.for %j = %zero to %n : i32 carry (%s = %none : f32) {
      %a = kiln.global 1 component 0 [%j] : <f32>
      %x = kiln.load %a : <f32>
      %less = arith.cmpf olt, %x, %s : f32
      %next = kiln.if %less -> f32 {
        %b = kiln.global 1 component 1 [%i] : <f32>
        %y = kiln.load %b : <f32>
        %more = arith.addf %s, %y fastmath<reassoc> : f32
        kiln.yield %more : f32
      } else {
        kiln.yield %s : f32
      }
      kiln.continue %next : f32
    }
    %c = kiln.global 0 component 0 [%i] : <f32>
    kiln.store %sum, %c : <f32>
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
// CHECK-NEXT:   %4 = alloca <16 x float>, align 64
// CHECK-NEXT:   %5 = alloca <16 x float>, align 64
// CHECK-NEXT:   %6 = alloca <16 x float>, align 64
// CHECK-NEXT:   %7 = alloca <16 x i32>, align 64
// CHECK-NEXT:   %8 = alloca i64, align 8
// CHECK-NEXT:   %9 = alloca <16 x float>, align 64
// CHECK-NEXT:   %10 = alloca <16 x float>, align 64
// CHECK-NEXT:   %11 = alloca <16 x float>, align 64
// CHECK-NEXT:   %12 = alloca <16 x i32>, align 64
// CHECK-NEXT:   %13 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %14 = load ptr, ptr %13, align 8, !invariant.load !0
// CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %14, i64 8
// CHECK-NEXT:   %16 = load i64, ptr %15, align 8, !invariant.load !0
// CHECK-NEXT:   %17 = getelementptr inbounds i8, ptr %14, i64 16
// CHECK-NEXT:   %18 = load ptr, ptr %17, align 8, !invariant.load !0
// CHECK-NEXT:   store i64 0, ptr %8, align 8
// CHECK-NEXT:   %19 = getelementptr inbounds i8, ptr %14, i64 0
// CHECK-NEXT:   %20 = load ptr, ptr %19, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %21 = sub i64 %16, 0
// CHECK-NEXT:   %22 = icmp sgt i64 %21, 0
// CHECK-NEXT:   %23 = select i1 %22, i64 %21, i64 0
// CHECK-NEXT:   %24 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %24, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %25 = sub i64 %23, 512
// CHECK-NEXT:   %26 = call i64 @llvm.smax.i64(i64 %25, i64 0)
// CHECK-NEXT:   %27 = call i64 @llvm.smin.i64(i64 %1, i64 %26)
// CHECK-NEXT:   %28 = and i64 %27, -512
// CHECK-NEXT:   %29 = sub i64 %1, %1
// CHECK-NEXT:   %30 = add i64 %29, %28
// CHECK-NEXT:   %31 = icmp eq i64 %1, %23
// CHECK-NEXT:   %32 = select i1 %31, i64 %1, i64 %30
// CHECK-NEXT:   %33 = sub i64 %23, 512
// CHECK-NEXT:   %34 = call i64 @llvm.smax.i64(i64 %33, i64 0)
// CHECK-NEXT:   %35 = call i64 @llvm.smin.i64(i64 %2, i64 %34)
// CHECK-NEXT:   %36 = and i64 %35, -512
// CHECK-NEXT:   %37 = sub i64 %2, %2
// CHECK-NEXT:   %38 = add i64 %37, %36
// CHECK-NEXT:   %39 = icmp eq i64 %2, %23
// CHECK-NEXT:   %40 = select i1 %39, i64 %2, i64 %38
// CHECK-NEXT:   %41 = icmp slt i64 %32, %40
// CHECK-NEXT:   br i1 %41, label %left, label %return
// CHECK-NEXT: left:                                             ; preds = %some
// CHECK-NEXT:   %42 = add nsw i64 %40, 0
// CHECK-NEXT:   %43 = add nsw i64 %32, 0
// CHECK-NEXT:   %44 = sub nsw i64 %42, %43
// CHECK-NEXT:   %45 = and i64 %44, -16
// CHECK-NEXT:   %46 = add nsw i64 %43, %45
// CHECK-NEXT:   br label %lanes
// CHECK-NEXT: lanes:                                            ; preds = %end, %left
// CHECK-NEXT:   %47 = phi i64 [ %43, %left ], [ %65, %end ]
// CHECK-NEXT:   %48 = icmp slt i64 %47, %46
// CHECK-NEXT:   br i1 %48, label %iterations, label %lanes_end
// CHECK-NEXT: iterations:                                       ; preds = %lanes
// CHECK-NEXT:   %49 = trunc i64 %47 to i32
// CHECK-NEXT:   %.splatinsert = insertelement <16 x i32> poison, i32 %49, i64 0
// CHECK-NEXT:   %.splat = shufflevector <16 x i32> %.splatinsert, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %50 = add <16 x i32> %.splat, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
// CHECK-NEXT:   store <16 x i32> zeroinitializer, ptr %12, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %11, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %10, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %10, align 64
// CHECK-NEXT:   br label %for
// CHECK-NEXT: lanes_end:                                        ; preds = %lanes
// CHECK-NEXT:   br label %lanes5
// CHECK-NEXT: for:                                              ; preds = %after, %iterations
// CHECK-NEXT:   %51 = phi i32 [ 0, %iterations ], [ %77, %after ]
// CHECK-NEXT:   %52 = icmp slt i32 %51, 100
// CHECK-NEXT:   br i1 %52, label %body, label %end
// CHECK-NEXT: body:                                             ; preds = %for
// CHECK-NEXT:   %53 = load <16 x float>, ptr %10, align 64
// CHECK-NEXT:   %54 = sext i32 %51 to i64
// CHECK-NEXT:   %55 = mul nsw i64 %54, 8
// CHECK-NEXT:   %56 = getelementptr i8, ptr %18, i64 %55
// CHECK-NEXT:   %57 = load float, ptr %56, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %.splatinsert1 = insertelement <16 x float> poison, float %57, i64 0
// CHECK-NEXT:   %.splat2 = shufflevector <16 x float> %.splatinsert1, <16 x float> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %58 = fcmp olt <16 x float> %.splat2, %53
// CHECK-NEXT:   %59 = xor <16 x i1> %58, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %9, align 64
// CHECK-NEXT:   %60 = bitcast <16 x i1> %58 to i16
// CHECK-NEXT:   %61 = icmp ne i16 %60, 0
// CHECK-NEXT:   br i1 %61, label %then, label %after
// CHECK-NEXT: end:                                              ; preds = %for
// CHECK-NEXT:   %62 = load <16 x float>, ptr %10, align 64
// CHECK-NEXT:   %63 = mul nsw i64 %47, 4
// CHECK-NEXT:   %64 = getelementptr i8, ptr %20, i64 %63
// CHECK-NEXT:   store <16 x float> %62, ptr %64, align 4, !alias.scope !9, !noalias !10
// CHECK-NEXT:   %65 = add nsw i64 %47, 16
// CHECK-NEXT:   br label %lanes, !llvm.loop !11
// CHECK-NEXT: then:                                             ; preds = %body
// CHECK-NEXT:   %66 = mul nsw i64 %47, 8
// CHECK-NEXT:   %67 = add nsw i64 %66, 4
// CHECK-NEXT:   %68 = getelementptr i8, ptr %18, i64 %67
// CHECK-NEXT:   %69 = load <16 x i32>, ptr %12, align 64
// CHECK-NEXT:   %70 = icmp slt <16 x i32> %69, zeroinitializer
// CHECK-NEXT:   %71 = xor <16 x i1> %70, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %72 = select <16 x i1> %58, <16 x i1> %71, <16 x i1> zeroinitializer
// CHECK-NEXT:   %73 = bitcast <16 x i1> %72 to i16
// CHECK-NEXT:   %74 = icmp ne i16 %73, 0
// CHECK-NEXT:   br i1 %74, label %read, label %have_read
// CHECK-NEXT: after:                                            ; preds = %have_read, %body
// CHECK-NEXT:   %75 = load <16 x float>, ptr %9, align 64
// CHECK-NEXT:   %76 = select <16 x i1> %58, <16 x float> %75, <16 x float> %53
// CHECK-NEXT:   store <16 x float> %76, ptr %10, align 64
// CHECK-NEXT:   %77 = add nsw i32 %51, 1
// CHECK-NEXT:   br label %for, !llvm.loop !13
// CHECK-NEXT: read:                                             ; preds = %then
// CHECK-NEXT:   %78 = mul nsw i64 %47, 8
// CHECK-NEXT:   %79 = add nsw i64 %78, 4
// CHECK-NEXT:   %80 = getelementptr i8, ptr %18, i64 %79
// CHECK-NEXT:   %.splatinsert3 = insertelement <16 x ptr> poison, ptr %8, i64 0
// CHECK-NEXT:   %.splat4 = shufflevector <16 x ptr> %.splatinsert3, <16 x ptr> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %81 = getelementptr i8, ptr %80, <16 x i64> <i64 0, i64 8, i64 16, i64 24, i64 32, i64 40, i64 48, i64 56, i64 64, i64 72, i64 80, i64 88, i64 96, i64 104, i64 112, i64 120>
// CHECK-NEXT:   %82 = select <16 x i1> %72, <16 x ptr> %81, <16 x ptr> %.splat4
// CHECK-NEXT:   %83 = extractelement <16 x ptr> %82, i64 0
// CHECK-NEXT:   %84 = load float, ptr %83, align 4
// CHECK-NEXT:   %85 = insertelement <16 x float> poison, float %84, i64 0
// CHECK-NEXT:   %86 = extractelement <16 x ptr> %82, i64 1
// CHECK-NEXT:   %87 = load float, ptr %86, align 4
// CHECK-NEXT:   %88 = insertelement <16 x float> %85, float %87, i64 1
// CHECK-NEXT:   %89 = extractelement <16 x ptr> %82, i64 2
// CHECK-NEXT:   %90 = load float, ptr %89, align 4
// CHECK-NEXT:   %91 = insertelement <16 x float> %88, float %90, i64 2
// CHECK-NEXT:   %92 = extractelement <16 x ptr> %82, i64 3
// CHECK-NEXT:   %93 = load float, ptr %92, align 4
// CHECK-NEXT:   %94 = insertelement <16 x float> %91, float %93, i64 3
// CHECK-NEXT:   %95 = extractelement <16 x ptr> %82, i64 4
// CHECK-NEXT:   %96 = load float, ptr %95, align 4
// CHECK-NEXT:   %97 = insertelement <16 x float> %94, float %96, i64 4
// CHECK-NEXT:   %98 = extractelement <16 x ptr> %82, i64 5
// CHECK-NEXT:   %99 = load float, ptr %98, align 4
// CHECK-NEXT:   %100 = insertelement <16 x float> %97, float %99, i64 5
// CHECK-NEXT:   %101 = extractelement <16 x ptr> %82, i64 6
// CHECK-NEXT:   %102 = load float, ptr %101, align 4
// CHECK-NEXT:   %103 = insertelement <16 x float> %100, float %102, i64 6
// CHECK-NEXT:   %104 = extractelement <16 x ptr> %82, i64 7
// CHECK-NEXT:   %105 = load float, ptr %104, align 4
// CHECK-NEXT:   %106 = insertelement <16 x float> %103, float %105, i64 7
// CHECK-NEXT:   %107 = extractelement <16 x ptr> %82, i64 8
// CHECK-NEXT:   %108 = load float, ptr %107, align 4
// CHECK-NEXT:   %109 = insertelement <16 x float> %106, float %108, i64 8
// CHECK-NEXT:   %110 = extractelement <16 x ptr> %82, i64 9
// CHECK-NEXT:   %111 = load float, ptr %110, align 4
// CHECK-NEXT:   %112 = insertelement <16 x float> %109, float %111, i64 9
// CHECK-NEXT:   %113 = extractelement <16 x ptr> %82, i64 10
// CHECK-NEXT:   %114 = load float, ptr %113, align 4
// CHECK-NEXT:   %115 = insertelement <16 x float> %112, float %114, i64 10
// CHECK-NEXT:   %116 = extractelement <16 x ptr> %82, i64 11
// CHECK-NEXT:   %117 = load float, ptr %116, align 4
// CHECK-NEXT:   %118 = insertelement <16 x float> %115, float %117, i64 11
// CHECK-NEXT:   %119 = extractelement <16 x ptr> %82, i64 12
// CHECK-NEXT:   %120 = load float, ptr %119, align 4
// CHECK-NEXT:   %121 = insertelement <16 x float> %118, float %120, i64 12
// CHECK-NEXT:   %122 = extractelement <16 x ptr> %82, i64 13
// CHECK-NEXT:   %123 = load float, ptr %122, align 4
// CHECK-NEXT:   %124 = insertelement <16 x float> %121, float %123, i64 13
// CHECK-NEXT:   %125 = extractelement <16 x ptr> %82, i64 14
// CHECK-NEXT:   %126 = load float, ptr %125, align 4
// CHECK-NEXT:   %127 = insertelement <16 x float> %124, float %126, i64 14
// CHECK-NEXT:   %128 = extractelement <16 x ptr> %82, i64 15
// CHECK-NEXT:   %129 = load float, ptr %128, align 4
// CHECK-NEXT:   %130 = insertelement <16 x float> %127, float %129, i64 15
// CHECK-NEXT:   %131 = load <16 x float>, ptr %11, align 64
// CHECK-NEXT:   %132 = select <16 x i1> %72, <16 x float> %130, <16 x float> %131
// CHECK-NEXT:   store <16 x float> %132, ptr %11, align 64
// CHECK-NEXT:   %133 = or <16 x i1> %70, %58
// CHECK-NEXT:   %134 = sext <16 x i1> %133 to <16 x i32>
// CHECK-NEXT:   store <16 x i32> %134, ptr %12, align 64
// CHECK-NEXT:   br label %have_read
// CHECK-NEXT: have_read:                                        ; preds = %read, %then
// CHECK-NEXT:   %135 = load <16 x float>, ptr %11, align 64
// CHECK-NEXT:   %136 = fadd reassoc <16 x float> %53, %135
// CHECK-NEXT:   store <16 x float> %136, ptr %9, align 64
// CHECK-NEXT:   br label %after
// CHECK-NEXT: lanes5:                                           ; preds = %stored, %lanes_end
// CHECK-NEXT:   %137 = phi i64 [ %46, %lanes_end ], [ %234, %stored ]
// CHECK-NEXT:   %138 = icmp slt i64 %137, %42
// CHECK-NEXT:   br i1 %138, label %iterations6, label %lanes_end7
// CHECK-NEXT: iterations6:                                      ; preds = %lanes5
// CHECK-NEXT:   %139 = sub nsw i64 %42, %137
// CHECK-NEXT:   %140 = call i64 @llvm.smin.i64(i64 %139, i64 16)
// CHECK-NEXT:   %141 = trunc i64 %140 to i32
// CHECK-NEXT:   %.splatinsert8 = insertelement <16 x i32> poison, i32 %141, i64 0
// CHECK-NEXT:   %.splat9 = shufflevector <16 x i32> %.splatinsert8, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %142 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.splat9
// CHECK-NEXT:   %143 = trunc i64 %137 to i32
// CHECK-NEXT:   %.splatinsert10 = insertelement <16 x i32> poison, i32 %143, i64 0
// CHECK-NEXT:   %.splat11 = shufflevector <16 x i32> %.splatinsert10, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %144 = add <16 x i32> %.splat11, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
// CHECK-NEXT:   store <16 x i32> zeroinitializer, ptr %7, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %6, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %5, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %5, align 64
// CHECK-NEXT:   br label %for12
// CHECK-NEXT: lanes_end7:                                       ; preds = %lanes5
// CHECK-NEXT:   br label %return
// CHECK-NEXT: for12:                                            ; preds = %after18, %iterations6
// CHECK-NEXT:   %145 = phi i32 [ 0, %iterations6 ], [ %174, %after18 ]
// CHECK-NEXT:   %146 = icmp slt i32 %145, 100
// CHECK-NEXT:   br i1 %146, label %body13, label %end14
// CHECK-NEXT: body13:                                           ; preds = %for12
// CHECK-NEXT:   %147 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %148 = sext i32 %145 to i64
// CHECK-NEXT:   %149 = mul nsw i64 %148, 8
// CHECK-NEXT:   %150 = getelementptr i8, ptr %18, i64 %149
// CHECK-NEXT:   %151 = load float, ptr %150, align 4, !alias.scope !1, !noalias !4
// CHECK-NEXT:   %.splatinsert15 = insertelement <16 x float> poison, float %151, i64 0
// CHECK-NEXT:   %.splat16 = shufflevector <16 x float> %.splatinsert15, <16 x float> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %152 = fcmp olt <16 x float> %.splat16, %147
// CHECK-NEXT:   %153 = select <16 x i1> %142, <16 x i1> %152, <16 x i1> zeroinitializer
// CHECK-NEXT:   %154 = xor <16 x i1> %152, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %155 = select <16 x i1> %142, <16 x i1> %154, <16 x i1> zeroinitializer
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %4, align 64
// CHECK-NEXT:   %156 = bitcast <16 x i1> %153 to i16
// CHECK-NEXT:   %157 = icmp ne i16 %156, 0
// CHECK-NEXT:   br i1 %157, label %then17, label %after18
// CHECK-NEXT: end14:                                            ; preds = %for12
// CHECK-NEXT:   %158 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %159 = mul nsw i64 %137, 4
// CHECK-NEXT:   %160 = getelementptr i8, ptr %20, i64 %159
// CHECK-NEXT:   %161 = bitcast <16 x i1> %142 to i16
// CHECK-NEXT:   %162 = icmp eq i16 %161, -1
// CHECK-NEXT:   br i1 %162, label %whole, label %part
// CHECK-NEXT: then17:                                           ; preds = %body13
// CHECK-NEXT:   %163 = mul nsw i64 %137, 8
// CHECK-NEXT:   %164 = add nsw i64 %163, 4
// CHECK-NEXT:   %165 = getelementptr i8, ptr %18, i64 %164
// CHECK-NEXT:   %166 = load <16 x i32>, ptr %7, align 64
// CHECK-NEXT:   %167 = icmp slt <16 x i32> %166, zeroinitializer
// CHECK-NEXT:   %168 = xor <16 x i1> %167, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %169 = select <16 x i1> %153, <16 x i1> %168, <16 x i1> zeroinitializer
// CHECK-NEXT:   %170 = bitcast <16 x i1> %169 to i16
// CHECK-NEXT:   %171 = icmp ne i16 %170, 0
// CHECK-NEXT:   br i1 %171, label %read19, label %have_read20
// CHECK-NEXT: after18:                                          ; preds = %have_read20, %body13
// CHECK-NEXT:   %172 = load <16 x float>, ptr %4, align 64
// CHECK-NEXT:   %173 = select <16 x i1> %152, <16 x float> %172, <16 x float> %147
// CHECK-NEXT:   store <16 x float> %173, ptr %5, align 64
// CHECK-NEXT:   %174 = add nsw i32 %145, 1
// CHECK-NEXT:   br label %for12, !llvm.loop !14
// CHECK-NEXT: read19:                                           ; preds = %then17
// CHECK-NEXT:   %175 = mul nsw i64 %137, 8
// CHECK-NEXT:   %176 = add nsw i64 %175, 4
// CHECK-NEXT:   %177 = getelementptr i8, ptr %18, i64 %176
// CHECK-NEXT:   %.splatinsert21 = insertelement <16 x ptr> poison, ptr %8, i64 0
// CHECK-NEXT:   %.splat22 = shufflevector <16 x ptr> %.splatinsert21, <16 x ptr> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %178 = getelementptr i8, ptr %177, <16 x i64> <i64 0, i64 8, i64 16, i64 24, i64 32, i64 40, i64 48, i64 56, i64 64, i64 72, i64 80, i64 88, i64 96, i64 104, i64 112, i64 120>
// CHECK-NEXT:   %179 = select <16 x i1> %169, <16 x ptr> %178, <16 x ptr> %.splat22
// CHECK-NEXT:   %180 = extractelement <16 x ptr> %179, i64 0
// CHECK-NEXT:   %181 = load float, ptr %180, align 4
// CHECK-NEXT:   %182 = insertelement <16 x float> poison, float %181, i64 0
// CHECK-NEXT:   %183 = extractelement <16 x ptr> %179, i64 1
// CHECK-NEXT:   %184 = load float, ptr %183, align 4
// CHECK-NEXT:   %185 = insertelement <16 x float> %182, float %184, i64 1
// CHECK-NEXT:   %186 = extractelement <16 x ptr> %179, i64 2
// CHECK-NEXT:   %187 = load float, ptr %186, align 4
// CHECK-NEXT:   %188 = insertelement <16 x float> %185, float %187, i64 2
// CHECK-NEXT:   %189 = extractelement <16 x ptr> %179, i64 3
// CHECK-NEXT:   %190 = load float, ptr %189, align 4
// CHECK-NEXT:   %191 = insertelement <16 x float> %188, float %190, i64 3
// CHECK-NEXT:   %192 = extractelement <16 x ptr> %179, i64 4
// CHECK-NEXT:   %193 = load float, ptr %192, align 4
// CHECK-NEXT:   %194 = insertelement <16 x float> %191, float %193, i64 4
// CHECK-NEXT:   %195 = extractelement <16 x ptr> %179, i64 5
// CHECK-NEXT:   %196 = load float, ptr %195, align 4
// CHECK-NEXT:   %197 = insertelement <16 x float> %194, float %196, i64 5
// CHECK-NEXT:   %198 = extractelement <16 x ptr> %179, i64 6
// CHECK-NEXT:   %199 = load float, ptr %198, align 4
// CHECK-NEXT:   %200 = insertelement <16 x float> %197, float %199, i64 6
// CHECK-NEXT:   %201 = extractelement <16 x ptr> %179, i64 7
// CHECK-NEXT:   %202 = load float, ptr %201, align 4
// CHECK-NEXT:   %203 = insertelement <16 x float> %200, float %202, i64 7
// CHECK-NEXT:   %204 = extractelement <16 x ptr> %179, i64 8
// CHECK-NEXT:   %205 = load float, ptr %204, align 4
// CHECK-NEXT:   %206 = insertelement <16 x float> %203, float %205, i64 8
// CHECK-NEXT:   %207 = extractelement <16 x ptr> %179, i64 9
// CHECK-NEXT:   %208 = load float, ptr %207, align 4
// CHECK-NEXT:   %209 = insertelement <16 x float> %206, float %208, i64 9
// CHECK-NEXT:   %210 = extractelement <16 x ptr> %179, i64 10
// CHECK-NEXT:   %211 = load float, ptr %210, align 4
// CHECK-NEXT:   %212 = insertelement <16 x float> %209, float %211, i64 10
// CHECK-NEXT:   %213 = extractelement <16 x ptr> %179, i64 11
// CHECK-NEXT:   %214 = load float, ptr %213, align 4
// CHECK-NEXT:   %215 = insertelement <16 x float> %212, float %214, i64 11
// CHECK-NEXT:   %216 = extractelement <16 x ptr> %179, i64 12
// CHECK-NEXT:   %217 = load float, ptr %216, align 4
// CHECK-NEXT:   %218 = insertelement <16 x float> %215, float %217, i64 12
// CHECK-NEXT:   %219 = extractelement <16 x ptr> %179, i64 13
// CHECK-NEXT:   %220 = load float, ptr %219, align 4
// CHECK-NEXT:   %221 = insertelement <16 x float> %218, float %220, i64 13
// CHECK-NEXT:   %222 = extractelement <16 x ptr> %179, i64 14
// CHECK-NEXT:   %223 = load float, ptr %222, align 4
// CHECK-NEXT:   %224 = insertelement <16 x float> %221, float %223, i64 14
// CHECK-NEXT:   %225 = extractelement <16 x ptr> %179, i64 15
// CHECK-NEXT:   %226 = load float, ptr %225, align 4
// CHECK-NEXT:   %227 = insertelement <16 x float> %224, float %226, i64 15
// CHECK-NEXT:   %228 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   %229 = select <16 x i1> %169, <16 x float> %227, <16 x float> %228
// CHECK-NEXT:   store <16 x float> %229, ptr %6, align 64
// CHECK-NEXT:   %230 = or <16 x i1> %167, %153
// CHECK-NEXT:   %231 = sext <16 x i1> %230 to <16 x i32>
// CHECK-NEXT:   store <16 x i32> %231, ptr %7, align 64
// CHECK-NEXT:   br label %have_read20
// CHECK-NEXT: have_read20:                                      ; preds = %read19, %then17
// CHECK-NEXT:   %232 = load <16 x float>, ptr %6, align 64
// CHECK-NEXT:   %233 = fadd reassoc <16 x float> %147, %232
// CHECK-NEXT:   store <16 x float> %233, ptr %4, align 64
// CHECK-NEXT:   br label %after18
// CHECK-NEXT: whole:                                            ; preds = %end14
// CHECK-NEXT:   store <16 x float> %158, ptr %160, align 4, !alias.scope !9, !noalias !10
// CHECK-NEXT:   br label %stored
// CHECK-NEXT: part:                                             ; preds = %end14
// CHECK-NEXT:   call void @llvm.masked.store.v16f32.p0(<16 x float> %158, ptr %160, i32 4, <16 x i1> %142), !alias.scope !9, !noalias !10
// CHECK-NEXT:   br label %stored
// CHECK-NEXT: stored:                                           ; preds = %part, %whole
// CHECK-NEXT:   %234 = add nsw i64 %137, 16
// CHECK-NEXT:   br label %lanes5, !llvm.loop !15
// CHECK-NEXT: return:                                           ; preds = %lanes_end7, %some, %start
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smax.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
// CHECK-NEXT: declare i64 @llvm.smin.i64(i64, i64) #1
// CHECK-NEXT: ; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
// CHECK-NEXT: declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr nocapture, i32 immarg, <16 x i1>) #2
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
// CHECK-NEXT: attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
// CHECK-NEXT: !0 = !{}
// CHECK-NEXT: !1 = !{!2}
// CHECK-NEXT: !2 = distinct !{!2, !3}
// CHECK-NEXT: !3 = distinct !{!3}
// CHECK-NEXT: !4 = !{!5, !6, !7, !8}
// CHECK-NEXT: !5 = distinct !{!5, !3}
// CHECK-NEXT: !6 = distinct !{!6, !3}
// CHECK-NEXT: !7 = distinct !{!7, !3}
// CHECK-NEXT: !8 = distinct !{!8, !3}
// CHECK-NEXT: !9 = !{!8}
// CHECK-NEXT: !10 = !{!5, !6, !7, !2}
// CHECK-NEXT: !11 = distinct !{!11, !12}
// CHECK-NEXT: !12 = !{!"llvm.loop.mustprogress"}
// CHECK-NEXT: !13 = distinct !{!13, !12}
// CHECK-NEXT: !14 = distinct !{!14, !12}
// CHECK-NEXT: !15 = distinct !{!15, !12}
