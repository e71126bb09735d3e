// Kernels written as text, run at every CPU level, with and without optimisation.
#include "server/compiler/codegen/codegen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/host_target.h"
#include "server/compiler/codegen/kernel_text.h"
#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

uint64_t Slot(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
uint64_t Slot(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  return bits;
}
float FloatOf(uint64_t slot) {
  float number;
  std::memcpy(&number, &slot, 4);
  return number;
}

// What the kernels of this process have on their tape.
std::vector<uint8_t>& TestTape() {
  static std::vector<uint8_t> bytes;
  return bytes;
}

struct Configuration {
  Target target;
  int opt_level;
};

// Each kernel runs under all of them.
class CodegenTest : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (!HostTarget().Runs(GetParam().target)) GTEST_SKIP() << "not on this CPU";
  }

  std::unique_ptr<TestKernel> Compile(const std::string& text, bool fast_math = true) {
    TestKernel::Options options;
    options.target = GetParam().target;
    options.opt_level = GetParam().opt_level;
    options.fast_math = fast_math;
    auto kernel = TestKernel::Compile(text, options);
    EXPECT_TRUE(kernel.ok()) << kernel.status() << "\n" << text;
    return kernel.ok() ? *std::move(kernel) : nullptr;
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, CodegenTest,
                         testing::Values(Configuration{Target::Cpu(2), 3},
                                         Configuration{Target::Cpu(3), 3},
                                         Configuration{Target::Cpu(4), 3},
                                         Configuration{Target::Cpu(3), 1},
                                         Configuration{Target::Cpu(3), 0}));

// Stores past the caches and ordinary ones leave the same, at any address, and nothing beside it.
TEST_P(CodegenTest, StreamsStoreWhatOtherLoopsDo) {
  auto kernel =
      Compile(Kernel({Dense(1, 1, {0, 0, 4}, "f32"), Dense(3, 1, {0, 0, 4}, "f32", "", 1)},
                     Range({{0, 1000}}, kScaleBody)));
  ASSERT_NE(kernel, nullptr);
  std::vector<float> x(1000);
  for (int i = 0; i < 1000; ++i) x[i] = 0.1f * static_cast<float>(i);
  for (const int64_t chunk : {0, 7, 64, 300}) {
    for (int offset = 0; offset < 68; offset += offset < 16 ? 1 : 13) {
      alignas(64) uint8_t stored[2][4096];
      for (const bool streams : {false, true}) {
        kernel->runtime()->stream_from = streams ? 4000 : 4001;
        uint8_t* to = stored[streams ? 1 : 0];
        std::memset(to, 0xee, sizeof stored[0]);
        kernel->Run({Slot(0.3f), Slot(x.data()), x.size(), Slot(to + offset), x.size()}, chunk);
      }
      float last;
      std::memcpy(&last, stored[1] + offset + 4 * 999, 4);
      ASSERT_NEAR(last, 0.3f * 99.9f + 1, 1e-4);
      ASSERT_EQ(std::memcmp(stored[0], stored[1], sizeof stored[0]), 0) << offset;
    }
  }
}

// A loop that only adds to a field may have copies of it; the field's memory is stated.
TEST_P(CodegenTest, FieldsThatALoopOnlyAddsToAreNamed) {
  constexpr char kAdd[] = R"(
    %three = arith.constant 3 : i32
    %bin = arith.andi %i0, %three : i32
    %p = kiln.global 0 component 0 [%bin] : !kiln.addr<i32>
    %old = kiln.atomic addi %three, %p : !kiln.addr<i32>
    OTHER
    kiln.continue)";
  const auto body = [&](const std::string& other) {
    std::string text = kAdd;
    return text.replace(text.find("OTHER"), 5, other);
  };
  const std::string field = Dense(1, 1, {0, 0, 4}, "i32");
  const auto scatters = [&](const std::string& text) {
    auto kernel = Compile(Kernel({field}, Range({{0, 1000}}, text)));
    return kernel == nullptr ? google::protobuf::RepeatedPtrField<proto::Scatter>()
                             : kernel->code().tasks[0].scatters();
  };
  const auto found = scatters(body(""));
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].slot(), 1u);
  EXPECT_EQ(found[0].extent_slot(), 2u);
  EXPECT_EQ(found[0].bytes(), 4u);
  EXPECT_EQ(found[0].number(), proto::Scatter::NUMBER_I32);
  for (const char* other :
       {"%q = kiln.global 0 component 0 [%i0] : !kiln.addr<i32>\n%x = kiln.load %q : "
        "!kiln.addr<i32>",
        "kiln.store %three, %p : !kiln.addr<i32>", "kiln.store %old, %p : !kiln.addr<i32>",
        "%m = kiln.atomic maxsi %three, %p : !kiln.addr<i32>"}) {
    EXPECT_EQ(scatters(body(other)).size(), 0) << other;
  }
}

