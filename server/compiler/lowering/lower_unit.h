// The first stage of the compiler: a checked unit becomes one kiln.kernel of the structured level
// in a module.
//
// Tensors and structs end here. A value is the list of its scalars (a large tensor: an array), a
// local is a memory cell per scalar, or an array where an index is not constant. The location of
// each op names its node: "kernel":<node number> (common/unit/node_number.h).
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_UNIT_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_UNIT_H_

#include <vector>

#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"
#include "kiln/proto/diagnostic.pb.h"
#include "kiln/proto/unit.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace kiln {

// `checked` is what CheckUnit returned for the unit, without errors. Reports what the compiler
// cannot do yet; the module must not be used then.
mlir::OwningOpRef<mlir::ModuleOp> LowerUnit(const proto::CompileUnit& unit,
                                            const CheckedUnit& checked, mlir::MLIRContext* context,
                                            std::vector<proto::Diagnostic>* diagnostics);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_UNIT_H_
