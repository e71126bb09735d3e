// Which operations on numbers are calls of functions of the math library.
#ifndef KILN_SERVER_COMPILER_DIALECT_MATH_CALLS_H_
#define KILN_SERVER_COMPILER_DIALECT_MATH_CALLS_H_

#include "mlir/IR/Operation.h"

namespace kiln {

// Whether code calls a function for the operation, of a scalar or of a vector. Other operations of
// arith and math are an instruction or a few.
bool IsLibraryCall(mlir::Operation& op);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_MATH_CALLS_H_
