// What the shared objects of kernels hold, and which libraries they need.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/language/op_table.h"
#include "server/compiler/codegen/kernel_text.h"
#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

TEST(PayloadTest, CompilingAgainGivesEqualBytes) {
  const std::string text = Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, Range({{0, 1000}}, kFillBody));
  auto first = TestKernel::Compile(text);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 100; ++i) {
    auto again = TestKernel::Compile(text);
    ASSERT_TRUE(again.ok()) << i << again.status();
    ASSERT_EQ((*again)->code().payload, (*first)->code().payload) << i;
  }
}

TEST(PayloadTest, LinksOnlyWhatItNeeds) {
  const auto needs = [](const std::string& body) {
    auto kernel =
        TestKernel::Compile(Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, Range({{0, 1000}}, body)));
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return (*kernel)->code().needs;
  };
  EXPECT_TRUE(needs(kFillBody).empty());
  const std::string sine = R"(
    %p = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
    %x = kiln.load %p : !kiln.addr<f32>
    %y = math.sin %x fastmath<afn> : f32
    kiln.store %y, %p : !kiln.addr<f32>
    kiln.continue)";
  const auto found = needs(sine);
  EXPECT_EQ(found.at("libmvec.so.1"), "GLIBC_2.22");
  EXPECT_EQ(found.at("libm.so.6"), "GLIBC_2.2.5");
}

// What the op table states is what the compiler does: keys rely on it.
TEST(PayloadTest, VectorFunctionsAreThoseOfTheTargetsGlibc) {
  const auto libmvec = [](const std::string& function, uint32_t glibc) {
    const std::string body = absl::StrCat(R"(
      %p = kiln.global 0 component 0 [%i0] : !kiln.addr<f32>
      %x = kiln.load %p : !kiln.addr<f32>
      %y = math.)",
                                          function, R"( fastmath<afn> : f32
      kiln.store %y, %p : !kiln.addr<f32>
      kiln.continue)");
    TestKernel::Options options;
    options.glibc = glibc;
    auto kernel = TestKernel::Compile(
        Kernel({Dense(1, 1, {0, 0, 4}, "f32")}, Range({{0, 1000}}, body)), options);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    const auto& needs = (*kernel)->code().needs;
    const auto found = needs.find("libmvec.so.1");
    return found == needs.end() ? "" : found->second;
  };
  for (const proto::Op op : {proto::OP_SIN, proto::OP_COS, proto::OP_EXP, proto::OP_LOG}) {
    EXPECT_EQ(FindOp(op)->vector_glibc, 0u);
    EXPECT_EQ(libmvec(absl::StrCat(FindOp(op)->spelling, " %x"), 0), "GLIBC_2.22");
  }
  for (const proto::Op op :
       {proto::OP_TAN, proto::OP_ASIN, proto::OP_ACOS, proto::OP_TANH, proto::OP_ATAN2}) {
    const OpInfo& info = *FindOp(op);
    const std::string call = absl::StrCat(info.spelling, info.arity == 1 ? " %x" : " %x, %x");
    EXPECT_EQ(libmvec(call, info.vector_glibc - 1), "") << info.spelling;
    EXPECT_EQ(libmvec(call, info.vector_glibc), absl::StrCat("GLIBC_2.", info.vector_glibc));
  }
}

TEST(PayloadTest, ExportsOnlyTasks) {
  auto kernel = TestKernel::Compile(
      Kernel({}, Serial("%x = kiln.random : i32\nkiln.result 0, %x : i32"), "i32"));
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*kernel)->code().payload.find("kiln_random"), std::string::npos);
  EXPECT_EQ((*kernel)->code().payload.find("/"), std::string::npos) << "holds a path";
}

}  // namespace
}  // namespace kiln
