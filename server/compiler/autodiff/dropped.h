// Values that control may drop: a select, minimum or maximum chooses another one, or the branch
// that uses them is not taken.
//
//   %r = math.sqrt %x ; %p = arith.mulf %b, %r ; %s = arith.select %is_positive, %p, %zero
//
// Where %p is dropped, its adjoint is zero, but %r may be infinite or NaN: the reverse must not
// multiply them.
#ifndef KILN_SERVER_COMPILER_AUTODIFF_DROPPED_H_
#define KILN_SERVER_COMPILER_AUTODIFF_DROPPED_H_

#include "llvm/ADT/DenseSet.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

class Dropped {
 public:
  // Takes time linear in the uses of values.
  explicit Dropped(ir::KernelOp kernel);

  // Whether the op's result may be dropped where its derivative by operand i is infinite or NaN.
  // Only for products and functions that are finite for finite operands: others have poles, and
  // strong zeros anyway.
  bool HidesInfinity(mlir::Operation* op, unsigned i) const;

 private:
  llvm::DenseSet<mlir::Value> dropped_, infinite_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_AUTODIFF_DROPPED_H_
