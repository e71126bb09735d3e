// Atomic minima and maxima: which of the values took part in the result.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_EXTREME_H_
#define KILN_SERVER_COMPILER_AUTODIFF_EXTREME_H_

#include <optional>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

// Whether the op is an atomic minimum or maximum of floats.
bool IsExtremeAtomic(mlir::Operation* op);

// Finds the values that memory has got from a kernel's atomic minima and maxima.
//
// A value that is computed again may differ in its last bits: other code around it makes LLVM
// contract or vectorise it otherwise. So values count as equal within a bound of these errors,
// which grows with the terms of sums, not with their result. Values that are only read from cells
// which the kernel does not write are the same each time, and are compared exactly.
class WinnerTest {
 public:
  // `kernel` outlives the object.
  explicit WinnerTest(ir::KernelOp kernel) : kernel_(kernel) {}

  // Whether `primal`, computed again where the builder is, is the value `in_memory`. `value_of`
  // gives the value there of a value of the primal code.
  mlir::Value IsWinner(mlir::OpBuilder& b, mlir::Value primal, mlir::Value in_memory,
                       llvm::function_ref<mlir::Value(mlir::Value)> value_of);

 private:
  bool IsExact(mlir::Value primal, int depth);
  bool IsWritten(mlir::Value address);

  ir::KernelOp kernel_;
  // What the kernel writes except locals; found when it is first asked for.
  std::optional<llvm::SmallVector<MemoryClass>> written_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_EXTREME_H_
