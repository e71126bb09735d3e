// Effects of code that calls functions of the kernel: a call does what its callee does, and the
// functions that the callee calls.
#ifndef KILN_SERVER_COMPILER_DIALECT_FUNCTION_FACTS_H_
#define KILN_SERVER_COMPILER_DIALECT_FUNCTION_FACTS_H_

#include <vector>

#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/effects.h"

namespace kiln {

class FunctionFacts {
 public:
  // Valid until functions or calls change.
  explicit FunctionFacts(ir::KernelOp kernel);

  // kiln::EffectsOf(op); of a call, with what the callee may do. `reads` and `writes` remain the
  // addresses that the call passes: kTouchesMemory stands for the callee's own.
  Effects EffectsOf(mlir::Operation* op) const;

  // Whether an op in the region has one of the effects.
  bool Any(mlir::Region& region, unsigned effects) const;

 private:
  std::vector<unsigned> facts_;  // bits of Effect, by function number
};

// Visits the ops of `task` and of the functions that it calls, each function once, until `visit`
// interrupts. `calls` have led to the op, outermost first.
using VisitCalled =
    llvm::function_ref<mlir::WalkResult(mlir::Operation* op, llvm::ArrayRef<ir::CallOp> calls)>;
mlir::WalkResult WalkCalled(ir::KernelOp kernel, mlir::Operation* task, VisitCalled visit);

// Whether the threads of a GPU work together in a task or in the functions that it calls: kiln.simt
// or kiln.shared_array.
bool WorksTogether(ir::KernelOp kernel, mlir::Operation* task);

// Whether a function that the task calls, itself or by others, may call itself.
bool Recurses(ir::KernelOp kernel, mlir::Operation* task);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_FUNCTION_FACTS_H_
