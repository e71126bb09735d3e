#include "server/compiler/codegen/function_emitter.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/codegen/struct_plan.h"
#include "server/compiler/dialect/constants.h"
#include "server/compiler/dialect/long_loops.h"

namespace kiln {

using codegen::Report;
using llvm::BasicBlock;
using llvm::Value;

FunctionEmitter::FunctionEmitter(KernelState* state, llvm::Function* function, bool parallel)
    : state_(state),
      function_(function),
      parallel_(parallel),
      entry_(BasicBlock::Create(function->getContext(), "entry", function)),
      b_(BasicBlock::Create(function->getContext(), "start", function)),
      entry_builder_(llvm::BranchInst::Create(b_.GetInsertBlock(), entry_)),
      trees_(this, state->kernel) {
  // Last in the function: NewBlock inserts before it, so that printed code reads from top to
  // bottom.
  return_block_ = BasicBlock::Create(function->getContext(), "return", function);
  MakeReturnBlock();
}

BasicBlock* FunctionEmitter::NewBlock(const char* name) {
  return BasicBlock::Create(b_.getContext(), name, function_, return_block_);
}

llvm::SmallVector<llvm::PHINode*, 4> FunctionEmitter::Phis(BasicBlock* block,
                                                           mlir::TypeRange types) {
  llvm::IRBuilder<> b(block);
  llvm::SmallVector<llvm::PHINode*, 4> phis;
  for (mlir::Type type : types) phis.push_back(b.CreatePHI(LlvmType(type, b.getContext()), 2));
  return phis;
}

llvm::Type* FunctionEmitter::TypeOf(mlir::Value value) {
  return LlvmType(value.getType(), b_.getContext());
}

llvm::SmallVector<Value*, 4> FunctionEmitter::ValuesOf(mlir::ValueRange values) const {
  llvm::SmallVector<Value*, 4> result;
  for (mlir::Value v : values) result.push_back(ValueOf(v));
  return result;
}

void FunctionEmitter::BranchTo(BasicBlock* block, llvm::ArrayRef<llvm::PHINode*> phis,
                               llvm::ArrayRef<Value*> values) {
  // From the block where the branch is, which need not be the one where the caller began.
  for (auto [phi, value] : llvm::zip(phis, values)) phi->addIncoming(value, b_.GetInsertBlock());
  b_.CreateBr(block);
}

void FunctionEmitter::BranchBack(BasicBlock* header, Vectorise vectorise, uint32_t together,
                                 bool independent) {
  llvm::LLVMContext& c = b_.getContext();
  const auto word = [&](const char* text) { return llvm::MDString::get(c, text); };
  // The first operand is the node itself, which makes the loop's identity distinct.
  llvm::SmallVector<llvm::Metadata*> facts = {nullptr,
                                              llvm::MDNode::get(c, word("llvm.loop.mustprogress"))};
  if (independent && access_group_ != nullptr) {
    facts.push_back(llvm::MDNode::get(c, {word("llvm.loop.parallel_accesses"), access_group_}));
  }
  if (vectorise == Vectorise::kNever || vectorise == Vectorise::kBySlp) {
    llvm::Metadata* no = llvm::ConstantAsMetadata::get(b_.getFalse());
    facts.push_back(llvm::MDNode::get(c, {word("llvm.loop.vectorize.enable"), no}));
  }
  if (vectorise == Vectorise::kNever) {
    facts.push_back(llvm::MDNode::get(c, word("llvm.loop.unroll.disable")));
  }
  if (together != 0) {
    llvm::Metadata* count = llvm::ConstantAsMetadata::get(b_.getInt32(together));
    facts.push_back(llvm::MDNode::get(c, {word("llvm.loop.unroll.count"), count}));
    // LLVM forbids to unroll what is left over. ptxas does it well, four iterations at a time.
    constexpr uint32_t kByPtxas = 4;
    if (together > kByPtxas) {
      facts.push_back(
          llvm::MDNode::get(c, {word("llvm.loop.unroll.followup_remainder"), facts[1]}));
    }
  }
  if (vectorise == Vectorise::kFirst) {
    llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
    llvm::Metadata* done = llvm::MDNode::get(c, {word("llvm.loop.isvectorized"), one});
    // LLVM would unroll a short loop before it could vectorise it.
    facts.push_back(llvm::MDNode::get(c, word("llvm.loop.unroll.disable")));
    // The vector loop may be unrolled.
    facts.push_back(llvm::MDNode::get(c, {word("llvm.loop.vectorize.followup_vectorized"), done}));
  }
  if (vectorise == Vectorise::kStream) {
    // Of what the loop becomes, only the vector loop is a stream.
    llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
    facts.push_back(
        llvm::MDNode::get(c, {word("llvm.loop.vectorize.followup_vectorized"),
                              llvm::MDNode::get(c, {word("llvm.loop.isvectorized"), one}),
                              llvm::MDNode::get(c, word(codegen::kStreamLoop))}));
  }
  llvm::MDNode* id = llvm::MDNode::getDistinct(c, facts);
  id->replaceOperandWith(0, id);
  b_.CreateBr(header)->setMetadata(llvm::LLVMContext::MD_loop, id);
}

void FunctionEmitter::Finish() { b_.CreateBr(return_block_); }

ir::YieldOp FunctionEmitter::EmitOps(llvm::iterator_range<mlir::Block::iterator> ops) {
  for (mlir::Operation& op : ops) {
    // A yield's meaning is its parent's, so the caller branches. All other ends leave the block
    // here.
    if (auto yield = llvm::dyn_cast<ir::YieldOp>(op)) return yield;
    if (auto next = llvm::dyn_cast<ir::ContinueOp>(op)) {
      BranchTo(loops_.back().next, loops_.back().next_values, ValuesOf(next.getValues()));
    } else if (auto leave = llvm::dyn_cast<ir::BreakOp>(op)) {
      BranchTo(loops_.back().exit, loops_.back().exit_values, ValuesOf(leave.getValues()));
    } else if (auto end = llvm::dyn_cast<ir::ReturnOp>(op)) {
      BranchTo(return_block_, return_values_, ValuesOf(end.getValues()));
    } else {
      EmitOp(op);
    }
  }
  return {};
}

// An op that is not named here is arithmetic, or unsupported.
void FunctionEmitter::EmitOp(mlir::Operation& op) {
  llvm::TypeSwitch<mlir::Operation*>(&op)
      .Case<ir::IfOp, ir::InsideOp, ir::ForOp, ir::LoopOp, ir::CallOp, ir::PrintOp, ir::AssertOp,
            ir::RandomOp, ir::GlobalOp, ir::ComponentOp, ir::ElementOp, ir::AddressOfOp,
            ir::LocalOp, ir::LocalArrayOp, ir::SharedArrayOp, ir::SimtOp, ir::TemporaryOp,
            ir::LoadOp, ir::StoreOp, ir::ZeroOp, ir::AtomicOp, ir::UpdateOp, ir::TapePushOp,
            ir::TapeTopOp, ir::TapePopOp, ir::TapeSlotOp, ir::ArgumentOp, ir::ResultOp,
            ir::ExtentOp, ir::OuterExtentOp>([&](auto known) { Emit(known); })
      .Case([&](ir::ActivateOp o) { trees_.Activate(o); })
      .Case([&](ir::DeactivateOp o) { trees_.Deactivate(o); })
      .Case([&](ir::IsActiveOp o) { Map(o, trees_.IsActive(o)); })
      .Case([&](ir::LengthOp o) { Map(o, trees_.Length(o)); })
      .Case([&](ir::AppendOp o) { Map(o, trees_.Append(o)); })
      .Default([&](mlir::Operation* other) { EmitArithmetic(*other); });
}

void FunctionEmitter::EmitArithmetic(mlir::Operation& op) {
  auto results = EmitScalarOp(*state_->target, b_, op, ValuesOf(op.getOperands()));
  // The first one is reported; the others usually follow from it.
  if (results.empty() && state_->unsupported.empty()) {
    state_->unsupported = op.getName().getStringRef().str();
  }
  for (size_t i = 0; i < op.getNumResults(); ++i) {
    const mlir::Value result = op.getResult(i);
    // After an unsupported op, emission only goes on so as to end.
    Map(result, i < results.size() ? results[i] : llvm::PoisonValue::get(TypeOf(result)));
  }
}

void FunctionEmitter::Emit(ir::IfOp op) {
  BasicBlock* merge = NewBlock("merge");
  auto results = Phis(merge, op.getResultTypes());
  BasicBlock* blocks[2];
  mlir::Block* bodies[2] = {&op.getThenBlock(), &op.getElseBlock()};
  for (int i = 0; i < 2; ++i) {
    // Without a block of its own, an empty branch costs LLVM nothing to simplify.
    const bool is_empty = results.empty() && llvm::isa<ir::YieldOp>(bodies[i]->front());
    blocks[i] = is_empty ? merge : NewBlock(i == 0 ? "then" : "else");
  }
  b_.CreateCondBr(ValueOf(op.getCondition()), blocks[0], blocks[1]);
  // Both branches may leave (return, break, continue). Then nothing reaches `merge`, and its values
  // have no users that run.
  bool reached = false;
  for (int i = 0; i < 2; ++i) {
    if (blocks[i] == merge) {
      reached = true;
      continue;
    }
    b_.SetInsertPoint(blocks[i]);
    // What a branch finds out about cells holds in that branch only.
    trees_.PushScope();
    if (ir::YieldOp yield = EmitBlock(*bodies[i])) {
      BranchTo(merge, results, ValuesOf(yield.getValues()));
      reached = true;
    }
    trees_.PopScope();
  }
  b_.SetInsertPoint(merge);
  for (auto [result, phi] : llvm::zip(op.getResults(), results)) {
    Map(result, reached ? static_cast<Value*>(phi) : llvm::PoisonValue::get(phi->getType()));
    if (!reached) phi->eraseFromParent();
  }
}

void FunctionEmitter::Emit(ir::InsideOp op) {
  Value* index = b_.CreateSExt(ValueOf(op.getIndex()), b_.getInt64Ty());
  Map(op, b_.CreateAnd(b_.CreateICmpSGE(index, ValueOf(op.getLower())),
                       b_.CreateICmpSLT(index, ValueOf(op.getUpper()))));
}

// Functions and divisions are dozens of instructions.
static int64_t Instructions(mlir::Operation& op) {
  constexpr int64_t kMany = 32;
  const bool is_long =
      op.getName().getDialectNamespace() == "math" ||
      llvm::isa<mlir::arith::DivFOp, mlir::arith::DivSIOp, mlir::arith::DivUIOp,
                mlir::arith::RemFOp, mlir::arith::RemSIOp, mlir::arith::RemUIOp>(op);
  return is_long ? kMany : 1;
}

// How many iterations of a loop a thread of a GPU runs at once, so that more loads are under way: 4
// to 16, as many as have some 32 loads and are not long together. 0: as many as LLVM chooses, for
// loops that do more than arithmetic on what they load, and for short ones whose length is known.
// `unrolled`: the instructions of such loops of the kernel. Once they are many, each gets 4.
static uint32_t Together(ir::ForOp op, int64_t* unrolled) {
  constexpr int64_t kMostInstructions = 256, kMostLoads = 32, kMostOfKernel = 1024;
  constexpr uint32_t kFewest = 4, kMost = 16;
  constexpr int64_t kMostOps = 48;
  constexpr uint64_t kShortest = 64;
  const auto bounds = ConstantBoundsOf(op.getLower(), op.getUpper());
  if (bounds && (bounds->upper <= bounds->lower ||
                 static_cast<uint64_t>(bounds->upper) - bounds->lower < kShortest)) {
    return 0;
  }
  if (CountOps(op.getBody()) > kMostOps) return 0;
  int64_t instructions = 0, loads = 0;
  for (mlir::Operation& inner : op.getBody().front().without_terminator()) {
    if (inner.getNumRegions() > 0 || llvm::isa<ir::CallOp, ir::SimtOp, ir::AtomicOp>(inner)) {
      return 0;
    }
    instructions += Instructions(inner);
    loads += static_cast<int64_t>(llvm::isa<ir::LoadOp>(inner));
  }
  // Without loads there is nothing to wait for.
  uint32_t together = loads == 0 || *unrolled > kMostOfKernel ? kFewest : kMost;
  while (together > kFewest &&
         (together * instructions > kMostInstructions || together * loads > kMostLoads)) {
    together /= 2;
  }
  *unrolled += together * instructions;
  return together;
}

void FunctionEmitter::Emit(ir::ForOp op) {
  Value *lower = ValueOf(op.getLower()), *upper = ValueOf(op.getUpper());
  llvm::Type* type = lower->getType();
  const bool is_wide = state_->target->HasThreadsForLanes() && type->getIntegerBitWidth() < 64;
  if (is_wide) {
    lower = b_.CreateSExt(lower, b_.getInt64Ty());
    upper = b_.CreateSExt(upper, b_.getInt64Ty());
  }
  CountedLoop loop(*this, {"for", "body", "next", "end"}, lower, upper, op.getResultTypes(),
                   ValuesOf(op.getInits()));
  // The loop ends in its header, so the results are the header's values. A break adds its own to
  // the exit.
  auto exit_values = Phis(loop.exit(), op.getResultTypes());
  for (auto [phi, value] : llvm::zip(exit_values, loop.values())) {
    phi->addIncoming(value, loop.header());
  }
  Map(op.getIndex(), b_.CreateTrunc(loop.index(), type, "", /*IsNUW=*/false, /*IsNSW=*/true));
  indices_.Define(op.getIndex(), IndexBetween(loop.index(), lower, upper));
  for (auto [argument, value] : llvm::zip(op.getCarried(), loop.values())) Map(argument, value);
  PushLoop({loop.next(), loop.next_values(), loop.exit(), exit_values});
  EmitBlock(op.getBody().front());
  PopLoop();

  b_.SetInsertPoint(loop.next());
  // Before the index grows, in the latch: `continue` comes here, too.
  if (Looks(*op)) EndIfFailed();
  const bool is_serial = state_->target->HasThreadsForLanes() && !Looks(*op);
  loop.End(Vectorise::kAsLlvmSees, is_serial ? Together(op, &state_->unrolled) : 0);
  for (auto [result, phi] : llvm::zip(op.getResults(), exit_values)) Map(result, phi);
}

void FunctionEmitter::Emit(ir::LoopOp op) {
  BasicBlock* header = NewBlock("loop");
  BasicBlock* exit = NewBlock("end");
  auto carried = Phis(header, op.getResultTypes());
  auto results = Phis(exit, op.getResultTypes());
  BranchTo(header, carried, ValuesOf(op.getInits()));
  b_.SetInsertPoint(header);
  for (auto [argument, phi] : llvm::zip(op.getCarried(), carried)) Map(argument, phi);
  // A loop without end must notice that another thread has failed, or Ctrl-C.
  if (Looks(*op)) EndIfFailed();
  PushLoop({header, carried, exit, results});
  EmitBlock(op.getBody().front());
  PopLoop();
  b_.SetInsertPoint(exit);
  for (auto [result, phi] : llvm::zip(op.getResults(), results)) Map(result, phi);
}

// The values as slots, for the target to report.
void FunctionEmitter::EmitReport(mlir::Operation& op, int64_t node, mlir::ValueRange values,
                                 std::optional<llvm::ArrayRef<int64_t>> counts, Report report) {
  int64_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) count += counts ? (*counts)[i] : 1;
  Value* slots = Alloca(b_.getInt64Ty(), std::max<int64_t>(count, 2));
  int64_t slot = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, slot);
    if (llvm::isa<ir::AddrType>(values[i].getType())) {
      CopyToSlots(values[i], (*counts)[i], at);
    } else {
      b_.CreateStore(ToSlot(b_, ValueOf(values[i])), at);
    }
    slot += counts ? (*counts)[i] : 1;
  }
  state_->target->EmitReport(*this, report, node, count, slots);
}