TEST_P(CodegenTest, ChunksAddUpToTheRange) {
  auto kernel =
      Compile(Kernel({Dense(1, 1, {0, 0, 4}, "f32", "-5")}, Range({{-5, 1000}}, kFillBody)));
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->code().tasks[0].constant_bounds());
  for (const int64_t chunk : {1, 7, 64, 2000}) {
    std::vector<float> x(1005, -1);
    kernel->Run({Slot(2.0f), Slot(x.data()), x.size()}, chunk);
    for (int i = -5; i < 1000; ++i) ASSERT_EQ(x[i + 5], 2.0f * i) << i;
  }
}

TEST_P(CodegenTest, BoundsAtRunTime) {
  const std::string task = absl::StrCat(R"(kiln.task.range_for "t" bounds {
      %z = arith.constant 0 : i64
      %n = kiln.outer_extent 0 : i64
      kiln.yield %z, %n : i64, i64
    } body (%i0 : i32) {)",
                                        kFillBody, "}");
  auto kernel = Compile(Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, task));
  ASSERT_NE(kernel, nullptr);
  EXPECT_FALSE(kernel->code().tasks[0].bounds_symbol().empty());
  std::vector<float> x(321, -1);
  kernel->Run({Slot(3.0f), Slot(x.data()), 320});
  EXPECT_EQ(kernel->Iterations(0), 320);
  EXPECT_EQ(x[319], 3.0f * 319);
  EXPECT_EQ(x[320], -1);
}

// x[i, j, k] = 100 i + 10 j + k, over a box with lower bounds.
TEST_P(CodegenTest, RowsOfABox) {
  const std::string body = R"(
    %c100 = arith.constant 100 : i32
    %c10 = arith.constant 10 : i32
    %a = arith.muli %i0, %c100 : i32
    %b = arith.muli %i1, %c10 : i32
    %ab = arith.addi %a, %b : i32
    %v = arith.addi %ab, %i2 : i32
    %p = kiln.global 0 component 0 [%i0, %i1, %i2] : !kiln.addr<i32>
    kiln.store %v, %p : !kiln.addr<i32>
    kiln.continue)";
  // Short rows belong to an iteration, long ones may be cut anywhere.
  for (const int width : {10, 23, 90}) {
    auto kernel =
        Compile(Kernel({Dense(0, 3, {0, 6, 28 * width, 1, 7, 4 * width, 2, width, 4}, "i32")},
                       Range({{1, 6}, {2, 7}, {3, width}}, body)));
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->Iterations(0), width == 10 ? 5 : 5 * 5 * (width - 3));
    for (const int64_t chunk : {1, 3, 7, 10, 36, 1000}) {
      std::vector<int32_t> x(6 * 7 * width, -1);
      kernel->Run({Slot(x.data()), 6}, chunk);
      for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 7; ++j) {
          for (int k = 0; k < width; ++k) {
            const bool inside = i >= 1 && j >= 2 && k >= 3;
            ASSERT_EQ(x[(i * 7 + j) * width + k], inside ? 100 * i + 10 * j + k : -1)
                << i << " " << j << " " << k << " chunk " << chunk;
          }
        }
      }
    }
  }
}

TEST_P(CodegenTest, EmptyRangesDoNothing) {
  auto kernel = Compile(Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, Range({{5, 2}}, kFillBody)));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->Iterations(0), 0);
  kernel->Run({Slot(2.0f), 0, 0});
  kernel->task(0)(kernel->context(), 0, 0, 0);
}

