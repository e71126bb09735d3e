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
// CHECK-NEXT:   %11 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %12 = load ptr, ptr %11, align 8, !invariant.load !0
// CHECK-NEXT:   %13 = getelementptr inbounds i8, ptr %12, i64 8
// CHECK-NEXT:   %14 = load i64, ptr %13, align 8, !invariant.load !0
// CHECK-NEXT:   %15 = getelementptr inbounds i8, ptr %12, i64 0
// CHECK-NEXT:   %16 = load ptr, ptr %15, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %17 = sub i64 %14, 0
// CHECK-NEXT:   %18 = icmp sgt i64 %17, 0
// CHECK-NEXT:   %19 = select i1 %18, i64 %17, i64 0
// CHECK-NEXT:   %20 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %20, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %21 = sub i64 %19, 512
// CHECK-NEXT:   %22 = call i64 @llvm.smax.i64(i64 %21, i64 0)
// CHECK-NEXT:   %23 = call i64 @llvm.smin.i64(i64 %1, i64 %22)
// CHECK-NEXT:   %24 = and i64 %23, -512
// CHECK-NEXT:   %25 = sub i64 %1, %1
// CHECK-NEXT:   %26 = add i64 %25, %24
// CHECK-NEXT:   %27 = icmp eq i64 %1, %19
// CHECK-NEXT:   %28 = select i1 %27, i64 %1, i64 %26
// CHECK-NEXT:   %29 = sub i64 %19, 512
// CHECK-NEXT:   %30 = call i64 @llvm.smax.i64(i64 %29, i64 0)
// CHECK-NEXT:   %31 = call i64 @llvm.smin.i64(i64 %2, i64 %30)
// CHECK-NEXT:   %32 = and i64 %31, -512
// CHECK-NEXT:   %33 = sub i64 %2, %2
// CHECK-NEXT:   %34 = add i64 %33, %32
// CHECK-NEXT:   %35 = icmp eq i64 %2, %19
// CHECK-NEXT:   %36 = select i1 %35, i64 %2, i64 %34
// CHECK-NEXT:   %37 = icmp slt i64 %28, %36
// CHECK-NEXT:   br i1 %37, label %left, label %return
// CHECK-NEXT: left:                                             ; preds = %some
// CHECK-NEXT:   %38 = add nsw i64 %36, 0
// CHECK-NEXT:   %39 = add nsw i64 %28, 0
// CHECK-NEXT:   br label %lanes
// CHECK-NEXT: lanes:                                            ; preds = %after, %left
// CHECK-NEXT:   %40 = phi i64 [ %39, %left ], [ %85, %after ]
// CHECK-NEXT:   %41 = icmp slt i64 %40, %38
// CHECK-NEXT:   br i1 %41, label %iterations, label %lanes_end
// CHECK-NEXT: iterations:                                       ; preds = %lanes
// CHECK-NEXT:   %42 = sub nsw i64 %38, %40
// CHECK-NEXT:   %43 = call i64 @llvm.smin.i64(i64 %42, i64 8)
// CHECK-NEXT:   %44 = trunc i64 %43 to i32
// CHECK-NEXT:   %.splatinsert = insertelement <8 x i32> poison, i32 %44, i64 0
// CHECK-NEXT:   %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %45 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
// CHECK-NEXT:   %46 = trunc i64 %40 to i32
// CHECK-NEXT:   %.splatinsert1 = insertelement <8 x i32> poison, i32 %46, i64 0
// CHECK-NEXT:   %.splat2 = shufflevector <8 x i32> %.splatinsert1, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %47 = add <8 x i32> %.splat2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
// CHECK-NEXT:   %48 = sitofp <8 x i32> %47 to <8 x float>
// CHECK-NEXT:   store <8 x float> zeroinitializer, ptr %10, align 32
// CHECK-NEXT:   store <8 x float> %48, ptr %10, align 32
// CHECK-NEXT:   store i32 0, ptr %9, align 4
// CHECK-NEXT:   store i32 0, ptr %9, align 4
// CHECK-NEXT:   store <8 x float> zeroinitializer, ptr %8, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %7, align 32
// CHECK-NEXT:   %49 = sext <8 x i1> %45 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %49, ptr %6, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %5, align 32
// CHECK-NEXT:   br label %loop
// CHECK-NEXT: lanes_end:                                        ; preds = %lanes
// CHECK-NEXT:   br label %return
// CHECK-NEXT: loop:                                             ; preds = %again, %iterations
// CHECK-NEXT:   %50 = load <8 x i32>, ptr %6, align 32
// CHECK-NEXT:   %51 = icmp slt <8 x i32> %50, zeroinitializer
// CHECK-NEXT:   br label %body
// CHECK-NEXT: body:                                             ; preds = %loop
// CHECK-NEXT:   %52 = load <8 x float>, ptr %10, align 32
// CHECK-NEXT:   %53 = load i32, ptr %9, align 4
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %5, align 32
// CHECK-NEXT:   %54 = fcmp olt <8 x float> %52, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
// CHECK-NEXT:   %55 = select <8 x i1> %51, <8 x i1> %54, <8 x i1> zeroinitializer
// CHECK-NEXT:   %56 = xor <8 x i1> %54, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %57 = select <8 x i1> %51, <8 x i1> %56, <8 x i1> zeroinitializer
// CHECK-NEXT:   %58 = load <8 x float>, ptr %8, align 32
// CHECK-NEXT:   %59 = select <8 x i1> %57, <8 x float> %52, <8 x float> %58
// CHECK-NEXT:   store <8 x float> %59, ptr %8, align 32
// CHECK-NEXT:   %60 = load <8 x i32>, ptr %7, align 32
// CHECK-NEXT:   %.splatinsert3 = insertelement <8 x i32> poison, i32 %53, i64 0
// CHECK-NEXT:   %.splat4 = shufflevector <8 x i32> %.splatinsert3, <8 x i32> poison, <8 x i32> zeroinitializer
// CHECK-NEXT:   %61 = select <8 x i1> %57, <8 x i32> %.splat4, <8 x i32> %60
// CHECK-NEXT:   store <8 x i32> %61, ptr %7, align 32
// CHECK-NEXT:   store <8 x i32> zeroinitializer, ptr %4, align 32
// CHECK-NEXT:   %62 = bitcast <8 x i1> %55 to i8
// CHECK-NEXT:   %63 = icmp ne i8 %62, 0
// CHECK-NEXT:   br i1 %63, label %rest, label %join
// CHECK-NEXT: end:                                              ; preds = %join
// CHECK-NEXT:   %64 = load <8 x float>, ptr %8, align 32
// CHECK-NEXT:   %65 = load <8 x i32>, ptr %7, align 32
// CHECK-NEXT:   %66 = icmp sgt <8 x i32> %65, zeroinitializer
// CHECK-NEXT:   %67 = select <8 x i1> %45, <8 x i1> %66, <8 x i1> zeroinitializer
// CHECK-NEXT:   %68 = xor <8 x i1> %66, <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>
// CHECK-NEXT:   %69 = select <8 x i1> %45, <8 x i1> %68, <8 x i1> zeroinitializer
// CHECK-NEXT:   %70 = bitcast <8 x i1> %67 to i8
// CHECK-NEXT:   %71 = icmp ne i8 %70, 0
// CHECK-NEXT:   br i1 %71, label %then, label %after
// CHECK-NEXT: rest:                                             ; preds = %body
// CHECK-NEXT:   %72 = fmul <8 x float> %52, %52
// CHECK-NEXT:   %73 = add i32 %53, 1
// CHECK-NEXT:   store <8 x float> %72, ptr %10, align 32
// CHECK-NEXT:   store i32 %73, ptr %9, align 4
// CHECK-NEXT:   %74 = load <8 x i32>, ptr %5, align 32
// CHECK-NEXT:   %75 = icmp slt <8 x i32> %74, zeroinitializer
// CHECK-NEXT:   %76 = or <8 x i1> %75, %55
// CHECK-NEXT:   %77 = sext <8 x i1> %76 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %77, ptr %5, align 32
// CHECK-NEXT:   br label %join
// CHECK-NEXT: join:                                             ; preds = %rest, %body
// CHECK-NEXT:   %78 = load <8 x i32>, ptr %5, align 32
// CHECK-NEXT:   %79 = icmp slt <8 x i32> %78, zeroinitializer
// CHECK-NEXT:   %80 = sext <8 x i1> %79 to <8 x i32>
// CHECK-NEXT:   store <8 x i32> %80, ptr %6, align 32
// CHECK-NEXT:   %81 = bitcast <8 x i1> %79 to i8
// CHECK-NEXT:   %82 = icmp ne i8 %81, 0
// CHECK-NEXT:   br i1 %82, label %again, label %end
// CHECK-NEXT: again:                                            ; preds = %join
// CHECK-NEXT:   br label %loop
// CHECK-NEXT: then:                                             ; preds = %end
// CHECK-NEXT:   %83 = mul nsw i64 %40, 4
// CHECK-NEXT:   %84 = getelementptr i8, ptr %16, i64 %83
// CHECK-NEXT:   call void @llvm.masked.store.v8f32.p0(<8 x float> %64, ptr %84, i32 4, <8 x i1> %67), !alias.scope !1, !noalias !4
// CHECK-NEXT:   br label %after
// CHECK-NEXT: after:                                            ; preds = %then, %end
// CHECK-NEXT:   %85 = add nsw i64 %40, 8
// CHECK-NEXT:   br label %lanes, !llvm.loop !8
// CHECK-NEXT: return:                                           ; preds = %lanes_end, %some, %start
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
// CHECK-NEXT:   %6 = getelementptr inbounds i8, ptr %0, i64 0
// CHECK-NEXT:   %7 = load ptr, ptr %6, align 8, !invariant.load !0
// CHECK-NEXT:   %8 = getelementptr inbounds i8, ptr %7, i64 16
// CHECK-NEXT:   %9 = load i64, ptr %8, align 8, !invariant.load !0
// CHECK-NEXT:   %10 = getelementptr inbounds i8, ptr %7, i64 8
// CHECK-NEXT:   %11 = load i64, ptr %10, align 8, !invariant.load !0
// CHECK-NEXT:   %12 = getelementptr inbounds i8, ptr %7, i64 0
// CHECK-NEXT:   %13 = load ptr, ptr %12, align 8, !invariant.load !0
// CHECK-NEXT:   %14 = getelementptr inbounds i8, ptr %0, i64 64
// CHECK-NEXT:   %15 = load ptr, ptr %14, align 8, !invariant.load !0
// CHECK-NEXT:   br label %start
// CHECK-NEXT: start:                                            ; preds = %entry
// CHECK-NEXT:   %16 = sub i64 %9, 0
// CHECK-NEXT:   %17 = icmp sgt i64 %16, 0
// CHECK-NEXT:   %18 = select i1 %17, i64 %16, i64 0
// CHECK-NEXT:   %19 = icmp slt i64 %1, %2
// CHECK-NEXT:   br i1 %19, label %some, label %return
// CHECK-NEXT: some:                                             ; preds = %start
// CHECK-NEXT:   %20 = add nsw i64 %2, 0
// CHECK-NEXT:   %21 = add nsw i64 %1, 0
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %5, align 64
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %5, align 64
// CHECK-NEXT:   br label %lanes
// CHECK-NEXT: lanes:                                            ; preds = %end, %some
// CHECK-NEXT:   %22 = phi i64 [ %21, %some ], [ %54, %end ]
// CHECK-NEXT:   %23 = icmp slt i64 %22, %20
// CHECK-NEXT:   br i1 %23, label %iterations, label %lanes_end
// CHECK-NEXT: iterations:                                       ; preds = %lanes
// CHECK-NEXT:   %24 = sub nsw i64 %20, %22
// CHECK-NEXT:   %25 = call i64 @llvm.smin.i64(i64 %24, i64 16)
// CHECK-NEXT:   %26 = trunc i64 %25 to i32
// CHECK-NEXT:   %.splatinsert = insertelement <16 x i32> poison, i32 %26, i64 0
// CHECK-NEXT:   %.splat = shufflevector <16 x i32> %.splatinsert, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %27 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.splat
// CHECK-NEXT:   %28 = trunc i64 %22 to i32
// CHECK-NEXT:   %.splatinsert1 = insertelement <16 x i32> poison, i32 %28, i64 0
// CHECK-NEXT:   %.splat2 = shufflevector <16 x i32> %.splatinsert1, <16 x i32> poison, <16 x i32> zeroinitializer
// CHECK-NEXT:   %29 = add <16 x i32> %.splat2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
// CHECK-NEXT:   %30 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %31 = trunc i64 %11 to i32
// CHECK-NEXT:   store <16 x float> zeroinitializer, ptr %4, align 64
// CHECK-NEXT:   store <16 x float> %30, ptr %4, align 64
// CHECK-NEXT:   br label %for
// CHECK-NEXT: lanes_end:                                        ; preds = %lanes
// CHECK-NEXT:   %32 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %33 = call reassoc float @llvm.vector.reduce.fadd.v16f32(float -0.000000e+00, <16 x float> %32)
// CHECK-NEXT:   %34 = sext i32 %3 to i64
// CHECK-NEXT:   %35 = mul i64 %34, 1
// CHECK-NEXT:   %36 = add i64 %35, 0
// CHECK-NEXT:   %37 = getelementptr inbounds i64, ptr %15, i64 %36
// CHECK-NEXT:   store float %33, ptr %37, align 4
// CHECK-NEXT:   br label %return
// CHECK-NEXT: for:                                              ; preds = %body, %iterations
// CHECK-NEXT:   %38 = phi i32 [ 0, %iterations ], [ %50, %body ]
// CHECK-NEXT:   %39 = icmp slt i32 %38, %31
// CHECK-NEXT:   br i1 %39, label %body, label %end
// CHECK-NEXT: body:                                             ; preds = %for
// CHECK-NEXT:   %40 = load <16 x float>, ptr %4, align 64
// CHECK-NEXT:   %41 = sext i32 %38 to i64
// CHECK-NEXT:   %42 = add i64 0, %41
// CHECK-NEXT:   %43 = mul nsw i64 %42, %9
// CHECK-NEXT:   %44 = add i64 %43, %22
// CHECK-NEXT:   %45 = mul nsw i64 %44, 4
// CHECK-NEXT:   %46 = add i64 %45, 0
// CHECK-NEXT:   %47 = getelementptr i8, ptr %13, i64 %46
// CHECK-NEXT:   %48 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %47, i32 4, <16 x i1> %27, <16 x float> zeroinitializer), !alias.scope !1, !noalias !4
// CHECK-NEXT:   %49 = fadd reassoc <16 x float> %40, %48
// CHECK-NEXT:   store <16 x float> %49, ptr %4, align 64
// CHECK-NEXT:   %50 = add nsw i32 %38, 1
// CHECK-NEXT:   br label %for, !llvm.loop !8
// CHECK-NEXT: end:                                              ; preds = %for
// CHECK-NEXT:   %51 = load <16 x float>, ptr %4, align 64
// CHECK-NEXT:   %52 = load <16 x float>, ptr %5, align 64
// CHECK-NEXT:   %53 = select <16 x i1> %27, <16 x float> %51, <16 x float> %52
// CHECK-NEXT:   store <16 x float> %53, ptr %5, align 64
// CHECK-NEXT:   %54 = add nsw i64 %22, 16
// CHECK-NEXT:   br label %lanes, !llvm.loop !10
// CHECK-NEXT: return:                                           ; preds = %lanes_end, %start
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