// The scalars of an array, each to a slot of its own.
void FunctionEmitter::CopyToSlots(mlir::Value array, int64_t count, Value* slots) {
  mlir::Type type = llvm::cast<ir::AddrType>(array.getType()).getPointee();
  // A loop, since an array may have thousands of elements, and code for each would be long.
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* body = NewBlock("copy");
  BasicBlock* after = NewBlock("copied");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(b_.getInt64(0), before);
  Address address = addresses_.lookup(array);
  address.pointer = b_.CreateInBoundsGEP(MemoryType(type, b_.getContext()), address.pointer, index);
  b_.CreateStore(ToSlot(b_, Load(address, type)),
                 b_.CreateInBoundsGEP(b_.getInt64Ty(), slots, index));
  Value* next = b_.CreateNSWAdd(index, b_.getInt64(1));
  index->addIncoming(next, body);
  b_.CreateCondBr(b_.CreateICmpSLT(next, b_.getInt64(count)), body, after);
  b_.SetInsertPoint(after);
}

void FunctionEmitter::Emit(ir::PrintOp op) {
  state_->has_effects = true;
  EmitReport(*op, op.getNode(), op.getValues(), op.getCounts(), Report::kPrint);
}

void FunctionEmitter::Emit(ir::AssertOp op) {
  state_->can_fail = true;
  BasicBlock* failed = NewBlock("fail");
  BasicBlock* passed = NewBlock("passed");
  b_.CreateCondBr(ValueOf(op.getCondition()), passed, failed);
  b_.SetInsertPoint(failed);
  EmitReport(*op, op.getNode(), op.getValues(), op.getCounts(), Report::kFail);
  // The runtime has set the flag. Other threads end at their next look.
  ReturnZeros();
  b_.SetInsertPoint(passed);
}

void FunctionEmitter::DrawFor(int task, mlir::Region& body) {
  // Most tasks draw nothing and need no stream.
  if (!state_->facts.Any(body, kDraws)) return;
  state_->draws = true;
  task_ = task;
  random_ = state_->target->NewRandomStream(*this);
}

// Per iteration: results then do not depend on how iterations are shared among threads.
void FunctionEmitter::StartRandom(Value* index) {
  iteration_ = index;
  if (random_ != nullptr) state_->target->StartRandom(*this, random_, task_, index);
}

void FunctionEmitter::Emit(ir::SimtOp op) {
  Value* result = nullptr;
  const llvm::StringRef name = op.getSpelling();
  const bool is_there = state_->target->EmitSimt(*this, name, ValuesOf(op.getValues()), &result);
  if (!is_there && state_->unsupported.empty()) state_->unsupported = ("ti.simt." + name).str();
  if (!op.getResult()) return;
  Map(op.getResult(), is_there ? result : llvm::PoisonValue::get(TypeOf(op.getResult())));
}

void FunctionEmitter::Emit(ir::RandomOp op) {
  Map(op, state_->target->EmitRandom(*this, random_, TypeOf(op)));
}

}  // namespace kiln
