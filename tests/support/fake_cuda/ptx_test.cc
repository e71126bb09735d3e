#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/ptx_executor.h"
#include "tests/support/fake_cuda/ptx_parser.h"

namespace kiln::ptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kBase = uint64_t{1} << 46;
constexpr char kHead[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 k_param_0) {\n"
    ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n"
    ".reg .b64 %rd<9>;\n.reg .f64 %fd<9>;\n"
    "ld.param.u64 %rd0, [k_param_0];\n";

// Runs `body` on each thread of a grid, with the address of `memory` in %rd0.
std::string RunOn(std::vector<uint64_t>* memory, const std::string& body, const Grid& grid = {}) {
  std::string error;
  const auto module = Parse(kHead + body + "\nret;\n}\n", &error);
  if (module == nullptr) return error;
  const uint64_t address = kBase;
  return Run(*module, *module->functions.at("k"), grid, &address,
             [&](uint64_t at, uint64_t bytes) -> uint8_t* {
               const uint64_t size = memory->size() * sizeof(uint64_t);
               if (at < kBase || at - kBase + bytes > size) return nullptr;
               return reinterpret_cast<uint8_t*>(memory->data()) + (at - kBase);
             });
}

// What `body` leaves in %rd1.
uint64_t Result(const std::string& body) {
  std::vector<uint64_t> memory(1);
  EXPECT_EQ(RunOn(&memory, body + "\nst.global.u64 [%rd0], %rd1;"), "") << body;
  return memory[0];
}

uint32_t Word(const std::string& body) {
  return static_cast<uint32_t>(Result(body + "\ncvt.u64.u32 %rd1, %r1;"));
}
float Float(const std::string& body) {
  const uint32_t word = Word(body + "\nmov.b32 %r1, %f1;");
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

TEST(PtxTest, Integers) {
  EXPECT_EQ(Word("mov.u32 %r2, 7; sub.s32 %r1, %r2, 9;"), static_cast<uint32_t>(-2));
  EXPECT_EQ(Word("mov.u32 %r2, -7; div.s32 %r1, %r2, 2;"), static_cast<uint32_t>(-3));
  EXPECT_EQ(Word("mov.u32 %r2, -7; div.u32 %r1, %r2, 2;"), 0x7ffffffcu);
  EXPECT_EQ(Word("mov.u32 %r2, -7; rem.s32 %r1, %r2, 4;"), static_cast<uint32_t>(-3));
  EXPECT_EQ(Result("mov.u32 %r2, -7; mul.wide.s32 %rd1, %r2, 3;"), static_cast<uint64_t>(-21));
  EXPECT_EQ(Result("mov.u32 %r2, -7; mul.wide.u32 %rd1, %r2, 3;"), 0xfffffff9ull * 3);
  EXPECT_EQ(Word("mov.u32 %r2, 0x80000001; mul.hi.u32 %r1, %r2, 6;"), 3u);
  EXPECT_EQ(Result("mov.u64 %rd2, 0x8000000000000001; mul.hi.u64 %rd1, %rd2, 6;"), 3u);
  EXPECT_EQ(Word("mov.u32 %r2, -8; shr.s32 %r1, %r2, 1;"), static_cast<uint32_t>(-4));
  EXPECT_EQ(Word("mov.u32 %r2, -8; shr.u32 %r1, %r2, 40;"), 0u);
  EXPECT_EQ(Word("mov.u32 %r2, -8; shr.s32 %r1, %r2, 40;"), ~0u);
  EXPECT_EQ(Word("mov.u32 %r2, 1; shl.b32 %r1, %r2, 32;"), 0u);
  EXPECT_EQ(Word("mov.u32 %r2, 0x00f0; clz.b32 %r1, %r2;"), 24u);
  EXPECT_EQ(Word("mov.u32 %r2, 0x00f0; popc.b32 %r1, %r2;"), 4u);
  EXPECT_EQ(Word("mov.u32 %r2, 1; brev.b32 %r1, %r2;"), 0x80000000u);
  EXPECT_EQ(Word("mov.u32 %r2, 0x1234; bfe.u32 %r1, %r2, 4, 8;"), 0x23u);
  EXPECT_EQ(Word("mov.u32 %r2, 0x0f80; bfe.s32 %r1, %r2, 4, 8;"), static_cast<uint32_t>(-8));
  EXPECT_EQ(Word("mov.u32 %r2, 0xab; mov.u32 %r3, 0x1111; bfi.b32 %r1, %r2, %r3, 4, 8;"), 0x1ab1u);
  // Bytes 6, 1 and 4, and the sign of byte 4.
  EXPECT_EQ(Word("mov.u32 %r2, 0x03020100; mov.u32 %r3, 0x07060584;"
                 "prmt.b32 %r1, %r2, %r3, 0xc416;"),
            0xff840106u);
  EXPECT_EQ(
      Word("mov.u32 %r2, 0x89abcdef; mov.u32 %r3, 0x01234567; shf.l.wrap.b32 %r1, %r2, %r3, 8;"),
      0x23456789u);
  EXPECT_EQ(Word("mov.u32 %r2, -3; abs.s32 %r1, %r2;"), 3u);
  EXPECT_EQ(Word("mov.u32 %r2, -3; min.s32 %r1, %r2, 2;"), static_cast<uint32_t>(-3));
  EXPECT_EQ(Word("mov.u32 %r2, -3; min.u32 %r1, %r2, 2;"), 2u);
}

TEST(PtxTest, CarriesGoFromOneWordToTheNext) {
  EXPECT_EQ(Word("mov.u32 %r2, -1; add.cc.u32 %r3, %r2, 1; addc.u32 %r1, %r3, 5;"), 6u);
  EXPECT_EQ(Word("mov.u32 %r2, 0; sub.cc.u32 %r3, %r2, 1; subc.u32 %r1, 5, 0;"), 4u);
  EXPECT_EQ(Word("mov.u32 %r2, -1; mad.lo.cc.u32 %r3, %r2, 1, 1; madc.hi.u32 %r1, %r2, 2, 3;"), 5u);
}

TEST(PtxTest, Floats) {
  EXPECT_EQ(Float("mov.f32 %f2, 0f40000000; fma.rn.f32 %f1, %f2, %f2, 0f3F800000;"), 5);
  EXPECT_EQ(Float("mov.f32 %f2, 0f7FC00000; max.f32 %f1, %f2, 0f3F800000;"), 1);
  EXPECT_TRUE(std::isnan(Float("mov.f32 %f2, 0f7FC00000; max.NaN.f32 %f1, %f2, 0f3F800000;")));
  EXPECT_TRUE(std::signbit(Float("mov.f32 %f2, 0f80000000; min.f32 %f1, %f2, 0f00000000;")));
  EXPECT_EQ(Float("mov.f32 %f2, 0f3F800000; add.rm.f32 %f1, %f2, 0f2B000000;"), 1);
  EXPECT_GT(Float("mov.f32 %f2, 0f3F800000; add.rp.f32 %f1, %f2, 0f2B000000;"), 1);
  EXPECT_EQ(Float("mov.f32 %f2, 0fC0000000; add.sat.f32 %f1, %f2, 0f3F800000;"), 0);
  EXPECT_EQ(Result("mov.f64 %fd2, 0d4008000000000000; sqrt.rn.f64 %fd1, %fd2; mov.b64 %rd1, %fd1;"),
            [] {
              const double root = std::sqrt(3.0);
              uint64_t bits;
              std::memcpy(&bits, &root, 8);
              return bits;
            }());
}

TEST(PtxTest, Conversions) {
  EXPECT_EQ(Word("mov.f32 %f2, 0fC0200000; cvt.rzi.s32.f32 %r1, %f2;"), static_cast<uint32_t>(-2));
  EXPECT_EQ(Word("mov.f32 %f2, 0fC0200000; cvt.rmi.s32.f32 %r1, %f2;"), static_cast<uint32_t>(-3));
  EXPECT_EQ(Word("mov.f32 %f2, 0f4F800000; cvt.rzi.s32.f32 %r1, %f2;"), 0x7fffffffu);
  EXPECT_EQ(Word("mov.f32 %f2, 0fBF800000; cvt.rzi.u32.f32 %r1, %f2;"), 0u);
  EXPECT_EQ(Word("mov.f32 %f2, 0f7FC00000; cvt.rzi.s32.f32 %r1, %f2;"), 0u);
  EXPECT_EQ(Float("mov.u32 %r2, -5; cvt.rn.f32.s32 %f1, %r2;"), -5);
  EXPECT_EQ(Float("mov.u32 %r2, -1; cvt.rn.f32.u32 %f1, %r2;"), 4294967296.0f);
  EXPECT_EQ(Result("mov.u32 %r2, -5; cvt.s64.s32 %rd1, %r2;"), static_cast<uint64_t>(-5));
  EXPECT_EQ(Result("mov.u32 %r2, -5; cvt.u64.u32 %rd1, %r2;"), 0xfffffffbu);
  EXPECT_EQ(Word("mov.u32 %r2, 0x180; cvt.s32.s8 %r1, %r2;"), static_cast<uint32_t>(-128));
  EXPECT_EQ(Float("mov.f32 %f2, 0f3F8CCCCD; cvt.rn.f16.f32 %rs1, %f2; cvt.f32.f16 %f1, %rs1;"),
            1.099609375f);
}

TEST(PtxTest, ComparisonsWithNan) {
  const auto holds = [](const std::string& compare) {
    return Word("mov.f32 %f2, 0f7FC00000; setp." + compare +
                ".f32 %p1, %f2, 0f3F800000; selp.u32 %r1, 1, 0, %p1;");
  };
  for (const char* ordered : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    EXPECT_EQ(holds(ordered), 0u) << ordered;
  for (const char* unordered : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}) {
    EXPECT_EQ(holds(unordered), 1u) << unordered;
  }
  EXPECT_EQ(Word("mov.u32 %r2, -1; setp.lt.s32 %p1, %r2, 0; selp.u32 %r1, 1, 0, %p1;"), 1u);
  EXPECT_EQ(Word("mov.u32 %r2, -1; setp.lt.u32 %p1, %r2, 0; selp.u32 %r1, 1, 0, %p1;"), 0u);
}

TEST(PtxTest, GridsAndAtomics) {
  std::vector<uint64_t> memory(3);
  const std::string count =
      "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;"
      "mad.lo.s32 %r1, %r2, %r3, %r4; cvt.u64.u32 %rd1, %r1;"
      "atom.global.add.u64 %rd2, [%rd0], %rd1; red.global.max.u64 [%rd0+8], %rd1;"
      "atom.global.cas.b64 %rd3, [%rd0+16], 0, 9;";
  EXPECT_EQ(RunOn(&memory, count, {{4, 1, 1}, {32, 1, 1}}), "");
  EXPECT_THAT(memory, ElementsAre(127 * 128 / 2, 127, 9));
}

TEST(PtxTest, LoopsAndLocalMemory) {
  // The sum of 0 to 9, by an array in local memory.
  EXPECT_EQ(
      Result(".local .align 8 .b8 depot[80];\n"
             "mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2; mov.u64 %rd4, 0;\n"
             "fill: shl.b64 %rd5, %rd4, 3; add.s64 %rd6, %rd3, %rd5; st.u64 [%rd6], %rd4;\n"
             "add.s64 %rd4, %rd4, 1; setp.lt.u64 %p1, %rd4, 10; @%p1 bra fill;\n"
             "mov.u64 %rd4, 0; mov.u64 %rd1, 0;\n"
             "sum: shl.b64 %rd5, %rd4, 3; add.s64 %rd6, %rd2, %rd5; ld.local.u64 %rd7, [%rd6];\n"
             "add.s64 %rd1, %rd1, %rd7; add.s64 %rd4, %rd4, 1; setp.ne.s64 %p1, %rd4, 10;\n"
             "@%p1 bra sum;"),
      45u);
}

TEST(PtxTest, FunctionsCallThemselves) {
  const std::string text =
      ".version 7.8\n.target sm_90\n.address_size 64\n"
      ".func (.param .b32 result) fib(.param .b32 fib_param_0);\n"
      ".visible .entry k(.param .u64 k_param_0) {\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n"
      "ld.param.u64 %rd1, [k_param_0];\n"
      "{ .param .b32 param0; st.param.b32 [param0+0], 10; .param .b32 retval0;\n"
      "call.uni (retval0), fib, (param0); ld.param.b32 %r1, [retval0+0]; }\n"
      "st.global.u32 [%rd1], %r1; ret; }\n"
      ".func (.param .b32 result) fib(.param .b32 fib_param_0) {\n"
      ".reg .b32 %r<9>;\n.reg .pred %p<2>;\nld.param.u32 %r1, [fib_param_0];\n"
      "mov.u32 %r5, %r1; setp.lt.s32 %p1, %r1, 2; @%p1 bra done;\n"
      "add.s32 %r2, %r1, -1;\n"
      "{ .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0;\n"
      "call.uni (retval0), fib, (param0); ld.param.b32 %r3, [retval0+0]; }\n"
      "add.s32 %r2, %r1, -2;\n"
      "{ .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0;\n"
      "call.uni (retval0), fib, (param0); ld.param.b32 %r4, [retval0+0]; }\n"
      "add.s32 %r5, %r3, %r4;\ndone: st.param.b32 [result+0], %r5; ret; }\n";
  std::string error;
  const auto module = Parse(text, &error);
  ASSERT_NE(module, nullptr) << error;
  uint32_t result = 0;
  EXPECT_EQ(ptx::Run(*module, *module->functions.at("k"), {}, &kBase,
                     [&](uint64_t, uint64_t) { return reinterpret_cast<uint8_t*>(&result); }),
            "");
  EXPECT_EQ(result, 55u);
}

TEST(PtxTest, NamesWrongAccesses) {
  std::vector<uint64_t> memory(2);
  EXPECT_THAT(RunOn(&memory, "ld.global.u64 %rd1, [%rd0+16];"),
              HasSubstr("of k: 8 bytes at 0x400000000010, which are not allocated"));
  EXPECT_THAT(RunOn(&memory, "ld.global.u64 %rd1, [%rd0+4];"), HasSubstr("no multiple of 8"));
  EXPECT_THAT(RunOn(&memory, "", {{1, 1, 1}, {2048, 1, 1}}), HasSubstr("2048 threads"));
  EXPECT_THAT(RunOn(&memory, "trap;"), HasSubstr("trap"));
}

TEST(PtxTest, RefusesWhatItDoesNotHave) {
  std::vector<uint64_t> memory(1);
  EXPECT_THAT(RunOn(&memory, "bar.sync 0;"),
              HasSubstr("line 12: the emulator does not have 'bar.sync'"));
  EXPECT_THAT(RunOn(&memory, "add.u32 %r1, %r77, 1;"), HasSubstr("nothing is called '%r77'"));
  EXPECT_THAT(RunOn(&memory, "bra nowhere;"), HasSubstr("no label nowhere"));
  EXPECT_THAT(RunOn(&memory, "add.u32 %r1, %r2"), HasSubstr("line 1"));
  std::string error;
  EXPECT_EQ(Parse(".version 7.8\n.visible .entry k(", &error), nullptr);
  EXPECT_EQ(Parse("no PTX", &error), nullptr);
}

}  // namespace
}  // namespace kiln::ptx
