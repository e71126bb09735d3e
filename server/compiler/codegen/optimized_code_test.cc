// What is in the LLVM IR of kernels after optimisation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/compiler/codegen/kernel_text.h"
#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::Not;

TEST(OptimizedCodeTest, StreamsPassTheCachesByAlignedVectors) {
  const std::string loop =
      Kernel({Dense(1, 1, {0, 0, 4}, "f32"), Dense(3, 1, {0, 0, 4}, "f32", "", 1)},
             Range({{0, 1000}}, kScaleBody));
  auto text = TestKernel::OptimizedText(loop);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find("!nontemporal"), std::string::npos);
  EXPECT_NE(text->find("sfence"), std::string::npos);
  // The line is there already, since the loop has read it.
  std::string in_place = kScaleBody;
  in_place.replace(in_place.find("kiln.store %v, %p"), 17, "kiln.store %v, %from");
  text = TestKernel::OptimizedText(
      Kernel({Dense(1, 1, {0, 0, 4}, "f32"), Dense(3, 1, {0, 0, 4}, "f32", "", 1)},
             Range({{0, 1000}}, in_place)));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->find("!nontemporal"), std::string::npos);
}

// The sum of nine bytes takes 12 bits: more than LLVM sees by itself in so long a chain.
TEST(OptimizedCodeTest, SumsOfBytesTake16BitsALane) {
  for (const std::string quotient : {"arith.shrui %sum9, %three", "arith.divui %sum9, %three"}) {
    std::string body = "%sum0 = arith.constant 0 : i32\n%three = arith.constant 3 : i32\n";
    for (int i = 0; i < 9; ++i) {
      absl::StrAppend(&body, "%c", i, " = arith.constant ", i, " : i32\n%j", i,
                      " = arith.addi %i0, %c", i, " : i32\n%p", i,
                      " = kiln.global 0 component 0 [%j", i, "] : !kiln.addr<i8>\n%b", i,
                      " = kiln.load %p", i, " : !kiln.addr<i8>\n%x", i, " = arith.extui %b", i,
                      " : i8 to i32\n%sum", i + 1, " = arith.addi %sum", i, ", %x", i, " : i32\n");
    }
    absl::StrAppend(&body, "%q = ", quotient, R"( : i32
        %r = arith.trunci %q : i32 to i8
        %to = kiln.global 1 component 0 [%i0] : !kiln.addr<i8>
        kiln.store %r, %to : !kiln.addr<i8>
        kiln.continue)");
    auto text = TestKernel::OptimizedText(
        Kernel({Dense(1, 1, {0, 0, 1}, "i8"), Dense(3, 1, {0, 0, 1}, "i8", "", 1)},
               Range({{0, 1000}}, body)));
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_TRUE(absl::StrContains(*text, "x i16>")) << *text;
    EXPECT_FALSE(absl::StrContains(*text, "x i32>")) << *text;
  }
}

// Bytes are shifted in 32 bits, so that counts up to 31 are defined. Lanes of 32 bits would take
// two to eight times as long.
TEST(OptimizedCodeTest, ShiftsOfBytesTake8BitsALane) {
  const auto text = [](const std::string& count, const std::string& shift, uint32_t level) {
    auto code = TestKernel::OptimizedText(
        Kernel(
            {Dense(1, 1, {0, 0, 1}, "i8"), Dense(3, 1, {0, 0, 1}, "i8", "", 1),
             Dense(5, 1, {0, 0, 1}, "i8", "", 2)},
            Range({{0, 1000}}, absl::StrCat(R"(
    %from = kiln.global 0 component 0 [%i0] : !kiln.addr<i8>
    %x = kiln.load %from : !kiln.addr<i8>
    %by = kiln.global 1 component 0 [%i0] : !kiln.addr<i8>
    %each = kiln.load %by : !kiln.addr<i8>
    %one = arith.extui %each : i8 to i32
    %all = kiln.argument 6 : i32
    %most = arith.constant 31 : i32
    %count = arith.andi )",
                                            count, R"(, %most : i32
    %wide = arith.)",
                                            shift == "shrsi" ? "extsi" : "extui", R"( %x : i8 to i32
    %shifted = arith.)",
                                            shift, R"( %wide, %count : i32
    %result = arith.trunci %shifted : i32 to i8
    %to = kiln.global 2 component 0 [%i0] : !kiln.addr<i8>
    kiln.store %result, %to : !kiln.addr<i8>
    kiln.continue)"))),
        Target::Cpu(level));
    EXPECT_TRUE(code.ok()) << code.status();
    return code.ok() ? *code : "";
  };
  const auto narrow = ContainsRegex("(shl|lshr|ashr)[a-z ]* <[0-9]+ x i8>");
  const auto wide = ContainsRegex("(shl|lshr|ashr)[a-z ]* <[0-9]+ x i(16|32)>");
  for (const std::string shift : {"shli", "shrui", "shrsi"}) {
    for (const uint32_t level : {2, 3}) {
      EXPECT_THAT(text("%one", shift, level), AllOf(narrow, Not(wide))) << shift << level;
    }
    for (const uint32_t level : {2, 3, 4}) {
      EXPECT_THAT(text("%all", shift, level), AllOf(narrow, Not(wide))) << shift << level;
    }
  }
}

