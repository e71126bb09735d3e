// Gradients from C++, with the real compiler: a program whose KILN_HOME and KILN_BIN the caller
// sets.
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "client_cpp/kiln.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

Session& TheSession() {
  static auto* const session = new std::shared_ptr<Session>(*Session::Create({}));
  return **session;
}

InstanceOutcome Make(KernelBuilder* builder, const std::string& name,
                     const std::vector<ParamId>& gradients,
                     const std::vector<ParamId>& duals = {}) {
  CompileSettings settings;
  settings.name = name;
  settings.gradients = gradients;
  settings.duals = duals;
  auto made = MakeInstance(TheSession(), builder, settings);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// for i in range(n): y[i] = a * x[i] ** 2, of the kernel's parameters.
struct Squares {
  Squares(const proto::Storage& x_storage, const proto::Storage& y_storage) {
    KernelBuilder b;
    x = b.AddStorageParam(x_storage);
    a = b.AddValueParam(b.ScalarType(proto::F64));
    y = b.AddStorageParam(y_storage);
    const NodeNumber end = *b.Shape(x, 0);
    const NodeNumber loop = *b.BeginRangeFor({b.ConstInt(0, proto::I32), end}, {});
    const NodeNumber i = *b.LoopIndex(loop, 0);
    const NodeNumber value = *b.Load(*b.Global(x, {i}));
    const NodeNumber squared = *b.Binary(proto::OP_MUL, value, value);
    const NodeNumber scaled = *b.Binary(proto::OP_MUL, *b.Param(a), squared);
    EXPECT_TRUE(b.Store(*b.Global(y, {i}), scaled).ok());
    EXPECT_TRUE(b.End().ok());
    made = Make(&b, "squares", {x, y}, {x, y});
  }
  ParamId x, a, y;
  InstanceOutcome made;
};

// total[None] += a * x[i] * x[i] for all elements of x.
struct Energy {
  Energy(const Field<double>& x_field, const Field<double>& total_field) {
    KernelBuilder b;
    x = b.AddStorageParam(x_field.storage());
    total = b.AddStorageParam(total_field.storage());
    a = b.AddValueParam(b.ScalarType(proto::F64));
    const NodeNumber loop = *b.BeginStructFor(x, {});
    const NodeNumber value = *b.Load(*b.Global(x, {*b.LoopIndex(loop, 0)}));
    const NodeNumber squared = *b.Reduce(proto::OP_ADD, *b.Binary(proto::OP_MUL, value, value));
    const NodeNumber scaled = *b.Binary(proto::OP_MUL, *b.Param(a), squared);
    EXPECT_TRUE(b.Atomic(proto::OP_ATOMIC_ADD, *b.Global(total, {}), scaled).ok());
    EXPECT_TRUE(b.End().ok());
    made = Make(&b, "energy", {x, total});
  }
  ParamId x, total, a;
  InstanceOutcome made;
};

TEST(GradientsTest, OfArrays) {
  const Squares squares(ArrayStorage(proto::F64, 1), ArrayStorage(proto::F64, 1));
  ASSERT_NE(squares.made.instance, nullptr);
  double x[3] = {1, 2, 3}, y[3] = {}, x_grad[3] = {10, 0, 0}, y_grad[3] = {1, -1, 0.5};
  Launcher launch(squares.made.instance);
  launch.Set(squares.a, 2.0);
  launch.Bind(squares.x, x, {3}, {x_grad}).Bind(squares.y, y, {3}, {y_grad});
  EXPECT_EQ(launch.RunGradient(), absl::OkStatus());
  EXPECT_EQ(x_grad[0], 10 + 4 * 1);
  EXPECT_EQ(x_grad[1], -4 * 2);
  EXPECT_EQ(x_grad[2], 4 * 3 * 0.5);
  for (double taken : y_grad) EXPECT_EQ(taken, 0);
  EXPECT_EQ(y[2], 0) << "a gradient writes no results";
}

TEST(GradientsTest, DualsOfFields) {
  const auto x = *Field<double>::Create({4}, {}, Companions::kGradAndDual);
  const auto y = *Field<double>::Create({4}, {}, Companions::kDual);
  const Squares squares(x.storage(), y.storage());
  ASSERT_NE(squares.made.instance, nullptr);
  for (int i = 0; i < 4; ++i) x[i] = i;
  x.dual()->Fill(0.5);
  y.dual()->Fill(9);
  Launcher launch(squares.made.instance);
  launch.Set(squares.a, 3.0).Bind(squares.x, x).Bind(squares.y, y);
  EXPECT_EQ(launch.RunWithDuals(), absl::OkStatus());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(y[i], 3.0 * i * i);
    EXPECT_EQ((*y.dual())[i], 6.0 * i * 0.5);
  }
  EXPECT_EQ(launch.RunGradient(),
            absl::FailedPreconditionError("parameter 2 is bound to memory without a gradient"));
  const absl::Status taped = Tape().Record([&] { return launch.RunWithDuals(); });
  EXPECT_EQ(taped, absl::FailedPreconditionError("a tape cannot record a launch with duals"));
}