TEST_P(CodegenTest, NestedDigitsAreBlocked) {
  // 8 x 12 in blocks of 4 x 3, rows of blocks outside: both orders of loops.
  const std::vector<int> digits = {0, 2, 4 * 48, 1, 4, 48, 0, 4, 12, 1, 3, 4};
  const auto address = [](int i, int j) { return (i / 4 * 4 + j / 3) * 12 + i % 4 * 3 + j % 3; };
  const std::string store = R"(
    %c = arith.constant 100 : i32
    %a = arith.muli %i, %c : i32
    %v = arith.addi %a, %j : i32
    %p = kiln.global 0 component 0 [%i, %j] : !kiln.addr<i32>
    kiln.store %v, %p : !kiln.addr<i32>
    kiln.continue)";
  const std::string by_axis = R"(%z = arith.constant 0 : i32
    %i = arith.addi %i0, %z : i32
    %j = arith.addi %i1, %z : i32)";
  const std::string by_digit = R"(%c4 = arith.constant 4 : i32
    %c3 = arith.constant 3 : i32
    %hi = arith.muli %i0, %c4 : i32
    %i = arith.addi %hi, %i2 : i32
    %hj = arith.muli %i1, %c3 : i32
    %j = arith.addi %hj, %i3 : i32)";
  for (const std::string& task : {Range({{0, 8}, {0, 12}}, by_axis + store),
                                  Range({{0, 2}, {0, 4}, {0, 4}, {0, 3}}, by_digit + store)}) {
    auto kernel = Compile(Kernel({Dense(0, 2, digits, "i32")}, task));
    ASSERT_NE(kernel, nullptr);
    std::vector<int32_t> x(96, -1);
    kernel->Run({Slot(x.data()), 2}, 17);
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 12; ++j) ASSERT_EQ(x[address(i, j)], 100 * i + j) << i << " " << j;
    }
  }
}

TEST_P(CodegenTest, ReducesPieceByPiece) {
  const std::string body = R"(
    %p = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
    %x = kiln.load %p : !kiln.addr<f32>
    %s = arith.addf %acc, %x fastmath<reassoc,nsz> : f32
    kiln.continue %s : f32)";
  const std::string finish = R"((%sum = 0.0 : f32) {
    %t = kiln.temporary 8 : !kiln.addr<f32>
    %old = kiln.atomic addf %sum, %t : !kiln.addr<f32>
    kiln.yield
  })";
  const std::string give = Serial(R"(
    %t = kiln.temporary 8 : !kiln.addr<f32>
    %v = kiln.load %t : !kiln.addr<f32>
    kiln.result 0, %v : f32)");
  auto kernel = Compile(
      Kernel({Dense(0, 1, {0, 0, 4}, "f32")}, Range({{0, 1000}}, body, finish) + give, "f32"));
  ASSERT_NE(kernel, nullptr);
  std::vector<float> x(1000);
  for (int i = 0; i < 1000; ++i) x[i] = i % 13;
  float sum = 0;
  for (const float v : x) sum += v;
  for (const int64_t chunk : {0, 1, 100}) {
    kernel->Run({Slot(x.data()), 1000}, chunk);
    EXPECT_EQ(FloatOf(kernel->result(0)), sum);
  }
}

TEST_P(CodegenTest, ReducesOverShortRows) {
  const std::string body = R"(
    %p = kiln.global 0 component 0 [%i0, %i1] : !kiln.addr<f32>
    %x = kiln.load %p : !kiln.addr<f32>
    %s = arith.addf %acc, %x fastmath<reassoc,nsz> : f32
    kiln.continue %s : f32)";
  const std::string finish = R"((%sum = 0.0 : f32) {
    %t = kiln.temporary 0 : !kiln.addr<f32>
    %old = kiln.atomic addf %sum, %t : !kiln.addr<f32>
    kiln.yield
  })";
  const std::string give = Serial(R"(
    %t = kiln.temporary 0 : !kiln.addr<f32>
    %v = kiln.load %t : !kiln.addr<f32>
    kiln.result 0, %v : f32)");
  auto kernel = Compile(Kernel({Dense(0, 2, {0, 0, 12, 1, 3, 4}, "f32")},
                               Range({{0, 100}, {0, 3}}, body, finish) + give, "f32"));
  ASSERT_NE(kernel, nullptr);
  std::vector<float> x(300);
  float sum = 0;
  for (int i = 0; i < 300; ++i) sum += x[i] = i % 13;
  for (const int64_t chunk : {0, 1, 7}) {
    kernel->Run({Slot(x.data()), 100}, chunk);
    EXPECT_EQ(FloatOf(kernel->result(0)), sum);
  }
}

