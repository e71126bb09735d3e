// Outlining: splits a kernel into the tasks that the runtime runs in order. Every parallel loop
// directly in the kernel becomes a range task, the code between two of them a serial task.
//
//   %n = kiln.load %a                     kiln.task.serial { %n = load; store %n, temporary 0 }
//   kiln.parallel_for (%i) = (%0) to (%n) kiln.task.range_for bounds { load temporary 0 } ...
//
// Tasks share no SSA values. A value that another task uses is
//   - rematerialised there, if it is a constant, an argument, an address, or integer arithmetic on
//   such;
//   - otherwise stored to the launch's temporaries by its own task, and loaded from there.
// Locals that several tasks use become temporaries altogether. A task's bounds load only what
// earlier tasks stored, so the runtime may evaluate them at any time.
//
// A return within a branch sets a flag in the temporaries; later tasks test it and do nothing.
//
// In trees (TreeTasks), a loop over active cells gets a listgen task before it, which is omitted
// while the previous list is the same and still valid. A task that deactivates cells gets a gc task
// after it.
//
// Requires: structured level, parallel loops only directly in the kernel. Guarantees: the kernel
// holds its functions, unchanged, then only tasks. Sets `temporary_bytes`.
#include <optional>

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "server/compiler/dialect/block_local.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/cost.h"
#include "server/compiler/passes/memory.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

constexpr int64_t kLine = 64;  // bytes of a cache line of all CPU levels

int64_t ScalarBytes(mlir::Type type) {
  const unsigned bits = type.getIntOrFloatBitWidth();
  return bits < 8 ? 1 : bits / 8;
}

// Whether every task that uses the value computes it again: that is cheap and gives the same at any
// time.
bool IsRematerialised(mlir::Operation* op) {
  if (llvm::isa<ir::ArgumentOp, ir::ExtentOp, ir::OuterExtentOp, ir::GlobalOp, ir::ComponentOp,
                ir::ElementOp, ir::TemporaryOp, mlir::arith::ConstantOp>(op)) {
    return true;
  }
  // Not of floats: some operations are slow (division), and a temporary costs one load.
  return llvm::isa<mlir::arith::ArithDialect>(op->getDialect()) && mlir::isPure(op) &&
         op->getResult(0).getType().isSignlessInteger() &&
         op->getOperand(0).getType().isSignlessInteger();
}

// Adds the runtime's own tasks on trees: listgen and gc. The launch holds one list, of the last
// listgen task, so one walk over the tasks in order knows at each loop whether that is the list it
// needs.
class TreeTasks {
 public:
  explicit TreeTasks(ir::KernelOp kernel)
      : kernel_(kernel), builder_(kernel.getContext()), functions_(kernel) {}

  void Run() {
    if (!kernel_.getTrees()) return;
    mlir::Block& body = kernel_.getBody().front();
    for (auto function : body.getOps<ir::FunctionOp>()) FindChanges(function, &of_functions_);
    for (mlir::Operation& task : llvm::make_early_inc_range(body)) {
      if (!llvm::isa<ir::RangeTaskOp, ir::SerialTaskOp>(task)) continue;
      auto range = llvm::dyn_cast<ir::RangeTaskOp>(task);
      if (range && range.isSparse()) AddListgen(range);
      Changes changes;
      FindChanges(&task, &changes);
      // The callee may call any other function in turn.
      if (changes.calls) {
        changes.activity.insert(of_functions_.activity.begin(), of_functions_.activity.end());
        changes.deactivated.insert(of_functions_.deactivated.begin(),
                                   of_functions_.deactivated.end());
      }
      AddGc(&task, changes);
      const auto changed = [&](int64_t n) {
        return changes.activity.contains({list_->node.first, n});
      };
      // After the task: a loop that changes its own cells still runs over the list made before it.
      if (list_ && llvm::any_of(PathOf(list_->node), changed)) list_.reset();
    }
  }

 private:
  using SNode = std::pair<int64_t, int64_t>;  // tree, node
  using SNodes = llvm::SetVector<SNode>;
  // A list of a node's active cells or, if `slices`, of slices of its containers.
  struct List {
    SNode node;
    bool slices;
    bool operator==(const List& other) const {
      return node == other.node && slices == other.slices;
    }
  };
  // What code may do to the cells of sparse nodes.
  struct Changes {
    SNodes activity;     // of these, cells may become active or inactive
    SNodes deactivated;  // of these, cells may be deactivated: a gc task frees their memory
    bool calls = false;  // a function that reaches memory
  };

