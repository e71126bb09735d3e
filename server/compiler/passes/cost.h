// A rough guess of how long code runs: it sets how loops are cut.
#ifndef KILN_SERVER_COMPILER_PASSES_COST_H_
#define KILN_SERVER_COMPILER_PASSES_COST_H_

#include <cstdint>

#include "mlir/IR/Region.h"

namespace kiln {

// Nanoseconds for one run of the region, at least 1; loops whose trip count is not
// constant count as a few iterations.
uint32_t RegionCost(mlir::Region& region);

// False where trip counts or functions leave that guess open.
bool IsCostKnown(mlir::Region& region);

// Whether LLVM may vectorise a loop with that body: it has no calls, and no loops but short ones,
// which are unrolled.
bool MayVectorise(mlir::Region& region);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_COST_H_
