// Emits the ops of one task, of its bounds, or of a function of the kernel, into an
// LLVM function. Private to this directory.
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
#include "server/compiler/codegen/target.h"
#include "server/compiler/codegen/tree_effects.h"
#include "server/compiler/codegen/tree_walk.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"

namespace kiln {

// Alias scopes of the memories that a kernel reaches: one for each base of each
// storage, in trees for each node with components of it (shared by storages that may
// overlap), and one each for what the runtime passes and for what leads to the cells of
// trees.
class AliasScopes {
 public:
  AliasScopes(llvm::ArrayRef<mlir::Attribute> storages, llvm::LLVMContext& context);

  // Memory kinds that are no storage.
  enum Other { kTemporaries = -1, kResults = -2, kTables = -3 };
  void Tag(llvm::Instruction* access, int memory) const;
  int OfBase(int storage, int base) const { return storages_[storage][base]; }
  // Of a storage in a tree; by component.
  int OfComponent(int storage, int component) const { return storages_[storage][component]; }

 private:
  struct Tags {
    llvm::MDNode* scope;
    llvm::MDNode* noalias;
  };
  std::vector<std::vector<int>> storages_;
  std::vector<Tags> tags_;
  int num_other_ = 3;
};

// What all functions of a kernel share.
struct KernelState {
  KernelState(ir::KernelOp kernel, llvm::Module* module, const codegen::Target* target);

  llvm::Module* module;
  const codegen::Target* target;
  ir::KernelOp kernel;
  llvm::SmallVector<mlir::Attribute> storages;
  AliasScopes scopes;
  FunctionFacts facts;
  bool has_effects = false;
  bool can_fail = false;
  bool draws = false;
  std::string unsupported;  // name of the first op without an emission

  // A function of the kernel, in code that others run at the same time (atomics are
  // atomic) or that runs alone; made when it is first called, emitted later.
  struct Function {
    ir::FunctionOp op;
    bool parallel;
    llvm::Function* code;
  };
  llvm::Function* FunctionFor(ir::CallOp call, bool parallel);
  std::vector<ir::FunctionOp> functions;  // by number
  std::map<std::pair<uint64_t, bool>, llvm::Function*> made;
  std::vector<Function> pending;
};

// Emits the functions that are called from what was emitted. functions.cc.
void EmitFunctions(KernelState* state);

class FunctionEmitter {
 public:
  // `function` takes the launch's pointer first. `parallel`: others run the same task. Returns
  // hand the function's results on, if its type has any.
  FunctionEmitter(KernelState* state, llvm::Function* function, bool parallel);

  llvm::IRBuilder<>& builder() { return b_; }
  llvm::Module* module() const { return state_->module; }
  // What all functions of the kernel hand on: the pointer to what the launch passes.
  llvm::Value* launch() const { return function_->getArg(0); }
  AffineReader& indices() { return indices_; }
  TreeWalker& trees() { return trees_; }
  void Map(mlir::Value value, llvm::Value* to) { values_[value] = to; }
  // An address of a function's caller: nothing is known of the memory.
  void MapAddress(mlir::Value address, llvm::Value* to) { addresses_[address] = {to, kUnknown}; }
  llvm::Value* ValueOf(mlir::Value value) const { return values_.lookup(value); }
  // Where return and failures go; holds results and `ret`.
  llvm::BasicBlock* return_block() const { return return_block_; }
  // The stream that the function draws from, of its caller's: a KilnRandom.
  void set_random(llvm::Value* stream) { random_ = stream; }
  // The code is task number `task`: where it draws, each iteration calls StartRandom with its
  // index.
  void DrawFor(int task, mlir::Region& body);
  bool draws() const { return random_ != nullptr; }
  // Emits an i1: no other thread runs atomics beside this task. Where that holds, the task's
  // atomics are plain; the functions that it calls do not ask.
  using RunsAlone = llvm::Value* (*)(FunctionEmitter& f);
  void set_runs_alone(RunsAlone runs_alone) { runs_alone_ = runs_alone; }
  void StartRandom(llvm::Value* index);
  // The block whose iterations are the task's: what stands in it runs in each of them, as
  // far as nothing before leaves.
  void set_task_body(mlir::Block* body);

  // The ops of a block up to its terminator. A kiln.yield is returned, others are
  // emitted: they leave the block.
  ir::YieldOp EmitBlock(mlir::Block& block);

  // What continue and break in the blocks emitted meanwhile lead to.
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
  // A phi for each value, in `block`; incoming values come later.
  llvm::SmallVector<llvm::PHINode*, 4> Phis(llvm::BasicBlock* block, mlir::TypeRange types);
  void BranchTo(llvm::BasicBlock* block, llvm::ArrayRef<llvm::PHINode*> phis,
                llvm::ArrayRef<llvm::Value*> values);
  llvm::SmallVector<llvm::Value*, 4> ValuesOf(mlir::ValueRange values) const;
  // Ends the loop's latch, telling LLVM that the loop ends. `vectorise`: and that it is to
  // look at the loop as it is before unrolling it. Rows of few cells would be gone by then,
  // and the loop around them, whose accesses are strided, be taken in their place.
  void BranchBack(llvm::BasicBlock* header, bool vectorise = false);
  // Ends the function where the launch has failed meanwhile.
  void EndIfFailed();
  // Ends the function: entry runs into the code, the code into the return block.
  void Finish();

