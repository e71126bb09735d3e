// Values that are the same in all iterations of a task and in all of its threads.
#ifndef KILN_SERVER_COMPILER_PASSES_INVARIANTS_H_
#define KILN_SERVER_COMPILER_PASSES_INVARIANTS_H_

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

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_INVARIANTS_H_
