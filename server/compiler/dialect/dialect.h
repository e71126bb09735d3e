// The kiln dialect (ops.td), as C++ classes in kiln::ir.
#ifndef KILN_SERVER_COMPILER_DIALECT_DIALECT_H_
#define KILN_SERVER_COMPILER_DIALECT_DIALECT_H_

#include "common/layout/snode_kinds.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/dialect.h.inc"
#include "server/compiler/dialect/enums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "server/compiler/dialect/types.h.inc"
#define GET_ATTRDEF_CLASSES
#include "server/compiler/dialect/attributes.h.inc"
#define GET_OP_CLASSES
#include "server/compiler/dialect/ops.h.inc"

namespace kiln::ir {

// What float arithmetic may do: with fast_math all but nnan and ninf, since NaN and infinity have
// defined results (isnan must see them); without it nothing.
mlir::arith::FastMathFlags FloatFlags(bool fast_math);

// The node (common/unit/node_number.h) that an op at the location comes from; 0: none.
uint32_t NodeOf(mlir::Location location);

}  // namespace kiln::ir

#endif  // KILN_SERVER_COMPILER_DIALECT_DIALECT_H_
