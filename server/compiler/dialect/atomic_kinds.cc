#include "server/compiler/dialect/atomic_kinds.h"

#include <iterator>

namespace kiln {

namespace {

namespace arith = mlir::arith;
using ir::AtomicKind;
using mlir::Value;

// kAllBits is the greatest unsigned integer. Of floats, kLeast and kGreatest are the infinities.
enum class Identity { kZero, kOne, kAllBits, kLeast, kGreatest };

using Combiner = Value (*)(mlir::OpBuilder&, mlir::Location, Value, Value, arith::FastMathFlags);

template <typename Op>
Value OfIntegers(mlir::OpBuilder& b, mlir::Location loc, Value old, Value value,
                 arith::FastMathFlags /*flags*/) {
  return b.create<Op>(loc, old, value);
}

template <typename Op>
Value OfFloats(mlir::OpBuilder& b, mlir::Location loc, Value old, Value value,
               arith::FastMathFlags flags) {
  return b.create<Op>(loc, old, value, flags);
}

struct Row {
  AtomicKind kind;
  Combiner combine;
  Identity identity;
  // Differs for subtractions alone: partial results that were subtracted are added up.
  AtomicKind of_partials;
};

// In the order of the kinds.
constexpr Row kRows[] = {
    {AtomicKind::addi, OfIntegers<arith::AddIOp>, Identity::kZero, AtomicKind::addi},
    {AtomicKind::subi, OfIntegers<arith::SubIOp>, Identity::kZero, AtomicKind::addi},
    {AtomicKind::muli, OfIntegers<arith::MulIOp>, Identity::kOne, AtomicKind::muli},
    {AtomicKind::minsi, OfIntegers<arith::MinSIOp>, Identity::kGreatest, AtomicKind::minsi},
    {AtomicKind::maxsi, OfIntegers<arith::MaxSIOp>, Identity::kLeast, AtomicKind::maxsi},
    {AtomicKind::minui, OfIntegers<arith::MinUIOp>, Identity::kAllBits, AtomicKind::minui},
    {AtomicKind::maxui, OfIntegers<arith::MaxUIOp>, Identity::kZero, AtomicKind::maxui},
    {AtomicKind::andi, OfIntegers<arith::AndIOp>, Identity::kAllBits, AtomicKind::andi},
    {AtomicKind::ori, OfIntegers<arith::OrIOp>, Identity::kZero, AtomicKind::ori},
    {AtomicKind::xori, OfIntegers<arith::XOrIOp>, Identity::kZero, AtomicKind::xori},
    {AtomicKind::addf, OfFloats<arith::AddFOp>, Identity::kZero, AtomicKind::addf},
    {AtomicKind::subf, OfFloats<arith::SubFOp>, Identity::kZero, AtomicKind::addf},
    {AtomicKind::mulf, OfFloats<arith::MulFOp>, Identity::kOne, AtomicKind::mulf},
    // These ignore a NaN unless both operands are.
    {AtomicKind::minf, OfFloats<arith::MinNumFOp>, Identity::kGreatest, AtomicKind::minf},
    {AtomicKind::maxf, OfFloats<arith::MaxNumFOp>, Identity::kLeast, AtomicKind::maxf},
};

constexpr bool HasEachKindInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].kind) != i) return false;
  }
  return std::size(kRows) == ir::getMaxEnumValForAtomicKind() + 1;
}
static_assert(HasEachKindInOrder());

const Row& RowOf(AtomicKind kind) { return kRows[static_cast<size_t>(kind)]; }

mlir::FloatAttr OfFloatType(Identity identity, mlir::FloatType type) {
  const llvm::fltSemantics& semantics = type.getFloatSemantics();
  llvm::APFloat value = llvm::APFloat::getZero(semantics);
  // Of sums it is +0.0, which changes no number but -0.0.
  if (identity == Identity::kOne) value = llvm::APFloat::getOne(semantics);
  if (identity == Identity::kLeast) value = llvm::APFloat::getInf(semantics, /*Negative=*/true);
  if (identity == Identity::kGreatest) value = llvm::APFloat::getInf(semantics);
  return mlir::FloatAttr::get(type, value);
}

mlir::IntegerAttr OfIntegerType(Identity identity, mlir::Type type) {
  const unsigned bits = type.getIntOrFloatBitWidth();
  llvm::APInt value(bits, 0);
  if (identity == Identity::kOne) value = llvm::APInt(bits, 1);
  if (identity == Identity::kAllBits) value = llvm::APInt::getAllOnes(bits);
  if (identity == Identity::kLeast) value = llvm::APInt::getSignedMinValue(bits);
  if (identity == Identity::kGreatest) value = llvm::APInt::getSignedMaxValue(bits);
  return mlir::IntegerAttr::get(type, value);
}

}  // namespace

Value Combine(mlir::OpBuilder& builder, mlir::Location loc, AtomicKind kind, Value old, Value value,
              arith::FastMathFlags flags) {
  return RowOf(kind).combine(builder, loc, old, value, flags);
}

mlir::TypedAttr IdentityOf(AtomicKind kind, mlir::Type type) {
  const Identity identity = RowOf(kind).identity;
  if (auto of_float = llvm::dyn_cast<mlir::FloatType>(type)) return OfFloatType(identity, of_float);
  return OfIntegerType(identity, type);
}

AtomicKind KindOfPartials(AtomicKind kind) { return RowOf(kind).of_partials; }

std::optional<AtomicKind> KindOfAccumulator(ir::RangeTaskOp task, size_t index) {
  Value partial = task.getFinish().front().getArgument(index);
  if (!partial.hasOneUse()) return {};
  mlir::Operation* user = *partial.user_begin();
  if (llvm::isa<arith::TruncFOp>(user) && user->getResult(0).hasOneUse()) {
    partial = user->getResult(0);
    user = *partial.user_begin();
  }
  auto atomic = llvm::dyn_cast<ir::AtomicOp>(user);
  if (!atomic || atomic.getValue() != partial) return {};
  return KindOfPartials(atomic.getKind());
}

}  // namespace kiln
