// Atomics: updates of memory that several threads may make at once.
#include "server/compiler/codegen/atomics.h"

#include <iterator>

#include "llvm/IR/MDBuilder.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {
namespace {

using llvm::Value;

using Rmw = llvm::AtomicRMWInst;

// In the order of the kinds.
// BAD_BINOP: no target has such an instruction, so it is a loop that exchanges.
constexpr AtomicForm kForms[] = {
    {ir::AtomicKind::addi, llvm::Instruction::Add, 0, Rmw::Add},
    {ir::AtomicKind::subi, llvm::Instruction::Sub, 0, Rmw::Sub},
    {ir::AtomicKind::muli, llvm::Instruction::Mul, 0, Rmw::BAD_BINOP},
    {ir::AtomicKind::minsi, 0, llvm::Intrinsic::smin, Rmw::Min},
    {ir::AtomicKind::maxsi, 0, llvm::Intrinsic::smax, Rmw::Max},
    {ir::AtomicKind::minui, 0, llvm::Intrinsic::umin, Rmw::UMin},
    {ir::AtomicKind::maxui, 0, llvm::Intrinsic::umax, Rmw::UMax},
    {ir::AtomicKind::andi, llvm::Instruction::And, 0, Rmw::And},
    {ir::AtomicKind::ori, llvm::Instruction::Or, 0, Rmw::Or},
    {ir::AtomicKind::xori, llvm::Instruction::Xor, 0, Rmw::Xor},
    {ir::AtomicKind::addf, llvm::Instruction::FAdd, 0, Rmw::FAdd},
    {ir::AtomicKind::subf, llvm::Instruction::FSub, 0, Rmw::FSub},
    {ir::AtomicKind::mulf, llvm::Instruction::FMul, 0, Rmw::BAD_BINOP},
    {ir::AtomicKind::minf, 0, llvm::Intrinsic::minnum, Rmw::FMin},
    {ir::AtomicKind::maxf, 0, llvm::Intrinsic::maxnum, Rmw::FMax},
};

constexpr bool HasEachKindInOrder() {
  for (size_t i = 0; i < std::size(kForms); ++i) {
    if (static_cast<size_t>(kForms[i].kind) != i) return false;
  }
  return std::size(kForms) == ir::getMaxEnumValForAtomicKind() + 1;
}
static_assert(HasEachKindInOrder());

}  // namespace

const AtomicForm& FormOf(ir::AtomicKind kind) { return kForms[static_cast<size_t>(kind)]; }

Value* FunctionEmitter::Combine(ir::AtomicKind kind, Value* x, Value* y) {
  const AtomicForm& form = FormOf(kind);
  // The builder still has the flags of the last scalar op, which do not apply here.
  b_.clearFastMathFlags();
  if (form.opcode != 0) {
    return b_.CreateBinOp(static_cast<llvm::Instruction::BinaryOps>(form.opcode), x, y);
  }
  return b_.CreateBinaryIntrinsic(form.intrinsic, x, y);
}

