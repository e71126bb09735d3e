// Which loops test whether the launch has failed.
#ifndef KILN_SERVER_COMPILER_DIALECT_LONG_LOOPS_H_
#define KILN_SERVER_COMPILER_DIALECT_LONG_LOOPS_H_

#include <optional>

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// How often an op runs its regions; nullopt if its bounds are not constant.
std::optional<double> Trips(mlir::Operation& op);

// Whether an op is a loop whose code tests in each iteration whether the launch has failed. It does
// so if an iteration holds a loop of constant bounds that takes far longer than a test. It also
// does so in `while` loops whose condition reads memory or never changes. In other loops a test
// costs one cycle of a few, or keeps LLVM from vectorising.
bool Looks(mlir::Operation& op);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_LONG_LOOPS_H_
