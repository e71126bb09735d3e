// The kinds of targets that this compiler makes code for.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/compiler/codegen/cpu/cpu_target.h"
#include "server/compiler/codegen/target.h"

namespace kiln::codegen {

absl::StatusOr<std::unique_ptr<Target>> MakeTarget(kiln::Target target, const Options& options) {
  const std::vector<kiln::Target>& compiled = CompiledTargets();
  if (std::find(compiled.begin(), compiled.end(), target) == compiled.end()) {
    return absl::UnimplementedError(
        absl::StrCat("no code for target '", target.text(), "': ", CompiledTargetTexts()));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<cpu::Machine> machine, cpu::Machine::Make(target, options));
  return std::make_unique<cpu::CpuTarget>(std::move(machine));
}

}  // namespace kiln::codegen
