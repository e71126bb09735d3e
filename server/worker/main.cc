// kiln-worker: the process around the compiler (run_worker.h has its flags).
#include <memory>
#include <utility>

#include "server/compiler/compiler.h"
#include "server/worker/run_worker.h"

namespace {

kiln::Engine MakeEngine() {
  auto compiler = std::make_shared<kiln::Compiler>();
  kiln::Engine engine;
  engine.warm_up = [compiler] { return compiler->WarmUp(); };
  engine.compile = [compiler](const kiln::proto::CompileRequest& request,
                              const kiln::proto::CompileUnit& unit) {
    absl::StatusOr<kiln::Compilation> made = compiler->Compile(unit, request.report());
    if (!made.ok()) return absl::StatusOr<kiln::Product>(made.status());
    return absl::StatusOr<kiln::Product>(
        kiln::Product{std::move(made->payload), std::move(made->info), std::move(made->diagnostics),
                      std::move(made->stages)});
  };
  return engine;
}

}  // namespace

int main(int argc, char** argv) { return kiln::RunWorker(argc, argv, MakeEngine); }
