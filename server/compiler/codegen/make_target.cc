// The kinds of targets that this compiler makes code for.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/compiler/codegen/cpu/cpu_target.h"
#include "server/compiler/codegen/cuda/cuda_target.h"
#include "server/compiler/codegen/target.h"

namespace kiln::codegen {

namespace {

bool Contains(const std::vector<kiln::Target>& targets, kiln::Target target) {
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Target>> MakeTarget(kiln::Target target, const Options& options) {
  if (Contains(CompiledTargets(), target)) {
    ASSIGN_OR_RETURN(std::unique_ptr<cpu::Machine> machine, cpu::Machine::Make(target, options));
    return std::make_unique<cpu::CpuTarget>(std::move(machine));
  }
  if (Contains(CompiledCudaTargets(), target)) {
    ASSIGN_OR_RETURN(std::unique_ptr<cuda::PtxMachine> machine,
                     cuda::PtxMachine::Make(target, options));
    return std::make_unique<cuda::CudaTarget>(target, std::move(machine));
  }
  return absl::UnimplementedError(absl::StrCat("no code for target '", target.text(),
                                               "': ", CompiledTargetTexts(), ", ",
                                               CompiledCudaTargetTexts()));
}

}  // namespace kiln::codegen
