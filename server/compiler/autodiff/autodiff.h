// Automatic differentiation: passes that turn a kernel into one that computes derivatives.
//
// They do nothing to kernels without the attribute `companions`, and reject what cannot be
// differentiated at the op in question.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_AUTODIFF_H_
#define KILN_SERVER_COMPILER_AUTODIFF_AUTODIFF_H_

#include <memory>

#include "mlir/Pass/Pass.h"

namespace kiln {

// Puts functions in the place of their calls. First of all passes: references become locals.
std::unique_ptr<mlir::Pass> CreateInlineCallsPass();

// Carries cells that a loop rewrites as locals, which promote-locals promotes.
std::unique_ptr<mlir::Pass> CreatePromoteCellsPass();

// Requires: structured level, without locals that promote-locals would remove, without calls.
// Guarantees: the new code has locals to promote and atomics to demote.
std::unique_ptr<mlir::Pass> CreateDifferentiatePass();

// Removes additions of zero. After promote-locals, before simplify-control.
std::unique_ptr<mlir::Pass> CreateFoldZerosPass();

// Rejects kernels whose derivatives need values that the kernel overwrites, and notes what a
// gradient reads again (`accesses`). After dead code has gone. Guarantees: the kernel has no
// `companions`.
std::unique_ptr<mlir::Pass> CreateCheckReadsPass();

// For gradients that add to cells beside their loops' own; then `gather` follows.
std::unique_ptr<mlir::Pass> CreateUnrollAdditionsPass();
std::unique_ptr<mlir::Pass> CreateShareValuesPass();

// Sums in place of atomic additions to neighbours' cells.
std::unique_ptr<mlir::Pass> CreateGatherPass();

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_AUTODIFF_H_
