// Loads, stores and atomics, of all kinds of places.
#ifndef KILN_SERVER_COMPILER_LOWERING_LOWER_MEMORY_H_
#define KILN_SERVER_COMPILER_LOWERING_LOWER_MEMORY_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// One scalar: element `at` of a place.
mlir::Value LoadAt(LoweringContext& c, const Place& place, const Index& at, Scalar scalar);
void StoreAt(LoweringContext& c, const Place& place, const Index& at, mlir::Value value);
// Returns the old value.
mlir::Value AtomicAt(LoweringContext& c, const Place& place, const Index& at, proto::Op op,
                     Scalar scalar, mlir::Value value);

// Stores the value of node `value`, of the place's type.
void StoreTo(LoweringContext& c, const Place& place, TypeId type, NodeId value);

Scalars Lower(LoweringContext& c, LoadNode node);
void Lower(LoweringContext& c, StoreNode node);
Scalars Lower(LoweringContext& c, AtomicNode node);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LOWER_MEMORY_H_
