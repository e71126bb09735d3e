// Emits the body of a range task for several iterations at once (SPMD on SIMD). Each *lane* of the
// vectors is one iteration, and lanes are consecutive along the innermost dimension.
//
//   values    uniform ones are scalars, the others vectors with an element for each lane
//   masks     a vector of i1 says which lanes run the code at hand. At the end of a row it lacks
//             the lanes beyond, so that there is no scalar code for what is left. Unless a body is
//             large, the vectors before have code of their own, whose mask is a constant
//   branches  if the condition varies: both sides run, each under its part of the mask, and is
//             skipped if that is empty. Short pure sides run without a test
//   loops     run while any lane is live. break and continue take lanes out of the mask
//
// Code under a mask, except short pure code, runs only if at least one lane is in it. So uniform
// operations may trap and read memory as in scalar code. In lanes outside of the mask, values are
// arbitrary, and may be poison. Masks are therefore combined by select, divisors are 1 there, and
// loads and stores leave these lanes out.
//
// Each lane computes exactly what the scalar code computes, wherever the lane is in a vector.
// Results therefore do not depend on how the runtime cuts a loop.
//
// Local variables of the code that is made (masks, what loops carry) are allocas, which LLVM turns
// into phis.
//
// Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_LANE_EMITTER_H_
#define KILN_SERVER_COMPILER_CODEGEN_LANE_EMITTER_H_

#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/dialect/lane_shapes.h"

namespace kiln {

class LaneEmitter {
 public:
  using Values = llvm::SmallVector<llvm::Value*, 4>;

  // For a task that the pass `lanes` chose.
  LaneEmitter(FunctionEmitter& f, ir::RangeTaskOp task, int64_t lanes);

  // In how many lanes such a task runs best: those of a vector of 4-byte elements, or of several
  // vectors whose operations overlap. `long_rows`: rows are known to have many iterations.
  static int64_t LanesFor(ir::RangeTaskOp task, const codegen::Target::Lanes& target,
                          bool long_rows);

  // Beyond so many lanes, code for each of them is long. The last ones of rows then run in so many,
  // with the same functions of vectors, which are for fewer.
  static int64_t Many(const codegen::Target::Lanes& target) { return 2 * target.count; }

  int64_t lanes() const { return lanes_; }
  // Partial results before the first row, for each lane.
  Values InitialValues();
  // The iterations `from` to `to` of the innermost dimension, in its index. `number` is that of
  // iteration `from` among all. Takes and returns partial results of the lanes.
  Values EmitRow(llvm::Value* from, llvm::Value* to, llvm::Value* number,
                 const Values& accumulators);
  // Those of the lanes combined.
  Values Combine(const Values& accumulators);

 private:
  // Memory that lanes access.
  struct Address {
    llvm::Value* pointer = nullptr;  // of the first lane
    int64_t stride = 0;              // bytes from lane to lane
    llvm::Value* offsets = nullptr;  // bytes to add in each lane; null: zeros
    int memory = 0;                  // FunctionEmitter::Address
    int64_t scale = 1;               // elements of an array are so many elements apart
  };
  // An index, or a distance in bytes: scalar + lane * stride + vector.
  struct Linear {
    llvm::Value* scalar = nullptr;
    int64_t stride = 0;
    llvm::Value* vector = nullptr;
  };
  // A variable of the code that is made: null if it is not needed.
  using Variable = llvm::AllocaInst*;
  // Loads of one block that the pass marked as kept. Each lane reads their cells when it first runs
  // the block in the loop.
  struct Kept {
    llvm::SmallVector<ir::LoadOp, 4> loads;
    Variable lanes = nullptr;  // mask: those that have read
  };
  // A loop that is being emitted, or the task's body.
  struct Loop {
    bool blends = false;                     // lanes that ended the iteration keep what they carry
    bool leaves = false;                     // some lanes may end an iteration before others
    llvm::SmallVector<Variable, 4> carried;  // what the next iteration takes
    llvm::SmallVector<Variable, 4> results;  // of lanes that left; empty: those of `carried`
    Variable next = nullptr;                 // mask: lanes that go on with the next iteration
  };
  // The code of a loop, while it is being emitted.
  struct LoopCode {
    mlir::Operation* op;
    ir::ForOp counted;  // null: the loop has no bounds
    bool plain;         // iterations end at the end of the body alone, in all lanes at once
    bool bounds_vary;   // between lanes
    bool lower_varies;  // then `trip` counts from 0; otherwise it is the index
    Loop loop;
    mlir::Block::BlockArgListType arguments;  // of the body, carried
    Variable live = nullptr;                  // mask: lanes that are in the loop; null if plain
    llvm::Value *lower = nullptr, *upper = nullptr;
    llvm::PHINode* trip = nullptr;
    llvm::BasicBlock *header, *body, *exit;
  };

  llvm::Type* VectorOf(llvm::Type* element) const;
  llvm::Value* Splat(llvm::Value* scalar);
  llvm::Constant* Ramp(llvm::Type* type, uint64_t step = 1) const;
  llvm::Value* VectorFor(mlir::Value value);
  bool Varies(mlir::Value value) const { return shapes_.Varies(value); }

  void EmitVectors(llvm::Value* from, llvm::Value* to, llvm::Value* first_of_row,
                   llvm::Value* number, bool whole);

