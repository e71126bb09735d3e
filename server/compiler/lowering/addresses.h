// Addresses of scalars: what ops on memory take of a place whose scalars are not bits of a word.
#ifndef KILN_SERVER_COMPILER_LOWERING_ADDRESSES_H_
#define KILN_SERVER_COMPILER_LOWERING_ADDRESSES_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// All of these require a place that is neither a join nor in words.

// The address of scalar number `scalar` of the place; with an index, of the one that it chooses.
mlir::Value AddressOf(LoweringContext& c, const Place& place, uint64_t scalar = 0);

// Whether an index chooses among cells of several nodes of a tree, which have no common address:
// forming the address of one activates it.
bool IsScattered(const LoweringContext& c, const Place& place);

// Emits `use` of the address of element `at` and returns its result, of `type`; null: it has none.
// Scattered components each get a branch of their own with a use in it.
mlir::Value UseAddress(LoweringContext& c, const Place& place, const Index& at, mlir::Type type,
                       llvm::function_ref<mlir::Value(mlir::Value)> use);

// Emits a tree of branches by an i32 index: in each leaf the use of one number below `count`.
// Returns the result, of `type`; null: there is none.
mlir::Value UseOneOf(LoweringContext& c, mlir::Value index, uint64_t count, mlir::Type type,
                     llvm::function_ref<mlir::Value(uint64_t)> use);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_ADDRESSES_H_
