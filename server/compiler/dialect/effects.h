// What an operation does besides computing its results. Our passes and code generation ask here,
// and so do MLIR's passes: ops.td takes the memory effects of its ops from this table.
//
// An op of the dialect is `Pure` in ops.td, or effects.cc says what it does. Otherwise the build
// fails.
#ifndef KILN_SERVER_COMPILER_DIALECT_EFFECTS_H_
#define KILN_SERVER_COMPILER_DIALECT_EFFECTS_H_

#include <optional>

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kiln {

enum Effect : unsigned {
  // Reads and writes memory that the op does not name: anything but the caller's locals.
  kTouchesMemory = 1 << 0,
  // Memory that several threads may change at once: slow where they do.
  kIsAtomic = 1 << 1,
  // Cells of trees. Activating one leaves what loads see as it is: zeros, before and after.
  kActivates = 1 << 2,    // cells of an SNode, and of those above it
  kDeactivates = 1 << 3,  // cells of an SNode, with all below them
  kQueries = 1 << 4,      // reads which cells of an SNode are active, or how many
  kDraws = 1 << 5,        // takes the next random number
  kReports = 1 << 6,      // tells the client: results, prints
  kFails = 1 << 7,        // may end the task because the launch has failed
  kLeaves = 1 << 8,       // control may not reach the next op in the block
  kCalls = 1 << 9,        // runs a function of the kernel: FunctionFacts knows what that does
  kTapes = 1 << 10,       // takes or releases a record of the thread's tape
};

struct Effects {
  unsigned bits = 0;  // of Effect
  // Addresses, each of a scalar or of an array. Writing to a cell of a tree also activates it,
  // unless its address is `no_activate`.
  llvm::SmallVector<mlir::Value, 2> reads;
  llvm::SmallVector<mlir::Value, 2> writes;
  // The storage of the SNode that kActivates, kDeactivates and kQueries are about. Empty for calls.
  std::optional<int64_t> snode;

  bool Has(unsigned any_of) const { return (bits & any_of) != 0; }
};

// Of the operation alone: without the ops in its regions, and without the function that it calls.
// Nothing for ops of other dialects, which are arithmetic.
Effects EffectsOf(mlir::Operation* op);

// The same in MLIR's terms, which distinguish only reading and writing.
void AppendMemoryEffects(
    mlir::Operation* op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>* out);

// The array that an address is an element of; the address itself if it is none.
mlir::Value ArrayOf(mlir::Value address);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_EFFECTS_H_
