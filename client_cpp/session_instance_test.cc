// Instances that a session makes.
#include <cstdlib>

#include "client_cpp/instance.h"
#include "client_cpp/kernel_builder.h"
#include "client_cpp/session.h"
#include "client_cpp/testing/session_fixture.h"
#include "common/unit/canonical.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST_F(SessionTest, AnInstanceKnowsWhatItWritesAndWhereItsNodesAre) {
  options_.server = "off";
  options_.returns_recorded = true;
  KernelBuilder builder;
  const ParamId read = builder.AddStorageParam(ArrayStorage(proto::I32, 1));
  const ParamId written = builder.AddStorageParam(ArrayStorage(proto::I32, 1));
  proto::Span span;
  span.set_file(builder.AddFile("k.py"));
  span.set_line(7);
  span.set_function(builder.AddName("k"));
  builder.SetSpan(builder.AddSpan(span));
  const NodeNumber zero = builder.ConstInt(0, proto::I32);
  const NodeNumber value = *builder.Load(*builder.Global(read, {zero}));
  const NodeNumber to = *builder.Global(written, {zero});
  ASSERT_TRUE(builder.Store(to, value).ok());
  CompileSettings settings;
  settings.name = "k";
  settings.code.set_check_bounds(true);
  settings.aliases = {{read, written}};
  const auto made = MakeInstance(*Make(), &builder, settings);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_NE(made->instance, nullptr);
  const Instance& instance = *made->instance;
  EXPECT_EQ(instance.writes(), (std::vector<bool>{false, true}));
  EXPECT_EQ(instance.KindOf(to), proto::GLOBAL);
  EXPECT_EQ(instance.texts().node_params.at(to), written);
  EXPECT_EQ(PositionsOf(instance.texts().source_map, to).at(0).line, 7u);

  proto::CompileRequest recorded;
  ASSERT_TRUE(recorded.ParseFromString(made->recorded));
  const auto unit = ParseCanonical(recorded.unit());
  ASSERT_TRUE(unit.ok()) << unit.status();
  EXPECT_FALSE(unit->has_target());
  EXPECT_EQ(unit->storages(0).alias_set(), unit->storages(1).alias_set());

  // A later process: line 7 is the second line that counts.
  const auto packed = instance.Pack({{5, 7}});
  ASSERT_TRUE(packed.ok()) << packed.status();
  const Instance later(instance.outcome(), instance.writes(), *packed);
  EXPECT_EQ(later.KindOf(to), proto::GLOBAL);
  EXPECT_EQ(PositionsOf(later.texts().source_map, to).at(0).line, 1u);
  EXPECT_FALSE(instance.Pack({}).ok());
  const Instance torn(instance.outcome(), {}, "nonsense");
  EXPECT_EQ(torn.KindOf(to), proto::NODE_NONE);
}

TEST_F(SessionTest, AnInstanceIsNotMadeOfErrors) {
  options_.server = "off";
  setenv("KILN_FAKE", "diagnose", 1);
  KernelBuilder builder;
  const auto made = MakeInstance(*Make(), &builder, {});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->instance, nullptr);
  ASSERT_EQ(made->diagnostics.size(), 1u);
  EXPECT_EQ(made->diagnostics[0].diagnostic.message(), "no");
}

TEST_F(SessionTest, AnInstanceComesWithItsDerivatives) {
  options_.server = "off";
  const auto session = Make();
  const auto make = [&](std::vector<ParamId> gradients, std::vector<ParamId> duals) {
    KernelBuilder builder;
    builder.AddStorageParam(ArrayStorage(proto::F32, 1));
    CompileSettings settings;
    settings.gradients = std::move(gradients);
    settings.duals = std::move(duals);
    return MakeInstance(*session, &builder, settings);
  };
  const auto plain = make({}, {});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->instance->derivatives().gradient, nullptr);
  EXPECT_EQ(plain->instance->derivatives().with_duals, nullptr);

  const auto both = make({ParamId(0)}, {ParamId(0)});
  ASSERT_TRUE(both.ok()) << both.status();
  const Instance& gradient = *both->instance->derivatives().gradient;
  const Instance& with_duals = *both->instance->derivatives().with_duals;
  EXPECT_EQ(gradient.derivatives().params.mode, proto::AUTODIFF_REVERSE);
  EXPECT_EQ(with_duals.derivatives().params.mode, proto::AUTODIFF_FORWARD);
  EXPECT_EQ(gradient.writes(), (std::vector<bool>{false, true}));
  EXPECT_EQ(both->instance->outcome().digest, plain->instance->outcome().digest)
      << "derivatives do not change the kernel's key";
  EXPECT_NE(gradient.outcome().digest, with_duals.outcome().digest);

  EXPECT_TRUE(absl::IsInvalidArgument(make({ParamId(1)}, {}).status()));
}

// The kernel itself names no gradient, which its derivative alone writes.
TEST_F(SessionTest, ADerivativeWritesTheGradientsThatTheProgramGaveIt) {
  KernelBuilder builder;
  const ParamId x = builder.AddStorageParam(ArrayStorage(proto::F32, 1));
  builder.AddStorageParam(ArrayStorage(proto::F32, 1));
  const ParamId of_x = builder.AddStorageParam(ArrayStorage(proto::F32, 1));
  ASSERT_TRUE(builder.SetGradient(x, of_x).ok());
  builder.Differentiate(proto::AUTODIFF_REVERSE);
  const auto finished = FinishUnit(&builder, {});
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_EQ(finished->writes, (std::vector<bool>{false, false, true}));
}

TEST_F(SessionTest, AnInstanceIsNotMadeIfItHasNoDerivative) {
  options_.server = "off";
  setenv("KILN_FAKE", "diagnose", 1);
  KernelBuilder builder;
  CompileSettings settings;
  settings.gradients = {builder.AddStorageParam(ArrayStorage(proto::F32, 1))};
  const auto made = MakeInstance(*Make(), &builder, settings);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->instance, nullptr);
  EXPECT_EQ(made->diagnostics.size(), 1u);
}

}  // namespace
}  // namespace kiln
