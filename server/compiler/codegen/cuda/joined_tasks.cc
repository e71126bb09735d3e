#include "server/compiler/codegen/cuda/joined_tasks.h"

#include <algorithm>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "server/compiler/codegen/cuda/shared_memory.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/dialect/constants.h"

namespace kiln::cuda {
namespace {

// The iterations of a loop with constant bounds, if a block has a thread for each.
bool FitsBlock(ir::RangeTaskOp op) {
  auto bounds = llvm::cast<ir::YieldOp>(op.getBounds().front().getTerminator());
  int64_t total = 1;
  for (unsigned d = 0; d < bounds.getNumOperands(); d += 2) {
    const auto known = ConstantBoundsOf(bounds.getOperand(d), bounds.getOperand(d + 1));
    int64_t extent = 0;
    if (!known || __builtin_sub_overflow(known->upper, known->lower, &extent)) return false;
    if (extent > kUsualBlock) return false;
    total *= std::max<int64_t>(extent, 0);
    if (total > kUsualBlock) return false;
  }
  return true;
}

// A task that one thread runs.
bool IsSerial(const proto::Task& task) { return task.max_threads() == 1; }

// Makes the entry of a task a function of another entry.
llvm::Function* MakePart(llvm::Module* module, const std::string& symbol) {
  llvm::Function* part = module->getFunction(symbol);
  part->setName(symbol + "_part");
  part->setLinkage(llvm::GlobalValue::InternalLinkage);
  part->setCallingConv(llvm::CallingConv::C);
  // What the launch passes is the entry's parameter, of which there is no copy.
  part->removeParamAttr(0, llvm::Attribute::ByVal);
  part->addFnAttr(llvm::Attribute::AlwaysInline);
  return part;
}

// The function that uses the constant; null: none does.
const llvm::Function* UserOf(const llvm::Constant& constant) {
  for (const llvm::User* user : constant.users()) {
    if (const auto* whole = llvm::dyn_cast<llvm::Constant>(user)) {
      if (const llvm::Function* function = UserOf(*whole)) return function;
    } else {
      return llvm::cast<llvm::Instruction>(user)->getFunction();
    }
  }
  return nullptr;
}

// Gives all parts the same shared memory. None needs it longer than it runs, and the sum of what
// many short tasks need may be more than a block can have.
void ShareMemory(llvm::Module& module, llvm::ArrayRef<llvm::Function*> parts) {
  struct Variable {
    llvm::GlobalVariable* memory;
    uint64_t offset;
  };
  const llvm::DataLayout& layout = module.getDataLayout();
  llvm::DenseMap<const llvm::Function*, uint64_t> bytes;  // that each part needs
  for (const llvm::Function* part : parts) bytes[part] = 0;
  llvm::SmallVector<Variable> variables;
  uint64_t most = 0;
  for (llvm::GlobalVariable& memory : module.globals()) {
    if (memory.getAddressSpace() != kSharedSpace) continue;
    const auto part = bytes.find(UserOf(memory));
    if (part == bytes.end()) continue;
    const uint64_t offset = llvm::alignTo(part->second, kSharedAlign);
    part->second = offset + layout.getTypeAllocSize(memory.getValueType());
    most = std::max(most, part->second);
    variables.push_back({&memory, offset});
  }
  if (variables.size() < 2) return;
  llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
  llvm::GlobalVariable* all = NewShared(module, llvm::ArrayType::get(byte, most), "shared");
  all->setAlignment(llvm::Align(kSharedAlign));
  for (const Variable& variable : variables) {
    auto* offset =
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), variable.offset);
    variable.memory->replaceAllUsesWith(
        llvm::ConstantExpr::getInBoundsGetElementPtr(byte, all, offset));
    variable.memory->eraseFromParent();
  }
}

}  // namespace

bool Joins(const KernelState& state, mlir::Operation& task) {
  ir::KernelOp kernel = state.kernel;
  if (kernel.getTrees() || WorksTogether(kernel, &task)) return false;
  for (mlir::Region& region : task.getRegions()) {
    if (state.facts.Any(region, kCalls | kTapes)) return false;
  }
  if (llvm::isa<ir::SerialTaskOp>(task)) return true;
  auto range = llvm::dyn_cast<ir::RangeTaskOp>(task);
  if (!range || range.isSparse()) return false;
  // A program that chooses the threads of a block has reasons.
  return !IsParallel(range) || (range.getBlockDim() == 0 && FitsBlock(range));
}

// The first thread runs what is for one thread. Between two tasks, all threads of the block wait
// for each other: they then see what the others have written.
void EmitJoined(KernelState* state, llvm::ArrayRef<proto::Task*> tasks) {
  llvm::SmallVector<llvm::Function*> parts;
  for (const proto::Task* task : tasks) parts.push_back(MakePart(state->module, task->symbol()));
  ShareMemory(*state->module, parts);
  const bool is_serial =
      llvm::all_of(tasks, [](const proto::Task* task) { return IsSerial(*task); });
  llvm::Function* entry = state->target->NewTaskFunction(state, tasks[0]->symbol());
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(entry->getContext(), "entry", entry));
  llvm::Value* thread = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !is_serial) b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    if (is_serial || !IsSerial(*tasks[i])) {
      b.CreateCall(parts[i], {entry->getArg(0)});
      continue;
    }
    auto* first = llvm::BasicBlock::Create(entry->getContext(), "first_thread", entry);
    auto* all = llvm::BasicBlock::Create(entry->getContext(), "all_threads", entry);
    b.CreateCondBr(b.CreateIsNull(thread), first, all);
    b.SetInsertPoint(first);
    b.CreateCall(parts[i], {entry->getArg(0)});
    b.CreateBr(all);
    b.SetInsertPoint(all);
  }
  b.CreateRetVoid();
  for (proto::Task* task : tasks.drop_front()) {
    task->clear_symbol();
    task->set_joined(true);
  }
  // One block.
  proto::Task* task = tasks[0];
  if (is_serial) {
    task->set_kind(proto::TASK_SERIAL);
    return;
  }
  task->set_kind(proto::TASK_RANGE);
  task->set_constant_bounds(true);
  task->set_end(kUsualBlock);
  task->set_block_dim(kUsualBlock);
  task->set_max_threads(kUsualBlock);
}

}  // namespace kiln::cuda
