// Integers of many lanes at once, in planes: plane k is a word that holds bit k of each lane's
// number. Sums are adders made of bit-wise operations, comparisons signs of differences.
#ifndef KILN_SERVER_COMPILER_LOWERING_LANE_ARITHMETIC_H_
#define KILN_SERVER_COMPILER_LOWERING_LANE_ARITHMETIC_H_

#include <optional>

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Above the last plane all bits are zero, or, of a signed number, copies of the last plane. No
// planes: zero in all lanes.
struct LaneNumber {
  llvm::SmallVector<mlir::Value, 4> planes;
  bool is_signed = false;
};

// Emits at the context's place. Nothing (std::nullopt) stands for numbers of too many planes and
// for ops that planes do not have.
class LaneArithmetic {
 public:
  // Planes are integers of `bits` bits.
  LaneArithmetic(LoweringContext& c, unsigned bits);

  mlir::IntegerType type() const { return type_; }

  // --- Numbers -----------------------------------------------------------------------

  std::optional<LaneNumber> Constant(Scalar scalar, uint64_t bits);
  // A number of one plane, 0 or 1.
  LaneNumber Bit(mlir::Value plane) { return {{plane}, false}; }
  // Plane k, also above the last.
  mlir::Value Plane(const LaneNumber& x, size_t k) const;
  // The number as one of the type: planes beyond its bits dropped, so that it wraps.
  std::optional<LaneNumber> Limited(LaneNumber number, Scalar scalar);

  // --- Ops ---------------------------------------------------------------------------

  // The plane of lanes whose number is not zero.
  mlir::Value Truth(const LaneNumber& x);
  std::optional<LaneNumber> Unary(proto::Op op, Scalar of, const LaneNumber& x);
  // Both operands are numbers of `of`.
  std::optional<LaneNumber> Binary(proto::Op op, Scalar of, const LaneNumber& x,
                                   const LaneNumber& y);
  // In each lane one of two numbers, by the lane's bit of `condition`.
  LaneNumber Select(mlir::Value condition, const LaneNumber& x, const LaneNumber& y);
  // The sum over all lanes, of an integer type.
  mlir::Value SumOfLanes(const LaneNumber& x, mlir::Type type);

  mlir::Value Or(mlir::Value x, mlir::Value y) { return Make<mlir::arith::OrIOp>(x, y); }

 private:
  // Folds, so that constant planes stay the two constants, by which they are known.
  template <typename Op>
  mlir::Value Make(mlir::Value x, mlir::Value y);
  mlir::Value And(mlir::Value x, mlir::Value y) { return Make<mlir::arith::AndIOp>(x, y); }
  mlir::Value Xor(mlir::Value x, mlir::Value y) { return Make<mlir::arith::XOrIOp>(x, y); }
  mlir::Value Not(mlir::Value x) { return Xor(x, ones_); }
  LaneNumber Add(const LaneNumber& x, const LaneNumber& y, bool subtracts);
  mlir::Value Differ(const LaneNumber& x, const LaneNumber& y);
  // The sign of x - y.
  mlir::Value Less(const LaneNumber& x, const LaneNumber& y) {
    return Add(x, y, true).planes.back();
  }
  std::optional<LaneNumber> Compare(proto::Op op, const LaneNumber& x, const LaneNumber& y);

  LoweringContext& c_;
  mlir::IntegerType type_;
  mlir::Value zero_, ones_;  // planes of one bit in all lanes
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LANE_ARITHMETIC_H_