// A cell of a table is the least of neighbours, of which the iteration before has made one. LLVM
// would make branches that the processor guesses wrong.
TEST(OptimizedCodeTest, MinimaOfIntegersTakeNoBranches) {
  auto text = TestKernel::OptimizedText(
      Kernel({Dense(1, 2, {0, 0, 400, 1, 100, 4}, "i32")}, Range({{0, 1000}}, R"(
    %one = arith.constant 1 : i32
    %end = arith.constant 100 : i32
    kiln.for %j = %one to %end : i32 {
      %before = arith.subi %j, %one : i32
      %p = kiln.global 0 component 0 [%i0, %before] : !kiln.addr<i32>
      %x = kiln.load %p : !kiln.addr<i32>
      %more = arith.addi %x, %one : i32
      %q = kiln.global 0 component 0 [%i0, %j] : !kiln.addr<i32>
      %y = kiln.load %q : !kiln.addr<i32>
      %least = arith.minsi %more, %y : i32
      kiln.store %least, %q : !kiln.addr<i32>
      kiln.continue
    }
    kiln.continue)")));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, ContainsRegex("select i1 [^,]*, i32 [^,]*, i32 [^,]*, !unpredictable"));
  EXPECT_THAT(*text, Not(ContainsRegex("call i32 @llvm.smin")));
}

// Fields whose components are apart in memory, as the 19 of a lattice in three dimensions. With a
// check for each pair of them, LLVM gives up.
TEST(OptimizedCodeTest, ComponentsApartInMemoryAreVectorised) {
  static constexpr int kComponents = 40;
  const auto apart = [](int slot) {
    std::string types, components;
    for (int c = 0; c < kComponents; ++c) {
      absl::StrAppend(&types, c == 0 ? "" : ", ", "f32");
      absl::StrAppend(&components, c == 0 ? "" : ", ", c, ", 0");
    }
    return absl::StrCat("#kiln.dense<slot = ", slot,
                        ", axes = 1, digits = [0, 0, 4], offset = [], ", "types = [", types,
                        "], components = [", components, "], bases = ", kComponents,
                        ", base_strides = [], alias = 0, read_only = false>");
  };
  std::string body;
  for (int c = 0; c < kComponents; ++c) {
    absl::StrAppend(&body, "%p", c, " = kiln.global 0 component ", c,
                    " [%i0] : !kiln.addr<f32>\n%x", c, " = kiln.load %p", c,
                    " : !kiln.addr<f32>\n%y", c, " = arith.addf %x", c, ", %x", c, " : f32\n%q", c,
                    " = kiln.global 1 component ", c, " [%i0] : !kiln.addr<f32>\nkiln.store %y", c,
                    ", %q", c, " : !kiln.addr<f32>\n");
  }
  auto text = TestKernel::OptimizedText(
      Kernel({apart(1), apart(21)}, Range({{0, 1000}}, body + "kiln.continue")), Target::Cpu(4));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, ContainsRegex("fadd[a-z ]* <8 x float>"));
}

// Whether addresses of vectors wrap is a question for each field, of which LLVM asks 16 at most.
TEST(OptimizedCodeTest, LoopsOverManyFieldsOfVectorsAreVectorised) {
  constexpr int kFields = 20;
  std::vector<std::string> fields;
  std::string body;
  for (int f = 0; f < kFields; ++f) {
    fields.push_back(absl::StrCat(
        "#kiln.dense<slot = ", 1 + 2 * f, ", axes = 1, digits = [0, 0, 12], offset = [], ",
        "types = [f32, f32, f32], components = [0, 0, 0, 4, 0, 8], bases = 1, ",
        "base_strides = [], alias = 0, read_only = false>"));
    for (int c = 0; c < 3; ++c) {
      const std::string n = absl::StrCat(f, "_", c);
      absl::StrAppend(&body, "%p", n, " = kiln.global ", f, " component ", c,
                      " [%i0] : !kiln.addr<f32>\n%x", n, " = kiln.load %p", n,
                      " : !kiln.addr<f32>\n");
      if (f == 0) continue;
      absl::StrAppend(&body, "%y", n, " = arith.mulf %x", n, ", %x", n, " : f32\n%z", n,
                      " = arith.addf %y", n, ", %x0_", c, " : f32\nkiln.store %z", n, ", %p", n,
                      " : !kiln.addr<f32>\n");
    }
  }
  auto text = TestKernel::OptimizedText(Kernel(fields, Range({{0, 1000}}, body + "kiln.continue")),
                                        Target::Cpu(4));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, ContainsRegex("fmul <24 x float>"));
  EXPECT_THAT(*text, Not(testing::HasSubstr("with.overflow"))) << "a check at run time";
}

