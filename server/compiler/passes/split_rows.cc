// Index-set splitting: the part of each row where conditions on the innermost index have one
// outcome runs a copy of the body without them.
//
//   body (%i : i32, %j : i32) {                 body (%i : i32, %j : i32) {
//     %a = arith.addi %j, -1                      %in = kiln.inside %j from 1 to MAX
//     %b = arith.maxsi %a, 0           ->         kiln.if %in {
//     %c = kiln.global 0 [%i, %b]                   %a = arith.addi %j, -1
//     ...                                           %c = kiln.global 0 [%i, %a]
//     kiln.continue                                 ...
//   }                                             } else { the body as it was }
//                                                 kiln.continue
//                                               }
//
// The code generator makes a loop of each branch. In the first one clamped and wrapped neighbours
// are consecutive accesses, and cells of the boundary are no branch, so LLVM vectorises it.
//
// Each comparison, minimum, maximum, quotient or mask of `index + terms` that is worth a bound is
// decided for the greater part of the row, as far as constants and common terms of the loop's
// bounds tell which part that is. A wrong guess costs time only: the bounds are computed at launch.
// They also keep the sums in them from wrapping.
//
// Left as they are: indices of 64 bits, short rows, large bodies, what LLVM would not vectorise,
// and bodies where no address and no branch would become simpler.
//
// Requires: offloaded level, carried values in their last form. Guarantees: only that the code
// computes the same.
#include <cstdint>
#include <limits>
#include <optional>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/cost.h"
#include "server/compiler/passes/invariants.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

namespace arith = mlir::arith;
using arith::CmpIPredicate;
using mlir::Value;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
// Ends within so many cells of a row's end are those of a boundary.
constexpr int64_t kNear = 64;
// Shorter rows stay whole. Branches alone become masks of vectors in LLVM, which take no more time
// in rows up to the second length.
constexpr int64_t kShortRow = 32, kShortRowOfBranches = 64;
constexpr int kLargeBody = 512;  // operations
constexpr int64_t kMaxFactor = 1 << 16;

// A sum of values that are the same in all iterations, in 64 bits. The constant is a range: the
// index of an inner loop may be in it.
struct Sum {
  int64_t low = 0, high = 0;
  llvm::SmallVector<std::pair<Value, int64_t>, 2> terms;  // value and factor

  static Sum Number(int64_t number) { return {number, number, {}}; }
  static Sum Of(Value value) {
    if (const std::optional<int64_t> number = ConstantOf(value)) return Number(*number);
    return {0, 0, {{value, 1}}};
  }
  bool IsNumber() const { return terms.empty() && low == high; }

  Sum Plus(const Sum& other, int64_t factor) const {
    Sum sum = *this;
    sum.low += factor * (factor < 0 ? other.high : other.low);
    sum.high += factor * (factor < 0 ? other.low : other.high);
    for (const auto& [value, times] : other.terms) {
      if (factor != 0) sum.terms.push_back({value, times * factor});
    }
    return sum;
  }
};

// A value of the body: a sum, or the innermost index and a sum.
struct Form {
  bool has_index = false;
  Sum rest;
  llvm::SmallVector<Sum, 2> may_wrap;  // index + sum, which the form takes to fit in 32 bits
};

// What an operation is in the iterations between the bounds.
struct Outcome {
  enum { kNumber, kOperand, kLess } kind;
  int64_t number;  // the value; that of the operand; the amount by which the first operand is more
};

// Whether two values that are the same in all iterations come from the same computation.
bool IsSame(Value a, Value b) {
  mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (a == b || !x || !y) return a == b;
  // Bounds take extents in 64 bits, bodies in 32.
  if (auto extent = llvm::dyn_cast<ir::ExtentOp>(x)) {
    auto other = llvm::dyn_cast<ir::ExtentOp>(y);
    return other && extent.getStorage() == other.getStorage() &&
           extent.getAxis() == other.getAxis();
  }
  if (auto extent = llvm::dyn_cast<ir::OuterExtentOp>(x)) {
    auto other = llvm::dyn_cast<ir::OuterExtentOp>(y);
    return other && extent.getStorage() == other.getStorage();
  }
  // Only leaves of sums get here: they are few and small.
  return mlir::OperationEquivalence::isEquivalentTo(
      x, y, [](Value v, Value w) { return mlir::success(IsSame(v, w)); }, nullptr,
      mlir::OperationEquivalence::IgnoreLocations);
}

