// Runs code of a kernel again, in the gradient kernel that needs its values.
//
// A copy of an op takes the operands that the builder's place has for the primal ones. Its results
// become the values of the primal results there. What others would see of the code is left out:
// writes to storages, activations, prints, asserts. Locals keep their writes.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_REPLAY_H_
#define KILN_SERVER_COMPILER_AUTODIFF_REPLAY_H_

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/Builders.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

bool IsLoop(mlir::Operation* op);

// Whether control may leave the iteration, or the kernel, within the op, other than at the end of a
// loop inside it.
bool MayExit(mlir::Operation* op);

class Replay {
 public:
  explicit Replay(ir::KernelOp kernel) : b(kernel.getContext()) {}

  mlir::OpBuilder b;  // where code goes

  // --- Values

  // What a primal value is at the builder's place. Fails if an op that is not repeated made it.
  mlir::Value Get(mlir::Value primal);
  mlir::Value Lookup(mlir::Value primal) const { return values_.lookup(primal); }
  void Map(mlir::ValueRange primal, mlir::ValueRange values);
  void Map(mlir::Value primal, mlir::Value value) { values_[primal] = value; }
  // From here on, `value` stands for the result of an op that is not run again; until Untake.
  void Take(mlir::Value primal, mlir::Value value) { taken_[primal] = value; }
  void Untake(mlir::Value primal) { taken_.erase(primal); }

  mlir::Value Zero(mlir::Location loc, mlir::Type type);
  mlir::Value True(mlir::Location loc);
  mlir::Value Index(mlir::Location loc, int64_t value);  // i64
  mlir::Value ToIndex(mlir::Location loc, mlir::Value value);

  // --- Code

  mlir::Operation* Copy(mlir::Operation* op);
  // Runs an op with all in its regions. A parallel loop runs if it leaves anything in locals from
  // outside.
  void Forward(mlir::Operation* op);
  mlir::Operation* ForwardRegions(mlir::Operation* op);
  // Runs an if that may leave the iteration. Returns whether it did not leave.
  mlir::Value ForwardExiting(ir::IfOp op);
  // An empty block with values for the arguments.
  mlir::Block* CopyBlock(mlir::Block& from, mlir::Region& to);
  // Copies the scalars of `local`, a primal local or array of them, from one address to another.
  void CopyMemory(mlir::Value local, mlir::Value from, mlir::Value to);
  // Both blocks end in yield.
  ir::IfOp NewIf(mlir::Location loc, mlir::Value condition);

  // --- Failures

  // Reports the first one.
  void Fail(mlir::Operation* op, const llvm::Twine& why) { Fail(op->getLoc(), why); }
  void Fail(mlir::Location loc, const llvm::Twine& why);
  bool failed() const { return failed_; }

 private:
  ir::IfOp NewExitingIf(mlir::Location loc, mlir::Value condition, mlir::TypeRange more);
  llvm::SmallVector<mlir::Value> ForwardArm(mlir::Block& block, mlir::Block::iterator at,
                                            mlir::TypeRange types);
  llvm::SmallVector<mlir::Value> Left(mlir::Location loc, mlir::TypeRange types);

  llvm::DenseMap<mlir::Value, mlir::Value> values_;
  llvm::DenseMap<mlir::Value, mlir::Value> taken_;
  bool failed_ = false;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_REPLAY_H_
