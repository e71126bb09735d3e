#include "server/compiler/autodiff/linear.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "server/compiler/dialect/constants.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

// Numbers of 8 and 16 bits wrap where programs rely on it.
bool IsIndex(mlir::Value value) { return value.getType().getIntOrFloatBitWidth() >= 32; }

}  // namespace

void Linear::Add(mlir::Value value, int64_t factor) {
  if (const auto constant = ConstantOf(value)) {
    number += factor * *constant;
  } else if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    Add(add.getLhs(), factor);
    Add(add.getRhs(), factor);
  } else if (auto sub = value.getDefiningOp<arith::SubIOp>()) {
    Add(sub.getLhs(), factor);
    Add(sub.getRhs(), -factor);
  } else if (auto mul = value.getDefiningOp<arith::MulIOp>(); mul && ConstantOf(mul.getRhs())) {
    Add(mul.getLhs(), factor * *ConstantOf(mul.getRhs()));
  } else if (auto wide = value.getDefiningOp<arith::ExtSIOp>()) {
    // A program may widen a number several times.
    if (IsIndex(wide.getIn())) {
      Add(wide.getIn(), factor);
    } else {
      terms[wide.getIn()] += factor;
    }
  } else if (auto narrow = value.getDefiningOp<arith::TruncIOp>(); narrow && IsIndex(narrow)) {
    Add(narrow.getIn(), factor);
  } else {
    terms[value] += factor;
  }
}

}  // namespace kiln