// 512-bit vectors of other loops would lower the clock of many processors.
TEST(OptimizedCodeTest, OnlyLoopsWithFunctionsTake512Bits) {
  const auto has = [](const std::string& op, absl::string_view text) {
    const std::string body = absl::StrCat(R"(
        %p = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
        %x = kiln.load %p : !kiln.addr<f32>
        %y = )",
                                          op, R"( fastmath<afn> : f32
        kiln.store %y, %p : !kiln.addr<f32>
        kiln.continue)");
    auto code = TestKernel::OptimizedText(
        Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, Range({{0, 1000}}, body)), Target::Cpu(4));
    EXPECT_TRUE(code.ok()) << code.status();
    return code.ok() && absl::StrContains(*code, text);
  };
  EXPECT_TRUE(has("math.sin %x", "@_ZGVeN16v_sinf(<16 x float>"));
  EXPECT_TRUE(has("arith.mulf %x, %x", "<8 x float>"));
  EXPECT_FALSE(has("arith.mulf %x, %x", "<16 x float>"));
}

// Longer rows do not repay the compiler's work for a second vector loop. The first kernel comes
// again: what another one asks for must not stay.
TEST(OptimizedCodeTest, ShortRowsEndWithShortVectors) {
  const std::vector<std::tuple<int, int, bool>> rows = {
      {0, 192, false}, {1, 191, true}, {0, 192, false}, {1, 1023, false}};
  for (const auto& [begin, end, ragged] : rows) {
    auto code = TestKernel::OptimizedText(
        Kernel({Dense(1, 2, {0, 0, 4096, 1, 1024, 4}, "f32")}, Range({{0, 100}, {begin, end}}, R"(
        %p = kiln.global 0 component 0 [%i0, %i1] : !kiln.addr<f32>
        %x = kiln.load %p : !kiln.addr<f32>
        %y = arith.mulf %x, %x : f32
        kiln.store %y, %p : !kiln.addr<f32>
        kiln.continue)")),
        Target::Cpu(4));
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_TRUE(absl::StrContains(*code, "<8 x float>")) << begin << " " << end;
    EXPECT_EQ(absl::StrContains(*code, "<4 x float>"), ragged) << begin << " " << end;
  }
}

// LLVM would store each element of a vector by itself and, where the next iteration reads the cell
// behind its own, wait for that.
TEST(OptimizedCodeTest, LoopsThatStorePartsOfCellsStayScalar) {
  const auto code_of = [](uint32_t level, int cell, int neighbour, int products) {
    std::string body = absl::StrCat("%n = arith.constant ", neighbour, R"( : i32
        %j = arith.addi %i0, %n : i32
        %p = kiln.global 0 component 0 [%j] : !kiln.addr<f32>
        %y0 = kiln.load %p : !kiln.addr<f32>
        )");
    for (int i = 0; i < products; ++i) {
      absl::StrAppend(&body, "%y", i + 1, " = arith.mulf %y", i, ", %y", i, " : f32\n");
    }
    absl::StrAppend(&body, R"(%q = kiln.global 1 component 0 [%i0] : !kiln.addr<f32>
        kiln.store %y)",
                    products, R"(, %q : !kiln.addr<f32>
        kiln.continue)");
    auto code = TestKernel::OptimizedText(
        Kernel({Dense(1, 1, {0, 0, cell}, "f32"), Dense(3, 1, {0, 0, cell}, "f32")},
               Range({{1, 1000}}, body)),
        Target::Cpu(level));
    EXPECT_TRUE(code.ok()) << code.status();
    return code.ok() ? *code : "";
  };
  const auto has_vectors = [&](int cell, int neighbour, int products) {
    return absl::StrContains(code_of(3, cell, neighbour, products), " x float>");
  };
  EXPECT_FALSE(has_vectors(8, 0, 2));
  EXPECT_TRUE(has_vectors(8, 0, 6)) << "vectors save more";
  EXPECT_FALSE(has_vectors(8, -1, 6)) << "reads what has just been stored";
  EXPECT_TRUE(has_vectors(8, -1, 20)) << "vectors save more than that costs";
  EXPECT_TRUE(has_vectors(4, -1, 2)) << "stores whole cells";

  const auto has_masks = [&](int cell, int neighbour, int products) {
    return absl::StrContains(code_of(4, cell, neighbour, products), "@llvm.masked.store");
  };
  EXPECT_TRUE(has_masks(8, 0, 2));
  EXPECT_TRUE(has_masks(8, 0, 6));
  EXPECT_FALSE(has_masks(8, -1, 6)) << "reads what has just been stored";
  EXPECT_FALSE(has_masks(16, 0, 6)) << "stores a quarter of each cell";
  EXPECT_FALSE(has_masks(4, 0, 6)) << "stores whole cells";
}