// Collatz steps: a loop left in the middle, an if with values, carried values.
TEST_P(CodegenTest, LoopsBreaksAndIfs) {
  const std::string body = R"(
    %n = kiln.argument 0 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %r:2 = kiln.loop carry (%x = %n : i32, %steps = %zero : i32) {
      %done = arith.cmpi eq, %x, %one : i32
      kiln.if %done {
        kiln.break %x, %steps : i32, i32
      }
      %odd = arith.andi %x, %one : i32
      %is = arith.cmpi ne, %odd, %zero : i32
      %next = kiln.if %is -> (i32) {
        %m = arith.muli %x, %three : i32
        %m1 = arith.addi %m, %one : i32
        kiln.yield %m1 : i32
      } else {
        %h = arith.divsi %x, %two : i32
        kiln.yield %h : i32
      }
      %s1 = arith.addi %steps, %one : i32
      kiln.continue %next, %s1 : i32, i32
    }
    kiln.result 0, %r#1 : i32)";
  auto kernel = Compile(Kernel({}, Serial(body), "i32"));
  ASSERT_NE(kernel, nullptr);
  kernel->Run({27});
  EXPECT_EQ(kernel->result(0), 111u);
  kernel->Run({1});
  EXPECT_EQ(kernel->result(0), 0u);
}

// The sum of odd i < n up to the first above a limit: continue, break and the end of
// a counted loop all reach its results.
TEST_P(CodegenTest, CountedLoopWithContinueAndBreak) {
  const std::string body = R"(
    %n = kiln.argument 0 : i32
    %limit = kiln.argument 1 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %sum = kiln.for %i = %zero to %n : i32 carry (%s = %zero : i32) {
      %bit = arith.andi %i, %one : i32
      %even = arith.cmpi eq, %bit, %zero : i32
      kiln.if %even {
        kiln.continue %s : i32
      } else {
        %big = arith.cmpi sgt, %i, %limit : i32
        kiln.if %big {
          kiln.break %s : i32
        }
        kiln.yield
      }
      %s1 = arith.addi %s, %i : i32
      kiln.continue %s1 : i32
    }
    kiln.result 0, %sum : i32)";
  auto kernel = Compile(Kernel({}, Serial(body), "i32"));
  ASSERT_NE(kernel, nullptr);
  kernel->Run({10, 100});
  EXPECT_EQ(kernel->result(0), 25u);
  kernel->Run({10, 5});
  EXPECT_EQ(kernel->result(0), 9u);
  kernel->Run({0, 5});
  EXPECT_EQ(kernel->result(0), 0u);
}

// Loops without an end, one of them in a function, where the launch has failed.
TEST_P(CodegenTest, LongLoopsEndWithTheLaunch) {
  const std::string function = R"(
    kiln.function 0 () -> (i32) {
      %one = arith.constant 1 : i32
      kiln.loop {
        kiln.continue
      }
      kiln.return %one : i32
    }
  )";
  const std::string loop = "kiln.loop {\nkiln.continue\n}\nkiln.result 0, %one : i32";
  const std::string nested = R"(
    %zero = arith.constant 0 : i32
    %n = arith.constant 2147483647 : i32
    %some = arith.constant 100 : i32
    kiln.for %i = %zero to %n : i32 {
      kiln.for %j = %zero to %n : i32 {
        kiln.for %k = %zero to %some : i32 {
          kiln.result 1, %k : i32
          kiln.continue
        }
        kiln.continue
      }
      kiln.continue
    }
    kiln.result 0, %one : i32)";
  const std::string call = "%r = kiln.call 0() : () -> (i32)\nkiln.result 0, %one : i32";
  for (const std::string& body : {loop, nested, call}) {
    const std::string one = "%one = arith.constant 1 : i32\n";
    auto kernel = Compile(Kernel({}, function + Serial(one + body), "i32, i32"));
    ASSERT_NE(kernel, nullptr);
    *kernel->context()->failed = 1;
    kernel->Run({});
    EXPECT_EQ(kernel->result(0), 0u) << "went on after " << body;
  }
}

