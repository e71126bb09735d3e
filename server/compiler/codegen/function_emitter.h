// Emits ops into an LLVM function: those of a task or a part of it, or of a function of the kernel.
// Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_FUNCTION_EMITTER_H_
#define KILN_SERVER_COMPILER_CODEGEN_FUNCTION_EMITTER_H_

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "server/compiler/codegen/affine.h"
#include "server/compiler/codegen/alias_scopes.h"
#include "server/compiler/codegen/target.h"
#include "server/compiler/codegen/tree_effects.h"
#include "server/compiler/codegen/tree_walk.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"

namespace kiln {

// What all functions of a kernel share.
struct KernelState {
  KernelState(ir::KernelOp kernel, llvm::Module* module, const codegen::Target* target);

  llvm::Module* module;
  const codegen::Target* target;
  ir::KernelOp kernel;
  llvm::SmallVector<mlir::Attribute> storages;
  AliasScopes scopes;
  FunctionFacts facts;
  int64_t num_slots;        // of arguments: kernel's attribute `slots`, which the compiler sets
  bool deterministic;       // kernel's attribute of that name, which the compiler sets
  int64_t temporary_bytes;  // the kernel's, and those of TakeTemporaries
  bool has_effects = false;
  bool can_fail = false;
  bool draws = false;
  int64_t unrolled = 0;  // instructions of loops that were to be unrolled, about
  bool tapes = false;    // threads have tapes, on devices where the launch makes them
  // Where so many bytes begin among the launch's temporaries, at a multiple of 16.
  int64_t TakeTemporaries(int64_t bytes);
  // Of the task that is being emitted, among those that the runtime starts as one (Target::Joins).
  uint32_t part = 0;
  std::string unsupported;  // name of the first op without an emission

  // A function of the kernel (kiln.function). There may be two: one whose atomics are atomic, for
  // callers that other threads run at the same time (`parallel`), and one for callers that run
  // alone. Declared at the first call, emitted later (EmitFunctions).
  struct Function {
    ir::FunctionOp op;
    bool parallel;
    llvm::Function* code;
  };
  // Null: the kernel has no function of the number that the call names.
  llvm::Function* FunctionFor(ir::CallOp call, bool parallel);
  std::vector<ir::FunctionOp> functions;  // by number
  std::map<std::pair<uint64_t, bool>, llvm::Function*> made;
  std::vector<Function> pending;
};

// Emits the functions that emitted code calls, and those that they call. functions.cc.
void EmitFunctions(KernelState* state);

class FunctionEmitter {
 public:
  // `function` is empty, and its first parameter leads to what the launch passes. `parallel`: other
  // threads run the same task, so atomics have to be atomic. A kiln.return ends the function with
  // its operands as results.
  FunctionEmitter(KernelState* state, llvm::Function* function, bool parallel);

  llvm::IRBuilder<>& builder() { return b_; }
  KernelState& state() { return *state_; }
  llvm::Module* module() const { return state_->module; }
  // The pointer to what the launch passes. Each function of the kernel passes it to the next.
  llvm::Value* launch() const { return function_->getArg(0); }
  AffineReader& indices() { return indices_; }
  TreeWalker& trees() { return trees_; }
  // States that a value of the kernel is `to` in the code.
  void Map(mlir::Value value, llvm::Value* to) { values_[value] = to; }
  // The same of an address that the caller of the function passes: it may be of any memory.
  void MapAddress(mlir::Value address, llvm::Value* to) { addresses_[address] = {to, kUnknown}; }
  llvm::Value* ValueOf(mlir::Value value) const { return values_.lookup(value); }
  // Where returns and failures branch to: it has a phi for each result, and the `ret`.
  llvm::BasicBlock* return_block() const { return return_block_; }
  // Random numbers come from the stream that the function's caller passes.
  void set_random(llvm::Value* stream) { random_ = stream; }
  // Makes a stream if `body`, of task number `task`, draws random numbers. Each iteration then
  // calls StartRandom with its index.
  void DrawFor(int task, mlir::Region& body);
  bool draws() const { return random_ != nullptr; }
  void StartRandom(llvm::Value* index);
  // The number of the iteration, by the last StartRandom; null in functions, and before.
  llvm::Value* iteration() const { return iteration_; }
  // Another number by which the client sorts what the iteration prints.
  void set_iteration(llvm::Value* number) { iteration_ = number; }
  // Emits an i1: no other thread runs atomics beside this task. Where that holds, the task's
  // atomics are plain; the functions that it calls do not ask.
  using RunsAlone = llvm::Value* (*)(FunctionEmitter& f);
  void set_runs_alone(RunsAlone runs_alone) { runs_alone_ = runs_alone; }
  // Plain updates are not merged with those of neighbouring memory.
  void set_keeps_updates_apart() { keeps_updates_apart_ = true; }
  // Loads and stores are in LLVM's access group `group` from now on.
  void set_access_group(llvm::MDNode* group) { access_group_ = group; }
  // Elements of ndarrays at constant distances have addresses, from now on, that are one address
  // and the distances, which LLVM computes once. That costs registers.
  void set_shares_addresses(bool shares) { shares_addresses_ = shares; }
  // The block that each iteration of the task runs: its ops happen in each, up to the first that
  // may leave it.
  void set_task_body(mlir::Block* body);