// For what the target has no instruction: load a word, combine, and exchange it unless another
// thread has changed it meanwhile; then again with the word that was seen. Returns the old word.
Value* FunctionEmitter::ExchangeLoop(const Address& address, llvm::Type* word,
                                     llvm::function_ref<Value*(Value*)> combine) {
  const llvm::Align align(word->getIntegerBitWidth() / 8);
  auto* first = b_.CreateAlignedLoad(word, address.pointer, align);
  // Monotonic suffices: the launch's end orders all of it, and kernels have no other
  // synchronisation.
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* retry = NewBlock("retry");
  llvm::BasicBlock* done = NewBlock("done");
  b_.CreateBr(retry);
  b_.SetInsertPoint(retry);
  llvm::PHINode* seen = b_.CreatePHI(word, 2);
  seen->addIncoming(first, before);
  Value* combined = combine(seen);
  Value* exchange =
      b_.CreateAtomicCmpXchg(address.pointer, seen, combined, align,
                             llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
  seen->addIncoming(b_.CreateExtractValue(exchange, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(exchange, 1), done, retry);
  b_.SetInsertPoint(done);
  return seen;
}

Value* FunctionEmitter::CompareExchangeLoop(const Address& address, ir::AtomicKind kind, Value* y) {
  llvm::Type* type = y->getType();
  const bool is_bool = type->isIntegerTy(1);
  // Compared as integers: as floats, a NaN would never equal itself and the loop never end.
  llvm::Type* word = is_bool ? b_.getInt8Ty() : b_.getIntNTy(type->getPrimitiveSizeInBits());
  const auto from_word = [&](Value* v) {
    return is_bool ? b_.CreateIsNotNull(v) : b_.CreateBitCast(v, type);
  };
  const auto to_word = [&](Value* v) {
    return is_bool ? b_.CreateZExt(v, word) : b_.CreateBitCast(v, word);
  };
  return from_word(ExchangeLoop(
      address, word, [&](Value* seen) { return to_word(Combine(kind, from_word(seen), y)); }));
}

// The body of an update is straight code on a scalar, so it is emitted in place, in the loop that
// exchanges the word.
void FunctionEmitter::Emit(ir::UpdateOp op) {
  const Address address = AddressFor(op.getAddress(), op);
  const mlir::Type type = op.getOld().getType();
  const auto made = [&](Value* old) {
    mlir::Block& body = op.getBody().front();
    Map(body.getArgument(0), old);
    return ValueOf(EmitBlock(body).getValues()[0]);
  };
  // Locals belong to one thread, however many run the task.
  if (parallel_ && address.memory != kLocal) {
    llvm::Type* scalar = LlvmType(type, b_.getContext());
    llvm::Type* word = b_.getIntNTy(scalar->getPrimitiveSizeInBits());
    Value* old = ExchangeLoop(address, word, [&](Value* seen) {
      return b_.CreateBitCast(made(b_.CreateBitCast(seen, scalar)), word);
    });
    return Map(op, b_.CreateBitCast(old, scalar));
  }
  Value* old = Load(address, type);
  Store(address, made(old));
  Map(op, old);
}

void FunctionEmitter::Emit(ir::AtomicOp op) {
  if (const auto copy = copies_.find(op); copy != copies_.end()) {
    return UpdateCopyOr(AddressFor(op.getAddress(), op), op, ValueOf(op.getValue()), copy->second);
  }
  if (const auto at = marked_.find(op); at != marked_.end()) {
    AtomicUpdate({at->second.first, kUnknown}, op.getKind(), ValueOf(op.getValue()));
    b_.CreateStore(b_.getInt8(1), at->second.second);
    return;
  }
  // The first half of a pair waits for the second, and both become one exchange there.
  if (ir::AtomicOp first = waiting_.lookup(op)) {
    AtomicPair(first, op);
  } else if (ir::AtomicOp other = OtherHalf(op)) {
    waiting_[other] = op;
  } else {
    Map(op, Atomic(op));
  }
}

Value* FunctionEmitter::Atomic(ir::AtomicOp op) {
  const Address address = AddressFor(op.getAddress(), op);
  Value* value = ValueOf(op.getValue());
  // An atomic instruction costs many times a plain one, even if one thread runs.
  if (!parallel_ || address.memory == kLocal) return PlainUpdate(address, op, value);
  // Tasks with float sums ask at each atomic instead of existing twice (task_function.cc).
  const bool may_be_own = op.getApart() && !state_->target->HasThreadsForLanes();
  if (runs_alone_ == nullptr && !may_be_own) return AtomicUpdate(address, op.getKind(), value);
  llvm::BasicBlock* ways[] = {NewBlock("alone"), NewBlock("together")};
  llvm::BasicBlock* done = NewBlock("done");
  Value* is_plain = may_be_own ? AreApart(op) : runs_alone_(*this);
  b_.CreateCondBr(is_plain, ways[0], ways[1]);
  llvm::PHINode* old =
      llvm::IRBuilder<>(done).CreatePHI(LlvmType(op.getValue().getType(), b_.getContext()), 2);
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(ways[i]);
    Value* seen =
        i == 0 ? PlainUpdate(address, op, value) : AtomicUpdate(address, op.getKind(), value);
    old->addIncoming(seen, b_.GetInsertBlock());
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  return old;
}

// Whether no other iteration writes the cell (ops.td).
Value* FunctionEmitter::AreApart(ir::AtomicOp op) {
  const auto bounds = [&](int64_t storage) {
    auto array = llvm::cast<ir::NdarrayAttr>(state_->storages[storage]);
    int64_t bytes = 0;
    for (mlir::Attribute type : array.getTypes()) {
      bytes += Bytes(llvm::cast<mlir::TypeAttr>(type).getValue());
    }
    Value* begin = b_.CreatePtrToInt(Argument(array.getSlot(), b_.getPtrTy()), b_.getInt64Ty());
    Value* size = b_.CreateMul(NdarrayCells(array), b_.getInt64(bytes));
    return std::pair(begin, b_.CreateAdd(begin, size));
  };
  mlir::Operation* array = ArrayOf(op.getAddress()).getDefiningOp();
  auto global = llvm::dyn_cast<ir::GlobalOp>(array);
  const auto [begin, end] = bounds(static_cast<int64_t>(
      global ? global.getStorage() : llvm::cast<ir::ComponentOp>(array).getStorage()));
  Value* all = b_.getTrue();
  const llvm::ArrayRef<int64_t> others = *op.getApart();
  for (const int64_t storage : others) {
    const auto [other_begin, other_end] = bounds(storage);
    all = b_.CreateAnd(
        all, b_.CreateOr(b_.CreateICmpULE(end, other_begin), b_.CreateICmpULE(other_end, begin)));
  }
  return all;
}

Value* FunctionEmitter::PlainUpdate(const Address& address, ir::AtomicOp op, Value* value) {
  Value* old = Load(address, op.getValue().getType());
  llvm::StoreInst* store = Store(address, Combine(op.getKind(), old, value));
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(old);
      load != nullptr && keeps_updates_apart_ && address.memory != kLocal) {
    // Costs no instruction, but no vectoriser takes such accesses.
    load->setAtomic(llvm::AtomicOrdering::Unordered);
    store->setAtomic(llvm::AtomicOrdering::Unordered);
  }
  return old;
}

Value* FunctionEmitter::AtomicUpdate(const Address& address, ir::AtomicKind kind, Value* value) {
  Value* old = state_->target->EmitAtomic(b_, kind, address.pointer, value);
  if (old == nullptr) return CompareExchangeLoop(address, kind, value);
  if (auto* instruction = llvm::dyn_cast<llvm::AtomicRMWInst>(old)) Tag(address, instruction);
  return old;
}

void FunctionEmitter::AtomicNow(ir::AtomicOp op, ir::AtomicKind kind, Value* value) {
  AtomicUpdate(AddressFor(op.getAddress(), op), kind, value);
}

void FunctionEmitter::UpdateCopyOr(const Address& address, ir::AtomicOp op, Value* value,
                                   const Copy& copy) {
  llvm::BasicBlock* in_copy = NewBlock("in_copy");
  llvm::BasicBlock* in_place = NewBlock("in_place");
  llvm::BasicBlock* done = NewBlock("done");
  Value* offset = b_.CreateSub(b_.CreatePtrToInt(address.pointer, b_.getInt64Ty()),
                               b_.CreatePtrToInt(copy.base, b_.getInt64Ty()));
  // Indices beyond the field's lead to memory beside it, as elsewhere.
  Value* is_inside = b_.CreateICmpULT(offset, copy.bytes);
  b_.CreateCondBr(b_.CreateAnd(copy.is_used, is_inside), in_copy, in_place);
  b_.SetInsertPoint(in_copy);
  AtomicUpdate({b_.CreateInBoundsGEP(b_.getInt8Ty(), copy.memory, offset), kUnknown}, op.getKind(),
               value);
  b_.CreateBr(done);
  b_.SetInsertPoint(in_place);
  AtomicUpdate(address, op.getKind(), value);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

ir::AtomicOp FunctionEmitter::OtherHalf(ir::AtomicOp op) const {
  // Plain updates need no exchange, so they gain nothing from pairs.
  if (!parallel_ || runs_alone_ != nullptr || !state_->target->AddsFloatsInPairs()) return {};
  if (!op.getPairOffset() || op.getApart()) return {};
  mlir::Operation* next = op->getNextNode();
  while (next != nullptr && !llvm::isa<ir::AtomicOp>(next)) next = next->getNextNode();
  return llvm::dyn_cast_or_null<ir::AtomicOp>(next);
}

// One exchange, if the address is a multiple of 8 at run time. Otherwise one by one: an exchange of
// a word that is in two cache lines locks the bus.
void FunctionEmitter::AtomicPair(ir::AtomicOp first, ir::AtomicOp second) {
  // The pass notes the distance on the first op in program order, which may be the higher address.
  if (static_cast<int64_t>(*first.getPairOffset()) < 0) std::swap(first, second);
  const Address low = AddressFor(first.getAddress(), first);
  const Address high = AddressFor(second.getAddress(), second);
  Value* x = ValueOf(first.getValue());
  Value* y = ValueOf(second.getValue());
  // Both are of one kind (the pass checks it).
  if (first.getKind() == ir::AtomicKind::subf) {
    x = b_.CreateFNeg(x);
    y = b_.CreateFNeg(y);
  }
  llvm::BasicBlock* whole = NewBlock("word");
  llvm::BasicBlock* apart = NewBlock("apart");
  llvm::BasicBlock* done = NewBlock("done");
  Value* rest = b_.CreateAnd(b_.CreatePtrToInt(low.pointer, b_.getInt64Ty()), b_.getInt64(7));
  b_.CreateCondBr(b_.CreateIsNull(rest), whole, apart,
                  llvm::MDBuilder(b_.getContext()).createLikelyBranchWeights());

  b_.SetInsertPoint(apart);
  auto add = state_->module->getOrInsertFunction(
      "kiln_atomic_add_f32",
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getFloatTy()}, false));
  b_.CreateCall(add, {low.pointer, x});
  b_.CreateCall(add, {high.pointer, y});
  b_.CreateBr(done);

  b_.SetInsertPoint(whole);
  auto* pair = llvm::FixedVectorType::get(b_.getFloatTy(), 2);
  Value* both = b_.CreateInsertElement(llvm::PoisonValue::get(pair), x, uint64_t{0});
  both = b_.CreateInsertElement(both, y, uint64_t{1});
  CompareExchangeLoop(low, ir::AtomicKind::addf, both);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace kiln
