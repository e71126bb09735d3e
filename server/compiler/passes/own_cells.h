// Which cells one iteration of a parallel loop has for itself.
#ifndef KILN_SERVER_COMPILER_PASSES_OWN_CELLS_H_
#define KILN_SERVER_COMPILER_PASSES_OWN_CELLS_H_

#include <optional>

#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/memory.h"

namespace kiln {

// The storage and the index expressions of a cell that belongs to one iteration. In some axes it is
// a number in mixed radix, whose digits are indices of the loop, plus a constant. Loops that a
// front end tiled by hand have several digits, as in x[i * 8 + j] for j in range(8). In the other
// axes it is anything: x[i, k] for k of a loop inside is a cell of iteration i.
//
// Two accesses of equal OwnCells are never to one cell if they are of different iterations.
struct OwnCell {
  struct Axis {
    llvm::SmallVector<unsigned, 2> digits;  // the loop's dimensions, most significant first
    int64_t offset = 0;                     // 0 without digits
    bool operator==(const Axis& other) const {
      return digits == other.digits && offset == other.offset;
    }
  };
  int64_t storage = -1;  // -1: the address is not of one storage
  llvm::SmallVector<Axis, 3> axes;
  bool operator==(const OwnCell& other) const {
    return storage == other.storage && axes == other.axes;
  }
};

class OwnCells {
 public:
  // Valid until the loop writes other cells than now.
  OwnCells(ir::ParallelForOp loop, const FunctionFacts& functions);

  // Whether only the iteration that computes `address`, in the loop, writes there. That is so if
  // the loop's indices determine the cell, and every other write of the loop that may overlap it
  // is to the same storage and has the same indices. Arguments that may be one array are different
  // storages, whose layouts may differ: their equal indices may name different cells.
  bool Has(mlir::Value address) const;
  // The storages of arrays, not none, that must not overlap with the array at `address` for that to
  // be so. nullopt: it is so, or also depends on other memory.
  std::optional<llvm::SmallVector<int64_t>> ApartFrom(mlir::Value address) const;

 private:
  struct Write {
    MemoryClass cells;
    bool own;
    OwnCell cell;
  };

  ir::ParallelForOp loop_;
  llvm::SmallVector<Write> writes_;  // each distinct way to write once
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_PASSES_OWN_CELLS_H_