  // Emits the address with the indices that are mapped now.
  llvm::Value* PointerTo(ir::GlobalOp op) { return Global(op).pointer; }
  // Emits a read with the indices that are mapped now, and returns its value.
  llvm::Value* LoadNow(ir::LoadOp op);
  // States where the op, in code that is emitted later, finds what it reads.
  void ReadFrom(ir::LoadOp op, llvm::Value* pointer) { sources_[op] = pointer; }
  // States what the op has read already, for code that is emitted later; null: it has to read.
  void Give(ir::LoadOp op, llvm::Value* value) { given_[op] = value; }
  // A copy of `bytes` of memory from `base` on. `is_used`: an i1.
  struct Copy {
    llvm::Value* is_used;
    llvm::Value* base;
    llvm::Value* memory;
    llvm::Value* bytes;
  };
  // The op, in code that is emitted later, updates the copy. Where the copy is not used, and
  // outside of its bytes, it updates what it names.
  void UpdateCopy(ir::AtomicOp op, const Copy& copy) { copies_[op] = copy; }
  // The op, in code that is emitted later, updates the scalar at `pointer`, and stores a 1 to the
  // byte at `mark`.
  void UpdateAt(ir::AtomicOp op, llvm::Value* pointer, llvm::Value* mark) {
    marked_[op] = {pointer, mark};
  }
  // Emits an atomic of `kind` with the op's address, for the indices that are mapped now.
  void AtomicNow(ir::AtomicOp op, ir::AtomicKind kind, llvm::Value* value);
  // Emits the ops of a block. A kiln.yield at its end is the caller's to emit, and returned. Other
  // terminators leave the block for a known place, and are emitted.
  ir::YieldOp EmitBlock(mlir::Block& block) { return EmitOps({block.begin(), block.end()}); }
  // The same of a part of a block.
  ir::YieldOp EmitOps(llvm::iterator_range<mlir::Block::iterator> ops);

  // Where continue and break lead, in blocks that are emitted between PushLoop and PopLoop.
  struct Loop {
    llvm::BasicBlock* next;
    llvm::SmallVector<llvm::PHINode*, 4> next_values;
    llvm::BasicBlock* exit;
    llvm::SmallVector<llvm::PHINode*, 4> exit_values;
  };
  void PushLoop(Loop loop) {
    loops_.push_back(std::move(loop));
    trees_.PushScope();
  }
  void PopLoop() {
    loops_.pop_back();
    trees_.PopScope();
  }
  llvm::BasicBlock* NewBlock(const char* name);
  // A phi for each type, in `block`, without incoming values.
  llvm::SmallVector<llvm::PHINode*, 4> Phis(llvm::BasicBlock* block, mlir::TypeRange types);
  void BranchTo(llvm::BasicBlock* block, llvm::ArrayRef<llvm::PHINode*> phis,
                llvm::ArrayRef<llvm::Value*> values);
  llvm::SmallVector<llvm::Value*, 4> ValuesOf(mlir::ValueRange values) const;
  enum class Vectorise {
    kAsLlvmSees,
    // LLVM must not unroll the loop before it has tried to vectorise it. Otherwise rows of few
    // cells are unrolled, and LLVM vectorises the loop around them, whose accesses have strides.
    kFirst,
    // Not across iterations.
    kBySlp,
    // Few iterations: neither vectorised nor unrolled.
    kNever,
    // The vectors that it stores go past the caches (codegen::kStreamLoop).
    kStream,
  };
  // Branches from a loop's latch to its header, and tells LLVM that the loop ends some time.
  // `together`: how many iterations it unrolls; 0: as many as it chooses. `independent`: accesses
  // of the access group do not depend on other iterations.
  void BranchBack(llvm::BasicBlock* header, Vectorise vectorise = Vectorise::kAsLlvmSees,
                  uint32_t together = 0, bool independent = false);
  // Emits a test that ends the function if the launch has failed.
  void EndIfFailed();
  // Branches to the return block.
  void Finish();

