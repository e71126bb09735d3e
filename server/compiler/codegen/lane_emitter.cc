// Values, masks and control of lanes.
#include "server/compiler/codegen/lane_emitter.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"
#include "server/compiler/codegen/counted_loop.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/dialect/long_loops.h"

namespace kiln {

using llvm::BasicBlock;
using llvm::Value;

LaneEmitter::LaneEmitter(FunctionEmitter& f, ir::RangeTaskOp task, int64_t lanes)
    : f_(f), b_(f.builder()), task_(task), lanes_(lanes), shapes_(task) {}

// Whether a load or atomic takes code for each lane: the cells are apart.
static bool IsOneByOne(mlir::Operation* op, const LaneShapes& shapes, ir::KernelOp kernel) {
  if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(op)) return shapes.Varies(atomic.getAddress());
  auto load = llvm::dyn_cast<ir::LoadOp>(op);
  if (!load || load->hasAttr(kKeptAttribute)) return false;
  const std::optional<int64_t> stride = ByteStride(load.getAddress(), shapes, kernel);
  return !stride || (*stride != 0 && *stride != Bytes(load.getType()));
}

// Whether an op is in a loop that contains no other one.
static bool IsInnermost(mlir::Operation* op) {
  const auto is_loop = [](mlir::Operation* o) { return llvm::isa<ir::ForOp, ir::LoopOp>(o); };
  mlir::Operation* loop = op->getParentOp();
  while (llvm::isa<ir::IfOp>(loop)) loop = loop->getParentOp();
  return is_loop(loop) && !loop->getRegion(0)
                               .walk([&](mlir::Operation* inner) {
                                 return is_loop(inner) ? mlir::WalkResult::interrupt()
                                                       : mlir::WalkResult::advance();
                               })
                               .wasInterrupted();
}

int64_t LaneEmitter::LanesFor(ir::RangeTaskOp task, const codegen::Target::Lanes& target,
                              bool long_rows) {
  // A chain of sums waits for each addition, unless there are several chains. Beyond so many
  // operations, vectors no longer fit the registers. Loops of the fewest wait for memory, which
  // serves long pieces of rows best.
  constexpr int kFewest = 6, kFew = 12, kSome = 24;
  const LaneShapes shapes(task);
  auto kernel = task->getParentOfType<ir::KernelOp>();
  bool waits = false;     // whether lanes stay in a loop that they would have left
  bool branches = false;  // whether lanes run code that they need not
  bool apart = false;     // whether lanes access cells one by one
  bool busy = false;      // whether they do so in atomics or, where masks are vectors, mostly
  bool is_wide = false;   // whether values have 8 bytes
  int operations = 0;
  task.getBody().walk([&](mlir::Operation* op) {
    if (shapes.Diverges(op)) (llvm::isa<ir::IfOp>(op) ? branches : waits) = true;
    if (IsOneByOne(op, shapes, kernel)) {
      apart = true;
      busy |= llvm::isa<ir::AtomicOp>(op) || (!target.has_masks && IsInnermost(op));
    }
    for (mlir::Value result : op->getResults()) {
      if (!shapes.Varies(result) || llvm::isa<ir::AddrType>(result.getType())) continue;
      is_wide |= Bytes(result.getType()) > 4;
      ++operations;
    }
  });
  // Two vectors: with the rows, there are as many sums as registers hold.
  if (task.getRows()) return target.count * (target.has_masks ? 4 : 2) / (is_wide ? 2 : 1);
  // Of more lanes, more would wait for others.
  if (waits || (branches && busy) || operations > kSome) return target.count;
  if (branches || operations > kFew || !long_rows) return target.count * 2;
  return target.count * (operations > kFewest || apart ? 4 : 8);
}

// --- Values ----------------------------------------------------------------------------

llvm::Type* LaneEmitter::VectorOf(llvm::Type* element) const {
  return llvm::FixedVectorType::get(element, lanes_);
}

Value* LaneEmitter::Splat(Value* scalar) {
  return scalar->getType()->isVectorTy() ? scalar : b_.CreateVectorSplat(lanes_, scalar);
}

