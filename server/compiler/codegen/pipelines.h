// What LLVM runs over a module, as text that PassBuilder reads (and `opt -passes=` as
// well).
#ifndef KILN_SERVER_COMPILER_CODEGEN_PIPELINES_H_
#define KILN_SERVER_COMPILER_CODEGEN_PIPELINES_H_

#include <string>

namespace kiln {

// `has_functions`: the module has functions that tasks call.
std::string PipelineText(int level, bool has_functions);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_PIPELINES_H_
