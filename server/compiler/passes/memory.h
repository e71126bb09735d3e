// Alias analysis: which addresses may overlap, and which code shares memory.
#ifndef KILN_SERVER_COMPILER_PASSES_MEMORY_H_
#define KILN_SERVER_COMPILER_PASSES_MEMORY_H_

#include "server/compiler/dialect/dialect.h"

namespace kiln {

// A set of memory cells that contains what an address can mean.
struct MemoryClass {
  enum Kind { kUnknown, kLocal, kTemporary, kStorage, kAliasSet };
  Kind kind = kUnknown;
  int64_t id = 0;          // the local, the offset, the storage, or the set
  int64_t component = -1;  // of a storage; -1: any

  friend bool operator==(const MemoryClass& a, const MemoryClass& b) {
    return a.kind == b.kind && a.id == b.id && a.component == b.component;
  }
};

MemoryClass ClassOf(mlir::Value address);
bool MayOverlap(const MemoryClass& a, const MemoryClass& b);
// Whether different indices on an axis of a storage are different cells of a component.
bool Distinguishes(ir::KernelOp kernel, int64_t storage, int64_t component, int64_t axis);
// Of two addresses whose classes overlap: false where indices differ by a constant.
bool MayBeSame(mlir::Value a, mlir::Value b);
bool MayAlias(mlir::Value a, mlir::Value b);

// The access to a storage in a tree that an address is part of; null: it is none.
ir::GlobalOp GlobalInTree(mlir::Value address);

// Whether an access in a tree is sure to reach a cell, whatever the kernel is given: constants, and
// indices of parallel loops, within the extents. Elsewhere reads give zero, writes are lost.
bool IsInRange(ir::GlobalOp global);

// The parallel loop, task or function that an op belongs to, or the kernel.
mlir::Operation* ParallelScope(mlir::Operation* op);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_MEMORY_H_
