// Alias analysis: which addresses may overlap, and which code shares memory.
#ifndef KILN_SERVER_COMPILER_PASSES_MEMORY_H_
#define KILN_SERVER_COMPILER_PASSES_MEMORY_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// A set of memory cells that contains all to which an address can lead.
struct MemoryClass {
  enum Kind { kUnknown, kLocal, kTemporary, kStorage, kAliasSet };
  Kind kind = kUnknown;
  int64_t id = 0;          // the local, the temporary's offset, the storage, or the alias set
  int64_t component = -1;  // of a storage; -1: any

  friend bool operator==(const MemoryClass& a, const MemoryClass& b) {
    return a.kind == b.kind && a.id == b.id && a.component == b.component;
  }
};

MemoryClass ClassOf(mlir::Value address);
bool MayOverlap(const MemoryClass& a, const MemoryClass& b);
// Whether different indices on an axis always name different cells of a component.
bool Distinguishes(ir::KernelOp kernel, int64_t storage, int64_t component, int64_t axis);
// Of two addresses whose classes overlap: false if their indices on some axis differ by a constant.
bool MayBeSame(mlir::Value a, mlir::Value b);
bool MayAlias(mlir::Value a, mlir::Value b);

// The address of the cell of a tree that contains `address`; null if it is not in a tree.
ir::GlobalOp GlobalInTree(mlir::Value address);

// Whether the indices of an access in a tree are within the extents for all arguments of the
// kernel. They then are constants, or indices of parallel loops of constant bounds. Out of range,
// reads give zero and writes are lost.
bool IsInRange(ir::GlobalOp global);

// The innermost parallel loop, task or function around an op; otherwise the kernel.
mlir::Operation* ParallelScope(mlir::Operation* op);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_MEMORY_H_
