// What the emitters of tasks share. Private to this directory.
#ifndef KILN_SERVER_COMPILER_CODEGEN_TASK_FUNCTION_H_
#define KILN_SERVER_COMPILER_CODEGEN_TASK_FUNCTION_H_

#include <string>

#include "llvm/IR/Module.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"

namespace kiln {

// A function of the type that tasks have, or that bounds have.
llvm::Function* NewTaskFunction(llvm::Module* module, const std::string& name,
                                bool is_bounds = false);

// An atomic costs many times what a plain addition does, so for a loop that does little
// else one thread alone beats many. The runtime measures which it is. Atomics of
// the finish run once a chunk and do not matter.
bool HasAtomics(ir::RangeTaskOp op, const FunctionFacts& facts);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_TASK_FUNCTION_H_