// The sum with its terms taken apart, as if nothing in them could wrap: for guesses only.
Sum Expanded(const Sum& sum) {
  constexpr int kMostSteps = 32;
  Sum out = {sum.low, sum.high, {}};
  llvm::SmallVector<std::pair<Value, int64_t>> left(sum.terms.begin(), sum.terms.end());
  for (int steps = 0; !left.empty(); ++steps) {
    const auto [value, factor] = left.pop_back_val();
    mlir::Operation* op = steps < kMostSteps ? value.getDefiningOp() : nullptr;
    if (const std::optional<int64_t> number = ConstantOf(value)) {
      out.low += factor * *number;
      out.high += factor * *number;
    } else if (op && llvm::isa<arith::AddIOp, arith::SubIOp>(op)) {
      left.push_back({op->getOperand(0), factor});
      left.push_back({op->getOperand(1), llvm::isa<arith::AddIOp>(op) ? factor : -factor});
    } else if (op && llvm::isa<arith::ExtSIOp, arith::TruncIOp>(op)) {
      left.push_back({op->getOperand(0), factor});
    } else if (op && llvm::isa<arith::SelectOp>(op)) {
      // A divisor that is never 0: the usual one is the last operand.
      left.push_back({op->getOperand(2), factor});
    } else {
      auto* same = llvm::find_if(
          out.terms, [&, v = value](const auto& term) { return IsSame(term.first, v); });
      if (same == out.terms.end()) {
        out.terms.push_back({value, factor});
        continue;
      }
      same->second += factor;
      if (same->second == 0) out.terms.erase(same);
    }
  }
  return out;
}

// a - b, if all that they have in common with the launch cancels out.
std::optional<int64_t> Difference(const Sum& a, const Sum& b) {
  const Sum difference = Expanded(a.Plus(b, -1));
  if (!difference.terms.empty()) return std::nullopt;
  return difference.low;
}

class Splitting {
 public:
  Splitting(ir::RangeTaskOp task, const FunctionFacts& functions)
      : task_(task), functions_(functions) {}

