#include "client_cpp/derivative.h"

#include "client_cpp/fields.h"
#include "client_cpp/kernel_builder.h"
#include "common/unit/check_unit.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

// y[0] = a * x[0], of a dense field x of vectors, an array y and a value a.
struct Scaling {
  Scaling() {
    x = builder.AddStorageParam((*Field<float>::Create({8}, {3})).storage());
    a = builder.AddValueParam(builder.ScalarType(proto::F32));
    y = builder.AddStorageParam(ArrayStorage(proto::F32, 1));
    const NodeNumber zero = builder.ConstInt(0, proto::I32);
    const NodeNumber vector = *builder.Load(*builder.Global(x, {zero}));
    const NodeNumber first = *builder.Extract(vector, {zero});
    const NodeNumber value = *builder.Binary(proto::OP_MUL, *builder.Param(a), first);
    EXPECT_TRUE(builder.Store(*builder.Global(y, {zero}), value).ok());
  }
  proto::CompileUnit Unit() {
    proto::CompileUnit unit;
    proto::SourceMap source_map;
    EXPECT_TRUE(builder.Finish(&unit, &source_map).ok());
    return unit;
  }
  KernelBuilder builder;
  ParamId x, a, y;
};

TEST(DerivativeTest, CompanionsFollowTheKernelsParameters) {
  Scaling scaling;
  proto::CompileUnit unit = scaling.Unit();
  const auto params = Differentiate(proto::AUTODIFF_REVERSE, {scaling.y, scaling.x}, &unit);
  ASSERT_TRUE(params.ok()) << params.status();
  EXPECT_EQ(params->mode, proto::AUTODIFF_REVERSE);
  EXPECT_EQ(params->CompanionOf(scaling.y), ParamId(3));
  EXPECT_EQ(params->CompanionOf(scaling.x), ParamId(4));
  EXPECT_EQ(params->CompanionOf(scaling.a), absl::nullopt);
  EXPECT_EQ(params->element_bytes.values(), (std::vector<uint64_t>{12, 0, 4, 4, 12}));

  EXPECT_EQ(unit.kernel().autodiff_size(), 1);
  ASSERT_EQ(unit.storages_size(), 4);
  EXPECT_EQ(unit.storages(0).grad(), 4u);
  EXPECT_EQ(unit.storages(1).grad(), 3u);
  EXPECT_EQ(unit.storages(3).grad(), 0u);
  EXPECT_TRUE(unit.storages(2).has_ndarray());
  std::vector<proto::Diagnostic> diagnostics;
  EXPECT_EQ(CheckUnit(unit, &diagnostics).status(), absl::OkStatus());
}

TEST(DerivativeTest, DualsAreCompanionsOfForwardMode) {
  Scaling scaling;
  proto::CompileUnit unit = scaling.Unit();
  ASSERT_TRUE(Differentiate(proto::AUTODIFF_FORWARD, {scaling.x}, &unit).ok());
  EXPECT_EQ(unit.storages(0).dual(), 3u);
  EXPECT_EQ(unit.storages(0).grad(), 0u);
  EXPECT_EQ(unit.kernel().autodiff(0), proto::AUTODIFF_FORWARD);
}

TEST(DerivativeTest, NamesTheParameterThatHasNoDerivative) {
  const auto refused = [](const proto::CompileUnit& unit, const std::vector<ParamId>& of) {
    proto::CompileUnit copy = unit;
    const auto params = Differentiate(proto::AUTODIFF_REVERSE, of, &copy);
    EXPECT_TRUE(absl::IsInvalidArgument(params.status()));
    return std::string(params.status().message());
  };
  Scaling scaling;
  const ParamId ints = scaling.builder.AddStorageParam(ArrayStorage(proto::I32, 1));
  proto::Storage overlapping = ArrayStorage(proto::F32, 1);
  overlapping.set_alias_set(2);
  const ParamId aliased = scaling.builder.AddStorageParam(overlapping);
  proto::CompileUnit unit = scaling.Unit();
  EXPECT_EQ(refused(unit, {scaling.a}),
            "no derivative by parameter 1: it is neither a field nor an array");
  EXPECT_EQ(refused(unit, {ParamId(9)}),
            "no derivative by parameter 9: it is neither a field nor an array");
  EXPECT_EQ(refused(unit, {ints}), "no derivative by parameter 3: its elements are not floats");
  EXPECT_EQ(refused(unit, {aliased}),
            "no derivative by parameter 4: its memory may overlap another one's");
  EXPECT_EQ(refused(unit, {scaling.x, scaling.x}),
            "no derivative by parameter 0: it is listed twice");
  ASSERT_TRUE(Differentiate(proto::AUTODIFF_REVERSE, {scaling.x}, &unit).ok());
  EXPECT_EQ(refused(unit, {scaling.y}), "the kernel computes a derivative already");
}

}  // namespace
}  // namespace kiln