TEST(GradientsTest, OfATape) {
  const auto x = *Field<double>::Create({5}, {2}, Companions::kGrad);
  const auto total = *Field<double>::Create({}, {}, Companions::kGrad);
  const Energy energy(x, total);
  ASSERT_NE(energy.made.instance, nullptr);
  for (int i = 0; i < 10; ++i) x[i] = i - 4;
  Launcher launch(energy.made.instance);
  launch.Bind(energy.x, x).Bind(energy.total, total);
  Tape tape;
  for (int round = 0; round < 3; ++round) {
    const absl::Status done = tape.Run(total, [&]() -> absl::Status {
      for (int k = 1; k <= 4; ++k) {
        if (absl::Status status = launch.Set(energy.a, k).Run(); !status.ok()) return status;
      }
      return absl::OkStatus();
    });
    ASSERT_EQ(done, absl::OkStatus());
    EXPECT_EQ(tape.size(), 4u);
    EXPECT_EQ(total[0], 10 * (16 + 9 + 4 + 1 + 0 + 1 + 4 + 9 + 16 + 25));
    for (int i = 0; i < 10; ++i) EXPECT_EQ((*x.grad())[i], 2 * 10 * (i - 4));
  }
}

TEST(GradientsTest, NoCompanionIsMissed) {
  const auto x = *Field<double>::Create({4}, {}, Companions::kGradAndDual);
  KernelBuilder b;
  const ParamId from = b.AddStorageParam(x.storage()), to = b.AddStorageParam(x.storage());
  const NodeNumber loop = *b.BeginStructFor(from, {});
  const NodeNumber i = *b.LoopIndex(loop, 0);
  EXPECT_TRUE(b.Store(*b.Global(to, {i}), *b.Load(*b.Global(from, {i}))).ok());
  EXPECT_TRUE(b.End().ok());
  const InstanceOutcome made = Make(&b, "copy", {from}, {to});
  ASSERT_NE(made.instance, nullptr);
  const auto y = *Field<double>::Create({4}, {}, Companions::kGradAndDual);
  Launcher launch(made.instance), alone(made.instance->derivatives().gradient);
  launch.Bind(from, x).Bind(to, y);
  alone.Bind(from, x).Bind(to, y);
  EXPECT_EQ(launch.Run(), absl::OkStatus());
  const absl::Status missed = absl::FailedPreconditionError(
      "parameter 1 is bound to memory with a gradient, but CompileSettings::gradients does not "
      "list it");
  EXPECT_EQ(launch.RunGradient(), missed);
  EXPECT_EQ(alone.Run(), missed);
  EXPECT_EQ(Tape().Record([&] { return launch.Run(); }), missed);
  EXPECT_EQ(launch.RunWithDuals(),
            absl::FailedPreconditionError(
                "parameter 0 is bound to memory with a dual, but CompileSettings::duals does not "
                "list it"));
}

TEST(GradientsTest, ATapeRefusesGradientsOfOverwrittenValues) {
  const auto x = *Field<double>::Create({5}, {2}, Companions::kGrad);
  const auto total = *Field<double>::Create({}, {}, Companions::kGrad);
  const Energy energy(x, total);
  KernelBuilder b;
  const ParamId changed = b.AddStorageParam(x.storage());
  const NodeNumber loop = *b.BeginStructFor(changed, {});
  const NodeNumber at = *b.Global(changed, {*b.LoopIndex(loop, 0)});
  EXPECT_TRUE(b.Store(at, b.ConstFloat(1, proto::F64)).ok());
  EXPECT_TRUE(b.End().ok());
  Launcher reset(Make(&b, "reset", {changed}).instance), launch(energy.made.instance);
  launch.Set(energy.a, 1).Bind(energy.x, x).Bind(energy.total, total);
  reset.Bind(changed, x);
  const auto use_then_reset = [&] {
    absl::Status status = launch.Run();
    return status.ok() ? reset.Run() : status;
  };
  const auto reset_then_use = [&] {
    absl::Status status = reset.Run();
    return status.ok() ? launch.Run() : status;
  };
  const absl::Status refused = Tape().Run(total, use_then_reset);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(),
                                "the gradient of kernel 'energy' reads memory again, which the "
                                "later kernel 'reset' may have overwritten."))
      << refused;
  EXPECT_EQ(Tape(Tape::Overwritten::kIgnored).Run(total, use_then_reset), absl::OkStatus());
  EXPECT_EQ(Tape().Run(total, reset_then_use), absl::OkStatus());
  EXPECT_EQ((*x.grad())[0], 0) << "reset takes it";
}

TEST(GradientsTest, CodeWithoutADerivativeIsADiagnostic) {
  KernelBuilder b;
  const ParamId x = b.AddStorageParam(ArrayStorage(proto::F64, 1));
  const NodeNumber at = *b.Global(x, {b.ConstInt(0, proto::I32)});
  EXPECT_TRUE(b.Store(at, *b.Unary(proto::OP_SIN, *b.Load(at))).ok());
  const InstanceOutcome made = Make(&b, "in_place", {x});
  EXPECT_EQ(made.instance, nullptr);
  ASSERT_FALSE(made.diagnostics.empty());
  EXPECT_TRUE(
      absl::StrContains(made.diagnostics[0].diagnostic.message(), "the kernel overwrites it"))
      << made.diagnostics[0].diagnostic.message();
}

}  // namespace
}  // namespace kiln