  // A pointer of the runtime's that lies at base + offset; loaded once a function.
  llvm::Value* EntryLoad(llvm::Value* base, int64_t offset);
  // A pointer that the launch passes; loaded once a function.
  llvm::Value* FromLaunch(codegen::LaunchField field) {
    return state_->target->LaunchFieldIn(*this, field);
  }
  // Memory of the calling thread for `count` values.
  llvm::Value* Alloca(llvm::Type* type, int64_t count);
  // An access to what leads to cells.
  void TagTables(llvm::Instruction* access) { state_->scopes.Tag(access, AliasScopes::kTables); }

 private:
  friend class TreeWalker;
  struct Address {
    llvm::Value* pointer;
    int memory;  // AliasScopes, or one of these, which have no tags
  };
  static constexpr int kLocal = INT32_MIN;  // LLVM knows enough of allocas
  static constexpr int kAnyBase = INT32_MIN + 1;
  static constexpr int kUnknown = INT32_MIN + 2;  // the caller's, or shared

  void EmitOp(mlir::Operation& op);
  void EmitIf(ir::IfOp op);
  void EmitFor(ir::ForOp op);
  void EmitLoop(ir::LoopOp op);
  void EmitReport(mlir::Operation& op, int64_t node, mlir::ValueRange values,
                  std::optional<llvm::ArrayRef<int64_t>> counts, codegen::Report report);
  void CopyToSlots(mlir::Value array, int64_t count, llvm::Value* slots);
  void EmitAssert(ir::AssertOp op);
  // Ends the block: the function returns zeros because something failed.
  void ReturnZeros();

  // functions.cc
  void MakeReturnBlock();
  void EmitCall(ir::CallOp op);

  // memory.cc
  llvm::Value* Argument(int64_t slot, llvm::Type* type);
  llvm::Value* ArgumentAt(int64_t slot, mlir::Value index, llvm::Type* type);
  llvm::Value* AxisExtent(int64_t storage, int64_t axis);
  Address Global(ir::GlobalOp op);
  // The field of a tree that an address leads into; null: it leads elsewhere.
  ir::TreeFieldAttr TreeFieldAt(mlir::Value address);
  // The address that `user` accesses. Those in trees are found where they are used.
  Address AddressFor(mlir::Value address, mlir::Operation* user);
  Address TreeAddress(ir::TreeFieldAttr field, mlir::Value address, TreeWalker::Access access,
                      bool certain);
  Address TreeComponent(ir::TreeFieldAttr field, ir::ComponentOp op, TreeWalker::Access access,
                        bool certain);
  bool IsCertain(mlir::Operation* op) const;
  Address DenseAddress(int storage, ir::DenseAttr dense, ir::GlobalOp op);
  Address NdarrayAddress(int storage, ir::NdarrayAttr array, ir::GlobalOp op);
  Address Component(ir::ComponentOp op);
  llvm::Value* Slot(llvm::Value* slots, int64_t slot, mlir::Value index);
  llvm::Value* DenseCell(ir::DenseAttr dense, int base, int64_t constant, mlir::ValueRange indices,
                         llvm::Value* pointer);
  llvm::Value* NdarrayCell(int storage, ir::NdarrayAttr array, mlir::ValueRange indices);
  llvm::Value* NdarrayCells(ir::NdarrayAttr array);
  Address Element(ir::ElementOp op, Address array);
  void Tag(const Address& address, llvm::Instruction* access);
  llvm::Value* Load(const Address& address, mlir::Type type);
  llvm::Value* Load(ir::LoadOp op);
  void Store(const Address& address, llvm::Value* value);
  void Zero(ir::ZeroOp op);

  // atomics.cc
  llvm::Value* Atomic(ir::AtomicOp op);
  llvm::Value* PlainUpdate(const Address& address, ir::AtomicOp op, llvm::Value* value);
  llvm::Value* AtomicUpdate(const Address& address, ir::AtomicOp op, llvm::Value* value);
  llvm::Value* Update(ir::UpdateOp op);
  // The atomic that is emitted together with `op`, in its own place (passes/pair_atomics.cc).
  ir::AtomicOp OtherHalf(ir::AtomicOp op) const;
  void AtomicPair(ir::AtomicOp first, ir::AtomicOp second);
  llvm::Value* Combine(ir::AtomicKind kind, llvm::Value* x, llvm::Value* y);
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
  llvm::IRBuilder<> entry_builder_;  // loads of arguments and allocas: before all code
  llvm::Value* random_ = nullptr;    // null: the code does not draw
  int task_ = 0;
  RunsAlone runs_alone_ = nullptr;  // null: whether others run is known from `parallel_`
  llvm::DenseMap<mlir::Value, llvm::Value*> values_;
  llvm::DenseMap<mlir::Value, Address> addresses_;
  llvm::DenseMap<std::pair<int64_t, llvm::Type*>, llvm::Value*> arguments_;
  AffineReader indices_;
  TreeWalker trees_;
  mlir::Block* task_body_ = nullptr;
  mlir::Operation* first_exit_ = nullptr;  // in task_body_; null: none but its end
  llvm::DenseMap<std::pair<llvm::Value*, int64_t>, llvm::Value*> entry_loads_;
  // Atomics that wait for the one after them, which is emitted with them.
  llvm::DenseMap<mlir::Operation*, ir::AtomicOp> waiting_;
  std::vector<Loop> loops_;
};

// What a scalar occupies: u1 a byte.
llvm::Type* MemoryType(mlir::Type type, llvm::LLVMContext& context);
int64_t Bytes(mlir::Type type);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_FUNCTION_EMITTER_H_
