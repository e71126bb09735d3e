#include "server/compiler/codegen/cpu/reciprocal_roots.h"

#include <numeric>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PatternMatch.h"

namespace kiln::cpu {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;  // NOLINT(google-build-using-namespace): as its users do

class Rewriter {
 public:
  explicit Rewriter(uint32_t level) : level_(level) {}

  // Rewrites `division`, which may use reciprocals. False: it does not divide by a root.
  bool Rewrite(llvm::BinaryOperator* division);

 private:
  // 1 / `root`, made once, after the root.
  Value* Reciprocal(llvm::CallInst* root);
  // 1 / (z * root), likewise. It overflows only where z * root is denormal.
  Value* Cube(llvm::CallInst* root);
  // The processor's estimate of 1 / sqrt(z), of 11 bits.
  Value* Estimate(llvm::IRBuilder<>& b, Value* z) const;

  uint32_t level_;
  llvm::DenseMap<llvm::CallInst*, Value*> reciprocals_, cubes_;
};

// `value` as the call of a square root. Null: it is something else.
llvm::CallInst* RootOf(Value* value) {
  return match(value, m_Sqrt(m_Value())) ? llvm::cast<llvm::CallInst>(value) : nullptr;
}

// The square root that `divisor` is, converts to f64, or multiplies by `*factor`. Null: none.
llvm::CallInst* RootIn(Value* divisor, Value** factor) {
  Value *left = nullptr, *right = nullptr;
  if (match(divisor, m_FPExt(m_Value(left)))) return RootOf(left);
  if (!match(divisor, m_FMul(m_Value(left), m_Value(right)))) return RootOf(divisor);
  if (RootOf(left) == nullptr) std::swap(left, right);
  *factor = right;
  return RootOf(left);
}

bool Rewriter::Rewrite(llvm::BinaryOperator* division) {
  Value* x = division->getOperand(0);
  Value* divisor = division->getOperand(1);
  Value* factor = nullptr;  // x / (factor * root)
  llvm::CallInst* root = RootIn(divisor, &factor);
  // LLVM makes no estimates of f64.
  if (root == nullptr || !root->getType()->getScalarType()->isFloatTy()) return false;
  const bool reassociates =
      division->hasAllowReassoc() &&
      (factor == nullptr || llvm::cast<llvm::Instruction>(divisor)->hasAllowReassoc());
  if (root->getType() != division->getType() || !reassociates) {
    division->setHasAllowReciprocal(false);  // or else LLVM makes an estimate of its own
    return true;
  }
  if (factor == nullptr && x == root->getArgOperand(0)) {
    division->replaceAllUsesWith(root);
    division->eraseFromParent();
    return true;
  }
  const bool is_cube = factor == root->getArgOperand(0);  // x / (z * sqrt(z))
  Value* reciprocal = is_cube ? Cube(root) : Reciprocal(root);
  llvm::IRBuilder<> b(division);
  b.setFastMathFlags(division->getFastMathFlags());
  Value* result = match(x, m_FPOne()) ? reciprocal : b.CreateFMul(x, reciprocal);
  if (factor != nullptr && !is_cube) result = b.CreateFDiv(result, factor);
  division->replaceAllUsesWith(result);
  division->eraseFromParent();
  // The factor may be a root, too.
  auto* rest = llvm::dyn_cast<llvm::BinaryOperator>(result);
  if (rest != nullptr && rest->getOpcode() == llvm::Instruction::FDiv) Rewrite(rest);
  return true;
}

Value* Rewriter::Reciprocal(llvm::CallInst* root) {
  Value*& made = reciprocals_[root];
  if (made != nullptr) return made;
  llvm::IRBuilder<> b(root->getNextNode());
  Value* z = root->getArgOperand(0);
  Value* y = Estimate(b, z);
  // y * (3 - z * y * y) / 2. No other flag: what is NaN or minus infinity has to stay so.
  llvm::FastMathFlags fused;
  fused.setAllowContract(true);
  b.setFastMathFlags(fused);
  const auto number = [&](double value) { return llvm::ConstantFP::get(z->getType(), value); };
  Value* half = b.CreateFMul(z, number(0.5));
  Value* step = b.CreateFSub(number(1.5), b.CreateFMul(b.CreateFMul(half, y), y));
  // The step is near 1. It is NaN or minus infinity where the estimate is 0 or infinity already,
  // which any positive step keeps. One instruction, which returns its second operand for NaN.
  step = b.CreateSelect(b.CreateFCmpOGT(step, number(0.5)), step, number(0.5));
  made = b.CreateFMul(y, step);
  return made;
}

Value* Rewriter::Cube(llvm::CallInst* root) {
  Value*& made = cubes_[root];
  if (made != nullptr) return made;
  auto* y = llvm::cast<llvm::Instruction>(Reciprocal(root));
  llvm::IRBuilder<> b(y->getNextNode());
  // -0 * sqrt(-0) is 0, whose reciprocal is positive.
  made = b.CreateFMul(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y), b.CreateFMul(y, y));
  return made;
}

// One instruction for numbers and vectors alike, so that a loop's last iterations, which are not in
// vectors, give the same bits as the others.
Value* Rewriter::Estimate(llvm::IRBuilder<>& b, Value* z) const {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(z->getType());
  if (type == nullptr) {
    auto* four = llvm::FixedVectorType::get(z->getType(), 4);
    Value* lowest = b.CreateInsertElement(llvm::PoisonValue::get(four), z, uint64_t{0});
    return b.CreateExtractElement(
        b.CreateIntrinsic(llvm::Intrinsic::x86_sse_rsqrt_ss, {}, {lowest}), uint64_t{0});
  }
  const int elements = static_cast<int>(type->getNumElements());
  const int each = level_ >= 3 && elements > 4 ? 8 : 4;  // in a register
  const auto id =
      each == 8 ? llvm::Intrinsic::x86_avx_rsqrt_ps_256 : llvm::Intrinsic::x86_sse_rsqrt_ps;
  llvm::SmallVector<Value*> parts;
  for (int first = 0; first < elements; first += each) {
    llvm::SmallVector<int> taken(each, llvm::PoisonMaskElem);
    for (int i = 0; i < each && first + i < elements; ++i) taken[i] = first + i;
    parts.push_back(b.CreateIntrinsic(id, {}, {b.CreateShuffleVector(z, taken)}));
  }
  llvm::SmallVector<int> all(elements);
  std::iota(all.begin(), all.end(), 0);
  return b.CreateShuffleVector(llvm::concatenateVectors(b, parts), all);
}

}  // namespace

llvm::PreservedAnalyses ReciprocalRootsPass::run(llvm::Function& f,
                                                 llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::BinaryOperator*> divisions;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    if (i.getOpcode() == llvm::Instruction::FDiv && i.hasAllowReciprocal()) {
      divisions.push_back(llvm::cast<llvm::BinaryOperator>(&i));
    }
  }
  Rewriter rewriter(level_);
  bool changed = false;
  for (llvm::BinaryOperator* division : divisions) changed |= rewriter.Rewrite(division);
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace kiln::cpu
