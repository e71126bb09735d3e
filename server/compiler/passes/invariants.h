// Values that are the same in all iterations of a task and in all of its threads.
#ifndef KILN_SERVER_COMPILER_PASSES_INVARIANTS_H_
#define KILN_SERVER_COMPILER_PASSES_INVARIANTS_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

// Remembers what it has found: the values must live as long as this.
class Invariants {
 public:
  // Whether the value is computed from constants, arguments and extents.
  bool Has(mlir::Value value);

 private:
  llvm::DenseMap<mlir::Value, bool> known_;
};

// A copy of an invariant at the builder's place, with what it is computed from. Each value is
// copied once: `copies` knows those there are.
mlir::Value CopyInvariant(mlir::OpBuilder& builder, mlir::Value value, mlir::IRMapping* copies);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_INVARIANTS_H_
