// What LLVM runs over a module, as text that PassBuilder reads. `opt -passes=` reads it as well,
// except for Kiln's passes `narrow-shifts`, `bound-operands`, `reciprocal-roots` and
// `branch-free-extremes`.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_PIPELINES_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_PIPELINES_H_

#include <string>

namespace kiln::cpu {

// `has_functions`: the module has functions that tasks call. `large`: a function is so large that
// passes of more than linear time would take seconds.
std::string PipelineText(int level, bool has_functions, bool large);

}  // namespace kiln::cpu

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_PIPELINES_H_