  // What the launch passes in a slot of the arguments. Loaded once, in the entry block.
  llvm::Value* Argument(int64_t slot, llvm::Type* type);
  // The pointer that the emitted code of an address outside of trees last gave.
  llvm::Value* PointerOf(mlir::Value address) const { return addresses_.lookup(address).pointer; }
  // The pointer at base + offset, which does not change while the function runs: it is loaded once,
  // in the entry block.
  llvm::Value* EntryLoad(llvm::Value* base, int64_t offset);
  // base + offset, in the entry block.
  llvm::Value* EntryAddress(llvm::Value* base, int64_t offset) {
    return entry_builder_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset);
  }
  // A pointer that the launch passes.
  llvm::Value* FromLaunch(codegen::LaunchField field) {
    return state_->target->LaunchFieldIn(*this, field);
  }
  // Memory of the calling thread for `count` values.
  llvm::Value* Alloca(llvm::Type* type, int64_t count);
  // The value that an atomic of `kind` stores where x is.
  llvm::Value* Combine(ir::AtomicKind kind, llvm::Value* x, llvm::Value* y);
  // Tags an access to containers or lists of trees.
  void TagTables(llvm::Instruction* access) { state_->scopes.Tag(access, AliasScopes::kTables); }

 private:
  friend class LaneEmitter;
  friend class TreeWalker;
  struct Address {
    llvm::Value* pointer;
    int memory;  // of AliasScopes, or one of the following, which have no scope
  };
  static constexpr int kLocal = INT32_MIN;        // LLVM sees by itself what an alloca overlaps
  static constexpr int kAnyBase = INT32_MIN + 1;  // one of several memories of a storage
  static constexpr int kUnknown = INT32_MIN + 2;  // any memory

  void EmitOp(mlir::Operation& op);
  void EmitArithmetic(mlir::Operation& op);
  llvm::Type* TypeOf(mlir::Value value);
  void Emit(ir::IfOp op);
  void Emit(ir::InsideOp op);
  void Emit(ir::ForOp op);
  void Emit(ir::LoopOp op);
  void Emit(ir::PrintOp op);
  void Emit(ir::AssertOp op);
  void Emit(ir::RandomOp op);
  void Emit(ir::SimtOp op);
  void EmitReport(mlir::Operation& op, int64_t node, mlir::ValueRange values,
                  std::optional<llvm::ArrayRef<int64_t>> counts, codegen::Report report);
  void CopyToSlots(mlir::Value array, int64_t count, llvm::Value* slots);
  // Ends the block: the launch has failed, so the function returns zeros.
  void ReturnZeros();

  // functions.cc
  void MakeReturnBlock();
  void Emit(ir::CallOp op);

  // memory.cc
  void Emit(ir::GlobalOp op);
  void Emit(ir::ComponentOp op);
  void Emit(ir::ElementOp op);
  void Emit(ir::AddressOfOp op);
  void Emit(ir::LocalOp op);
  void Emit(ir::LocalArrayOp op);
  void Emit(ir::SharedArrayOp op);
  void Emit(ir::TemporaryOp op);
  // Of so many records.
  llvm::Value* TapeBytes(mlir::Value count, int64_t bytes);
  void Emit(ir::TapePushOp op);
  void Emit(ir::TapeTopOp op);
  void Emit(ir::TapePopOp op);
  void Emit(ir::TapeSlotOp op);
  void Emit(ir::LoadOp op);
  void Emit(ir::StoreOp op);
  void Emit(ir::ZeroOp op);
  void Emit(ir::ArgumentOp op);
  void Emit(ir::ResultOp op);
  void Emit(ir::ExtentOp op);
  void Emit(ir::OuterExtentOp op);
  llvm::Value* ArgumentAt(int64_t slot, mlir::Value index, llvm::Type* type);
  llvm::Value* AxisExtent(int64_t storage, int64_t axis);
  Address Global(ir::GlobalOp op);
  // The field in a tree that an address is of; null: it is of other memory.
  ir::TreeFieldAttr TreeFieldAt(mlir::Value address);
  // The address, as `user` accesses it. In trees this emits the walk to the cell.
  Address AddressFor(mlir::Value address, mlir::Operation* user);
  Address TreeAddress(ir::TreeFieldAttr field, mlir::Value address, TreeWalker::Access access,
                      bool certain);
  Address TreeComponent(ir::TreeFieldAttr field, ir::ComponentOp op, TreeWalker::Access access,
                        bool certain);
  bool IsCertain(mlir::Operation* op) const;
  Address DenseAddress(int storage, ir::DenseAttr dense, ir::GlobalOp op);
  Address NdarrayAddress(int storage, ir::NdarrayAttr array, ir::GlobalOp op);
  llvm::Value* SharedAddress(ir::NdarrayAttr array, ir::GlobalOp op);
  Address Component(ir::ComponentOp op);
  llvm::Value* ComponentBase(ir::DenseAttr dense, int64_t first, int64_t count, llvm::Value* index);
  llvm::Value* Lookup(llvm::ArrayRef<uint64_t> values, llvm::Value* index);
  llvm::Value* Slot(llvm::Value* slots, int64_t slot, mlir::Value index);
  Affine DenseOffset(ir::DenseAttr dense, int base, int64_t constant, mlir::ValueRange indices);
  llvm::Value* DenseCell(ir::DenseAttr dense, int base, int64_t constant, mlir::ValueRange indices,
                         llvm::Value* pointer);
  llvm::Value* NdarrayCell(int storage, ir::NdarrayAttr array, mlir::ValueRange indices);
  llvm::Value* NdarrayCells(ir::NdarrayAttr array);
  Address Element(ir::ElementOp op, Address array);
  void Tag(const Address& address, llvm::Instruction* access);
  llvm::Value* Load(const Address& address, mlir::Type type);
  llvm::Value* Load(ir::LoadOp op);
  llvm::StoreInst* Store(const Address& address, llvm::Value* value);

