// A rough guess of how long code runs: it sets how many iterations make a chunk, never
// what is computed.
#ifndef KILN_SERVER_COMPILER_PASSES_COST_H_
#define KILN_SERVER_COMPILER_PASSES_COST_H_

#include <cstdint>

#include "mlir/IR/Region.h"

namespace kiln {

// Nanoseconds for one run of the region, at least 1; loops whose trip count is not
// constant count as a few iterations.
uint32_t RegionCost(mlir::Region& region);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_COST_H_