  bool Run() {
    if (!IsEligible()) return false;
    index_ = task_.getIndices().back();
    auto bounds = llvm::cast<ir::YieldOp>(task_.getBounds().front().getTerminator());
    lower_ = Sum::Of(bounds.getValues().drop_back().back());
    upper_ = Sum::Of(bounds.getValues().back());
    length_ = Difference(upper_, lower_);
    if (length_ && *length_ < kShortRow) return false;
    task_.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) { Visit(op); });
    if (outcomes_.empty()) return false;
    if (HoldEverywhere()) {
      for (const auto& [op, outcome] : outcomes_) Apply(op, outcome);
      return true;
    }
    if (length_ && *length_ < kShortRowOfBranches && !SimplifiesAddresses()) return false;
    Rewrite();
    return true;
  }

 private:
  bool IsEligible() {
    // The ends come first, so loops that one thread runs in order stay whole.
    if (task_.getNumDims() == 0 || task_.isSparse() || task_.getMaxThreads() == 1) return false;
    if (!task_.getIndices().back().getType().isInteger(32)) return false;
    if (!MayVectorise(task_.getBody())) return false;
    if (!llvm::isa<ir::ContinueOp>(task_.getBody().front().getTerminator())) return false;
    constexpr unsigned kNever = kIsAtomic | kActivates | kDeactivates | kQueries | kDraws |
                                kReports | kFails | kCalls | kTapes;
    if (functions_.Any(task_.getBody(), kNever)) return false;
    auto kernel = task_->getParentOfType<ir::KernelOp>();
    int count = 0;
    return !task_.getBody()
                .walk([&](mlir::Operation* op) {
                  auto global = llvm::dyn_cast<ir::GlobalOp>(op);
                  const bool in_tree = global && llvm::isa<ir::TreeFieldAttr>(
                                                     kernel.getStorages()[global.getStorage()]);
                  return in_tree || ++count > kLargeBody ? mlir::WalkResult::interrupt()
                                                         : mlir::WalkResult::advance();
                })
                .wasInterrupted();
  }

  // --- Forms -------------------------------------------------------------------------

  // Asked for operands of ops in program order, so the ops before have been decided.
  std::optional<Form> FormOf(Value value) {
    const auto known = forms_.find(value);
    if (known != forms_.end()) return known->second;
    std::optional<Form> form = ReadForm(value);
    forms_[value] = form;
    return form;
  }

  std::optional<Form> ReadForm(Value value) {
    if (const std::optional<int64_t> number = ConstantOf(value)) return NumberForm(*number);
    if (!value.getType().isInteger(32)) return std::nullopt;
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return FormOfArgument(llvm::cast<mlir::BlockArgument>(value));
    if (invariants_.Has(value)) return Form{false, Sum::Of(value), {}};
    if (const auto* outcome = outcomes_.find(op); outcome != outcomes_.end()) {
      return FormOfOutcome(op, outcome->second);
    }
    if (auto select = llvm::dyn_cast<arith::SelectOp>(op)) {
      const auto* chosen = outcomes_.find(select.getCondition().getDefiningOp());
      if (chosen == outcomes_.end()) return std::nullopt;
      return FormOf(chosen->second.number != 0 ? select.getTrueValue() : select.getFalseValue());
    }
    if (!llvm::isa<arith::AddIOp, arith::SubIOp, arith::XOrIOp, arith::MulIOp>(op)) {
      return std::nullopt;
    }
    const std::optional<Form> a = FormOf(op->getOperand(0)), b = FormOf(op->getOperand(1));
    if (!a || !b) return std::nullopt;
    if (llvm::isa<arith::AddIOp>(op)) return Added(*a, *b, 1);
    if (llvm::isa<arith::SubIOp>(op)) return Added(*a, *b, -1);
    // Parts of quotients and remainders: x ^ 0, 0 * y, 1 * y, and products of numbers.
    const bool is_product = llvm::isa<arith::MulIOp>(op);
    if (IsNumber(*a) && IsNumber(*b)) {
      const int64_t x = a->rest.low, y = b->rest.low;
      // In 32 bits, as the program computes it.
      return NumberForm(llvm::SignExtend64<32>(static_cast<uint64_t>(is_product ? x * y : x ^ y)));
    }
    for (const auto& [number, other] : {std::pair(*a, *b), std::pair(*b, *a)}) {
      if (!IsNumber(number)) continue;
      if (number.rest.low == 0) return is_product ? NumberForm(0) : other;
      if (number.rest.low == 1 && is_product) return other;
    }
    return std::nullopt;
  }

  static bool IsNumber(const Form& form) { return !form.has_index && form.rest.IsNumber(); }
  static Form NumberForm(int64_t number) { return {false, Sum::Number(number), {}}; }

  std::optional<Form> FormOfArgument(mlir::BlockArgument argument) {
    if (argument == index_) return Form{true, {}, {}};
    auto loop = llvm::dyn_cast<ir::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getIndex()) return std::nullopt;
    const std::optional<int64_t> first = ConstantOf(loop.getLower()),
                                 end = ConstantOf(loop.getUpper());
    if (!first || !end || *first >= *end) return std::nullopt;
    return Form{false, {*first, *end - 1, {}}, {}};
  }

  std::optional<Form> FormOfOutcome(mlir::Operation* op, const Outcome& outcome) {
    switch (outcome.kind) {
      case Outcome::kNumber:
        return NumberForm(outcome.number);
      case Outcome::kOperand:
        return FormOf(op->getOperand(static_cast<unsigned>(outcome.number)));
      case Outcome::kLess:
        break;
    }
    std::optional<Form> form = FormOf(op->getOperand(0));
    if (form) form->rest = form->rest.Plus(Sum::Number(outcome.number), -1);
    return form;
  }

  std::optional<Form> Added(const Form& a, const Form& b, int64_t factor) {
    if (b.has_index && (a.has_index || factor < 0)) return std::nullopt;
    Form sum = {a.has_index || b.has_index, a.rest.Plus(b.rest, factor), a.may_wrap};
    llvm::append_range(sum.may_wrap, b.may_wrap);
    constexpr size_t kMostSums = 8;
    if (sum.may_wrap.size() > kMostSums) return std::nullopt;
    const Sum& rest = sum.rest;
    if (!sum.has_index) return Fits(rest, 0, 0) ? std::optional(sum) : std::nullopt;
    if (!lower_.IsNumber() || !upper_.IsNumber() || !Fits(rest, lower_.low, upper_.low - 1)) {
      sum.may_wrap.push_back(rest);
    }
    return sum;
  }

  // Whether the sum and anything from `least` to `most` are known to fit in 32 bits.
  static bool Fits(const Sum& sum, int64_t least, int64_t most) {
    return sum.terms.empty() && least + sum.low >= std::numeric_limits<int32_t>::min() &&
           most + sum.high <= std::numeric_limits<int32_t>::max();
  }

  // --- Decisions ---------------------------------------------------------------------

  void Visit(mlir::Operation* op) {
    if (op->getNumResults() != 1 || !llvm::isa<arith::ArithDialect>(op->getDialect())) return;
    if (!IsRelevant(op)) return;
    if (auto compare = llvm::dyn_cast<arith::CmpIOp>(op)) {
      VisitComparison(compare);
    } else if (llvm::isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
      VisitExtreme(op);
    } else if (llvm::isa<arith::ShRSIOp>(op)) {
      // The sign of a dividend.
      const std::optional<Form> form = FormOf(op->getOperand(0));
      if (!form || !form->has_index || ConstantOf(op->getOperand(1)) != 31) return;
      if (const auto positive = Decide(*form, form->rest, 0, 0)) {
        outcomes_[op] = {Outcome::kNumber, *positive ? 0 : -1};
      }
    } else if (llvm::isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
                         arith::AndIOp>(op)) {
      VisitQuotient(op);
    }
  }

  // Whether an address or a branch depends on the value of the op.
  bool IsRelevant(mlir::Operation* op) {
    const auto known = relevant_.find(op);
    if (known != relevant_.end()) return known->second;
    relevant_[op] = false;  // until it is known; SSA values have no cycles without block arguments
    const bool is = llvm::any_of(op->getUsers(), [&](mlir::Operation* user) {
      if (llvm::isa<ir::IfOp, ir::GlobalOp, ir::ComponentOp, ir::ElementOp>(user)) return true;
      return llvm::isa<arith::ArithDialect>(user->getDialect()) && IsRelevant(user);
    });
    relevant_[op] = is;
    return is;
  }

  // Whether an index is clamped or wrapped at an end of the row.
  bool SimplifiesAddresses() const {
    return llvm::any_of(outcomes_, [](const auto& outcome) {
      mlir::Operation* op = outcome.first;
      return !llvm::isa<arith::CmpIOp>(op) ||
             llvm::any_of(op->getUsers(), llvm::IsaPred<arith::SelectOp>);
    });
  }

  // The form of a - b, of which exactly `a` has the index.
  static std::optional<Form> Minus(const std::optional<Form>& a, const std::optional<Form>& b) {
    if (!a || !b || !a->has_index || b->has_index) return std::nullopt;
    return Form{true, a->rest.Plus(b->rest, -1), a->may_wrap};
  }

  void VisitComparison(arith::CmpIOp compare) {
    if (VisitSigns(compare)) return;
    const std::optional<Form> a = FormOf(compare.getLhs()), b = FormOf(compare.getRhs());
    const bool swapped = b && b->has_index;
    const std::optional<Form> difference = swapped ? Minus(b, a) : Minus(a, b);
    if (!difference) return;
    std::optional<bool> result;
    const Sum& rest = difference->rest;
    switch (compare.getPredicate()) {
      case CmpIPredicate::sge:
      case CmpIPredicate::slt:
        // Of the swapped difference: a >= b is b - a < 1.
        result = swapped ? Decide(*difference, rest, 1, 1) : Decide(*difference, rest, 0, 0);
        if (result && swapped) result = !*result;
        if (result && compare.getPredicate() == CmpIPredicate::slt) result = !*result;
        break;
      case CmpIPredicate::sgt:
      case CmpIPredicate::sle:
        result = swapped ? Decide(*difference, rest, 0, 0) : Decide(*difference, rest, 1, 1);
        if (result && swapped) result = !*result;
        if (result && compare.getPredicate() == CmpIPredicate::sle) result = !*result;
        break;
      case CmpIPredicate::eq:
      case CmpIPredicate::ne:
        // More or less, but not the same.
        result = Decide(*difference, rest, 1, 0);
        if (result) result = compare.getPredicate() == CmpIPredicate::ne;
        break;
      default:
        break;
    }
    if (result) outcomes_[compare] = {Outcome::kNumber, *result};
  }

  // (x ^ y) < 0: whether remainder and divisor have different signs.
  bool VisitSigns(arith::CmpIOp compare) {
    auto both = compare.getLhs().getDefiningOp<arith::XOrIOp>();
    if (!both || compare.getPredicate() != CmpIPredicate::slt ||
        ConstantOf(compare.getRhs()) != 0) {
      return false;
    }
    const std::optional<Form> x = FormOf(both.getLhs());
    const Value y = both.getRhs();
    if (!x || !x->has_index || ConstantOf(y) || !invariants_.Has(y)) return false;
    if (Decide(*x, x->rest, 0, kLeast) != true) return false;
    not_negative_.insert(y);
    outcomes_[compare] = {Outcome::kNumber, false};
    return true;
  }

  void VisitExtreme(mlir::Operation* op) {
    const std::optional<Form> a = FormOf(op->getOperand(0)), b = FormOf(op->getOperand(1));
    const bool swapped = b && b->has_index;
    const std::optional<Form> difference = swapped ? Minus(b, a) : Minus(a, b);
    if (!difference) return;
    // Where both are the same, either is right.
    const std::optional<bool> more = Decide(*difference, difference->rest, 0, 1);
    if (!more) return;
    const bool takes_more = llvm::isa<arith::MaxSIOp>(op);
    const bool takes_index = *more == takes_more;
    outcomes_[op] = {Outcome::kOperand, takes_index == swapped ? 1 : 0};
  }

  void VisitQuotient(mlir::Operation* op) {
    const std::optional<Form> dividend = FormOf(op->getOperand(0));
    if (!dividend || !dividend->has_index) return;
    const Value by = op->getOperand(1);
    Sum divisor = Sum::Of(by);
    if (llvm::isa<arith::AndIOp>(op)) {
      if (!divisor.IsNumber() || !llvm::isPowerOf2_64(static_cast<uint64_t>(divisor.low) + 1))
        return;
      divisor = Sum::Number(divisor.low + 1);
    }
    if (divisor.IsNumber() ? divisor.low < 2
                           : !llvm::isa<arith::DivSIOp>(op) || !invariants_.Has(by)) {
      return;
    }
    const std::optional<int64_t> quotient = GuessQuotient(dividend->rest, divisor);
    if (!quotient) return;
    // quotient * divisor <= dividend < (quotient + 1) * divisor, which also says that the divisor
    // is positive.
    const Sum from = dividend->rest.Plus(divisor, -*quotient), below = from.Plus(divisor, -1);
    if (Guess(from, 0) != true || Guess(below, 0) != false) return;
    if (Decide(*dividend, from, 0, 0) != true || Decide(*dividend, below, 0, 0) != false) return;
    if (llvm::isa<arith::DivUIOp, arith::DivSIOp>(op)) {
      outcomes_[op] = {Outcome::kNumber, *quotient};
    } else {
      outcomes_[op] = {Outcome::kLess, *quotient * divisor.low};
    }
  }

  // What most of the row has, not negative.
  std::optional<int64_t> GuessQuotient(const Sum& rest, const Sum& divisor) {
    for (int64_t quotient = 0; !divisor.IsNumber() && quotient <= 2; ++quotient) {
      if (Difference(rest, Sum().Plus(divisor, quotient))) return quotient;
    }
    const Sum known = Expanded(rest);
    if (!divisor.IsNumber() || !known.terms.empty() || !lower_.IsNumber()) return std::nullopt;
    const int64_t middle = lower_.low + known.low + (length_ ? *length_ / 2 : kNear);
    if (middle < 0 || middle / divisor.low > kMaxFactor) return std::nullopt;
    return middle / divisor.low;
  }

  // Whether index + rest >= a in the greater part of the row; nullopt: that is not known, or too
  // little of the row would be left. Moves the ends of that part if `keep`.
  std::optional<bool> Guess(const Sum& rest, int64_t a, bool keep = false) {
    const Sum threshold = Sum::Number(a).Plus(rest, -1);
    const std::optional<int64_t> below = Difference(threshold, lower_);
    const std::optional<int64_t> above = Difference(upper_, threshold);
    if (!below && !above) return std::nullopt;
    const bool more = !above ? *below <= kNear : !below ? *above > kNear : *below <= *above;
    if (!below || !above) return more;
    const int64_t cut_below = more ? std::max(cut_below_, *below) : cut_below_;
    const int64_t cut_above = more ? cut_above_ : std::max(cut_above_, *above);
    if (cut_below + cut_above > *length_ / 4) return std::nullopt;
    if (keep) {
      cut_below_ = cut_below;
      cut_above_ = cut_above;
    }
    return more;
  }

  // Bounds the part of the row so that in all of it index + rest >= `more` (true) or < `less`
  // (false). `form`: the value whose index it is.
  std::optional<bool> Decide(const Form& form, const Sum& rest, int64_t more, int64_t less) {
    const std::optional<bool> side = Guess(rest, more, /*keep=*/true);
    if (!side) return side;
    if (!*side && less == kLeast) return std::nullopt;
    if (*side) {
      AddLower(Sum::Number(more), rest);
    } else {
      AddUpper(Sum::Number(less), rest);
    }
    for (const Sum& sum : form.may_wrap) {
      AddLower(Sum::Number(std::numeric_limits<int32_t>::min()), sum);
      AddUpper(Sum::Number(int64_t{std::numeric_limits<int32_t>::max()} + 1), sum);
    }
    return side;
  }

  // index + rest >= limit, and < limit, for all values of the rest.
  void AddLower(const Sum& limit, const Sum& rest) { Add(&lowers_, limit.low - rest.low, rest); }
  void AddUpper(const Sum& limit, const Sum& rest) { Add(&uppers_, limit.low - rest.high, rest); }

  using Ends = llvm::SmallVector<Sum, 4>;
  static void Add(Ends* ends, int64_t number, const Sum& rest) {
    ends->push_back(Sum::Number(number));
    for (const auto& [value, factor] : rest.terms) ends->back().terms.push_back({value, -factor});
  }

  // Whether the outcomes hold in whole rows, as i % n for i that is never negative.
  bool HoldEverywhere() const {
    const auto is_least = [](const Sum& a, const Sum& b) {
      const std::optional<int64_t> difference = Difference(b, a);
      return difference && *difference >= 0;
    };
    return not_negative_.empty() &&
           llvm::all_of(lowers_, [&](const Sum& end) { return is_least(end, lower_); }) &&
           llvm::all_of(uppers_, [&](const Sum& end) { return is_least(upper_, end); });
  }

  // --- The new body ------------------------------------------------------------------

  void Rewrite() {
    mlir::Block& body = task_.getBody().front();
    mlir::Location loc = task_.getLoc();
    auto old = llvm::map_to_vector(body, [](mlir::Operation& op) { return &op; });
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&body);
    Value lower = EmitEnds<arith::MaxSIOp>(builder, lowers_, kLeast);
    Value upper = EmitEnds<arith::MinSIOp>(builder, uppers_, kMost);
    for (Value value : not_negative_) {
      Value copy = CopyInvariant(builder, value, &imported_);
      Value zero = builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(0));
      Value is = builder.create<arith::CmpIOp>(loc, CmpIPredicate::sge, copy, zero);
      upper = builder.create<arith::SelectOp>(loc, is, upper, Number(builder, kLeast));
    }
    Value inside = builder.create<ir::InsideOp>(loc, builder.getI1Type(), index_, lower, upper);
    // The iteration's end stays behind the branch, which yields what it hands on.
    mlir::Operation* end = old.pop_back_val();
    auto branch = builder.create<ir::IfOp>(loc, end->getOperandTypes(), inside);
    mlir::Block& rest = branch.getElseRegion().emplaceBlock();
    for (mlir::Operation* op : old) op->moveBefore(&rest, rest.end());
    builder.setInsertionPointToEnd(&rest);
    builder.create<ir::YieldOp>(loc, end->getOperands());
    end->setOperands(branch.getResults());
    mlir::IRMapping copies;
    branch.getElseRegion().cloneInto(&branch.getThenRegion(), copies);
    for (const auto& [op, outcome] : outcomes_) Apply(copies.lookup(op), outcome);
  }

  static void Apply(mlir::Operation* op, const Outcome& outcome) {
    mlir::OpBuilder builder(op);
    mlir::Value result = op->getResult(0);
    const auto number = [&] {
      return builder.create<arith::ConstantOp>(
          op->getLoc(), builder.getIntegerAttr(result.getType(), outcome.number));
    };
    switch (outcome.kind) {
      case Outcome::kNumber:
        return result.replaceAllUsesWith(number());
      case Outcome::kOperand:
        return result.replaceAllUsesWith(op->getOperand(static_cast<unsigned>(outcome.number)));
      case Outcome::kLess:
        Value less = op->getOperand(0);
        if (outcome.number != 0) less = builder.create<arith::SubIOp>(op->getLoc(), less, number());
        return result.replaceAllUsesWith(less);
    }
  }

  template <typename Best>
  Value EmitEnds(mlir::OpBuilder& builder, const Ends& ends, int64_t none) {
    constexpr bool kGreatest = std::is_same_v<Best, arith::MaxSIOp>;
    int64_t number = none;
    for (const Sum& end : ends) {
      if (end.terms.empty())
        number = kGreatest ? std::max(number, end.low) : std::min(number, end.low);
    }
    Value best;
    const auto take = [&](Value end) {
      best = best ? builder.create<Best>(task_.getLoc(), best, end) : end;
    };
    if (number != none || llvm::all_of(ends, [](const Sum& end) { return end.terms.empty(); })) {
      take(Number(builder, number));
    }
    for (const Sum& end : ends) {
      if (!end.terms.empty()) take(EmitSum(builder, end));
    }
    return best;
  }

  Value EmitSum(mlir::OpBuilder& builder, const Sum& sum) {
    Value total = Number(builder, sum.low);
    for (const auto& [value, factor] : sum.terms) {
      Value term = builder.create<arith::ExtSIOp>(task_.getLoc(), builder.getI64Type(),
                                                  CopyInvariant(builder, value, &imported_));
      if (factor != 1) {
        term = builder.create<arith::MulIOp>(task_.getLoc(), term, Number(builder, factor));
      }
      total = builder.create<arith::AddIOp>(task_.getLoc(), total, term);
    }
    return total;
  }

  Value Number(mlir::OpBuilder& builder, int64_t number) {
    return builder.create<arith::ConstantOp>(task_.getLoc(), builder.getI64IntegerAttr(number));
  }

  ir::RangeTaskOp task_;
  const FunctionFacts& functions_;
  Value index_;
  Sum lower_, upper_;                      // the bounds of the index
  std::optional<int64_t> length_;          // of a row
  int64_t cut_below_ = 0, cut_above_ = 0;  // what the decisions leave out at its ends
  Invariants invariants_;
  llvm::DenseMap<Value, std::optional<Form>> forms_;
  llvm::DenseMap<mlir::Operation*, bool> relevant_;
  llvm::MapVector<mlir::Operation*, Outcome> outcomes_;
  Ends lowers_, uppers_;                 // of the part in which the outcomes hold
  llvm::SetVector<Value> not_negative_;  // no part of the row otherwise
  mlir::IRMapping imported_;             // before the branch
};

struct SplitRowsPass : mlir::PassWrapper<SplitRowsPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitRowsPass)
  llvm::StringRef getArgument() const override { return "split-rows"; }
  void runOnOperation() override {
    const FunctionFacts functions(getOperation());
    bool changed = false;
    for (auto task : getOperation().getBodyRegion().getOps<ir::RangeTaskOp>()) {
      changed |= Splitting(task, functions).Run();
    }
    if (!changed) return;
    // Few kernels get here, so the others do not pay for this.
    mlir::OpPassManager clean(ir::KernelOp::getOperationName());
    clean.addPass(mlir::createCanonicalizerPass());
    clean.addPass(CreateSimplifyControlPass());
    clean.addPass(CreateCsePass());
    if (mlir::failed(runPipeline(clean, getOperation()))) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateSplitRowsPass() { return std::make_unique<SplitRowsPass>(); }

}  // namespace kiln