  llvm::SmallVector<int64_t> PathOf(const SNode& node) {
    return kernel_.getTree(node.first).getPath(node.second);
  }

  void AddPath(const SNode& node, SNodes* out) {
    for (int64_t n : PathOf(node)) {
      // A write activates all sparse cells on its path.
      if (kernel_.getTree(node.first).getNode(n).isSparse()) out->insert({node.first, n});
    }
  }

  void FindChanges(mlir::Operation* of, Changes* out) {
    of->walk([&](mlir::Operation* op) {
      const Effects effects = functions_.EffectsOf(op);
      for (mlir::Value address : effects.writes) AddWrite(address, out);
      out->calls |= effects.Has(kTouchesMemory);
      if (!effects.snode) return;
      const SNode node = NodeOf(*effects.snode);
      if (effects.Has(kActivates)) AddPath(node, &out->activity);
      if (effects.Has(kDeactivates)) {
        // Lists of nodes below have this node on their path, so they are known to change, too.
        out->activity.insert(node);
        out->deactivated.insert(node);
      }
    });
  }

  SNode NodeOf(int64_t storage) {
    ir::TreeFieldAttr field = kernel_.getTreeField(storage);
    return {field.getTree(), field.getNode()};
  }

  void AddWrite(mlir::Value address, Changes* out) {
    ir::GlobalOp global = GlobalInTree(address);
    if (!global || global.getNoActivate()) return;
    ir::TreeFieldAttr field = kernel_.getTreeField(global.getStorage());
    const int c = static_cast<int>(global.getComponent());
    AddPath({field.getComponentTree(c), field.getComponentNode(c)}, &out->activity);
  }

  void AddListgen(ir::RangeTaskOp task) {
    const SNode over = NodeOf(*task.getOver());
    const SNode node = {over.first, kernel_.getTree(over.first).getLastSparse(over.second)};
    const List list = {node, /*slices=*/node == over};
    if (list_ == list) return;
    list_ = list;
    builder_.setInsertionPoint(task);
    builder_.create<ir::ListgenTaskOp>(task.getLoc(), "", node.first, node.second, Text(node),
                                       list.slices);
  }

  void AddGc(mlir::Operation* task, const Changes& changes) {
    builder_.setInsertionPointAfter(task);
    for (const SNode& node : changes.deactivated) {
      builder_.create<ir::GcTaskOp>(task->getLoc(), "", node.first, node.second, Text(node));
    }
  }

  // The path as text for readers of the IR: S0root->S1pointer->S2dense.
  std::string Text(const SNode& node) {
    ir::TreeAttr tree = kernel_.getTree(node.first);
    std::string text = "S0root";
    for (int64_t n : PathOf(node)) {
      text += "->S" + std::to_string(n) + tree.getNode(n).getFacts().name;
    }
    return text;
  }

  ir::KernelOp kernel_;
  mlir::OpBuilder builder_;
  FunctionFacts functions_;
  Changes of_functions_;      // of all functions together: a call may reach each of them
  std::optional<List> list_;  // the launch's list before the next task, if it is still valid
};

class Offload {
 public:
  explicit Offload(ir::KernelOp kernel)
      : kernel_(kernel), builder_(kernel.getContext()), body_(kernel.getBody().front()) {}

  void Run() {
    MoveFunctionsFirst();
    Number();
    MoveLocalsToTemporaries();
    MakeTasks();
    TreeTasks(kernel_).Run();
    NameTasks();
    builder_.setInsertionPointToEnd(&body_);
    builder_.create<ir::ReturnOp>(kernel_.getLoc());
    kernel_->setAttr("temporary_bytes", builder_.getI64IntegerAttr(temporary_bytes_));
  }

 private:
  void MoveFunctionsFirst() {
    const auto functions = llvm::to_vector(body_.getOps<ir::FunctionOp>());
    for (ir::FunctionOp function : llvm::reverse(functions)) {
      function->moveBefore(&body_, body_.begin());
    }
  }

  // Numbers the future tasks and notes that of each op in the body. Functions get none: 0.
  void Number() {
    int task = 0;
    bool serial = false;
    for (mlir::Operation& op : body_) {
      if (llvm::isa<ir::FunctionOp>(op)) continue;
      // Consecutive serial ops are one task; each parallel loop is one.
      const bool parallel = llvm::isa<ir::ParallelForOp>(op);
      if (parallel || !serial) ++task;
      serial = !parallel;
      task_of_[&op] = task;
    }
  }

  int TaskOf(mlir::Operation* op) { return task_of_.lookup(body_.findAncestorOpInBlock(*op)); }