// 0, step, 2 step, …
llvm::Constant* LaneEmitter::Ramp(llvm::Type* type, uint64_t step) const {
  llvm::SmallVector<llvm::Constant*> elements;
  for (int64_t i = 0; i < lanes_; ++i) {
    // Unsigned, which wraps.
    elements.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(i) * step));
  }
  return llvm::ConstantVector::get(elements);
}

Value* LaneEmitter::VectorFor(mlir::Value value) { return Splat(f_.ValueOf(value)); }

// --- Masks -----------------------------------------------------------------------------

// Whether all lanes are known to be in it.
bool LaneEmitter::IsWhole(Value* mask) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant != nullptr && constant->isAllOnesValue();
}

// By select and not by `and`: the condition is poison in some lanes outside of the mask.
Value* LaneEmitter::And(Value* mask, Value* condition) {
  if (IsWhole(mask)) return condition;
  return b_.CreateSelect(mask, condition, llvm::Constant::getNullValue(mask->getType()));
}

Value* LaneEmitter::AndNot(Value* mask, Value* condition) {
  return And(mask, b_.CreateNot(condition));
}

Value* LaneEmitter::Bits(Value* mask) { return b_.CreateBitCast(mask, b_.getIntNTy(lanes_)); }

Value* LaneEmitter::Any(Value* mask) { return b_.CreateIsNotNull(Bits(mask)); }

Value* LaneEmitter::All(Value* mask) {
  Value* bits = Bits(mask);
  return b_.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
}

Value* LaneEmitter::Select(Value* mask, Value* yes, Value* no) {
  if (IsWhole(mask)) return yes;
  // The builder still has the flags of the last scalar op, which do not apply here.
  b_.clearFastMathFlags();
  return b_.CreateSelect(mask, yes, no);
}

LaneEmitter::Variable LaneEmitter::NewMask(Value* start) {
  // On some targets comparisons make masks as vectors of integers. LLVM would otherwise pack these
  // at the end of each block and unpack them in the next.
  const bool as_integers = !f_.state().target->lanes().has_masks;
  llvm::Type* element = as_integers ? b_.getInt32Ty() : b_.getInt1Ty();
  auto* variable = llvm::cast<llvm::AllocaInst>(f_.Alloca(VectorOf(element), 1));
  SetMask(variable, start);
  return variable;
}

Value* LaneEmitter::GetMask(Variable mask) {
  Value* value = Get(mask);
  if (value->getType()->getScalarType()->isIntegerTy(1)) return value;
  return b_.CreateICmpSLT(value, llvm::Constant::getNullValue(value->getType()));
}

void LaneEmitter::SetMask(Variable mask, Value* value) {
  b_.CreateStore(b_.CreateSExt(value, mask->getAllocatedType()), mask);
}

// --- Variables -------------------------------------------------------------------------

LaneEmitter::Variable LaneEmitter::NewVariable(mlir::Value like) {
  llvm::Type* type = LlvmType(like.getType(), b_.getContext());
  if (Varies(like)) type = VectorOf(type);
  auto* variable = llvm::cast<llvm::AllocaInst>(f_.Alloca(type, 1));
  // Zeros: code that no lane runs sets nothing, and its values are then read but not used.
  b_.CreateStore(llvm::Constant::getNullValue(type), variable);
  return variable;
}

void LaneEmitter::Set(Variable variable, Value* value) {
  if (variable->getAllocatedType()->isVectorTy()) value = Splat(value);
  b_.CreateStore(value, variable);
}

void LaneEmitter::SetIn(Value* mask, Variable variable, Value* value) {
  // A uniform variable has one value, that of the lanes that run.
  if (!variable->getAllocatedType()->isVectorTy()) return Set(variable, value);
  Set(variable, Select(mask, Splat(value), Get(variable)));
}

// --- Rows ------------------------------------------------------------------------------

LaneEmitter::Values LaneEmitter::InitialValues() {
  Values values;
  for (mlir::Attribute init : task_.getInits()) {
    values.push_back(Splat(LlvmConstant(init, b_.getContext())));
  }
  return values;
}

