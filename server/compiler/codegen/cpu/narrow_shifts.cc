#include "server/compiler/codegen/cpu/narrow_shifts.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

namespace kiln::cpu {
namespace {

using llvm::Instruction;
using llvm::Value;
namespace match = llvm::PatternMatch;

// A shift in 32 bits of an integer of 8 or 16 that the loop need not compute in 32.
struct Shift {
  llvm::BinaryOperator* wide;
  Value* x;           // in 8 or 16 bits
  bool is_invariant;  // the count is the same in all iterations

  Value* count() const { return wide->getOperand(1); }  // less than 32: others are poison
  unsigned bits() const { return x->getType()->getIntegerBitWidth(); }
};

// The narrow integer of which `wide` is the extension that a shift of this kind keeps; null: none.
Value* Extended(Value* wide, Instruction::BinaryOps kind) {
  Value* x = nullptr;
  const bool zeros =
      kind != Instruction::AShr && match::match(wide, match::m_ZExt(match::m_Value(x)));
  const bool signs =
      !zeros && kind != Instruction::LShr && match::match(wide, match::m_SExt(match::m_Value(x)));
  return zeros || signs ? x : nullptr;
}

// What `wide` shifts, in 8 or 16 bits, if what its users need follows from that; null if not.
Value* NarrowOperand(llvm::BinaryOperator* wide, llvm::DemandedBits& demanded) {
  if (!wide->isShift() || !wide->getType()->isIntegerTy(32) ||
      llvm::isa<llvm::Constant>(wide->getOperand(1))) {
    return nullptr;
  }
  Value* x = Extended(wide->getOperand(0), wide->getOpcode());
  if (wide->getOpcode() != Instruction::Shl) return x;
  const unsigned needed = demanded.getDemandedBits(wide).getActiveBits();
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(wide->getOperand(0));
  if (constant != nullptr) {
    x = llvm::ConstantInt::get(wide->getContext(),
                               constant->getValue().trunc(needed <= 8 ? 8 : 16));
  }
  return x != nullptr && needed <= x->getType()->getIntegerBitWidth() ? x : nullptr;
}

bool AccessesNothingWider(const llvm::Loop& loop, unsigned bits) {
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (Instruction& i : *block) {
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(i) &&
          llvm::getLoadStoreType(&i)->getScalarSizeInBits() > bits) {
        return false;
      }
    }
  }
  return true;
}

// Adds `i` if it is a shift whose narrow form pays on CPU target `level`.
void AddShift(Instruction& i, const llvm::Loop& loop, uint32_t level, llvm::DemandedBits& demanded,
              llvm::SmallVectorImpl<Shift>* shifts) {
  auto* wide = llvm::dyn_cast<llvm::BinaryOperator>(&i);
  Value* x = wide == nullptr ? nullptr : NarrowOperand(wide, demanded);
  if (x == nullptr) return;
  const unsigned bits = x->getType()->getIntegerBitWidth();
  const bool is_invariant = loop.isLoopInvariant(wide->getOperand(1));
  // Counts that the loop computes in 32 bits are in lanes of 32 bits already.
  const bool is_narrow = match::match(wide->getOperand(1), match::m_ZExt(match::m_Value()));
  const bool pays = is_invariant || (is_narrow && level < (bits == 8 ? 4 : 3));
  if ((bits == 8 || bits == 16) && pays && AccessesNothingWider(loop, bits)) {
    shifts->push_back({wide, x, is_invariant});
  }
}

// Where `value`, which `user` has as an operand, is known first.
llvm::BasicBlock::iterator PointAfter(Value* value, Instruction* user) {
  auto* made = llvm::dyn_cast<Instruction>(value);
  return made == nullptr ? user->getFunction()->getEntryBlock().getFirstInsertionPt()
                         : *made->getInsertionPointAfterDef();
}

// Emits the narrow form.
Value* Narrow(const Shift& shift) {
  llvm::Type* type = shift.x->getType();
  const unsigned bits = shift.bits();
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(type, n); };
  llvm::IRBuilder<> once(shift.wide);
  if (shift.is_invariant) once.SetInsertPoint(PointAfter(shift.count(), shift.wide));
  llvm::IRBuilder<> b(shift.wide);
  Value* count = once.CreateTrunc(shift.count(), type);
  Value* fits = once.CreateICmpULT(count, number(bits));
  Value* within = once.CreateAnd(count, number(bits - 1));
  const auto shifted = [&](Instruction::BinaryOps kind, Value* x) {
    return b.CreateBinOp(kind, b.CreateSelect(fits, x, number(0)), within);
  };
  const Instruction::BinaryOps kind = shift.wide->getOpcode();
  if (kind != Instruction::AShr) return shifted(kind, shift.x);
  if (bits == 16 || shift.is_invariant) {
    return b.CreateAShr(shift.x, once.CreateSelect(fits, count, number(bits - 1)));
  }
  // Vectors of bytes take twice as long to shift arithmetically as logically. Where x is negative,
  // its complement is not.
  Value* sign = b.CreateAShr(shift.x, number(bits - 1));
  return b.CreateXor(shifted(Instruction::LShr, b.CreateXor(shift.x, sign)), sign);
}

// Removes what LLVM has found out about values that follow from `i`, whose bits change that
// nothing needs.
void DropFlags(Instruction* i, llvm::DemandedBits& demanded) {
  llvm::SmallPtrSet<Instruction*, 8> seen;
  llvm::SmallVector<Instruction*> pending = {i};
  while (!pending.empty()) {
    for (llvm::User* user : pending.pop_back_val()->users()) {
      auto* of = llvm::cast<Instruction>(user);
      if (!seen.insert(of).second) continue;
      of->dropPoisonGeneratingAnnotations();
      if (of->getType()->isIntegerTy() && !demanded.getDemandedBits(of).isAllOnes()) {
        pending.push_back(of);
      }
    }
  }
}

void Replace(const Shift& shift) {
  const Instruction::BinaryOps kind = shift.wide->getOpcode();
  Value* narrow = Narrow(shift);
  llvm::IRBuilder<> b(shift.wide);
  llvm::Type* type = shift.wide->getType();
  shift.wide->replaceAllUsesWith(kind == Instruction::AShr ? b.CreateSExt(narrow, type)
                                                           : b.CreateZExt(narrow, type));
  shift.wide->eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses NarrowShiftsPass::run(llvm::Function& f,
                                              llvm::FunctionAnalysisManager& analyses) {
  auto& demanded = analyses.getResult<llvm::DemandedBitsAnalysis>(f);
  llvm::SmallVector<Shift> shifts;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    for (llvm::BasicBlock* block : loop->blocks()) {
      for (Instruction& i : *block) AddShift(i, *loop, level_, demanded, &shifts);
    }
  }
  for (const Shift& shift : shifts) {
    if (shift.wide->getOpcode() == Instruction::Shl) DropFlags(shift.wide, demanded);
  }
  for (const Shift& shift : shifts) Replace(shift);
  if (shifts.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace kiln::cpu
