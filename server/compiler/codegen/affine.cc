#include "server/compiler/codegen/affine.h"

#include <cstdlib>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "server/compiler/dialect/constants.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;

// Parts of deeper expressions, and products with factors above this, are leaves. The first bounds
// the time that reading takes, the second keeps sums within i64.
constexpr int kMaxDepth = 12;
constexpr int64_t kMaxFactor = int64_t{1} << 31;

bool IsNarrow(mlir::Value value) { return value.getType().getIntOrFloatBitWidth() < 32; }

bool HasIndex(const Affine& affine) {
  return llvm::any_of(affine.terms, [](const Affine::Term& t) { return t.is_index; });
}

// Whether the part of loop indices fits in 32 bits. Loops whose bounds are not known are taken to
// be short enough for strides of rows, and not for multipliers of hashes.
bool FitsIndices(const Affine& sum) {
  constexpr int64_t kLargestStride = 1 << 20;
  Affine indices;
  bool is_known = true, is_short = true;
  for (const Affine::Term& t : sum.terms) {
    if (!t.is_index) continue;
    indices.terms.push_back(t);
    is_known &= t.low <= t.high;
    is_short &= std::abs(t.factor) <= kLargestStride;
  }
  int64_t low, high;
  if (!is_known) return is_short;
  indices.Range(&low, &high);
  return low >= INT32_MIN && high <= INT32_MAX;
}

// Makes one i32 of the terms that are no loop indices.
void AddInWord(llvm::IRBuilder<>& b, Affine* sum) {
  llvm::SmallVector<Affine::Term> others;
  llvm::VectorType* vector = nullptr;
  bool is_plain = true;
  for (const Affine::Term& t : sum->terms) {
    if (t.is_index) continue;
    others.push_back(t);
    if (auto* type = llvm::dyn_cast<llvm::VectorType>(t.leaf->getType())) vector = type;
    is_plain &= std::abs(t.factor) == 1;
  }
  if (others.empty() || (others.size() == 1 && is_plain)) return;
  llvm::Value* word = nullptr;
  for (const Affine::Term& t : others) {
    llvm::Value* leaf = b.CreateMul(
        t.leaf, llvm::ConstantInt::getSigned(t.leaf->getType(), static_cast<int32_t>(t.factor)));
    if (vector != nullptr && !leaf->getType()->isVectorTy()) {
      leaf = b.CreateVectorSplat(vector->getElementCount(), leaf);
    }
    word = word == nullptr ? leaf : b.CreateAdd(word, leaf);
  }
  llvm::erase_if(sum->terms, [](const Affine::Term& t) { return !t.is_index; });
  sum->terms.push_back({word, 1, 1, 0, /*is_index=*/false});
}

// Whether no term would get a factor above kMaxFactor.
bool Scalable(const Affine& affine, int64_t factor) {
  if (std::abs(factor) > kMaxFactor) return false;
  for (const Affine::Term& t : affine.terms) {
    if (std::abs(t.factor) > kMaxFactor / std::max<int64_t>(std::abs(factor), 1)) return false;
  }
  return std::abs(affine.constant) <= kMaxFactor;
}

}  // namespace

void Affine::Add(const Affine& other, int64_t factor) {
  // Cannot overflow: Scalable bounds each product, and the depth bounds the number of sums.
  constant += other.constant * factor;
  for (const Term& t : other.terms) {
    Term* same = nullptr;
    for (Term& mine : terms) {
      if (mine.leaf == t.leaf) same = &mine;
    }
    if (same == nullptr) {
      terms.push_back({t.leaf, t.factor * factor, t.low, t.high, t.is_index});
    } else {
      same->factor += t.factor * factor;
    }
  }
  // i - i vanishes, and the key of the form with it.
  llvm::erase_if(terms, [](const Term& t) { return t.factor == 0; });
}

bool Affine::Range(int64_t* low, int64_t* high) const {
  *low = *high = constant;
  for (const Term& t : terms) {
    // Such bounds mark a leaf of which nothing is known.
    if (t.low > t.high) return false;
    // Either end may be the lower one: factors can be negative.
    const int64_t a = t.low * t.factor, b = t.high * t.factor;
    *low += std::min(a, b);
    *high += std::max(a, b);
  }
  return true;
}