LaneEmitter::Values LaneEmitter::EmitRow(Value* from, Value* to, Value* number,
                                         const Values& accumulators) {
  Loop body;
  body.blends = true;
  for (auto [argument, start] : llvm::zip(task_.getAccumulators(), accumulators)) {
    body.carried.push_back(NewVariable(argument));
    Set(body.carried.back(), start);
  }
  loops_.push_back(body);
  Value* masked_from = from;
  const bool has_whole = HasWholeVectors(task_);
  if (has_whole) {
    Value* whole = b_.CreateAnd(b_.CreateNSWSub(to, from), b_.getInt64(-lanes_));
    masked_from = b_.CreateNSWAdd(from, whole);
    EmitVectors(from, masked_from, from, number, /*whole=*/true);
  }
  const int64_t many = Many(f_.state().target->lanes());
  if (has_whole && lanes_ > many && body.carried.empty()) {
    LaneEmitter rest(f_, task_, many);
    rest.loops_.push_back(body);
    rest.EmitVectors(masked_from, to, from, number, /*whole=*/false);
  } else {
    EmitVectors(masked_from, to, from, number, /*whole=*/false);
  }
  loops_.pop_back();
  Values after;
  for (Variable variable : body.carried) after.push_back(Get(variable));
  return after;
}

// `number` is that of the iteration `first_of_row`. `whole`: all vectors have all lanes.
void LaneEmitter::EmitVectors(Value* from, Value* to, Value* first_of_row, Value* number,
                              bool whole) {
  CountedLoop lanes(f_, {"lanes", "iterations", nullptr, "lanes_end"}, from, to, {}, {},
                    b_.getInt64(lanes_));
  Value* first = lanes.index();
  llvm::Type* i32 = b_.getInt32Ty();
  Value* mask = llvm::Constant::getAllOnesValue(VectorOf(b_.getInt1Ty()));
  if (!whole) {
    Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWSub(to, first),
                                           b_.getInt64(lanes_));
    mask = b_.CreateICmpSLT(Ramp(i32), Splat(b_.CreateTrunc(left, i32)));
  }
  first_ = first;
  row_mask_ = mask;
  const mlir::Value index = task_.getIndices().back();
  llvm::Type* type = LlvmType(index.getType(), b_.getContext());
  f_.Map(index, b_.CreateAdd(Splat(b_.CreateTrunc(first, type)), Ramp(type)));
  f_.indices().Define(index, Leaf(first));
  if (f_.draws()) StartRandom(b_.CreateAdd(number, b_.CreateSub(first, first_of_row)));
  for (auto [argument, variable] : llvm::zip(task_.getAccumulators(), loops_.back().carried)) {
    f_.Map(argument, Get(variable));
  }
  EmitBlock(task_.getBody().front(), mask, [](ir::YieldOp, Value*) {});
  lanes.End();
}

// --- Control ---------------------------------------------------------------------------

// From an op to the end of its block.
Value* LaneEmitter::EmitFrom(mlir::Operation* op, Value* mask, AtYield at_yield) {
  // What the code finds out about cells of trees holds there only: it may not run.
  f_.trees().PushScope();
  const auto forget = llvm::make_scope_exit([&] { f_.trees().PopScope(); });
  for (; op != nullptr; op = op->getNextNode()) {
    if (auto yield = llvm::dyn_cast<ir::YieldOp>(op)) {
      at_yield(yield, mask);
      return mask;
    }
    if (auto end = llvm::dyn_cast<ir::ContinueOp>(op)) {
      EmitEnd(end, mask);
      return nullptr;
    }
    if (auto end = llvm::dyn_cast<ir::BreakOp>(op)) {
      EmitEnd(end, mask);
      return nullptr;
    }
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
      Value* after = EmitIf(branch, mask);
      if (after == nullptr) return nullptr;
      if (after == mask) continue;
      // Some lanes may have left. What follows runs only if some have not.
      BasicBlock* rest = f_.NewBlock("rest");
      BasicBlock* join = f_.NewBlock("join");
      Variable ended = NewMask(llvm::Constant::getNullValue(mask->getType()));
      b_.CreateCondBr(Any(after), rest, join);
      b_.SetInsertPoint(rest);
      Value* end = EmitFrom(op->getNextNode(), after, at_yield);
      if (end != nullptr) SetMask(ended, end);
      b_.CreateBr(join);
      b_.SetInsertPoint(join);
      return end == nullptr ? nullptr : GetMask(ended);
    }
    EmitOp(*op, mask);
  }
  return mask;
}

