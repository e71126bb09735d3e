// Operations as keys of hash tables, by what they compute.
#ifndef KILN_SERVER_COMPILER_PASSES_EQUAL_OPS_H_
#define KILN_SERVER_COMPILER_PASSES_EQUAL_OPS_H_

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "mlir/IR/OperationSupport.h"

namespace kiln {

// Two operations are one key if they compute the same from the same values. An operation must keep
// its operands and attributes as long as it is a key.
struct SameComputation : llvm::DenseMapInfo<mlir::Operation*> {
  static unsigned getHashValue(const mlir::Operation* op) {
    return mlir::OperationEquivalence::computeHash(
        const_cast<mlir::Operation*>(op), mlir::OperationEquivalence::directHashValue,
        mlir::OperationEquivalence::ignoreHashValue, mlir::OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const mlir::Operation* a, const mlir::Operation* b) {
    if (a == b) return true;
    const bool is_special = a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
                            b == getTombstoneKey();
    return !is_special && mlir::OperationEquivalence::isEquivalentTo(
                              const_cast<mlir::Operation*>(a), const_cast<mlir::Operation*>(b),
                              mlir::OperationEquivalence::IgnoreLocations);
  }
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_EQUAL_OPS_H_
