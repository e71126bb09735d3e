// Divergence analysis: how the values of a task differ between lanes, which are consecutive
// iterations along the task's innermost dimension that run in lockstep.
//
//   uniform   the same in all lanes
//   affine    grows by a constant, the stride, from lane to lane
//   varying   anything
//
// A branch diverges where its condition varies, a loop where lanes leave it in different
// iterations. What a divergent loop carries may still be uniform: it is the same in all lanes that
// are in the loop. Only its results vary.
#ifndef KILN_SERVER_COMPILER_DIALECT_LANE_SHAPES_H_
#define KILN_SERVER_COMPILER_DIALECT_LANE_SHAPES_H_

#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

class LaneShapes {
 public:
  // `task` has a dimension. Valid until its body changes.
  explicit LaneShapes(ir::RangeTaskOp task);
  // The same of neighbouring iterations of an inner loop.
  explicit LaneShapes(ir::ForOp loop);

  // Whether the value is affine or varying. An address varies if lanes access different cells.
  bool Varies(mlir::Value value) const { return shapes_.count(value) != 0; }
  // 0 for uniform values; nullopt for varying ones.
  std::optional<int64_t> StrideOf(mlir::Value value) const;

  // Of a kiln.if, kiln.for or kiln.loop.
  bool Diverges(mlir::Operation* control) const { return divergent_.contains(control); }
  // Whether a kiln.if contains ends of the loop or task body around it: lanes may not reach what
  // follows.
  bool Leaves(mlir::Operation* branch) const { return leaving_.contains(branch); }

  // The ops that end an iteration of a loop, and the loop.
  struct Ends {
    llvm::SmallVector<ir::ContinueOp, 2> continues;
    llvm::SmallVector<ir::BreakOp, 2> breaks;
  };
  const Ends& EndsOf(mlir::Operation* loop) const { return ends_.find(loop)->second; }

 private:
  using Shape = std::optional<int64_t>;  // of what varies: the stride

  void FindEnds(mlir::Block& block);
  void EvaluateAll(mlir::Block& body);
  void Mark(mlir::Value value, Shape shape);
  void Evaluate(mlir::Operation* op);
  void EvaluateIf(ir::IfOp op);
  void EvaluateLoop(mlir::Operation* op);
  Shape ArithmeticShape(mlir::Operation* op) const;
  bool LeavesDiverge(mlir::Operation* loop) const;

  llvm::DenseMap<mlir::Value, Shape> shapes_;  // uniform values are absent
  llvm::DenseSet<mlir::Operation*> divergent_, leaving_;
  llvm::DenseMap<mlir::Operation*, Ends> ends_;
  llvm::SetVector<mlir::Operation*> pending_;
  mlir::Operation* root_;  // whose iterations are the lanes
};

// Whether a task in lanes has code for vectors with all lanes, beside that for the last ones of
// rows. Large bodies have none, because it would take the compiler twice as long.
bool HasWholeVectors(ir::RangeTaskOp task);

// Of a kiln.load in a task in lanes (I32Attr): for how many of the loops around it a lane keeps
// what it read first.
inline constexpr char kKeptAttribute[] = "kept";

// How many digits of a dense field follow from the index of an axis.
int DigitsOf(ir::DenseAttr dense, int axis);

// The distance in bytes between the cells that neighbouring iterations access; nullopt: none is
// known.
std::optional<int64_t> ByteStride(mlir::Value address, const LaneShapes& shapes,
                                  ir::KernelOp kernel);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_DIALECT_LANE_SHAPES_H_
