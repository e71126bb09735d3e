// The sizes of storages, as values of loops and checks.
#ifndef KILN_SERVER_COMPILER_LOWERING_EXTENTS_H_
#define KILN_SERVER_COMPILER_LOWERING_EXTENTS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// The extent of each digit of a dense storage. All but the outermost are constants.
Scalars DigitExtents(LoweringContext& c, int storage, mlir::Type type);

// The number of elements along an axis of any storage.
mlir::Value AxisExtent(LoweringContext& c, int storage, int64_t axis, mlir::Type type);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_EXTENTS_H_