void LaneEmitter::EmitEnd(ir::ContinueOp op, Value* mask) {
  const Loop& loop = loops_.back();
  for (auto [variable, value] : llvm::zip(loop.carried, op.getValues())) {
    if (loop.blends) {
      SetIn(mask, variable, f_.ValueOf(value));
    } else {
      Set(variable, f_.ValueOf(value));
    }
  }
  // Disjoint: no lane ends an iteration twice.
  if (loop.next != nullptr) SetMask(loop.next, b_.CreateOr(GetMask(loop.next), mask));
}

void LaneEmitter::EmitEnd(ir::BreakOp op, Value* mask) {
  for (auto [variable, value] : llvm::zip(loops_.back().results, op.getValues())) {
    SetIn(mask, variable, f_.ValueOf(value));
  }
}

Value* LaneEmitter::EmitIf(ir::IfOp op, Value* mask) {
  return shapes_.Diverges(op) ? EmitDivergentIf(op, mask) : EmitUniformIf(op, mask);
}

// Only one side runs, for all lanes.
Value* LaneEmitter::EmitUniformIf(ir::IfOp op, Value* mask) {
  llvm::SmallVector<Variable, 4> results;
  for (mlir::Value result : op.getResults()) results.push_back(NewVariable(result));
  const bool leaves = shapes_.Leaves(op);
  Variable ended = leaves ? NewMask(llvm::Constant::getNullValue(mask->getType())) : nullptr;
  BasicBlock* blocks[] = {f_.NewBlock("then"), f_.NewBlock("else")};
  BasicBlock* merge = f_.NewBlock("merge");
  b_.CreateCondBr(f_.ValueOf(op.getCondition()), blocks[0], blocks[1]);
  bool reached = false;
  for (const int side : {0, 1}) {
    b_.SetInsertPoint(blocks[side]);
    Value* end = EmitBlock(side == 0 ? op.getThenBlock() : op.getElseBlock(), mask,
                           [&](ir::YieldOp yield, Value*) {
                             for (auto [variable, value] : llvm::zip(results, yield.getValues())) {
                               Set(variable, f_.ValueOf(value));
                             }
                           });
    if (end != nullptr) {
      reached = true;
      if (leaves) SetMask(ended, end);
    }
    b_.CreateBr(merge);
  }
  b_.SetInsertPoint(merge);
  for (auto [result, variable] : llvm::zip(op.getResults(), results)) {
    f_.Map(result, Get(variable));
  }
  if (!reached) return nullptr;
  return leaves ? GetMask(ended) : mask;
}

// Whether a side may run for no lane at all, and is not worth a test: it holds a few operations
// that cannot trap and touch no memory.
bool LaneEmitter::IsCheap(mlir::Block& block, int* budget) const {
  for (mlir::Operation& op : block) {
    if (llvm::isa<ir::YieldOp>(op)) continue;
    // Ends are selects. A uniform variable must not be set where no lane runs.
    if (llvm::isa<ir::ContinueOp, ir::BreakOp>(op)) {
      const bool uniform = llvm::any_of(
          loops_.back().carried, [](Variable v) { return !v->getAllocatedType()->isVectorTy(); });
      if (llvm::isa<ir::ContinueOp>(op) && uniform) return false;
      continue;
    }
    if (llvm::isa<ir::IfOp>(op)) {
      auto branch = llvm::cast<ir::IfOp>(op);
      if (!shapes_.Diverges(&op) || shapes_.Leaves(&op) ||
          !IsCheap(branch.getThenBlock(), budget) || !IsCheap(branch.getElseBlock(), budget)) {
        return false;
      }
      continue;
    }
    namespace arith = mlir::arith;
    if (!llvm::isa<arith::ArithDialect>(op.getDialect()) ||
        llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::RemFOp>(
            op)) {
      return false;
    }
    if (--*budget < 0) return false;
  }
  return true;
}

