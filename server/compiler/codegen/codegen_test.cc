#include "server/compiler/codegen/codegen.h"

#include <gtest/gtest.h>

#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

uint64_t Slot(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
uint64_t Slot(float number) {
  uint32_t bits;
  memcpy(&bits, &number, 4);
  return bits;
}

// x[i] = a * i
constexpr char kFill[] = R"(
#x = #kiln.dense<slot = 1, axes = 1, digits = [0, 0, 4], offset = [], types = [f32],
     components = [0, 0], bases = 1, base_strides = [], alias = 0, read_only = false>
kiln.kernel @fill storages [#x] results [] {
  kiln.task.range_for "fill" bounds {
    %z = arith.constant 0 : i64
    %n = kiln.outer_extent 0 : i64
    kiln.yield %z, %n : i64, i64
  } body (%i : i32) {
    %a = kiln.argument 0 : f32
    %f = arith.sitofp %i : i32 to f32
    %v = arith.mulf %a, %f fastmath<reassoc,contract> : f32
    %p = kiln.global 0 component 0 [%i] : !kiln.addr<f32>
    kiln.store %v, %p : !kiln.addr<f32>
    kiln.continue
  } finish () { kiln.yield }
  kiln.return
}
)";

TEST(Codegen, FillsAField) {
  auto kernel = TestKernel::Compile(kFill);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(1000);
  (*kernel)->Run({Slot(2.0f), Slot(x.data()), x.size()}, 77);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], 2.0f * i);
  for (const auto& stage : (*kernel)->stages()) {
    std::printf("%s %.2f ms\n", stage.name().c_str(), 1e3 * stage.seconds());
  }
  kernel = TestKernel::Compile(kFill);
  for (const auto& stage : (*kernel)->stages()) {
    std::printf("%s %.2f ms\n", stage.name().c_str(), 1e3 * stage.seconds());
  }
}

TEST(Codegen, EqualKernelsGiveEqualBytes) {
  auto a = TestKernel::Compile(kFill), b = TestKernel::Compile(kFill);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ((*a)->code().payload, (*b)->code().payload);
}

}  // namespace
}  // namespace kiln
