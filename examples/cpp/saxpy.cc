// y = a * x + y on a million floats, from C++: no Python, no LLVM in this process.
//
//   ./kiln build && tools/bazel.sh build //examples/cpp:saxpy
//   KILN_BIN=.kiln/bin .kiln/bazel-bin/examples/cpp/saxpy
#include <cstdio>

#include "client_cpp/kiln.h"
#include "examples/cpp/need.h"

namespace {

constexpr uint64_t kSize = 1'000'000;

}  // namespace

int main() {
  auto x = Need(kiln::Field<float>::Create({kSize}));
  auto y = Need(kiln::Field<float>::Create({kSize}));
  for (uint64_t i = 0; i < kSize; ++i) x[i] = static_cast<float>(i);
  y.Fill(1);

  // for i in x: y[i] = a * x[i] + y[i]
  kiln::KernelBuilder b;
  kiln::ParamId x_param = b.AddStorageParam(x.storage());
  kiln::ParamId y_param = b.AddStorageParam(y.storage());
  kiln::ParamId a_param = b.AddValueParam(b.ScalarType(kiln::proto::F32));
  kiln::NodeNumber loop = Need(b.BeginStructFor(x_param, {}));
  kiln::NodeNumber i = Need(b.LoopIndex(loop, 0));
  kiln::NodeNumber x_i = Need(b.Load(Need(b.Global(x_param, {i}))));
  kiln::NodeNumber ax = Need(b.Binary(kiln::proto::OP_MUL, Need(b.Param(a_param)), x_i));
  kiln::NodeNumber y_at = Need(b.Global(y_param, {i}));
  Need(b.Store(y_at, Need(b.Binary(kiln::proto::OP_ADD, ax, Need(b.Load(y_at))))));
  Need(b.End());
  kiln::CompileSettings settings;
  settings.name = "saxpy";
  settings.code.set_fast_math(true);
  settings.code.set_opt_level(3);

  auto session = Need(kiln::Session::Create({}));
  const auto instance = NeedInstance(*session, &b, settings);
  const kiln::CompileOutcome& outcome = instance->outcome();
  std::printf("saxpy  %s  %.1f ms\n", outcome.tier.c_str(), outcome.wait_seconds * 1e3);

  kiln::Launcher launch(instance);
  launch.Set(a_param, 2.0f).Bind(x_param, x).Bind(y_param, y);
  Need(launch.Run());

  uint64_t wrong = 0;
  for (uint64_t k = 0; k < kSize; ++k) wrong += y[k] != 2.0f * static_cast<float>(k) + 1.0f;
  std::printf("y[10] = %g, y[%llu] = %g, %llu wrong\n", y[10],
              static_cast<unsigned long long>(kSize - 1), y[kSize - 1],
              static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