llvm::Value* EmitTerms(llvm::IRBuilder<>& b, const Affine& affine) {
  llvm::Value* sum = nullptr;
  for (const Affine::Term& t : affine.terms) {
    // Extended one by one, not their sum: a sum in 32 bits may wrap where the true address does
    // not.
    llvm::Value* leaf = b.CreateSExt(t.leaf, b.getInt64Ty());
    if (t.factor != 1) {
      leaf = b.CreateMul(leaf, b.getInt64(t.factor), "", /*HasNUW=*/false, /*HasNSW=*/true);
    }
    sum = sum == nullptr ? leaf : b.CreateAdd(sum, leaf, "", /*HasNUW=*/false, /*HasNSW=*/true);
  }
  return sum;
}

llvm::Value* EmitAffine(llvm::IRBuilder<>& b, const Affine& affine) {
  llvm::Value* sum = EmitTerms(b, affine);
  if (sum == nullptr) return b.getInt64(affine.constant);
  if (affine.constant == 0) return sum;
  return b.CreateAdd(sum, b.getInt64(affine.constant), "", /*HasNUW=*/false, /*HasNSW=*/true);
}

Affine Leaf(llvm::Value* value, int64_t low, int64_t high) {
  Affine result;
  result.terms.push_back({value, 1, low, high, /*is_index=*/true});
  return result;
}

Affine IndexBetween(llvm::Value* index, const llvm::Value* lower, const llvm::Value* upper) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lower);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(upper);
  if (first == nullptr || end == nullptr) return Leaf(index);
  return Leaf(index, first->getSExtValue(), end->getSExtValue() - 1);
}

std::pair<Affine, Affine> SplitAffine(const Affine& value, int64_t divisor) {
  Affine quotient, rest;
  for (const Affine::Term& t : value.terms) {
    // Terms that the divisor divides belong to the quotient whole: (4i + j) / 4 is i + j / 4.
    const bool divides = t.factor % divisor == 0;
    Affine::Term term = t;
    if (divides) term.factor /= divisor;
    (divides ? quotient : rest).terms.push_back(term);
  }
  rest.constant = value.constant % divisor;
  // C++ rounds towards zero; digits need the remainder that is never negative.
  if (rest.constant < 0) rest.constant += divisor;
  quotient.constant = (value.constant - rest.constant) / divisor;
  return {quotient, rest};
}

// If so, the division has no work to do: quotient and remainder are known from the terms.
bool IsRemainder(const Affine& rest, int64_t divisor) {
  int64_t low, high;
  return rest.Range(&low, &high) && low >= 0 && high < divisor;
}

std::pair<Affine, Affine> DivideAffine(llvm::IRBuilder<>& b, const Affine& value, int64_t divisor) {
  auto parts = SplitAffine(value, divisor);
  if (IsRemainder(parts.second, divisor)) return parts;

  // Indices fit in 32 bits, where division is cheaper. Rounded down, as an index just below its
  // range must lead to memory just before the field, and not to a distant address.
  llvm::Value* whole = EmitAffine(b, value);
  if (divisor < kMaxFactor) whole = b.CreateTrunc(whole, b.getInt32Ty());
  llvm::Type* type = whole->getType();
  llvm::Value* q;
  llvm::Value* r;
  // Shifts round down for negative numbers, too.
  if (llvm::isPowerOf2_64(divisor)) {
    q = b.CreateAShr(whole, llvm::Log2_64(divisor));
    r = b.CreateAnd(whole, llvm::ConstantInt::get(type, divisor - 1));
  } else {
    llvm::Value* by = llvm::ConstantInt::get(type, divisor);
    // SDiv rounds towards zero. For negative numbers, subtracting first makes it round down.
    llvm::Value* down = b.CreateSub(whole, llvm::ConstantInt::get(type, divisor - 1));
    llvm::Value* negative = b.CreateICmpSLT(whole, llvm::ConstantInt::get(type, 0));
    q = b.CreateSDiv(b.CreateSelect(negative, down, whole), by);
    r = b.CreateSub(whole, b.CreateMul(q, by));
  }
  q = b.CreateSExt(q, b.getInt64Ty());
  r = b.CreateZExt(r, b.getInt64Ty());
  return {Leaf(q), Leaf(r, 0, divisor - 1)};
}

