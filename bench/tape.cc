// Seconds of launches from C++ that a tape records, and of their gradients, as JSON. bench/tape.py
// runs it with KILN_BIN and KILN_HOME.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "absl/functional/function_ref.h"
#include "client_cpp/kiln.h"

namespace {

constexpr int kCalls = 10'000;
constexpr int kRounds = 7;

void Need(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Need(absl::StatusOr<T> value) {
  Need(value.status());
  return *std::move(value);
}

double Seconds(absl::FunctionRef<void()> run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main() {
  const auto x = Need(kiln::Field<float>::Create({}, {}, kiln::Companions::kGrad));
  kiln::KernelBuilder builder;
  kiln::CompileSettings settings;
  settings.name = "empty";
  settings.gradients = {builder.AddStorageParam(x.storage())};
  const auto session = Need(kiln::Session::Create({}));
  const auto instance = Need(kiln::MakeInstance(*session, &builder, settings)).instance;
  if (instance == nullptr) return 1;
  kiln::Launcher launch(instance);
  launch.Bind(kiln::ParamId(0), x);

  const auto launches = [&] {
    for (int i = 0; i < kCalls; ++i) Need(launch.Run());
    return absl::OkStatus();
  };
  double plain = 1, recorded = 1, gradient = 1, replayed = 1;
  kiln::Tape tape;
  for (int round = 0; round < kRounds; ++round) {
    plain = std::min(plain, Seconds([&] { Need(launches()); }));
    gradient = std::min(gradient, Seconds([&] {
                          for (int i = 0; i < kCalls; ++i) Need(launch.RunGradient());
                        }));
    recorded = std::min(recorded, Seconds([&] { Need(tape.Record(launches)); }));
    replayed = std::min(replayed, Seconds([&] {
                          tape.ClearGradients();
                          Need(tape.Gradients());
                        }));
  }
  std::printf(
      "{\"launch\": %g, \"recorded launch\": %g, \"gradient\": %g, \"replayed gradient\": %g}\n",
      plain / kCalls, recorded / kCalls, gradient / kCalls, replayed / kCalls);
  return 0;
}
