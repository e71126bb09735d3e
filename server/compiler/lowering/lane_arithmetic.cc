#include "server/compiler/lowering/lane_arithmetic.h"

#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

// Numbers with more planes cost more than computing lane by lane.
constexpr size_t kMostPlanes = 16;

}  // namespace

LaneArithmetic::LaneArithmetic(LoweringContext& c, unsigned bits)
    : c_(c), type_(c.b.getIntegerType(bits)), zero_(c.Int(type_, 0)), ones_(c.Int(type_, -1)) {}

template <typename Op>
mlir::Value LaneArithmetic::Make(mlir::Value x, mlir::Value y) {
  // All of these ops commute, and MLIR's folds look for constants on the right.
  if (x == zero_ || x == ones_) std::swap(x, y);
  mlir::Value made = c_.CreateOrFold<Op>(x, y);
  llvm::APInt constant;
  // All constants here are all zeros or all ones. One value each, so that later folds compare
  // pointers.
  if (!mlir::matchPattern(made, mlir::m_ConstantInt(&constant))) return made;
  return constant.isZero() ? zero_ : ones_;
}

// --- Numbers -----------------------------------------------------------------------

std::optional<LaneNumber> LaneArithmetic::Constant(Scalar scalar, uint64_t bits) {
  if (!IsInt(scalar) && scalar != proto::U1) return std::nullopt;
  // Drops what is above the type's bits, then extends by the sign.
  const int unused = 64 - ScalarBits(scalar);
  const uint64_t top = bits << unused;
  const bool negative = IsSignedInt(scalar) && (top >> 63) != 0;
  const uint64_t value =
      negative ? static_cast<uint64_t>(static_cast<int64_t>(top) >> unused) : top >> unused;
  // Planes up to the highest bit that differs from the sign, and one for the sign.
  const uint64_t magnitude = negative ? ~value : value;
  const size_t planes = (magnitude == 0 ? 0 : llvm::Log2_64(magnitude) + 1) + (negative ? 1 : 0);
  if (planes > kMostPlanes) return std::nullopt;
  LaneNumber number;
  number.is_signed = negative;
  for (size_t k = 0; k < planes; ++k) {
    number.planes.push_back((value >> k & 1) != 0 ? ones_ : zero_);
  }
  return number;
}

mlir::Value LaneArithmetic::Plane(const LaneNumber& x, size_t k) const {
  if (k < x.planes.size()) return x.planes[k];
  return x.is_signed ? x.planes.back() : zero_;
}

// As many planes as the type has bits hold every number of it.
std::optional<LaneNumber> LaneArithmetic::Limited(LaneNumber number, Scalar scalar) {
  const auto bits = static_cast<size_t>(ScalarBits(scalar));
  if (number.planes.size() >= bits) {
    number.planes.resize(bits);
    number.is_signed = IsSignedInt(scalar);
  }
  // Planes known to be 0 cost nothing: sums of few bits stay few planes, whatever the type.
  while (!number.is_signed && !number.planes.empty() && number.planes.back() == zero_) {
    number.planes.pop_back();
  }
  if (number.planes.size() > kMostPlanes) return std::nullopt;
  return number;
}

// --- Ops ---------------------------------------------------------------------------

mlir::Value LaneArithmetic::Truth(const LaneNumber& x) {
  mlir::Value any = zero_;
  for (mlir::Value plane : x.planes) any = Or(any, plane);
  return any;
}

// The plane of lanes whose numbers differ. One plane beyond both numbers compares their signs.
mlir::Value LaneArithmetic::Differ(const LaneNumber& x, const LaneNumber& y) {
  mlir::Value any = zero_;
  const size_t planes = std::max(x.planes.size(), y.planes.size()) + 1;
  for (size_t k = 0; k < planes; ++k) any = Or(any, Xor(Plane(x, k), Plane(y, k)));
  return any;
}

// A ripple-carry adder; subtracts by adding the complement and one. One plane more than either
// operand has holds the carry, and another one the sign where only one operand is signed.
LaneNumber LaneArithmetic::Add(const LaneNumber& x, const LaneNumber& y, bool subtracts) {
  LaneNumber sum;
  sum.is_signed = subtracts || x.is_signed || y.is_signed;
  const bool mixed = sum.is_signed && (!x.is_signed || !y.is_signed);
  const size_t planes = std::max(x.planes.size(), y.planes.size()) + 1 + (mixed ? 1 : 0);
  mlir::Value carry = subtracts ? ones_ : zero_;
  for (size_t k = 0; k < planes; ++k) {
    mlir::Value a = Plane(x, k), b = Plane(y, k);
    if (subtracts) b = Not(b);
    mlir::Value half = Xor(a, b);
    sum.planes.push_back(Xor(half, carry));
    // The last plane's carry is dropped: the sum has a plane more than the operands, so it is not
    // needed.
    carry = Or(And(a, b), And(half, carry));
  }
  return sum;
}

