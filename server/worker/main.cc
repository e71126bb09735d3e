// kiln-worker: the process around the compiler (run_worker.h has its flags).
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/abi_digest.h"
#include "runtime/cuda_abi_digest.h"
#include "server/compiler/compiler.h"
#include "server/worker/run_worker.h"

namespace {

// Clients of another build may use this build's daemon. Their runtime may lay out data differently
// from what our code reads.
absl::Status CheckRuntime(const kiln::proto::Target& target) {
  const uint64_t own = target.has_cuda() ? kiln::kCudaAbi : kiln::kRuntimeAbi;
  if (target.runtime_abi() == own) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the kernel is for the runtime ",
                                                 absl::Hex(target.runtime_abi()),
                                                 ", this compiler is of ", absl::Hex(own)));
}

kiln::Engine MakeEngine() {
  auto compiler = std::make_shared<kiln::Compiler>();
  kiln::Engine engine;
  engine.warm_up = [compiler] { return compiler->WarmUp(); };
  engine.compile = [compiler](const kiln::proto::CompileRequest& request,
                              const kiln::proto::CompileUnit& unit) {
    const absl::Status runtime = CheckRuntime(unit.target());
    if (!runtime.ok()) return absl::StatusOr<kiln::Product>(runtime);
    absl::StatusOr<kiln::Compilation> made = compiler->Compile(unit, request.report());
    if (!made.ok()) return absl::StatusOr<kiln::Product>(made.status());
    return absl::StatusOr<kiln::Product>(
        kiln::Product{std::move(made->payload), std::move(made->info), std::move(made->diagnostics),
                      std::move(made->stages)});
  };
  engine.link = [compiler](const kiln::proto::LinkRequest& request) {
    return compiler->Link(request);
  };
  engine.cuda_toolchain = kiln::Compiler::CudaToolchain;
  return engine;
}

}  // namespace

int main(int argc, char** argv) { return kiln::RunWorker(argc, argv, MakeEngine); }
