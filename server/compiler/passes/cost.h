// A static cost model: a rough estimate of how long code runs. The runtime cuts loops by it.
#ifndef KILN_SERVER_COMPILER_PASSES_COST_H_
#define KILN_SERVER_COMPILER_PASSES_COST_H_

#include <cstdint>

#include "mlir/IR/Region.h"

namespace kiln {

// Nanoseconds for one run of the region, at least 1. Loops whose trip count is not constant count
// as a few iterations.
uint32_t RegionCost(mlir::Region& region);

// False if trip counts that are not constant, or calls, make the estimate unreliable.
bool IsCostKnown(mlir::Region& region);

// Whether LLVM may vectorise a loop with this body: without calls, and with no loops but short
// ones, which LLVM unrolls.
bool MayVectorise(mlir::Region& region);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_COST_H_