  // Masks.
  static bool IsWhole(llvm::Value* mask);
  llvm::Value* And(llvm::Value* mask, llvm::Value* condition);
  llvm::Value* AndNot(llvm::Value* mask, llvm::Value* condition);
  llvm::Value* Bits(llvm::Value* mask);
  llvm::Value* Any(llvm::Value* mask);
  llvm::Value* All(llvm::Value* mask);
  llvm::Value* Select(llvm::Value* mask, llvm::Value* yes, llvm::Value* no);
  Variable NewMask(llvm::Value* start);
  llvm::Value* GetMask(Variable mask);
  void SetMask(Variable mask, llvm::Value* value);

  // Variables of the type of a value.
  Variable NewVariable(mlir::Value like);
  llvm::Value* Get(Variable variable) {
    return b_.CreateLoad(variable->getAllocatedType(), variable);
  }
  void Set(Variable variable, llvm::Value* value);
  void SetIn(llvm::Value* mask, Variable variable, llvm::Value* value);

  // Control, lane_emitter.cc. These return the lanes that reach the end of the code; null: none.
  using AtYield = llvm::function_ref<void(ir::YieldOp yield, llvm::Value* mask)>;
  llvm::Value* EmitFrom(mlir::Operation* op, llvm::Value* mask, AtYield at_yield);
  llvm::Value* EmitBlock(mlir::Block& block, llvm::Value* mask, AtYield at_yield) {
    return EmitFrom(&block.front(), mask, at_yield);
  }
  llvm::Value* EmitIf(ir::IfOp op, llvm::Value* mask);
  llvm::Value* EmitUniformIf(ir::IfOp op, llvm::Value* mask);
  llvm::Value* EmitDivergentIf(ir::IfOp op, llvm::Value* mask);
  bool IsCheap(mlir::Block& block, int* budget) const;
  void EmitEnd(ir::ContinueOp op, llvm::Value* mask);
  void EmitEnd(ir::BreakOp op, llvm::Value* mask);
  void EmitLoop(mlir::Operation* op, llvm::Value* mask);
  LoopCode StartLoop(mlir::Operation* op, llvm::Value* mask);
  void LeaveLoop(const Loop& loop, llvm::Value* lanes);
  llvm::Value* EmitLoopHeader(LoopCode& code, llvm::Value* mask);
  llvm::Value* EndLanesAtBounds(const LoopCode& code, llvm::Value* live);
  void EndLoopAtBound(const LoopCode& code, llvm::Value* live);
  void EmitLoopBody(const LoopCode& code, llvm::Value* live);
  void EmitLoopEnd(const LoopCode& code);
  void EmitOp(mlir::Operation& op, llvm::Value* mask);
  // Runs `body` for each lane of the mask, with the lane's number.
  void ForEachLane(llvm::Value* mask, llvm::function_ref<void(llvm::Value* lane)> body);

  // Operations, lane_ops.cc.
  void EmitArithmetic(mlir::Operation& op, llvm::Value* mask);
  llvm::Value* CallVector(mlir::Operation& op, llvm::ArrayRef<llvm::Value*> operands,
                          llvm::Value* mask);
  void EmitInEachLane(mlir::Operation& op, llvm::Value* mask);
  void StartRandom(llvm::Value* number);
  llvm::Value* Draw(llvm::Type* type, llvm::Value* mask);
  void Emit(ir::AtomicOp op, llvm::Value* mask);
  void Reduced(ir::AtomicOp op, llvm::Value* mask);
  llvm::Value* ReduceVector(ir::AtomicKind kind, llvm::Value* vector);

  // Memory, lane_memory.cc.
  Linear Split(const Affine& affine);
  void Multiply(Linear* linear, llvm::Value* factor);
  llvm::Value* AsVector(const Linear& linear);
  Address At(const Linear& bytes, llvm::Value* pointer, int memory);
  Address Global(ir::GlobalOp op);
  Linear NdarrayCell(int storage, ir::NdarrayAttr array, mlir::ValueRange indices);
  Address Component(ir::ComponentOp op);
  Address Element(ir::ElementOp op);
  Address Local(llvm::Type* element, int64_t count);
  llvm::Value* Offsets(const Address& address);
  llvm::Value* Pointers(const Address& address);
  llvm::Value* PointerOf(const Address& address, llvm::Value* lane);
  llvm::Value* Load(const Address& address, mlir::Type type, llvm::Value* mask);
  void Store(const Address& address, llvm::Value* value, llvm::Value* mask);
  void Emit(ir::LoadOp op, llvm::Value* mask);
  void Emit(ir::ZeroOp op, llvm::Value* mask);
  void StartKept(mlir::Operation* loop);
  void ReadKept(const Kept& kept, llvm::Value* mask);
  llvm::Value* LoadConsecutive(const Address& address, llvm::Type* type, llvm::Value* mask);
  llvm::Value* Gather(const Address& address, llvm::Type* type, llvm::Value* mask);
  void Scatter(const Address& address, llvm::Value* value, llvm::Value* mask);
  void Tag(const Address& address, llvm::Instruction* access);

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  const int64_t lanes_;
  const LaneShapes shapes_;
  llvm::DenseMap<mlir::Value, Address> addresses_;
  std::vector<Loop> loops_;
  llvm::DenseMap<mlir::Operation*, Kept> kept_;  // by the first load of each
  llvm::DenseMap<mlir::Operation*, Variable> kept_values_;
  llvm::Value* first_ = nullptr;     // the innermost index of lane 0, an i64
  llvm::Value* row_mask_ = nullptr;  // lanes within the row
  Variable counters_ = nullptr;      // of the random streams; null: the task draws none
  llvm::Value* random_key_ = nullptr;
  llvm::Value* nowhere_ = nullptr;  // where lanes outside of a mask read
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_LANE_EMITTER_H_
