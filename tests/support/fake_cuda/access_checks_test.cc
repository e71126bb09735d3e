#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/fake_cuda/cuda_api.h"

extern "C" {
CUresult cuInit(unsigned);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize();
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**);
}

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class AccessChecksTest : public testing::Test {
 protected:
  AccessChecksTest() {
    setenv("KILN_FAKE_CUDA", "check=race,init", /*overwrite=*/1);  // read by the first call
    CUcontext context = nullptr;
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  // What the checks say of `body`, which blocks of 64 threads run. %t is the thread's number and %b
  // the block's. The predicate %first holds for thread 0 of block 0. %p is the address of 64 words
  // of zeros, or of garbage.
  static std::string Run(const std::string& body, unsigned blocks = 1, bool zeros = true) {
    const std::string text =
        ".version 7.8\n.target sm_90\n.address_size 64\n"
        ".visible .entry f(.param .u64 at) {\n.reg .b64 %p, %a<9>; .reg .b32 %t, %b, %r<9>;\n"
        ".reg .pred %first, %q<9>;\n.shared .align 4 .b8 shared[256];\n"
        ".local .align 4 .b8 stack[64];\n"
        "ld.param.u64 %p, [at]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;\n"
        "or.b32 %r0, %t, %b; setp.eq.u32 %first, %r0, 0;\n" +
        body + "\nret;\n}\n";
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "f"), CUDA_SUCCESS);
    CUdeviceptr at = 0;
    EXPECT_EQ(cuMemAlloc_v2(&at, 256), CUDA_SUCCESS);
    if (zeros) {
      EXPECT_EQ(cuMemsetD32Async(at, 0, 64, nullptr), CUDA_SUCCESS);
    }
    void* parameters[] = {&at};
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    std::string reports = testing::internal::GetCapturedStderr();
    EXPECT_EQ(cuMemFree_v2(at), CUDA_SUCCESS);
    return reports;
  }
};

TEST_F(AccessChecksTest, TwoThreadsThatWriteAWordRace) {
  EXPECT_THAT(Run("st.global.u32 [%p], %t;"),
              AllOf(HasSubstr("fake CUDA: race: a thread writes 4 bytes of global memory"),
                    HasSubstr("kernel f, block (0, 0, 0), thread (")));
  EXPECT_THAT(Run("add.u32 %r1, %b, 1; @!%first st.global.u32 [%p], %r1;", 2), HasSubstr("race"));
  // Each its own, one value by all, and atomic operations.
  EXPECT_THAT(Run("mad.wide.u32 %a1, %t, 4, %p; st.global.u32 [%a1], %t;"), IsEmpty());
  EXPECT_THAT(Run("mov.u32 %r1, 7; st.global.u32 [%p], %r1;", 3), IsEmpty());
  EXPECT_THAT(Run("red.global.add.u32 [%p], %t;", 3), IsEmpty());
  EXPECT_THAT(Run("st.relaxed.gpu.global.u32 [%p], %t;", 3), IsEmpty());
}

TEST_F(AccessChecksTest, BarriersOrderABlock) {
  const auto check = [](const std::string& space) {
    const std::string at = space == "global" ? "%p" : "shared";
    const std::string write = "mov.u32 %r1, 9; @%first st." + space + ".u32 [" + at + "], %r1;\n";
    const std::string read =
        "setp.eq.u32 %q1, %t, 40; @%q1 ld." + space + ".u32 %r2, [" + at + "];\n";
    EXPECT_THAT(Run(write + "bar.sync 0;\n" + read), IsEmpty());
    const std::string other =
        "setp.eq.u32 %q1, %t, 40; mov.u32 %r1, 9; @%q1 st." + space + ".u32 [" + at + "], %r1;\n" +
        "setp.eq.u32 %q2, %t, 41; mov.u32 %r1, 8; @%q2 st." + space + ".u32 [" + at + "], %r1;";
    EXPECT_THAT(Run(other), AllOf(HasSubstr("race"), HasSubstr(space + " memory")));
    // Of a warp.
    const std::string both = "setp.eq.u32 %q1, %t, 40; mov.u32 %r1, 9; @%q1 st." + space +
                             ".u32 [" + at + "], %r1;\n" +
                             "bar.warp.sync 0xffffffff;\n"
                             "setp.eq.u32 %q2, %t, 41; @%q2 ld." +
                             space + ".u32 %r1, [" + at + "];";
    EXPECT_THAT(Run(both), IsEmpty());
  };
  check("global");
  check("shared");
  // Of one block alone.
  EXPECT_THAT(Run("mov.u32 %r1, 9; @%first st.global.u32 [%p], %r1; bar.sync 0;\n"
                  "setp.ne.u32 %q1, %b, 0; @%q1 ld.global.u32 %r2, [%p];",
                  2),
              HasSubstr("race"));
}

TEST_F(AccessChecksTest, FencesOrderBlocks) {
  const auto hand_over = [](const std::string& release, const std::string& acquire) {
    return "mov.u32 %r1, 9; @%first st.global.u32 [%p], %r1;\n" + release +
           "@%first st.volatile.global.u32 [%p+4], %r1; @%first bra END;\n"
           "WAIT: ld.volatile.global.u32 %r2, [%p+4]; setp.eq.u32 %q1, %r2, 0;\n"
           "@%q1 nanosleep.u32 9; @%q1 bra WAIT;\n" +
           acquire + "ld.global.u32 %r3, [%p];\nEND:";
  };
  EXPECT_THAT(Run(hand_over("membar.gl;\n", "membar.gl;\n"), 2), IsEmpty());
  EXPECT_THAT(Run(hand_over("", ""), 2), HasSubstr("race"));
}

TEST_F(AccessChecksTest, WhatNothingHasWrittenIsNotRead) {
  EXPECT_THAT(Run("@%first ld.global.u32 %r1, [%p+8];"), IsEmpty());
  EXPECT_THAT(Run("@%first ld.global.u32 %r1, [%p+8];", 1, /*zeros=*/false),
              HasSubstr("init: a thread reads 4 bytes of global memory"));
  EXPECT_THAT(Run("@%first st.global.u32 [%p+8], %t; @%first ld.global.u32 %r1, [%p+8];", 1, false),
              IsEmpty());
  EXPECT_THAT(Run("@%first st.global.u16 [%p+8], 1; @%first ld.global.u32 %r1, [%p+8];", 1, false),
              HasSubstr("init"));
  const auto check = [](const std::string& space) {
    const std::string at = space == "shared" ? "shared" : "stack";
    const std::string read = "@%first ld." + space + ".u32 %r1, [" + at + "];";
    EXPECT_THAT(Run(read), HasSubstr("bytes of " + space + " memory"));
    EXPECT_THAT(Run("@%first st." + space + ".u32 [" + at + "], %t;\n" + read), IsEmpty());
  };
  check("shared");
  check("local");
}

}  // namespace