  // atomics.cc
  void Emit(ir::AtomicOp op);
  void Emit(ir::UpdateOp op);
  llvm::Value* Atomic(ir::AtomicOp op);
  llvm::Value* AreApart(ir::AtomicOp op);
  llvm::Value* PlainUpdate(const Address& address, ir::AtomicOp op, llvm::Value* value);
  llvm::Value* AtomicUpdate(const Address& address, ir::AtomicKind kind, llvm::Value* value);
  void UpdateCopyOr(const Address& address, ir::AtomicOp op, llvm::Value* value, const Copy& copy);
  // The atomic that is emitted together with `op`, in its own place (passes/pair_atomics.cc).
  ir::AtomicOp OtherHalf(ir::AtomicOp op) const;
  void AtomicPair(ir::AtomicOp first, ir::AtomicOp second);
  llvm::Value* ExchangeLoop(const Address& address, llvm::Type* word,
                            llvm::function_ref<llvm::Value*(llvm::Value*)> combine);
  llvm::Value* CompareExchangeLoop(const Address& address, ir::AtomicKind kind, llvm::Value* y);

  KernelState* state_;
  llvm::Function* function_;
  bool parallel_;
  llvm::BasicBlock* entry_;
  llvm::BasicBlock* return_block_;
  llvm::SmallVector<llvm::PHINode*, 4> return_values_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> entry_builder_;  // of the entry block: loads that serve the whole function
  llvm::Value* random_ = nullptr;    // null: the code does not draw
  llvm::Value* iteration_ = nullptr;
  int task_ = 0;
  RunsAlone runs_alone_ = nullptr;  // null: whether others run is known from `parallel_`
  bool keeps_updates_apart_ = false;
  llvm::MDNode* access_group_ = nullptr;
  bool shares_addresses_ = false;
  llvm::DenseMap<mlir::Value, llvm::Value*> values_;
  llvm::DenseMap<mlir::Value, Address> addresses_;
  llvm::DenseMap<mlir::Operation*, llvm::Value*> sources_;  // of reads: pointers (ReadFrom)
  llvm::DenseMap<mlir::Operation*, llvm::Value*> given_;    // what reads have read (Give)
  llvm::DenseMap<mlir::Operation*, Copy> copies_;           // of atomics (UpdateCopy)
  // Of atomics (UpdateAt).
  llvm::DenseMap<mlir::Operation*, std::pair<llvm::Value*, llvm::Value*>> marked_;
  llvm::DenseMap<std::pair<int64_t, llvm::Type*>, llvm::Value*> arguments_;
  AffineReader indices_;
  TreeWalker trees_;
  mlir::Block* task_body_ = nullptr;
  mlir::Operation* first_exit_ = nullptr;  // in task_body_; null: none but its end
  llvm::DenseMap<std::pair<llvm::Value*, int64_t>, llvm::Value*> entry_loads_;
  // By an atomic: the one before it, which is emitted together with it (OtherHalf).
  llvm::DenseMap<mlir::Operation*, ir::AtomicOp> waiting_;
  std::vector<Loop> loops_;
};

// A scalar as the low bytes of an 8-byte slot.
llvm::Value* ToSlot(llvm::IRBuilder<>& b, llvm::Value* scalar);
// The type of a scalar in memory: a u1 takes a byte.
llvm::Type* MemoryType(mlir::Type type, llvm::LLVMContext& context);
int64_t Bytes(mlir::Type type);
// The load reads the same whenever it runs.
void MarkInvariant(llvm::LoadInst* load);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_FUNCTION_EMITTER_H_