  mlir::Value Temporary(mlir::Location loc, mlir::Type address, int64_t bytes, int64_t align) {
    temporary_bytes_ = (temporary_bytes_ + align - 1) / align * align;
    mlir::Value temporary = builder_.create<ir::TemporaryOp>(loc, address, temporary_bytes_);
    temporary_bytes_ += bytes;
    return temporary;
  }

  // Whether another task uses the address, or that of an element of it.
  bool IsUsedOutside(mlir::Value address, int task) {
    return llvm::any_of(address.getUsers(), [&](mlir::Operation* user) {
      // Addresses of elements carry the use on, so they are followed.
      return TaskOf(user) != task ||
             (llvm::isa<ir::ElementOp>(user) && IsUsedOutside(user->getResult(0), task));
    });
  }

  // Locals that several tasks use. Each gets cache lines of its own, because many threads may
  // update it.
  void MoveLocalsToTemporaries() {
    llvm::SmallVector<mlir::Operation*> shared;
    for (mlir::Operation& op : body_) {
      if (!llvm::isa<ir::LocalOp, ir::LocalArrayOp>(op)) continue;
      if (IsUsedOutside(op.getResult(0), task_of_.lookup(&op))) shared.push_back(&op);
    }
    for (mlir::Operation* local : shared) {
      mlir::Operation& op = *local;
      const int task = task_of_.lookup(&op);
      auto array = llvm::dyn_cast<ir::LocalArrayOp>(op);
      auto type = llvm::cast<ir::AddrType>(op.getResult(0).getType());
      builder_.setInsertionPoint(&op);
      const int64_t bytes = ScalarBytes(type.getPointee()) * (array ? array.getCount() : 1);
      mlir::Value temporary =
          Temporary(op.getLoc(), type, (bytes + kLine - 1) / kLine * kLine, kLine);
      // The new op takes the place of the old one in the numbering.
      task_of_[temporary.getDefiningOp()] = task;
      op.getResult(0).replaceAllUsesWith(temporary);
      op.erase();
      DropZeroing(temporary);
    }
  }