// Two components that are stored in a branch: LLVM alone would vectorise the loop with scatters.
TEST(OptimizedCodeTest, LlvmMakesNoGathers) {
  auto text = TestKernel::OptimizedText(
      Kernel({Dense(1, 1, {0, 0, 48}, "f32"), Dense(3, 1, {0, 0, 48}, "f32", "", 1)},
             Range({{0, 1000}}, R"(
    %from = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
    %x = kiln.load %from : !kiln.addr<f32>
    %to = kiln.global 1 component 0 [%i0] : !kiln.addr<f32>
    %y = kiln.load %to : !kiln.addr<f32>
    %less = arith.cmpf olt, %x, %y : f32
    %v0 = arith.mulf %x, %y fastmath<reassoc,contract> : f32
    %v1 = arith.addf %v0, %x fastmath<reassoc,contract> : f32
    %v2 = arith.divf %v1, %y fastmath<reassoc,contract> : f32
    kiln.if %less {
      kiln.store %v2, %to : !kiln.addr<f32>
      kiln.yield
    }
    kiln.continue)")),
      Target::Cpu(4));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_FALSE(absl::StrContains(*text, "masked.gather")) << *text;
  EXPECT_FALSE(absl::StrContains(*text, "masked.scatter")) << *text;
}

// Lanes keep vectors on the stack, which the register allocator alone would not align.
TEST(OptimizedCodeTest, TheStackOfLanesIsAligned) {
  const auto text_of = [](const char* attributes) {
    const std::string task = Range({{0, 1000}}, R"(
    %zero = arith.constant 0 : i32
    %cell = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
    %x = kiln.load %cell : !kiln.addr<f32>
    %sum = kiln.for %k = %zero to %i0 : i32 carry (%s = %x : f32) {
      %next = arith.mulf %s, %x : f32
      kiln.continue %next : f32
    }
    kiln.store %sum, %cell : !kiln.addr<f32>
    kiln.continue)");
    return TestKernel::OptimizedText(Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, task + attributes));
  };
  const auto lanes = text_of(" attributes {lanes}"), plain = text_of("");
  ASSERT_TRUE(lanes.ok() && plain.ok()) << lanes.status() << plain.status();
  EXPECT_TRUE(absl::StrContains(*lanes, "stackrealign"));
  EXPECT_FALSE(absl::StrContains(*plain, "stackrealign"));
}

// SLP would make one access of two numbers that adjoin, also where data says which.
TEST(OptimizedCodeTest, ScatteredNumbersStayApart) {
  const auto has_pairs = [](const std::string& cells, const std::string& second) {
    auto text = TestKernel::OptimizedText(
        Kernel({Dense(1, 1, {0, 0, 4}, "i32"), cells}, Range({{0, 1000}}, R"(
    %from = kiln.global 0 component 0 [%i0] : !kiln.addr<i32>
    %at = kiln.load %from : !kiln.addr<i32>
    %one = arith.constant 1 : i32
    %next = arith.addi %at, %one : i32
    %x = arith.constant 0.5 : f32
    %to0 = kiln.global 1 component 0 [%at] : !kiln.addr<f32>
    %old0 = kiln.atomic addf %x, %to0 : !kiln.addr<f32>
    %to1 = kiln.global 1 component )" + second + R"( : !kiln.addr<f32>
    %old1 = kiln.atomic addf %x, %to1 : !kiln.addr<f32>
    kiln.continue)")),
        Target::Cpu(4));
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() && absl::StrContains(*text, "fadd <2 x float>");
  };
  EXPECT_FALSE(has_pairs(Dense(3, 1, {0, 0, 4}, "f32"), "0 [%next]"));
  EXPECT_TRUE(has_pairs(Dense(3, 1, {0, 0, 8}, "f32, f32", "", 0, "0, 0, 0, 4"), "1 [%at]"))
      << "components of one cell";
}

}  // namespace
}  // namespace kiln