TEST_P(CodegenTest, LocalsAndArrays) {
  // fib in an array of locals, indexed by values.
  const std::string body = R"(
    %a = kiln.local_array 32 : !kiln.addr<i32>
    kiln.zero 32, %a : !kiln.addr<i32>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %n = kiln.argument 0 : i32
    %p1 = kiln.element %a[%one] : !kiln.addr<i32>
    kiln.store %one, %p1 : !kiln.addr<i32>
    kiln.for %i = %two to %n : i32 {
      %i1 = arith.subi %i, %one : i32
      %i2 = arith.subi %i, %two : i32
      %q1 = kiln.element %a[%i1] : !kiln.addr<i32>
      %q2 = kiln.element %a[%i2] : !kiln.addr<i32>
      %x = kiln.load %q1 : !kiln.addr<i32>
      %y = kiln.load %q2 : !kiln.addr<i32>
      %z = arith.addi %x, %y : i32
      %q = kiln.element %a[%i] : !kiln.addr<i32>
      kiln.store %z, %q : !kiln.addr<i32>
      kiln.continue
    }
    %last = arith.subi %n, %one : i32
    %pl = kiln.element %a[%last] : !kiln.addr<i32>
    %v = kiln.load %pl : !kiln.addr<i32>
    kiln.result 0, %v : i32)";
  auto kernel = Compile(Kernel({}, Serial(body), "i32"));
  ASSERT_NE(kernel, nullptr);
  kernel->Run({20});
  EXPECT_EQ(kernel->result(0), 4181u);
}

TEST_P(CodegenTest, BooleansAreBytesAndAnyByteIsTrue) {
  const std::string body = R"(
    %p = kiln.global 0 component 0 [%i0] : !kiln.addr<i1>
    %b = kiln.load %p : !kiln.addr<i1>
    %one = arith.constant 1 : i1
    %not = arith.xori %b, %one : i1
    kiln.store %not, %p : !kiln.addr<i1>
    kiln.continue)";
  auto kernel = Compile(Kernel({Dense(0, 1, {0, 0, 1}, "i1")}, Range({{0, 40}}, body)));
  ASSERT_NE(kernel, nullptr);
  std::vector<uint8_t> x(40);
  for (int i = 0; i < 40; ++i) x[i] = i % 4;
  kernel->Run({Slot(x.data()), 40});
  for (int i = 0; i < 40; ++i) EXPECT_EQ(x[i], i % 4 == 0 ? 1 : 0) << i;
}

// Every kind of atomic on one cell, in a task that others might run beside this one.
TEST_P(CodegenTest, Atomics) {
  struct Case {
    const char* kind;
    const char* type;
    double start;
    std::vector<double> operands;
    double result;
  };
  const std::vector<Case> cases = {
      {"addi", "i32", 5, {3, 4}, 12},    {"subi", "i64", 5, {3, 4}, -2},
      {"muli", "i32", 5, {3, 4}, 60},    {"minsi", "i32", 5, {-3, 4}, -3},
      {"maxsi", "i16", 5, {-3, 4}, 5},   {"minui", "i32", 5, {-3, 4}, 4},
      {"maxui", "i8", 5, {3, 9}, 9},     {"andi", "i32", 7, {6, 3}, 2},
      {"ori", "i32", 8, {1, 2}, 11},     {"xori", "i32", 8, {12, 1}, 5},
      {"addf", "f32", 0.5, {1, 2}, 3.5}, {"subf", "f64", 0.5, {1, 2}, -2.5},
      {"mulf", "f32", 0.5, {3, 4}, 6},   {"minf", "f32", 0.5, {-3, 4}, -3},
      {"maxf", "f64", 0.5, {-3, 4}, 4},  {"addf", "f16", 0.5, {1, 2}, 3.5},
      {"muli", "i8", 5, {3, 4}, 60},
  };
  for (const Case& c : cases) {
    const std::string type = c.type;
    std::string body =
        "%z = arith.constant 0 : i32\n%p = kiln.global 0 component 0 [%z] : "
        "!kiln.addr<" +
        type + ">\n";
    for (size_t i = 0; i < c.operands.size(); ++i) {
      const std::string literal =
          type[0] == 'f' ? absl::StrCat(c.operands[i], ".0") : absl::StrCat(c.operands[i]);
      absl::StrAppend(&body, "%c", i, " = arith.constant ", literal, " : ", type, "\n%o", i,
                      " = kiln.atomic ", c.kind, " %c", i, ", %p : !kiln.addr<", type, ">\n");
    }
    auto kernel =
        Compile(Kernel({Dense(0, 1, {0, 0, 8}, type)}, Range({{0, 1}}, body + "kiln.continue")));
    ASSERT_NE(kernel, nullptr);
    const auto run = [&](auto cell) {
      cell = static_cast<decltype(cell)>(c.start);
      kernel->Run({Slot(&cell), 1});
      EXPECT_EQ(static_cast<double>(cell), c.result) << c.kind << " " << c.type;
    };
    if (type == "i8") run(int8_t{});
    if (type == "i16") run(int16_t{});
    if (type == "i32") run(int32_t{});
    if (type == "i64") run(int64_t{});
    if (type == "f32") run(float{});
    if (type == "f64") run(double{});
    if (type == "f16") run(_Float16{});
  }
}

