// The front end of the compiler: a checked unit becomes one kiln.kernel of the
// structured level in a module.
//
// Tensors and structs end here: a value is the list of its scalars, a local is a
// memory cell per scalar (or an array, where an index is not constant). Every op's
// location names its node: "kernel":<node id>.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_UNIT_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_UNIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/unit/check_unit.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "proto/diagnostic.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

// `checked` is what CheckUnit, without errors, answered to the unit. What the compiler cannot do
// yet is a diagnostic (and the module is not to be used then).
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> LowerUnit(
    const proto::CompileUnit& unit, const CheckedUnit& checked, mlir::MLIRContext* context,
    std::vector<proto::Diagnostic>* diagnostics);

// The node that an op comes from; 0: none.
uint32_t NodeOf(mlir::Location location);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_UNIT_H_
