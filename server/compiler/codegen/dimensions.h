// The bounds of a range task. Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_DIMENSIONS_H_
#define KILN_SERVER_COMPILER_CODEGEN_DIMENSIONS_H_

#include <vector>

#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// One dimension of a range task, in i64.
struct Dimension {
  llvm::Value* lower;
  llvm::Value* upper;
  llvm::Value* extent;  // 0 if `upper` is below `lower`
};

// Emits the bounds region: its values as dimensions, the innermost one last.
std::vector<Dimension> EmitDimensions(FunctionEmitter& f, ir::RangeTaskOp task);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_DIMENSIONS_H_
