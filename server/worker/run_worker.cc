#include "server/worker/run_worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "server/worker/limits.h"
#include "server/worker/run_once.h"
#include "server/worker/sandbox.h"
#include "server/worker/self_id.h"

namespace kiln {
namespace {

// The sandbox forbids what sanitizers need.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Flags {
  bool print_compiler_id = false;
  bool print_gaps = false;
  bool print_cuda = false;
  bool unconfined = kSanitized;
  int fd = -1;
  std::string unit;  // with `out`: one job, from file to file
  std::string out;
  Limits limits;
};

bool ParseFlags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    bool good = true;
    if (arg == "--print-compiler-id") {
      flags->print_compiler_id = true;
    } else if (arg == "--print-gaps") {
      flags->print_gaps = true;
    } else if (arg == "--print-cuda") {
      flags->print_cuda = true;
    } else if (arg == "--unconfined") {
      flags->unconfined = true;
    } else if (absl::ConsumePrefix(&arg, "--fd=")) {
      good = absl::SimpleAtoi(arg, &flags->fd) && flags->fd >= 0;
    } else if (absl::ConsumePrefix(&arg, "--unit=")) {
      flags->unit = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--out=")) {
      flags->out = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--memory-bytes=")) {
      good = absl::SimpleAtoi(arg, &flags->limits.memory_bytes);
    } else if (absl::ConsumePrefix(&arg, "--cpu-seconds=")) {
      good = absl::SimpleAtoi(arg, &flags->limits.cpu_seconds);
    } else {
      good = false;
    }
    if (!good) {
      std::fprintf(stderr, "%s: bad argument %s\n", argv[0], argv[i]);
      return false;
    }
  }
  if (flags->unit.empty() != flags->out.empty()) {
    std::fprintf(stderr, "%s: --unit and --out belong together\n", argv[0]);
    return false;
  }
  return true;
}

// Reserves the output for frames: a library's stray print must not corrupt the stream.
int ClaimStdout() {
  const int out = fcntl(1, F_DUPFD_CLOEXEC, 3);
  dup2(2, 1);
  return out;
}

std::vector<Gap> Confine(const Flags& flags) {
  // Reported as a gap, so that `kiln doctor` and metrics show it.
  if (flags.unconfined) return {{"unconfined", "nothing is given up (workers.unconfined)"}};
  return LockIn();
}

int PrintGaps(const Flags& flags) {
  for (const Gap& gap : Confine(flags)) {
    std::printf("%s\t%s\n", gap.name.c_str(), gap.text.c_str());
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int RunWorker(int argc, char** argv, const std::function<Engine()>& make) {
  Flags flags;
  if (!ParseFlags(argc, argv, &flags)) return 2;
  // In a process of its own: what it gives up cannot be taken back.
  if (flags.print_gaps) return PrintGaps(flags);
  if (flags.print_cuda) {
    const Engine engine = make();
    if (engine.cuda_toolchain != nullptr) std::puts(engine.cuda_toolchain().c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  // Before the sandbox, which forbids to read the worker's own files.
  absl::StatusOr<CompilerIdRecord> self = IdentifySelf();
  if (!self.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], std::string(self.status().message()).c_str());
    return 1;
  }
  if (flags.print_compiler_id) {
    std::printf("%s %s %s\n", self->ids.cpu.Hex().c_str(), self->ids.cuda.Hex().c_str(),
                self->toolkit.c_str());
    for (const std::string& file : self->files) std::printf("%s\n", file.c_str());
    for (const std::string& file : self->absent) std::printf("- %s\n", file.c_str());
    return std::fflush(stdout) == 0 ? 0 : 1;
  }

  WorkerOptions options;
  // Limits first, the sandbox after the warm-up: loading LLVM needs files that jobs must not have.
  ConfineProcess(flags.limits, flags.fd);
  options.in = flags.fd >= 0 ? flags.fd : 0;
  options.out = flags.fd >= 0 ? flags.fd : ClaimStdout();
  options.compiler = self->ids;
  Engine engine = make();
  options.warm_up = [&]() -> absl::Status {
    if (engine.warm_up != nullptr) RETURN_IF_ERROR(engine.warm_up());
    if (engine.cuda_toolchain != nullptr) options.cuda_toolchain = engine.cuda_toolchain();
    // After the warm-up, before the first job.
    options.gaps = Confine(flags);
    return absl::OkStatus();
  };
  options.compile = std::move(engine.compile);
  options.link = std::move(engine.link);
  const absl::Status status =
      flags.unit.empty() ? Serve(options) : RunOnce(options, flags.unit, flags.out);
  if (!status.ok()) {
    std::fprintf(stderr, "kiln-worker: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace kiln