// Both components of a vector in one exchange, where they share an aligned word.
TEST_P(CodegenTest, AtomicsOnVectors) {
  const std::string body = R"(
    %z = arith.constant 0 : i32
    %a = arith.constant 1.5 : f32
    %b = arith.constant 2.0 : f32
    %p = kiln.global 0 component 0 [%z] : !kiln.addr<f32>
    %o0 = kiln.atomic KIND %a, %p : !kiln.addr<f32>
    %q = kiln.global 0 component 1 [%z] : !kiln.addr<f32>
    %two = arith.mulf %b, %b : f32
    %o1 = kiln.atomic KIND %two, %q : !kiln.addr<f32>
    kiln.continue)";
  const std::string field =
      "#kiln.dense<slot = 0, axes = 1, digits = [0, 0, 8], offset = [], types = [f32, f32], "
      "components = [0, 0, 0, 4], bases = 1, base_strides = [], alias = 0, read_only = false>";
  for (const bool adds : {true, false}) {
    std::string text = body;
    for (size_t at; (at = text.find("KIND")) != std::string::npos;) {
      text.replace(at, 4, adds ? "addf" : "subf");
    }
    auto kernel = Compile(Kernel({field}, Range({{0, 10}}, text)));
    ASSERT_NE(kernel, nullptr);
    alignas(8) float x[4] = {1, 1, 1, 1};
    kernel->Run({Slot(x), 1});
    EXPECT_EQ(x[0], adds ? 16 : -14);
    EXPECT_EQ(x[1], adds ? 41 : -39);
    kernel->Run({Slot(x + 1), 1});  // not aligned
    EXPECT_EQ(x[1], adds ? 56 : -54);
    EXPECT_EQ(x[2], adds ? 41 : -39);
    EXPECT_EQ(x[3], 1);
  }
}

TEST_P(CodegenTest, PrintsAndFailures) {
  const std::string body = R"(
    %x = kiln.argument 0 : f32
    %limit = arith.constant 3 : i32
    %ok = arith.cmpi slt, %i0, %limit : i32
    kiln.print 7 (%i0, %x) : (i32, f32)
    kiln.assert %ok, 9 (%i0) : (i32)
    kiln.print 8 (%i0) : (i32)
    kiln.continue)";
  auto kernel = Compile(Kernel({}, Range({{0, 100}}, body)));
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->code().has_effects);
  EXPECT_TRUE(kernel->code().can_fail);
  kernel->Run({Slot(1.5f)});
  // Three whole iterations, then one that fails and ends the chunk.
  ASSERT_EQ(kernel->reports().size(), 3 * 2 + 2u);
  EXPECT_EQ(kernel->reports()[2].node, 7u);
  EXPECT_EQ(kernel->reports()[2].values, (std::vector<uint64_t>{1, Slot(1.5f)}));
  EXPECT_TRUE(kernel->reports().back().failed);
  EXPECT_EQ(kernel->reports().back().node, 9u);
  EXPECT_EQ(kernel->reports().back().values, (std::vector<uint64_t>{3}));
}

