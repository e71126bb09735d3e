// What LLVM runs over a module, as text that PassBuilder reads (and `opt -passes=` as
// well).
#ifndef KILN_SERVER_COMPILER_CODEGEN_PIPELINES_H_
#define KILN_SERVER_COMPILER_CODEGEN_PIPELINES_H_

namespace kiln {

const char* PipelineText(int level);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_PIPELINES_H_