// Where only one number is signed, a plane more keeps the other's highest bit from being a sign.
LaneNumber LaneArithmetic::Select(mlir::Value condition, const LaneNumber& x, const LaneNumber& y) {
  LaneNumber chosen;
  chosen.is_signed = x.is_signed || y.is_signed;
  const size_t planes =
      std::max(x.planes.size(), y.planes.size()) + (x.is_signed != y.is_signed ? 1 : 0);
  for (size_t k = 0; k < planes; ++k) {
    chosen.planes.push_back(Or(And(condition, Plane(x, k)), And(Not(condition), Plane(y, k))));
  }
  return chosen;
}

std::optional<LaneNumber> LaneArithmetic::Unary(proto::Op op, Scalar of, const LaneNumber& x) {
  switch (op) {
    case proto::OP_LOGICAL_NOT:
      return Bit(Not(Truth(x)));
    case proto::OP_BIT_NOT:
      // The complement within one bit. -1 - x would be 2 or more planes.
      if (of == proto::U1) return Bit(Not(Plane(x, 0)));
      return Binary(proto::OP_SUB, of, {{ones_}, true}, x);  // -1 - x
    case proto::OP_NEG:
      return Binary(proto::OP_SUB, of, {}, x);  // 0 - x
    default:
      return std::nullopt;
  }
}

std::optional<LaneNumber> LaneArithmetic::Compare(proto::Op op, const LaneNumber& x,
                                                  const LaneNumber& y) {
  switch (op) {
    case proto::OP_LT:
      return Bit(Less(x, y));
    case proto::OP_GT:
      return Bit(Less(y, x));
    case proto::OP_LE:
      return Bit(Not(Less(y, x)));
    case proto::OP_GE:
      return Bit(Not(Less(x, y)));
    default:
      return std::nullopt;
  }
}

std::optional<LaneNumber> LaneArithmetic::Binary(proto::Op op, Scalar of, const LaneNumber& x,
                                                 const LaneNumber& y) {
  const auto each = [&](auto&& combine) {
    LaneNumber made;
    made.is_signed = x.is_signed || y.is_signed;
    const size_t planes = std::max(x.planes.size(), y.planes.size()) + 1;
    for (size_t k = 0; k < planes; ++k) made.planes.push_back(combine(Plane(x, k), Plane(y, k)));
    return Limited(std::move(made), of);
  };
  switch (op) {
    case proto::OP_ADD:
    case proto::OP_SUB:
      return Limited(Add(x, y, op == proto::OP_SUB), of);
    case proto::OP_BIT_AND:
      return each([&](mlir::Value a, mlir::Value b) { return And(a, b); });
    case proto::OP_BIT_OR:
      return each([&](mlir::Value a, mlir::Value b) { return Or(a, b); });
    case proto::OP_BIT_XOR:
      return each([&](mlir::Value a, mlir::Value b) { return Xor(a, b); });
    case proto::OP_LOGICAL_AND:
      return Bit(And(Truth(x), Truth(y)));
    case proto::OP_LOGICAL_OR:
      return Bit(Or(Truth(x), Truth(y)));
    case proto::OP_EQ:
      return Bit(Not(Differ(x, y)));
    case proto::OP_NE:
      return Bit(Differ(x, y));
    default:
      break;
  }
  // A signed row of planes may stand for an unsigned number that wrapped: such have no order.
  const bool ordered = IsSignedInt(of) || (!x.is_signed && !y.is_signed);
  return ordered ? Compare(op, x, y) : std::nullopt;
}

// Plane k stands for 2^k in each lane, a sign for its negative: the planes' counts of ones, weighed
// so, add up to the sum of all lanes.
mlir::Value LaneArithmetic::SumOfLanes(const LaneNumber& x, mlir::Type type) {
  mlir::Value sum = c_.Int(type, 0);
  const unsigned from = type_.getWidth(), to = type.getIntOrFloatBitWidth();
  for (size_t k = 0; k < x.planes.size(); ++k) {
    // At most the width of the word, so a narrow type may cut it; the sum is right modulo the
    // type's range.
    mlir::Value ones = c_.Create<mlir::math::CtPopOp>(x.planes[k]);
    if (from < to) ones = c_.Create<arith::ExtUIOp>(type, ones);
    if (from > to) ones = c_.Create<arith::TruncIOp>(type, ones);
    ones = c_.CreateOrFold<arith::ShLIOp>(ones, c_.Int(type, static_cast<int64_t>(k)));
    const bool is_sign = x.is_signed && k + 1 == x.planes.size();
    sum = is_sign ? c_.CreateOrFold<arith::SubIOp>(sum, ones)
                  : c_.CreateOrFold<arith::AddIOp>(sum, ones);
  }
  return sum;
}

}  // namespace kiln