// Two records of a loop's iterations, taken back in the opposite order.
TEST_P(CodegenTest, TapesAreStacksOfRecords) {
  const std::string body = R"(
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %zero = arith.constant 0 : i64
    %x = arith.constant 1.5 : f64
    %y = arith.constant 7 : i32
    %pushed = kiln.tape.push 5, %two x 16 : <i8>
    %a = kiln.tape.slot %pushed[%one] x 16 at 0 : <i8>, <f64>
    %b = kiln.tape.slot %pushed[%zero] x 16 at 8 : <i8>, <i32>
    kiln.store %x, %a : <f64>
    kiln.store %y, %b : <i32>
    %top = kiln.tape.top %two x 16 : <i8>
    %c = kiln.tape.slot %top[%one] x 16 at 0 : <i8>, <f64>
    %d = kiln.tape.slot %top[%zero] x 16 at 8 : <i8>, <i32>
    %u = kiln.load %c : <f64>
    %v = kiln.load %d : <i32>
    kiln.tape.pop %two x 16
    kiln.result 0, %u : f64
    kiln.result 1, %v : i32)";
  auto kernel = Compile(Kernel({}, Serial(body), "f64, i32"));
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->code().can_fail);
  TestTape().clear();
  kernel->runtime()->tape_push = [](const KilnContext*, uint64_t bytes) {
    TestTape().resize(TestTape().size() + bytes);
    return TestTape().data() + TestTape().size() - bytes;
  };
  kernel->runtime()->tape_top = [](const KilnContext*, uint64_t bytes) {
    return TestTape().data() + TestTape().size() - bytes;
  };
  kernel->runtime()->tape_pop = [](const KilnContext*, uint64_t bytes) {
    TestTape().resize(TestTape().size() - bytes);
  };
  kernel->Run({});
  EXPECT_EQ(kernel->result(0), 0x3ff8000000000000u);  // 1.5
  EXPECT_EQ(static_cast<int32_t>(kernel->result(1)), 7);
  EXPECT_TRUE(TestTape().empty());
  // Without room, the task fails with the number of records and their bytes.
  kernel->runtime()->tape_push = [](const KilnContext*, uint64_t) {
    return static_cast<uint8_t*>(nullptr);
  };
  kernel->Run({});
  ASSERT_EQ(kernel->reports().size(), 1u);
  EXPECT_TRUE(kernel->reports()[0].failed);
  EXPECT_EQ(kernel->reports()[0].node, 5u);
  EXPECT_EQ(kernel->reports()[0].values, (std::vector<uint64_t>{2, 16}));
}

TEST_P(CodegenTest, RandomNumbersFollowFromTheLaunch) {
  std::string body;
  for (const char* type : {"f16", "f32", "f64", "i1", "i8", "i32", "i64"}) {
    absl::StrAppend(&body, "%", type, " = kiln.random : ", type, "\n");
  }
  for (const char* type : {"f16", "f32", "f64"}) {
    absl::StrAppend(&body, "%w", type, " = ",
                    type == std::string("f64")
                        ? "arith.addf %f64, %f64 : f64"
                        : absl::StrCat("arith.extf %", type, " : ", type, " to f64"),
                    "\n");
  }
  body +=
      "kiln.result 0, %wf16 : f64\nkiln.result 1, %wf32 : f64\nkiln.result 2, %wf64 : f64\n"
      "kiln.result 3, %i32 : i32\nkiln.result 4, %i64 : i64";
  auto kernel = Compile(Kernel({}, Serial(body), "f64, f64, f64, i32, i64"));
  ASSERT_NE(kernel, nullptr);
  uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    kernel->Run({});
    for (int k = 0; k < 3; ++k) {
      double number;
      const uint64_t slot = kernel->result(k);
      std::memcpy(&number, &slot, 8);
      EXPECT_TRUE(number >= 0 && number < (k == 2 ? 2 : 1)) << number;
    }
    EXPECT_NE(kernel->result(4), last);
    last = kernel->result(4);
  }
}

TEST_P(CodegenTest, NdarraysInBothLayouts) {
  for (const bool soa : {false, true}) {
    const std::string array = absl::StrCat(
        "#kiln.ndarray<slot = 0, axes = 2, types = [f32, f32, f32], soa = ", soa ? "true" : "false",
        ", clamp = true, alias = 1, read_only = false>");
    const std::string body = R"(
      %n = kiln.extent 0 axis 0 : i64
      %m = kiln.extent 0 axis 1 : i64
      %p = kiln.global 0 component 2 [%i0, %i1] : !kiln.addr<f32>
      %a = arith.sitofp %i0 : i32 to f32
      kiln.store %a, %p : !kiln.addr<f32>
      kiln.continue)";
    auto kernel = Compile(Kernel({array}, Range({{-1, 6}, {0, 4}}, body)));
    ASSERT_NE(kernel, nullptr);
    std::vector<float> x(5 * 4 * 3, -1);
    kernel->Run({Slot(x.data()), 5, 4});
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int at = soa ? 2 * 20 + i * 4 + j : (i * 4 + j) * 3 + 2;
        EXPECT_EQ(x[at], i == 4 ? 5 : i) << i << " " << j;  // row 5 clamps to 4, later
      }
    }
  }
}