Value* LaneEmitter::EmitDivergentIf(ir::IfOp op, Value* mask) {
  constexpr int kCheap = 12;
  Value* condition = f_.ValueOf(op.getCondition());
  Value* masks[] = {And(mask, condition), AndNot(mask, condition)};
  const bool leaves = shapes_.Leaves(op);
  llvm::SmallVector<Value*, 4> values[2];
  Value* ends[2];
  for (const int side : {0, 1}) {
    mlir::Block& block = side == 0 ? op.getThenBlock() : op.getElseBlock();
    int budget = kCheap;
    if (IsCheap(block, &budget)) {
      ends[side] = EmitBlock(block, masks[side], [&](ir::YieldOp yield, Value*) {
        for (mlir::Value v : yield.getValues()) values[side].push_back(VectorFor(v));
      });
      continue;
    }
    llvm::SmallVector<Variable, 4> results;
    for (mlir::Value result : op.getResults()) results.push_back(NewVariable(result));
    Variable ended = leaves ? NewMask(llvm::Constant::getNullValue(mask->getType())) : nullptr;
    BasicBlock* code = f_.NewBlock(side == 0 ? "then" : "else");
    BasicBlock* after = f_.NewBlock("after");
    b_.CreateCondBr(Any(masks[side]), code, after);
    b_.SetInsertPoint(code);
    Value* end = EmitBlock(block, masks[side], [&](ir::YieldOp yield, Value*) {
      for (auto [variable, value] : llvm::zip(results, yield.getValues())) {
        Set(variable, f_.ValueOf(value));
      }
    });
    if (end != nullptr && leaves) SetMask(ended, end);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    for (Variable v : results) values[side].push_back(Get(v));
    ends[side] = end == nullptr ? nullptr : leaves ? GetMask(ended) : masks[side];
  }
  for (size_t i = 0; i < op.getNumResults(); ++i) {
    // A side that leaves yields nothing.
    Value* yes = i < values[0].size() ? values[0][i] : nullptr;
    Value* no = i < values[1].size() ? values[1][i] : nullptr;
    f_.Map(op.getResult(i), yes == nullptr  ? no != nullptr
                                                  ? no
                                                  : llvm::Constant::getNullValue(VectorOf(LlvmType(
                                                       op.getResult(i).getType(), b_.getContext())))
                             : no == nullptr ? yes
                                            : Select(condition, yes, no));
  }
  if (!leaves) return mask;
  if (ends[0] == nullptr || ends[1] == nullptr) return ends[0] == nullptr ? ends[1] : ends[0];
  return b_.CreateOr(ends[0], ends[1]);
}

// The loop runs while any lane is live. Lanes that have left keep their results in variables of
// their own, so the others may change the variables of the loop.
//
//   header: the bounds end lanes, or the loop
//   body:   marks the lanes that go on
//   again:  back to the header, if there are such lanes
//   end
void LaneEmitter::EmitLoop(mlir::Operation* op, Value* mask) {
  StartKept(op);
  LoopCode code = StartLoop(op, mask);
  Value* live = EmitLoopHeader(code, mask);
  EmitLoopBody(code, live);
  EmitLoopEnd(code);
  const auto& results = code.plain ? code.loop.carried : code.loop.results;
  for (auto [result, variable] : llvm::zip(op->getResults(), results)) {
    f_.Map(result, Get(variable));
  }
}

