// Loads of single lanes whose values a loop around them does not change: a lane needs to read such
// a cell only once.
#ifndef KILN_SERVER_COMPILER_PASSES_KEPT_LOADS_H_
#define KILN_SERVER_COMPILER_PASSES_KEPT_LOADS_H_

#include "llvm/ADT/MapVector.h"
#include "server/compiler/dialect/lane_shapes.h"

namespace kiln {

// The loads, and how many of the loops around each, from the innermost outwards, neither compute
// its address nor write to its cell.
using KeptLoads = llvm::MapVector<ir::LoadOp, int>;

// Those of a task whose addresses vary and are not consecutive. Valid until its body changes.
KeptLoads FindKeptLoads(ir::RangeTaskOp task, const LaneShapes& shapes);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_KEPT_LOADS_H_