TEST_P(CodegenTest, MathFunctions) {
  const std::vector<std::pair<const char*, double (*)(double)>> functions = {
      {"sin", std::sin},   {"cos", std::cos},     {"tan", std::tan},   {"asin", std::asin},
      {"acos", std::acos}, {"tanh", std::tanh},   {"exp", std::exp},   {"log", std::log},
      {"sqrt", std::sqrt}, {"floor", std::floor}, {"ceil", std::ceil}, {"round", std::round}};
  for (const bool fast : {true, false}) {
    for (const char* type : {"f32", "f64"}) {
      for (const auto& [name, function] : functions) {
        const std::string body =
            absl::StrCat("%p = kiln.global 0 component 0 [%i0] : !kiln.addr<", type,
                         ">\n%x = kiln.load %p : ", "!kiln.addr<", type, ">\n%y = math.", name,
                         " %x ", fast ? "fastmath<afn>" : "", " : ", type,
                         "\nkiln.store %y, %p : !kiln.addr<", type, ">\nkiln.continue");
        const bool single = type == std::string("f32");
        auto kernel = Compile(
            Kernel({Dense(0, 1, {0, 0, single ? 4 : 8}, type)}, Range({{0, 97}}, body)), fast);
        ASSERT_NE(kernel, nullptr);
        std::vector<float> f(97);
        std::vector<double> d(97);
        for (int i = 0; i < 97; ++i) f[i] = d[i] = (i + 0.5f) / 98;
        kernel->Run({single ? Slot(f.data()) : Slot(d.data()), 97});
        for (int i = 0; i < 97; ++i) {
          const double expected = function((i + 0.5f) / 98);
          EXPECT_NEAR(single ? f[i] : d[i], expected,
                      (single ? 4e-7 : 2e-14) * std::max(1.0, std::abs(expected)))
              << name << " " << type << " " << i;
        }
      }
    }
  }
}

// Newton's step must not turn the processor's estimates at 0 and infinity into NaN.
TEST_P(CodegenTest, DivisionsByRoots) {
  const std::string fast = " fastmath<reassoc, arcp, contract, afn> : f32\n";
  const auto store = [](int field, const char* value) {
    return absl::StrCat("%q", field, " = kiln.global ", field,
                        " component 0 [%i0] : !kiln.addr<f32>\nkiln.store ", value, ", %q", field,
                        " : !kiln.addr<f32>\n");
  };
  const std::string body = absl::StrCat(
      "%q0 = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>\n"
      "%z = kiln.load %q0 : !kiln.addr<f32>\n%one = arith.constant 1.0 : f32\n"
      "%root = math.sqrt %z",
      fast, "%a = arith.divf %one, %root", fast, "%cube = arith.mulf %z, %root", fast,
      "%b = arith.divf %one, %cube", fast, "%both = arith.mulf %root, %root", fast,
      "%c = arith.divf %one, %both", fast, store(1, "%a"), store(2, "%b"), store(3, "%c"),
      "kiln.continue");
  auto kernel =
      Compile(Kernel({Dense(0, 1, {0, 0, 4}, "f32"), Dense(2, 1, {0, 0, 4}, "f32", "", 1),
                      Dense(4, 1, {0, 0, 4}, "f32", "", 2), Dense(6, 1, {0, 0, 4}, "f32", "", 3)},
                     Range({{0, 99}}, body)));
  ASSERT_NE(kernel, nullptr);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {0, kInfinity, 4, 2e13f, 0.37f, 3e38f, 2e-38f, 1e-13f, -0.0f};
  std::vector<float> z(99), a(99), b(99), c(99);
  for (int i = 0; i < 99; ++i) z[i] = values[i % 9];
  kernel->Run({Slot(z.data()), 99, Slot(a.data()), 99, Slot(b.data()), 99, Slot(c.data()), 99});
  for (int i = 0; i < 99; ++i) {
    const double root = std::sqrt(static_cast<double>(z[i]));
    const auto expect = [&](float found, double wanted) {
      if (std::abs(wanted) > 3.4e38) {
        EXPECT_EQ(found, wanted < 0 ? -kInfinity : kInfinity) << z[i];
      } else {
        EXPECT_NEAR(found, wanted, 1e-6 * wanted + 1e-37) << z[i];
      }
    };
    expect(a[i], 1 / root);
    expect(b[i], 1 / (z[i] * root));
    if (z[i] > 0 && z[i] < 1e38f && z[i] > 1e-37f) expect(c[i], 1.0 / z[i]);
  }
}

TEST(CodeGeneratorTest, RefusesUnsupportedTargets) {
  CodeGenerator generator;
  proto::Target cuda;
  cuda.mutable_cuda();
  std::vector<proto::StageReport> stages;
  EXPECT_EQ(generator.Generate(nullptr, cuda, {}, {}, &stages).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace kiln