std::optional<Affine> AffineReader::ReadSum(llvm::IRBuilder<>& b, mlir::Operation* op,
                                            const Emitted& emitted, int depth) const {
  // LLVM knows the bounds of x - x / c * c, a remainder.
  auto product = llvm::isa<arith::SubIOp>(op) ? op->getOperand(1).getDefiningOp<arith::MulIOp>()
                                              : arith::MulIOp();
  if (product && leaves_.count(product.getLhs()) == 0) return std::nullopt;
  // A large number may be the sum of two that MLIR has joined, which wrapped: i + n + n.
  const std::optional<int64_t> constant = ConstantOf(op->getOperand(1));
  if (constant && std::abs(*constant) > kMaxFactor / 2) return std::nullopt;
  Affine sum = ReadTerms(b, op->getOperand(0), emitted, depth + 1);
  const Affine other = ReadTerms(b, op->getOperand(1), emitted, depth + 1);
  // The kernel has computed sums of other values already.
  const bool of_others = !HasIndex(sum) && !HasIndex(other);
  if (of_others && !sum.terms.empty() && !other.terms.empty()) return std::nullopt;
  sum.Add(other, llvm::isa<arith::AddIOp>(op) ? 1 : -1);
  return sum;
}

std::optional<Affine> AffineReader::ReadProduct(llvm::IRBuilder<>& b, mlir::Operation* op,
                                                const Emitted& emitted, int depth) const {
  // MLIR's canonical form has constants as the second operand.
  std::optional<int64_t> factor = ConstantOf(op->getOperand(1));
  if (!factor) return std::nullopt;
  if (llvm::isa<arith::ShLIOp>(op)) {
    if (*factor < 0 || *factor >= 31) return std::nullopt;
    factor = int64_t{1} << *factor;
  }
  const Affine operand = ReadTerms(b, op->getOperand(0), emitted, depth + 1);
  if (!HasIndex(operand) || !Scalable(operand, *factor)) return std::nullopt;
  Affine product;
  product.Add(operand, *factor);
  return product;
}

Affine AffineReader::ReadTerms(llvm::IRBuilder<>& b, mlir::Value value, const Emitted& emitted,
                               int depth) const {
  Affine result;
  if (const auto constant = ConstantOf(value)) {
    result.constant = *constant;
    return result;
  }
  // Loop indices and digits, with the bounds that are known of them.
  if (auto leaf = leaves_.find(value); leaf != leaves_.end()) return leaf->second;
  mlir::Operation* op = value.getDefiningOp();
  if (op != nullptr && depth < kMaxDepth) {
    std::optional<Affine> sum;
    if (llvm::isa<arith::AddIOp, arith::SubIOp>(op)) {
      sum = ReadSum(b, op, emitted, depth);
    } else if (llvm::isa<arith::MulIOp, arith::ShLIOp>(op)) {
      sum = ReadProduct(b, op, emitted, depth);
    }
    if (sum && (value.getType().isInteger(64) || FitsIndices(*sum))) return *sum;
    // A loop index truncated to an index's type keeps its value. Other i64 values may not, and
    // numbers of 8 and 16 bits wrap where programs rely on it.
    if (llvm::isa<arith::ExtSIOp>(op) && !IsNarrow(op->getOperand(0))) {
      return Read(b, op->getOperand(0), emitted);
    }
    if (llvm::isa<arith::TruncIOp>(op) && !IsNarrow(value) && leaves_.count(op->getOperand(0))) {
      return ReadTerms(b, op->getOperand(0), emitted, depth + 1);
    }
  }
  // The bounds 1 and 0 say that nothing is known.
  result.terms.push_back({emitted.lookup(value), 1, 1, 0, /*is_index=*/false});
  return result;
}

Affine AffineReader::Read(llvm::IRBuilder<>& b, mlir::Value value, const Emitted& emitted) const {
  Affine sum = ReadTerms(b, value, emitted, 0);
  if (!value.getType().isInteger(64)) AddInWord(b, &sum);
  return sum;
}

}  // namespace kiln
