// Which values carry derivatives.
//
// A value is *varied* if it depends on an active load, *useful* if an active store depends on it,
// and active if it is both. Only floats are; memory of locals is as a whole. Loads and stores are
// active if their storage has a companion: the storage of its gradient or dual. Those of floats on
// the tape of a gradient that is differentiated again are active, too.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_ACTIVITY_H_
#define KILN_SERVER_COMPILER_AUTODIFF_ACTIVITY_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

class Activity {
 public:
  // `companions`: by storage, that of its gradients or duals; -1: it has none. Takes time linear in
  // the uses of values.
  Activity(ir::KernelOp kernel, llvm::ArrayRef<int64_t> companions);

  bool IsActive(mlir::Value value) const {
    return varied_.contains(value) && useful_.contains(value);
  }
  // Of the memory at an address: a component of a storage, or a local or an array of locals.
  bool IsActiveMemory(mlir::Value address) const;
  // The companion of the storage that a global address leads to; -1: none, or no such address.
  int64_t CompanionOf(mlir::Value address) const;

 private:
  void FindVaried(ir::KernelOp kernel);
  void FindUseful(ir::KernelOp kernel);

  const llvm::SmallVector<int64_t> companions_;
  // Values, and the addresses of locals for their memory.
  llvm::DenseSet<mlir::Value> varied_, useful_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_ACTIVITY_H_
