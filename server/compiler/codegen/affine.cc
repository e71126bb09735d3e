#include "server/compiler/codegen/affine.h"

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

// Whether Read looks into the op.
bool IsLinear(mlir::Operation* op) {
  if (llvm::isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) return true;
  return llvm::isa_and_nonnull<arith::MulIOp, arith::ShLIOp>(op) &&
         ConstantOf(op->getOperand(1)).has_value();
}

// Calls `take` for what the op uses from outside of its regions; false: there is too much to look.
bool ForEachOperand(mlir::Operation* op, llvm::function_ref<void(mlir::Value)> take) {
  constexpr int kMostOps = 256;
  if (op->hasTrait<mlir::OpTrait::IsIsolatedFromAbove>()) return true;
  int count = 0;
  const auto walked = op->walk([&](mlir::Operation* inner) {
    for (mlir::Value operand : inner->getOperands()) {
      if (!op->isAncestor(operand.getParentBlock()->getParentOp())) take(operand);
    }
    return ++count < kMostOps ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
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
      terms.push_back({t.leaf, t.factor * factor, t.low, t.high});
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
  result.terms.push_back({value, 1, low, high});
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

// The sums and products that `value` is a sum of: they may have wrapped, unlike loop indices.
void AffineReader::AddSums(mlir::Value value, Values* sums, int depth) const {
  mlir::Operation* op = value.getDefiningOp();
  if (depth >= kMaxDepth || !IsLinear(op) || leaves_.count(value) > 0) return;
  if (!sums->insert(value).second) return;
  for (mlir::Value operand : op->getOperands()) AddSums(operand, sums, depth + 1);
}

// Whether `value` is computed from one of `sums`, other than as a sum itself. What a branch or a
// loop uses is taken for what its results are computed from.
bool AffineReader::DependsOn(mlir::Value value, const Values& sums) const {
  constexpr size_t kMostValues = 64;  // more are taken to lead there
  llvm::SmallVector<std::pair<mlir::Value, bool>> found = {{value, /*is_sum=*/true}};
  Values seen;
  for (size_t i = 0; i < found.size(); ++i) {
    mlir::Value at = found[i].first;
    bool is_sum = found[i].second;
    if (i >= kMostValues || (!is_sum && sums.contains(at))) return true;
    if (leaves_.count(at) > 0) continue;
    mlir::Operation* op = at.getDefiningOp();
    if (op == nullptr) op = at.getParentBlock()->getParentOp();
    is_sum = is_sum && IsLinear(op);
    const bool all = ForEachOperand(op, [&](mlir::Value operand) {
      const bool is_new = is_sum || seen.insert(operand).second;
      if (is_new && found.size() <= kMostValues) found.push_back({operand, is_sum});
    });
    if (!all) return true;
  }
  return false;
}

bool AffineReader::MayHaveWrapped(mlir::Value x, mlir::Value y) const {
  Values of_x, of_y;
  AddSums(x, &of_x, 0);
  AddSums(y, &of_y, 0);
  return (!of_x.empty() && DependsOn(y, of_x)) || (!of_y.empty() && DependsOn(x, of_y));
}

Affine AffineReader::Read(mlir::Value value,
                          const llvm::DenseMap<mlir::Value, llvm::Value*>& emitted,
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
    const auto read = [&](int i) { return Read(op->getOperand(i), emitted, depth + 1); };
    // x - x / c * c, a remainder, is within bounds even if x has wrapped, which its terms would not
    // show.
    auto product = llvm::isa<arith::SubIOp>(op) ? op->getOperand(1).getDefiningOp<arith::MulIOp>()
                                                : arith::MulIOp();
    const bool is_remainder = product && leaves_.count(product.getLhs()) == 0;
    // A large number may be the sum of two that MLIR has joined, which wrapped: i + n + n.
    const bool is_sum = llvm::isa<arith::AddIOp, arith::SubIOp>(op);
    // MLIR's canonical form has constants as the second operand.
    std::optional<int64_t> constant;
    if (op->getNumOperands() > 1) constant = ConstantOf(op->getOperand(1));
    const bool is_joined = is_sum && constant && std::abs(*constant) > kMaxFactor / 2;
    if (is_sum && !is_remainder && !is_joined &&
        !MayHaveWrapped(op->getOperand(0), op->getOperand(1))) {
      result = read(0);
      result.Add(read(1), llvm::isa<arith::AddIOp>(op) ? 1 : -1);
      return result;
    }
    if (llvm::isa<arith::MulIOp>(op) && constant) {
      const Affine factor = read(0);
      if (Scalable(factor, *constant)) {
        result.Add(factor, *constant);
        return result;
      }
    }
    if (llvm::isa<arith::ShLIOp>(op) && constant && *constant < 31) {
      const Affine factor = read(0);
      if (Scalable(factor, int64_t{1} << *constant)) {
        result.Add(factor, int64_t{1} << *constant);
        return result;
      }
    }
    // A loop index truncated to an index's type keeps its value. Other i64 values may not, and
    // numbers of 8 and 16 bits wrap where programs rely on it.
    const bool keeps =
        (llvm::isa<arith::ExtSIOp>(op) && !IsNarrow(op->getOperand(0))) ||
        (llvm::isa<arith::TruncIOp>(op) && !IsNarrow(value) && leaves_.count(op->getOperand(0)));
    if (keeps) return read(0);
  }
  // The bounds 1 and 0 say that nothing is known.
  result.terms.push_back({emitted.lookup(value), 1, 1, 0});
  return result;
}

}  // namespace kiln
