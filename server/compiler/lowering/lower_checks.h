// What debug mode asserts at the current node: indices, division, shifts, overflow. In release all
// of these have defined results; in debug mode they are the user's mistakes.
//
// An assertion's values tell the client what to say: each function states which they are.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_CHECKS_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_CHECKS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// 0 <= index - offset < extent on each axis. Values: the indices, the extents.
void CheckBounds(LoweringContext& c, int storage, const Scalars& indices);
// The same if only some indices of the storage are given: those of `axes`.
void CheckBounds(LoweringContext& c, int storage, const Scalars& indices, llvm::ArrayRef<int> axes);

// 0 <= index < extent for each index of a matrix that is a value or a local. Values: the indices,
// the extents. `indices`: nodes.
void CheckElement(LoweringContext& c, NodeIds indices, const std::vector<uint32_t>& shape);

// An append had room: its cell's number is not negative. Values: the indices, twice, and the number
// of cells.
void CheckAppended(LoweringContext& c, const Scalars& indices, ir::TreeFieldAttr field,
                   mlir::Value number);

// The cell that a loop over a list visits is still active. `at`: its indices, without offsets.
// Nothing where the kernel deactivates no such cells. Values: the indices.
void CheckVisited(LoweringContext& c, int storage, ir::TreeFieldAttr field, const Scalars& at);

// No division by zero, no negative exponent, no shift beyond the width, no signed overflow. Values:
// the operands, the op. If overflow is to be printed, the kernel goes on; the value is the op.
void CheckArithmetic(LoweringContext& c, proto::Op op, Scalar scalar, mlir::Value x, mlir::Value y);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_CHECKS_H_