// Makes the loop's variables and blocks.
LaneEmitter::LoopCode LaneEmitter::StartLoop(mlir::Operation* op, Value* mask) {
  LoopCode code;
  code.op = op;
  code.counted = llvm::dyn_cast<ir::ForOp>(op);
  ir::ForOp counted = code.counted;
  code.lower_varies = counted && Varies(counted.getLower());
  code.bounds_vary = code.lower_varies || (counted && Varies(counted.getUpper()));
  const LaneShapes::Ends& ends = shapes_.EndsOf(op);
  code.plain = ends.breaks.empty() && ends.continues.size() == 1 && !code.bounds_vary;
  code.arguments = counted ? counted.getCarried() : op->getRegion(0).front().getArguments();

  Loop& loop = code.loop;
  loop.blends = ends.continues.size() > 1;
  mlir::OperandRange inits = counted ? counted.getInits() : op->getOperands();
  for (auto [argument, init] : llvm::zip(code.arguments, inits)) {
    loop.carried.push_back(NewVariable(argument));
    Set(loop.carried.back(), f_.ValueOf(init));
  }
  if (!code.plain) {
    for (mlir::Value result : op->getResults()) loop.results.push_back(NewVariable(result));
    code.live = NewMask(mask);
    loop.next = NewMask(llvm::Constant::getNullValue(mask->getType()));
  }

  if (counted) {
    code.lower = f_.ValueOf(counted.getLower());
    code.upper = f_.ValueOf(counted.getUpper());
  }
  code.header = f_.NewBlock(counted ? "for" : "loop");
  code.body = f_.NewBlock("body");
  code.exit = f_.NewBlock("end");
  return code;
}

// Keeps the results of lanes that end now.
void LaneEmitter::LeaveLoop(const Loop& loop, Value* lanes) {
  for (auto [result, carried] : llvm::zip(loop.results, loop.carried)) {
    SetIn(lanes, result, Get(carried));
  }
}

// Returns the lanes that run the body, in which emission continues.
Value* LaneEmitter::EmitLoopHeader(LoopCode& code, Value* mask) {
  BasicBlock* before = b_.GetInsertBlock();
  b_.CreateBr(code.header);
  b_.SetInsertPoint(code.header);
  if (code.counted) {
    llvm::Type* type = LlvmType(code.counted.getIndex().getType(), b_.getContext());
    code.trip = b_.CreatePHI(type, 2);
    code.trip->addIncoming(code.lower_varies ? llvm::ConstantInt::get(type, 0) : code.lower,
                           before);
  }
  Value* live = code.plain ? mask : GetMask(code.live);
  if (code.bounds_vary) {
    live = EndLanesAtBounds(code, live);
  } else if (code.counted) {
    EndLoopAtBound(code, live);
  } else {
    b_.CreateBr(code.body);
  }
  b_.SetInsertPoint(code.body);
  return live;
}

// Bounds that differ between lanes: returns the lanes whose index is within them.
Value* LaneEmitter::EndLanesAtBounds(const LoopCode& code, Value* live) {
  ir::ForOp counted = code.counted;
  Value* index = Splat(code.trip);
  if (code.lower_varies) {
    index = b_.CreateAdd(code.lower, index);
    f_.Map(counted.getIndex(), index);
  } else {
    f_.Map(counted.getIndex(), code.trip);
    f_.indices().Define(counted.getIndex(), Leaf(code.trip));
  }
  Value* within = And(live, b_.CreateICmpSLT(index, Splat(code.upper)));
  LeaveLoop(code.loop, AndNot(live, within));
  SetMask(code.live, within);
  b_.CreateCondBr(Any(within), code.body, code.exit);
  return within;
}

// Bounds that all lanes share.
void LaneEmitter::EndLoopAtBound(const LoopCode& code, Value* live) {
  ir::ForOp counted = code.counted;
  BasicBlock* finished = code.plain ? code.exit : f_.NewBlock("finished");
  f_.Map(counted.getIndex(), code.trip);
  f_.indices().Define(counted.getIndex(), IndexBetween(code.trip, code.lower, code.upper));
  b_.CreateCondBr(b_.CreateICmpSLT(code.trip, code.upper), code.body, finished);
  if (code.plain) return;
  b_.SetInsertPoint(finished);
  LeaveLoop(code.loop, live);
  b_.CreateBr(code.exit);
}

void LaneEmitter::EmitLoopBody(const LoopCode& code, Value* live) {
  if (!code.counted && Looks(*code.op)) f_.EndIfFailed();
  for (auto [argument, variable] : llvm::zip(code.arguments, code.loop.carried)) {
    f_.Map(argument, Get(variable));
  }
  if (!code.plain) SetMask(code.loop.next, llvm::Constant::getNullValue(live->getType()));
  loops_.push_back(code.loop);
  EmitBlock(code.op->getRegion(0).front(), live, [](ir::YieldOp, Value*) {});
  loops_.pop_back();
  if (code.counted && Looks(*code.op)) f_.EndIfFailed();
}