  // Removes a first store of zero: temporaries are zero when the launch starts.
  void DropZeroing(mlir::Value temporary) {
    mlir::Operation* first = nullptr;
    for (mlir::Operation* user : temporary.getUsers()) {
      mlir::Operation* in_body = body_.findAncestorOpInBlock(*user);
      if (!first || in_body->isBeforeInBlock(first)) first = in_body;
    }
    // Only the first use counts, in program order: later zeros are the program's.
    if (llvm::isa_and_nonnull<ir::ZeroOp>(first)) return first->erase();
    auto store = llvm::dyn_cast_or_null<ir::StoreOp>(first);
    if (!store) return;
    // Not -0.0, which has a bit set.
    mlir::Attribute value;
    if (!matchPattern(store.getValue(), mlir::m_Constant(&value))) return;
    auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value);
    auto number = llvm::dyn_cast<mlir::FloatAttr>(value);
    if ((integer && integer.getValue().isZero()) || (number && number.getValue().isPosZero())) {
      store.erase();
    }
  }

  // --- Values that other tasks use ---------------------------------------------------

  // The value in the region under construction. `mapping` holds those that the region has already.
  mlir::Value Import(mlir::Value value, mlir::IRMapping* mapping) {
    // Each value is imported once a region.
    if (mlir::Value known = mapping->lookupOrNull(value)) return known;
    mlir::Operation* op = value.getDefiningOp();
    mlir::Value imported;
    if (IsRematerialised(op)) {
      for (mlir::Value operand : op->getOperands()) Import(operand, mapping);
      imported = builder_.clone(*op, *mapping)->getResult(0);
    } else {
      mlir::Value temporary = builder_.clone(*StoredTo(value).getDefiningOp())->getResult(0);
      imported = builder_.create<ir::LoadOp>(value.getLoc(), value.getType(), temporary);
    }
    mapping->map(value, imported);
    return imported;
  }

  // The address of the temporary to which the value's own task, a serial one, stores it.
  mlir::Value StoredTo(mlir::Value value) {
    // The first task that needs the value makes the store; later ones share it.
    mlir::Value& temporary = stored_[value];
    if (!temporary) {
      mlir::OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointAfter(value.getDefiningOp());
      const int64_t bytes = ScalarBytes(value.getType());
      temporary = Temporary(
          value.getLoc(), ir::AddrType::get(builder_.getContext(), value.getType()), bytes, bytes);
      builder_.create<ir::StoreOp>(value.getLoc(), value, temporary);
    }
    return temporary;
  }

  // Imports all values that the region's ops take from outside of it. The builder is at the start
  // of the region, so that the new ops dominate the others.
  void ImportInto(mlir::Region& region) {
    mlir::IRMapping mapping;
    region.walk([&](mlir::Operation* op) {
      for (mlir::OpOperand& operand : op->getOpOperands()) {
        mlir::Value value = operand.get();
        if (mlir::Value known = mapping.lookupOrNull(value)) {
          operand.set(known);
        } else if (!region.isAncestor(value.getParentRegion())) {
          operand.set(Import(value, &mapping));
        }
      }
    });
  }

  // --- Tasks -------------------------------------------------------------------------

  // In reverse order: by the time a serial task is made, later tasks have added to its ops all
  // stores that they need.
  void MakeTasks() {
    std::vector<llvm::SmallVector<mlir::Operation*>> tasks;
    int last = 0;
    for (mlir::Operation& op : body_) {
      const int number = task_of_.lookup(&op);
      if (number == 0) continue;
      if (number != last) tasks.emplace_back();
      tasks.back().push_back(&op);
      last = number;
    }
    llvm::SmallVector<mlir::Operation*> later;  // tasks after the one being made
    for (auto& ops : llvm::reverse(tasks)) {
      auto loop = llvm::dyn_cast<ir::ParallelForOp>(ops.front());
      mlir::Operation* task = loop ? MakeRange(loop) : MakeSerial(ops);
      if (!task) continue;
      if (!loop && !later.empty()) SkipAfterReturn(task, later);
      later.push_back(task);
    }
  }

  // If the task may return within a branch, the later ones test whether it did.
  void SkipAfterReturn(mlir::Operation* task, llvm::ArrayRef<mlir::Operation*> later) {
    llvm::SmallVector<ir::ReturnOp> returns;
    task->walk([&](ir::ReturnOp op) {
      if (op->getParentOp() != task) returns.push_back(op);
    });
    if (returns.empty()) return;
    // A byte at the end, where alignment does not matter.
    const int64_t flag = temporary_bytes_++;
    for (ir::ReturnOp op : returns) {
      builder_.setInsertionPoint(op);
      mlir::Value yes =
          builder_.create<mlir::arith::ConstantOp>(op.getLoc(), builder_.getBoolAttr(true));
      builder_.create<ir::StoreOp>(op.getLoc(), yes, FlagAt(op.getLoc(), flag));
    }
    for (mlir::Operation* other : later) {
      auto range = llvm::dyn_cast<ir::RangeTaskOp>(other);
      if (range && !range.isSparse()) {
        EmptyBoundsIf(range, flag);
      } else {
        LeaveIf(other, flag);
      }
    }
  }

  mlir::Value FlagAt(mlir::Location loc, int64_t offset) {
    mlir::Type type = ir::AddrType::get(builder_.getContext(), builder_.getI1Type());
    return builder_.create<ir::TemporaryOp>(loc, type, offset);
  }

  mlir::Value LoadFlag(mlir::Location loc, int64_t offset) {
    return builder_.create<ir::LoadOp>(loc, builder_.getI1Type(), FlagAt(loc, offset));
  }

  // Ends a serial task, or each iteration over a list, if the flag is set.
  void LeaveIf(mlir::Operation* task, int64_t flag) {
    mlir::Location loc = task->getLoc();
    auto range = llvm::dyn_cast<ir::RangeTaskOp>(task);
    mlir::Region& body = range ? range.getBody() : task->getRegion(0);
    builder_.setInsertionPointToStart(&body.front());
    auto branch = builder_.create<ir::IfOp>(loc, mlir::TypeRange(), LoadFlag(loc, flag));
    builder_.setInsertionPointToStart(&branch.getThenRegion().emplaceBlock());
    if (range) {
      builder_.create<ir::ContinueOp>(loc);
    } else {
      builder_.create<ir::ReturnOp>(loc);
    }
    builder_.setInsertionPointToStart(&branch.getElseRegion().emplaceBlock());
    builder_.create<ir::YieldOp>(loc);
  }

  // Makes the loop's bounds empty if the flag is set.
  void EmptyBoundsIf(ir::RangeTaskOp task, int64_t flag) {
    mlir::Location loc = task.getLoc();
    mlir::Operation* yield = task.getBounds().front().getTerminator();
    builder_.setInsertionPoint(yield);
    mlir::Value skip = LoadFlag(loc, flag);
    for (unsigned upper = 1; upper < yield->getNumOperands(); upper += 2) {
      yield->setOperand(
          upper, builder_.create<mlir::arith::SelectOp>(loc, skip, yield->getOperand(upper - 1),
                                                        yield->getOperand(upper)));
    }
  }

  // In order, once it is known which tasks there are.
  void NameTasks() {
    int number = 0;
    for (mlir::Operation& task : body_) {
      if (llvm::isa<ir::FunctionOp>(task)) continue;
      task.setAttr("task_name", builder_.getStringAttr("task_" + std::to_string(number++)));
    }
  }

  mlir::Operation* MakeRange(ir::ParallelForOp loop) {
    mlir::Location loc = loop.getLoc();
    builder_.setInsertionPoint(loop);
    auto task = builder_.create<ir::RangeTaskOp>(
        loc, builder_.getStringAttr(""), builder_.getArrayAttr({}), loop.getOverAttr(),
        loop.getMaxThreadsAttr() ? loop.getMaxThreads().value() : 0,
        loop.getBlockDimAttr() ? loop.getBlockDim().value() : 0, RegionCost(loop.getBodyRegion()),
        /*lanes=*/false, /*rows=*/mlir::IntegerAttr());
    if (mlir::Attribute hint = loop->getAttr(kBlockLocalAttribute)) {
      task->setAttr(kBlockLocalAttribute, hint);
    }
    mlir::Block& bounds = task.getBounds().emplaceBlock();
    builder_.setInsertionPointToEnd(&bounds);
    mlir::IRMapping mapping;
    llvm::SmallVector<mlir::Value> values;
    for (auto [lower, upper] : llvm::zip(loop.getLowers(), loop.getUppers())) {
      values.push_back(AsInt64(Import(lower, &mapping)));
      values.push_back(AsInt64(Import(upper, &mapping)));
    }
    builder_.create<ir::YieldOp>(loc, values);
    builder_.setInsertionPointToEnd(&task.getFinish().emplaceBlock());
    builder_.create<ir::YieldOp>(loc);
    task.getBody().takeBody(loop.getBodyRegion());
    builder_.setInsertionPointToStart(&task.getBody().front());
    ImportInto(task.getBody());
    loop.erase();
    return task;
  }

  mlir::Value AsInt64(mlir::Value value) {
    mlir::Type wide = builder_.getI64Type();
    if (value.getType() == wide) return value;
    return builder_.createOrFold<mlir::arith::ExtSIOp>(value.getLoc(), wide, value);
  }

  // Null if nothing is left to do because other tasks rematerialised all of it.
  mlir::Operation* MakeSerial(llvm::ArrayRef<mlir::Operation*> of_task) {
    llvm::SmallVector<mlir::Operation*> ops;
    // With the stores to temporaries that other tasks have added in between and at the end.
    for (mlir::Operation* op = of_task.front();; op = op->getNextNode()) {
      ops.push_back(op);
      if (op == of_task.back()) break;
    }
    mlir::Operation* last = ops.back();
    for (mlir::Operation* after = last->getNextNode();
         after && llvm::isa<ir::TemporaryOp, ir::StoreOp>(after); after = after->getNextNode()) {
      ops.push_back(after);
    }
    mlir::Location loc = ops.front()->getLoc();
    builder_.setInsertionPoint(ops.front());
    auto task = builder_.create<ir::SerialTaskOp>(loc, "");
    mlir::Block& block = task.getBodyRegion().emplaceBlock();
    for (mlir::Operation* op : ops) op->moveBefore(&block, block.end());
    if (!block.mightHaveTerminator()) {
      builder_.setInsertionPointToEnd(&block);
      builder_.create<ir::ReturnOp>(loc);
    }
    builder_.setInsertionPointToStart(&block);
    ImportInto(task.getBodyRegion());
    for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (mlir::isOpTriviallyDead(&op)) op.erase();
    }
    if (block.getOperations().size() > 1) return task;
    task.erase();
    return nullptr;
  }

  ir::KernelOp kernel_;
  mlir::OpBuilder builder_;
  mlir::Block& body_;
  llvm::DenseMap<mlir::Operation*, int> task_of_;    // of ops directly in the kernel
  llvm::DenseMap<mlir::Value, mlir::Value> stored_;  // value -> its temporary
  int64_t temporary_bytes_ = 0;
};

struct OffloadPass : mlir::PassWrapper<OffloadPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OffloadPass)
  llvm::StringRef getArgument() const override { return "offload"; }
  void runOnOperation() override { Offload(getOperation()).Run(); }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateOffloadPass() { return std::make_unique<OffloadPass>(); }

}  // namespace kiln
