#include "client_cpp/tape.h"

#include <string>
#include <thread>
#include <vector>

#include "client_cpp/launcher.h"
#include "gtest/gtest.h"
#include "runtime/test_artifact.h"

namespace kiln {
namespace {

std::shared_ptr<const Instance> Make(const KernelInfo& info, const std::string& name,
                                     InstanceDerivatives derivatives) {
  CompileOutcome outcome;
  auto kernel = LoadedKernel::FromBytes(TestKernelBytes(), info);
  EXPECT_TRUE(kernel.ok()) << kernel.error().text;
  outcome.kernel = *kernel;
  InstanceTexts texts;
  texts.source_map.set_kernel(name);
  proto::Format format;  // of node 7, which print_each prints
  format.set_end(name + " ");
  (*texts.source_map.mutable_formats())[7] = format;
  return std::make_shared<Instance>(std::move(outcome), std::vector<bool>(), std::move(texts),
                                    std::move(derivatives));
}

void AddArray(KernelInfo* info, uint32_t param) {
  info->arguments.push_back({ArgumentSlot::Kind::kBase, param});
  info->arguments.push_back({ArgumentSlot::Kind::kExtent, param});
}

// A kernel of one array of f32 that does nothing, and its gradient, which runs `task` once.
std::shared_ptr<const Instance> WithGradient(const std::string& name, const char* task) {
  KernelInfo info = TestInfo(), gradient = TestInfo();
  AddSerial(&info, "nothing");
  AddRange(&gradient, task, 1, 1);
  AddArray(&info, 0);
  AddArray(&gradient, 0);
  AddArray(&gradient, 1);
  InstanceDerivatives as_gradient, own;
  as_gradient.params.mode = proto::AUTODIFF_REVERSE;
  as_gradient.params.of = {ParamId(0)};
  as_gradient.params.first_companion = ParamId(1);
  as_gradient.params.element_bytes.Add(4);
  as_gradient.params.element_bytes.Add(4);
  own.gradient = Make(gradient, name, std::move(as_gradient));
  return Make(info, name, std::move(own));
}

std::shared_ptr<const Instance> WithoutGradient(const std::string& name, const char* task) {
  KernelInfo info = TestInfo();
  AddRange(&info, task, 1, 1);
  AddArray(&info, 0);
  return Make(info, name, {});
}

std::string Printed(const std::function<void()>& body) {
  testing::internal::CaptureStdout();
  body();
  return testing::internal::GetCapturedStdout();
}

class TapeTest : public ::testing::Test {
 protected:
  const Field<float> x_ = *Field<float>::Create({4}, {}, Companions::kGrad);
  const Field<float> x_grad_ = *x_.grad();
  const Field<float> loss_ = *Field<float>::Create({}, {}, Companions::kGrad);
  const Field<float> plain_ = *Field<float>::Create({4});
};

TEST_F(TapeTest, RunsGradientsInTheOppositeOrder) {
  Launcher a(WithGradient("a", "print_each")), b(WithGradient("b", "print_each"));
  Launcher c(WithoutGradient("c", "print_each"));
  for (Launcher* launch : {&a, &b, &c}) launch->Bind(ParamId(0), x_);
  Tape tape;
  const auto body = [&] {
    EXPECT_TRUE(a.Run().ok());
    EXPECT_TRUE(b.Run().ok());
    tape.Add([&] { return c.Run(); });
    return b.Run();
  };
  EXPECT_EQ(Printed([&] { EXPECT_TRUE(tape.Record(body).ok()); }), "");
  EXPECT_EQ(tape.size(), 4u);
  EXPECT_EQ(Printed([&] { EXPECT_TRUE(tape.Gradients().ok()); }), "b c b a ");
  EXPECT_EQ(tape.Gradients(), absl::FailedPreconditionError(
                                  "the tape has recorded nothing since its last gradients"));
  EXPECT_TRUE(tape.Record([] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(tape.size(), 0u);
}

TEST_F(TapeTest, RunClearsGradientsAndSeedsTheLoss) {
  Launcher launch(WithGradient("k", "nothing"));
  launch.Bind(ParamId(0), x_);
  x_grad_.Fill(7);
  loss_.Fill(5);
  loss_.grad()->Fill(5);
  float in_body = 5;
  const absl::Status done = Tape().Run(loss_, [&] {
    in_body = loss_[0];
    return launch.Run();
  });
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(in_body, 0);
  EXPECT_EQ(x_grad_.ToVector(), std::vector<float>(4, 0));
  EXPECT_EQ((*loss_.grad())[0], 1);
}

TEST_F(TapeTest, NothingRunsIfTheBodyFailed) {
  Launcher launch(WithGradient("k", "print_each"));
  launch.Bind(ParamId(0), x_);
  x_grad_.Fill(7);
  Tape tape;
  const std::string printed = Printed([&] {
    const absl::Status done = tape.Run(loss_, [&] {
      EXPECT_TRUE(launch.Run().ok());
      return absl::CancelledError("no");
    });
    EXPECT_EQ(done, absl::CancelledError("no"));
  });
  EXPECT_EQ(printed, "");
  EXPECT_EQ(x_grad_[0], 7);
  EXPECT_TRUE(absl::IsFailedPrecondition(tape.Gradients()));
  EXPECT_EQ(Tape::Active(), nullptr);
}

TEST_F(TapeTest, AFailedLaunchFailsTheTapeThatOverlooksIt) {
  KernelInfo info = TestInfo();
  AddRange(&info, "fail_from", 10, 1);
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 0, 0, proto::I64});
  Launcher failing(Make(info, "k", {}));
  failing.Set(ParamId(0), 5);
  const absl::Status done = Tape().Record([&] {
    failing.Run().IgnoreError();
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsAborted(done)) << done;
}

TEST_F(TapeTest, RefusesLossesAndTapesWithinTapes) {
  const auto nothing = [] { return absl::OkStatus(); };
  Tape tape, inner;
  EXPECT_EQ(tape.Run(x_, nothing),
            absl::InvalidArgumentError("the loss of a tape has one element, and not 4"));
  const auto plain = *Field<float>::Create({});
  EXPECT_EQ(tape.Run(plain, nothing),
            absl::FailedPreconditionError(
                "the loss of the tape has no gradient: create it with Companions::kGrad"));
  const absl::Status nested = tape.Record([&] { return inner.Run(loss_, nothing); });
  EXPECT_EQ(nested, absl::FailedPreconditionError("a tape within the body of another one"));
}

TEST_F(TapeTest, RefusesLaunchesWhoseGradientsItWouldMiss) {
  Launcher launch(WithoutGradient("k", "nothing"));
  launch.Bind(ParamId(0), x_);
  EXPECT_TRUE(launch.Run().ok());
  Tape tape;
  const auto run = [&] { return launch.Run(); };
  EXPECT_EQ(tape.Record(run),
            absl::FailedPreconditionError("parameter 0 is bound to memory with a gradient, but "
                                          "CompileSettings::gradients does not list it"));
  EXPECT_EQ(launch.RunGradient(),
            absl::FailedPreconditionError(
                "the instance was made without gradients (CompileSettings::gradients)"));
  EXPECT_TRUE(tape.Record([&] {
                    const TapePause pause;
                    return launch.Run();
                  })
                  .ok());
  EXPECT_EQ(tape.size(), 0u);
  launch.Bind(ParamId(0), plain_);
  EXPECT_TRUE(tape.Record(run).ok());
  EXPECT_EQ(tape.size(), 0u) << "a constant to every loss";
}

TEST_F(TapeTest, APauseLeavesLaunchesOutButClearsTheirGradients) {
  Launcher launch(WithGradient("k", "print_each"));
  launch.Bind(ParamId(0), x_);
  x_grad_.Fill(7);
  Tape tape, inner;
  const auto body = [&]() -> absl::Status {
    const TapePause pause;
    EXPECT_TRUE(launch.Run().ok());
    EXPECT_TRUE(inner.Record([&] { return launch.Run(); }).ok());
    const TapePause again;
    tape.Add([&] {
      EXPECT_EQ(x_grad_[0], 0);
      return launch.RunGradient();
    });
    return launch.Run();
  };
  EXPECT_EQ(Printed([&] { EXPECT_TRUE(tape.Run(loss_, body).ok()); }), "k ");
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ(inner.size(), 1u);
  EXPECT_EQ(Tape::Paused(), nullptr);
}

TEST_F(TapeTest, RecordsTheArgumentsOfEachLaunch) {
  Launcher launch(WithGradient("k", "bump"));
  int64_t memory[2] = {0, 0};
  float gradients[2] = {3, 4};
  Tape tape;
  const absl::Status done = tape.Record([&]() -> absl::Status {
    for (int i : {0, 1, 1}) {
      launch.Bind(ParamId(0), &memory[i], {1}, {&gradients[i]});
      EXPECT_TRUE(launch.Run().ok());
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(done.ok()) << done;
  EXPECT_EQ(tape.ClearGradients(), absl::OkStatus());
  EXPECT_EQ(gradients[0], 0);
  EXPECT_EQ(gradients[1], 0);
  launch.Bind(ParamId(0), nullptr, {0}, {});
  EXPECT_TRUE(tape.Gradients().ok());
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(memory[1], 2);
}

TEST_F(TapeTest, AFailedGradientNamesItsKernel) {
  Launcher launch(WithGradient("step", "fail_from"));
  float array = 0, gradient = 0;
  launch.Bind(ParamId(0), &array, {1}, {&gradient});
  Tape tape;
  ASSERT_TRUE(tape.Record([&] { return launch.Run(); }).ok());
  // fail_from takes an address for a number, which is large.
  EXPECT_TRUE(tape.Gradients().ok());
  launch.Bind(ParamId(0), nullptr, {0}, {&gradient});
  ASSERT_TRUE(tape.Record([&] { return launch.Run(); }).ok());
  EXPECT_EQ(tape.Gradients(),
            absl::AbortedError("the gradient of step: a check of the kernel failed"));
}

TEST_F(TapeTest, SeesItsOwnThreadOnly) {
  Launcher launch(WithGradient("k", "nothing"));
  launch.Bind(ParamId(0), x_);
  Tape tape;
  const absl::Status done = tape.Record([&] {
    std::thread([&] { EXPECT_TRUE(launch.Run().ok()); }).join();
    return absl::OkStatus();
  });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(tape.size(), 0u);
}

TEST_F(TapeTest, TapesDoNotRecordDerivatives) {
  Launcher launch(WithGradient("k", "nothing"));
  launch.Bind(ParamId(0), x_);
  Tape tape;
  EXPECT_TRUE(tape.Record([&] { return launch.RunGradient(); }).ok());
  EXPECT_EQ(tape.size(), 0u);
  EXPECT_EQ(launch.RunWithDuals(),
            absl::FailedPreconditionError(
                "the instance was made without duals (CompileSettings::duals)"));
}

TEST_F(TapeTest, GradientsNeedMemoryOfTheirOwn) {
  Launcher launch(WithGradient("k", "nothing"));
  EXPECT_TRUE(launch.Bind(ParamId(0), x_).RunGradient().ok());
  EXPECT_EQ(launch.Bind(ParamId(0), plain_).RunGradient(),
            absl::FailedPreconditionError("parameter 0 is bound to memory without a gradient"));
  float memory[8] = {};
  launch.Bind(ParamId(0), memory, {4}, {memory + 4});
  EXPECT_TRUE(launch.RunGradient().ok());
  launch.Bind(ParamId(0), memory, {4}, {memory + 3});
  EXPECT_EQ(launch.RunGradient(),
            absl::FailedPreconditionError(
                "parameter 0 and the companion of parameter 0 of a derivative share memory"));
  const absl::Status done = Tape().Record([&] { return launch.Run(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(done)) << "before the launch";
  EXPECT_TRUE(launch.Run().ok());
}

}  // namespace
}  // namespace kiln
