#include "server/compiler/codegen/cpu/bound_operands.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LazyValueInfo.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

namespace kiln::cpu {
namespace {

// The shift or division by a constant that `i` truncates and that has no other user, or null.
llvm::BinaryOperator* TruncatedQuotient(llvm::Instruction& i) {
  if (!llvm::isa<llvm::TruncInst>(i) || i.getType()->isVectorTy()) return nullptr;
  auto* quotient = llvm::dyn_cast<llvm::BinaryOperator>(i.getOperand(0));
  if (quotient == nullptr || !quotient->hasOneUse()) return nullptr;
  switch (quotient->getOpcode()) {
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::URem:
      break;
    default:
      return nullptr;
  }
  const bool fits = llvm::isa<llvm::ConstantInt>(quotient->getOperand(1)) &&
                    llvm::isa<llvm::BinaryOperator>(quotient->getOperand(0));
  return fits ? quotient : nullptr;
}

}  // namespace

llvm::PreservedAnalyses BoundOperandsPass::run(llvm::Function& f,
                                               llvm::FunctionAnalysisManager& analyses) {
  llvm::SmallVector<llvm::BinaryOperator*> quotients;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    if (llvm::BinaryOperator* quotient = TruncatedQuotient(i)) quotients.push_back(quotient);
  }
  if (quotients.empty()) return llvm::PreservedAnalyses::all();
  auto& ranges = analyses.getResult<llvm::LazyValueAnalysis>(f);
  for (llvm::BinaryOperator* quotient : quotients) {
    llvm::Use& operand = quotient->getOperandUse(0);
    const llvm::ConstantRange range = ranges.getConstantRangeAtUse(operand, /*UndefAllowed=*/false);
    const unsigned width = operand->getType()->getIntegerBitWidth();
    const unsigned bits = range.getUnsignedMax().getActiveBits();
    if (bits > width / 2) continue;  // no narrower type has room for it
    llvm::IRBuilder<> b(quotient);
    operand.set(b.CreateAnd(operand, llvm::APInt::getLowBitsSet(width, bits)));
  }
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace kiln::cpu