// Back to the header, if lanes go on. Emission continues behind the loop.
void LaneEmitter::EmitLoopEnd(const LoopCode& code) {
  Value* next_trip = nullptr;
  if (code.trip != nullptr) {
    next_trip = b_.CreateNSWAdd(code.trip, llvm::ConstantInt::get(code.trip->getType(), 1));
  }
  if (!code.plain) {
    Value* next = GetMask(code.loop.next);
    SetMask(code.live, next);
    BasicBlock* again = f_.NewBlock("again");
    b_.CreateCondBr(Any(next), again, code.exit);
    b_.SetInsertPoint(again);
  }
  if (code.trip != nullptr) code.trip->addIncoming(next_trip, b_.GetInsertBlock());
  if (code.counted) {
    f_.BranchBack(code.header);
  } else {
    b_.CreateBr(code.header);  // BranchBack rules out that a loop has no end
  }
  b_.SetInsertPoint(code.exit);
}

void LaneEmitter::ForEachLane(Value* mask, llvm::function_ref<void(Value* lane)> body) {
  // Bits of an i32 or i64: counting their zeros is one instruction.
  llvm::Type* type = lanes_ <= 32 ? b_.getInt32Ty() : b_.getInt64Ty();
  Value* all = b_.CreateZExt(Bits(mask), type);
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* code = f_.NewBlock("lane");
  BasicBlock* done = f_.NewBlock("lanes_done");
  llvm::Value* zero = llvm::ConstantInt::get(type, 0);
  b_.CreateCondBr(b_.CreateICmpNE(all, zero), code, done);
  b_.SetInsertPoint(code);
  llvm::PHINode* left = b_.CreatePHI(type, 2);
  left->addIncoming(all, before);
  body(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue()));
  Value* next = b_.CreateAnd(left, b_.CreateSub(left, llvm::ConstantInt::get(type, 1)));
  left->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(next, zero), code, done);
  b_.SetInsertPoint(done);
}

void LaneEmitter::EmitOp(mlir::Operation& op, Value* mask) {
  llvm::TypeSwitch<mlir::Operation*>(&op)
      .Case<ir::ForOp, ir::LoopOp>([&](auto loop) { EmitLoop(loop, mask); })
      .Case([&](ir::GlobalOp o) {
        if (!f_.TreeFieldAt(o)) addresses_[o] = Global(o);
      })
      .Case([&](ir::ElementOp o) { addresses_[o] = Element(o); })
      .Case<ir::LocalOp>([&](auto o) {
        addresses_[o] = Local(MemoryType(o.getType().getPointee(), b_.getContext()), 1);
      })
      .Case([&](ir::LocalArrayOp o) {
        addresses_[o] = Local(MemoryType(o.getType().getPointee(), b_.getContext()), o.getCount());
      })
      .Case([&](ir::ComponentOp o) { addresses_[o] = Component(o); })
      .Case([&](ir::ZeroOp o) { Emit(o, mask); })
      .Case([&](ir::TemporaryOp o) {
        f_.EmitOp(op);
        const FunctionEmitter::Address address = f_.addresses_.lookup(o);
        addresses_[o].pointer = address.pointer;
        addresses_[o].memory = address.memory;
      })
      .Case([&](ir::LoadOp o) { Emit(o, mask); })
      .Case([&](ir::StoreOp o) {
        Store(addresses_.lookup(o.getAddress()), f_.ValueOf(o.getValue()), mask);
      })
      .Case([&](ir::AtomicOp o) { Emit(o, mask); })
      .Case([&](ir::RandomOp o) { f_.Map(o, Draw(LlvmType(o.getType(), b_.getContext()), mask)); })
      .Default([&](mlir::Operation*) {
        if (llvm::any_of(op.getResults(), [&](mlir::Value v) { return Varies(v); })) {
          EmitArithmetic(op, mask);
        } else {
          f_.EmitOp(op);
        }
      });
}

}  // namespace kiln
