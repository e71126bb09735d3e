#include "server/compiler/codegen/struct_task.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/codegen/task_function.h"

namespace kiln {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using Accumulators = llvm::SmallVector<Value*, 4>;

// Cells that one iteration visits at most: blocks of more are shared by several.
constexpr int64_t kMostCells = 4096, kPartOfRow = 1024;
// What is emitted more than once may be this many ops long, all copies together.
constexpr int64_t kMostCopiedOps = 400;
// Containers of bitmasked nodes that one slice holds (the runtime cuts no finer), so that
// where all cells are active they are loops like dense ones.
constexpr int64_t kWholeContainer = 1024;
constexpr int64_t kLongRow = 8;
// Rows up to this long are one loop from end to end where reads past their ends allow that:
// cells emitted apart would be much of them. With at most so many such reads' ends.
constexpr int64_t kShortRow = 32;
constexpr int64_t kMostEnds = 16;
// A guess at how many cells of a slice are active, for the cost of an iteration.
constexpr int64_t kCellsOfSlice = 64;

// One loop over cells of a block: the index along `axis` advances by `factor`.
struct Dimension {
  int64_t axis, extent, factor;
};

// What a struct task runs over.
struct Plan {
  ir::TreeFieldAttr field;
  ir::TreeAttr tree;
  int64_t node;  // the list's: the last sparse one on the field's path
  bool slices;
  // Cells: of the dense levels below, outermost first. Slices: of a container that is looped
  // over like a dense one where all of it is active.
  std::vector<Dimension> dimensions;
  size_t shared = 0;  // the first of them make the iterations of an element
  int64_t iterations = 1;
  int64_t cells = 1;  // of an iteration
};

Plan PlanOf(ir::RangeTaskOp op, ir::KernelOp kernel) {
  Plan plan;
  plan.field = kernel.getTreeField(*op.getOver());
  plan.tree = kernel.getTree(plan.field.getTree());
  plan.node = plan.tree.getLastSparse(plan.field.getNode());
  plan.slices = plan.node == plan.field.getNode();
  if (plan.slices) {
    plan.cells = kCellsOfSlice;
    ir::SNodeAttr level = plan.tree.getNode(plan.node);
    if (level.getFacts().has_mask && level.getNumCells() <= kWholeContainer &&
        level.getParent() != 0) {
      for (int a = 0; a < level.getNumAxes(); ++a) {
        plan.dimensions.push_back({level.getAxis(a), level.getExtent(a), 1});
      }
    }
    return plan;
  }
  bool below = plan.node == 0;
  for (int64_t n : plan.tree.getPath(plan.field.getNode())) {
    ir::SNodeAttr level = plan.tree.getNode(n);
    for (int a = 0; below && a < level.getNumAxes(); ++a) {
      const int64_t axis = level.getAxis(a), extent = level.getExtent(a);
      const int64_t factor =
          plan.tree.getAxisExtent(plan.field.getNode(), axis) / plan.tree.getAxisExtent(n, axis);
      plan.cells *= extent;
      if (extent > kMostCells && extent % kPartOfRow == 0) {
        plan.dimensions.push_back({axis, extent / kPartOfRow, factor * kPartOfRow});
        plan.dimensions.push_back({axis, kPartOfRow, factor});
      } else {
        plan.dimensions.push_back({axis, extent, factor});
      }
    }
    below |= n == plan.node;
  }
  while (plan.cells > kMostCells && plan.shared + 1 < plan.dimensions.size()) {
    const int64_t extent = plan.dimensions[plan.shared++].extent;
    plan.iterations *= extent;
    plan.cells /= extent;
  }
  return plan;
}

// An index that is one of the loop's, and a constant.
struct Shifted {
  mlir::BlockArgument index;
  int64_t by = 0;
};

Shifted ShiftOf(mlir::Value value) {
  Shifted result;
  for (int depth = 0; depth < 8; ++depth) {
    if ((result.index = llvm::dyn_cast<mlir::BlockArgument>(value))) return result;
    mlir::Operation* op = value.getDefiningOp();
    const bool add = llvm::isa<mlir::arith::AddIOp>(op);
    llvm::APInt constant;
    if (!add && !llvm::isa<mlir::arith::SubIOp>(op)) return {};
    if (!mlir::matchPattern(op->getOperand(1), mlir::m_ConstantInt(&constant))) return {};
    result.by += add ? constant.getSExtValue() : -constant.getSExtValue();
    value = op->getOperand(0);
  }
  return {};
}

// Whether an access is to the cell that the loop is at, as far as the list's node goes.
bool IsOwnCell(const Plan& plan, ir::RangeTaskOp op, const ComponentAccess& access) {
  const int64_t component = access.component;
  if (access.field.getComponentTree(component) != plan.field.getTree()) return false;
  const int64_t node = access.field.getComponentNode(component);
  if (!llvm::is_contained(plan.tree.getPath(node), plan.node)) return false;
  // The axes that the node's blocks are told apart by.
  std::array<bool, abi::kMaxAxes> seen = {};
  for (int i = 0; i < access.field.getNumAxes(); ++i) {
    const int64_t axis = access.field.getComponentAxis(component, i);
    if (axis < 0 || plan.tree.getAxisExtent(plan.node, axis) == 1) continue;
    const Shifted at = ShiftOf(access.indices[i]);
    if (!at.index || at.index.getOwner() != &op.getBody().front() ||
        at.index.getArgNumber() >= static_cast<unsigned>(op.getNumDims()) ||
        plan.field.getAxis(at.index.getArgNumber()) != axis ||
        at.by != access.field.getAxisOffset(i) ||
        plan.tree.getAxisExtent(node, axis) !=
            plan.tree.getAxisExtent(plan.field.getNode(), axis)) {
      return false;
    }
    seen[axis] = true;
  }
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    if (plan.tree.getAxisExtent(plan.node, axis) != 1 && !seen[axis]) return false;
  }
  return true;
}

int64_t CountOps(mlir::Region& region) {
  int64_t count = 0;
  region.walk([&](mlir::Operation* op) {
    if (!op->hasTrait<mlir::OpTrait::ConstantLike>()) ++count;
  });
  return count;
}

// Calls `visit` with each read, at a constant distance from the loop's index along an axis,
// of cells whose lookups stand in the prologue.
void ForEachReadAlong(ir::RangeTaskOp op, const TreeWalker& trees, const Plan& plan, int64_t axis,
                      llvm::function_ref<void(ir::GlobalOp, int64_t)> visit) {
  op.getBody().walk([&](ir::LoadOp load) {
    auto global = load.getAddress().getDefiningOp<ir::GlobalOp>();
    ir::TreeFieldAttr field = global ? trees.FieldOf(global.getStorage()) : ir::TreeFieldAttr();
    if (!field) return;
    const int component = static_cast<int>(global.getComponent());
    if (!trees.IsSteady(field.getComponentTree(component), field.getComponentNode(component))) {
      return;
    }
    for (int i = 0; i < field.getNumAxes(); ++i) {
      if (field.getComponentAxis(component, i) != axis) continue;
      const Shifted at = ShiftOf(global.getIndices()[i]);
      if (!at.index || at.index.getOwner() != &op.getBody().front() ||
          at.index.getArgNumber() >= static_cast<unsigned>(op.getNumDims()) ||
          plan.field.getAxis(at.index.getArgNumber()) != axis) {
        continue;
      }
      visit(global, at.by - field.getAxisOffset(i));
    }
  });
}

// How far before and beyond the loop's index the body reads along an axis.
std::pair<int64_t, int64_t> Reach(ir::RangeTaskOp op, const TreeWalker& trees, const Plan& plan,
                                  int64_t axis) {
  int64_t before = 0, beyond = 0;
  ForEachReadAlong(op, trees, plan, axis, [&](ir::GlobalOp, int64_t by) {
    before = std::max(before, -by);
    beyond = std::max(beyond, by);
  });
  return {before, beyond};
}

// Whether code in the region may write what the address leads to.
bool IsWritten(mlir::Region& region, const TreeWalker& trees, ir::GlobalOp address) {
  ir::TreeFieldAttr field = trees.FieldOf(address.getStorage());
  const auto may_be_same = [&](uint64_t storage) {
    ir::TreeFieldAttr other = trees.FieldOf(storage);
    return storage == address.getStorage() ||
           (other && other.getAlias() != 0 && other.getAlias() == field.getAlias());
  };
  return region
      .walk([&](mlir::Operation* op) {
        auto global = llvm::dyn_cast<ir::GlobalOp>(op);
        auto component = llvm::dyn_cast<ir::ComponentOp>(op);
        const bool read = llvm::all_of(
            op->getUsers(), [](mlir::Operation* user) { return llvm::isa<ir::LoadOp>(user); });
        const bool writes = llvm::isa<ir::CallOp>(op) ||
                            (global && !read && may_be_same(global.getStorage())) ||
                            (component && !read && may_be_same(component.getStorage()));
        return writes ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// A struct task's code for [begin, end).
class StructEmitter {
 public:
  StructEmitter(FunctionEmitter& f, ir::RangeTaskOp task, const Plan& plan)
      : f_(f), b_(f.builder()), task_(task), plan_(plan), at_(abi::kMaxAxes), up_(abi::kMaxAxes) {
    if (plan.slices && Node().getFacts().has_mask) {
      for (int a = 0; a < Node().getNumAxes(); ++a) {
        reach_.push_back(Reach(task, f.trees(), plan, Node().getAxis(a)));
      }
      in_row_ = Node().getExtent(Node().getNumAxes() - 1) % 32 == 0;
    }
    Peel();
  }

  void Emit(Value* begin, Value* end, Value* piece);

 private:
  using Body = llvm::function_ref<Accumulators(Value*, Accumulators)>;

  void Peel();
  void FindAcross(int64_t axis);
  bool OpenRow(const Dimension& d);
  void DefineIndices(const TreeWalker::Coordinates& index);
  Accumulators Loop(Value* from, Value* to, const Accumulators& start, Body body);
  Accumulators If(Value* condition, const Accumulators& start,
                  llvm::function_ref<Accumulators()> then);
  Accumulators Either(Value* condition, llvm::function_ref<Accumulators()> yes,
                      llvm::function_ref<Accumulators()> no);
  Value* Field(Value* element, int64_t offset, llvm::Type* type);
  void ReadPlace(Value* element);
  Accumulators Element(Value* number, Value* from, Value* to, const Accumulators& start);
  Accumulators Cells(Value* from, Value* to, const Accumulators& start);
  Accumulators Nest(size_t dimension, const Accumulators& start);
  Accumulators NestedIteration(const Accumulators& start);
  Accumulators Slice(Value* begin, Value* end, const Accumulators& start);
  Accumulators Slots(Value* begin, Value* end, const Accumulators& start);
  Accumulators Words(Value* begin, Value* end, const Accumulators& start);
  Accumulators Bits(Value* word, Value* first, const Accumulators& start);
  Accumulators FullWord(Value* first, int64_t count, const Accumulators& start);
  Accumulators PartlyActive(Value* begin, Value* end, const Accumulators& start);
  Value* IsInside(Value* first);
  Value* AllActive(Value* begin, Value* end);
  Value* MaskWord(Value* number);
  Accumulators Chunk(Value* begin, Value* end, const Accumulators& start);
  TreeWalker::Coordinates Digits(Value* cell);
  // One iteration of the body at `index`; `own` (null: known from the prologue) is the
  // cell of the list's node there.
  Accumulators Iteration(const TreeWalker::Coordinates& index, Value* own,
                         const Accumulators& start);
  Value* Number(const TreeWalker::Coordinates& index);
  mlir::TypeRange AccumulatorTypes() {
    return mlir::ValueRange(task_.getAccumulators()).getTypes();
  }
  ir::SNodeAttr Node() const { return plan_.tree.getNode(plan_.node); }
  Value* Cell(Value* number) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), cell_,
                                b_.CreateNSWMul(number, b_.getInt64(Node().getCellBytes())));
  }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  ir::RangeTaskOp task_;
  const Plan& plan_;
  // Of each dimension of the plan, how many indices at either end are emitted apart.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> ends_;
  // Reads that leave short rows, none of which sees what the body writes.
  llvm::SmallVector<ir::GlobalOp> across_;
  // Bitmasked: how far the body reads along each axis; whether 32 cells lie in one row.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> reach_;
  bool in_row_ = false;
  // Of the present element:
  Value* cell_ = nullptr;
  TreeWalker::Coordinates at_;  // cells: index of the cell; slices: of the container's first
  TreeWalker::Coordinates up_;  // cells: the loops' part of the index
  llvm::SmallVector<Value*, 4> leaves_;
};

// --- Loops -----------------------------------------------------------------------------

// Innermost dimensions first, as far as the copies of the body are not too much.
void StructEmitter::Peel() {
  ends_.resize(plan_.dimensions.size());
  int64_t ops = CountOps(task_.getBody());
  for (size_t i = plan_.dimensions.size(); i-- > plan_.shared;) {
    const Dimension& d = plan_.dimensions[i];
    const bool alone = llvm::count_if(plan_.dimensions, [&](const Dimension& other) {
                         return other.axis == d.axis;
                       }) == 1;
    const bool last = i + 1 == plan_.dimensions.size();
    if (last && alone && d.factor == 1 && d.extent >= kLongRow && d.extent <= kShortRow) {
      FindAcross(d.axis);
    }
    const auto [before, beyond] = Reach(task_, f_.trees(), plan_, d.axis);
    ops *= before + beyond + 1;
    if (ops > kMostCopiedOps) return;
    if (d.factor == 1 && (alone || last) && before + beyond < d.extent) {
      ends_[i] = {before, beyond};
    }
  }
}

// All reads that leave the rows along `axis`, or none of them.
void StructEmitter::FindAcross(int64_t axis) {
  int64_t ends = 0;
  ForEachReadAlong(task_, f_.trees(), plan_, axis, [&](ir::GlobalOp address, int64_t by) {
    if (by == 0 || ends > kMostEnds) return;
    ends += std::abs(by);
    if (IsWritten(task_.getBody(), f_.trees(), address)) ends = kMostEnds + 1;
    across_.push_back(address);
  });
  if (ends > kMostEnds) across_.clear();
}

void StructEmitter::DefineIndices(const TreeWalker::Coordinates& index) {
  for (int i = 0; i < task_.getNumDims(); ++i) {
    const int64_t axis = plan_.field.getAxis(i);
    f_.indices().Define(task_.getIndices()[i], axis < 0 ? Affine() : index[axis]);
  }
}

// Opens the row if all that the body reads past its ends can be loaded from its block.
bool StructEmitter::OpenRow(const Dimension& d) {
  if (across_.empty()) return false;
  TreeWalker::Row row = {d.axis, d.extent, llvm::PoisonValue::get(b_.getInt64Ty()), {}};
  for (const Affine& value : up_) {
    for (const Affine::Term& t : value.terms) row.constant.insert(t.leaf);
  }
  TreeWalker::Coordinates index = up_;
  index[d.axis].Add(Leaf(row.index, 0, d.extent - 1), 1);
  DefineIndices(index);
  for (ir::GlobalOp address : across_) {
    ir::TreeFieldAttr field = f_.trees().FieldOf(address.getStorage());
    const int c = static_cast<int>(address.getComponent());
    if (!f_.trees().Crosses(row, field.getComponentTree(c), field.getComponentNode(c),
                            f_.trees().At(field, address.getIndices()), field.getComponentOffset(c),
                            Bytes(address.getType().getPointee()))) {
      return false;
    }
  }
  f_.trees().OpenRow(std::move(row));
  return true;
}

// A counted loop; `body` answers the accumulators after an iteration.
Accumulators StructEmitter::Loop(Value* from, Value* to, const Accumulators& start, Body body) {
  // Rows long enough for a vector; short ones, and what is around them, LLVM may unroll.
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(from);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(to);
  const bool vectorise = first == nullptr || last == nullptr ||
                         last->getSExtValue() - first->getSExtValue() >= kLongRow;
  BasicBlock* header = f_.NewBlock("loop");
  BasicBlock* inside = f_.NewBlock("inside");
  BasicBlock* exit = f_.NewBlock("loop_end");
  auto values = f_.Phis(header, AccumulatorTypes());
  llvm::PHINode* index = llvm::IRBuilder<>(header, header->begin()).CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(from, b_.GetInsertBlock());
  f_.BranchTo(header, values, start);
  b_.SetInsertPoint(header);
  b_.CreateCondBr(b_.CreateICmpSLT(index, to), inside, exit);
  b_.SetInsertPoint(inside);
  f_.trees().PushScope();
  const Accumulators after = body(index, Accumulators(values.begin(), values.end()));
  f_.trees().PopScope();
  BasicBlock* latch = b_.GetInsertBlock();
  index->addIncoming(b_.CreateNSWAdd(index, b_.getInt64(1)), latch);
  for (auto [phi, value] : llvm::zip(values, after)) phi->addIncoming(value, latch);
  f_.BranchBack(header, vectorise);
  b_.SetInsertPoint(exit);
  return Accumulators(values.begin(), values.end());
}

Accumulators StructEmitter::If(Value* condition, const Accumulators& start,
                               llvm::function_ref<Accumulators()> then) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* inside = f_.NewBlock("active");
  BasicBlock* merge = f_.NewBlock("next");
  b_.CreateCondBr(condition, inside, merge);
  b_.SetInsertPoint(inside);
  f_.trees().PushScope();
  const Accumulators after = then();
  f_.trees().PopScope();
  auto phis = f_.Phis(merge, AccumulatorTypes());
  for (auto [phi, value] : llvm::zip(phis, start)) phi->addIncoming(value, before);
  f_.BranchTo(merge, phis, after);
  b_.SetInsertPoint(merge);
  return Accumulators(phis.begin(), phis.end());
}

// One or the other.
Accumulators StructEmitter::Either(Value* condition, llvm::function_ref<Accumulators()> yes,
                                   llvm::function_ref<Accumulators()> no) {
  BasicBlock* blocks[] = {f_.NewBlock("either"), f_.NewBlock("or")};
  BasicBlock* merge = f_.NewBlock("both");
  b_.CreateCondBr(condition, blocks[0], blocks[1]);
  auto phis = f_.Phis(merge, AccumulatorTypes());
  for (int i = 0; i < 2; ++i) {
    b_.SetInsertPoint(blocks[i]);
    f_.trees().PushScope();
    const Accumulators after = i == 0 ? yes() : no();
    f_.trees().PopScope();
    f_.BranchTo(merge, phis, after);
  }
  b_.SetInsertPoint(merge);
  return Accumulators(phis.begin(), phis.end());
}

// The cell's number among all that the field may have, active or not, in row-major order.
Value* StructEmitter::Number(const TreeWalker::Coordinates& index) {
  Value* number = b_.getInt64(0);
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    const int64_t extent = plan_.tree.getAxisExtent(plan_.field.getNode(), axis);
    if (extent == 1) continue;
    number = b_.CreateMul(number, b_.getInt64(extent));
    number = b_.CreateAdd(number, b_.CreateSExt(EmitAffine(b_, index[axis]), b_.getInt64Ty()));
  }
  return number;
}

Accumulators StructEmitter::Iteration(const TreeWalker::Coordinates& index, Value* own,
                                      const Accumulators& start) {
  f_.trees().PushScope();
  if (own != nullptr) f_.trees().Know(plan_.field.getTree(), plan_.node, index, own);
  for (int i = 0; i < task_.getNumDims(); ++i) {
    const mlir::Value argument = task_.getIndices()[i];
    const int64_t axis = plan_.field.getAxis(i);
    const Affine& value = axis < 0 ? Affine() : index[axis];
    f_.Map(argument,
           b_.CreateTrunc(EmitAffine(b_, value), LlvmType(argument.getType(), b_.getContext())));
  }
  DefineIndices(index);
  for (auto [argument, value] : llvm::zip(task_.getAccumulators(), start)) f_.Map(argument, value);
  if (f_.draws()) f_.StartRandom(Number(index));
  BasicBlock* next = f_.NewBlock("next");
  auto after = f_.Phis(next, AccumulatorTypes());
  f_.PushLoop({next, after, nullptr, {}});
  f_.EmitBlock(task_.getBody().front());
  f_.PopLoop();
  f_.trees().PopScope();
  b_.SetInsertPoint(next);
  return Accumulators(after.begin(), after.end());
}

// --- Elements --------------------------------------------------------------------------

Value* StructEmitter::Field(Value* element, int64_t offset, llvm::Type* type) {
  Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), element, offset);
  auto* load = b_.CreateLoad(type, at);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
  return load;
}

// Where the element lies. A slice's container begins at a multiple of its extents.
void StructEmitter::ReadPlace(Value* element) {
  cell_ = Field(element, abi::kCell, b_.getPtrTy());
  leaves_.clear();
  const int64_t node = plan_.slices ? Node().getParent() : plan_.node;
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    at_[axis] = Affine();
    const int64_t extent = plan_.tree.getAxisExtent(node, axis);
    if (extent == 1) continue;
    Value* at = Field(element, abi::kAt + abi::kIndexBytes * axis, b_.getInt32Ty());
    at = b_.CreateZExt(at, b_.getInt64Ty());
    const int64_t inner = plan_.tree.getAxisExtent(plan_.node, axis) / extent;
    if (inner > 1) at = b_.CreateUDiv(at, b_.getInt64(inner), "", /*isExact=*/true);
    leaves_.push_back(at);
    at_[axis].Add(Leaf(at, 0, extent - 1), inner);
  }
}

// Iterations [from, to) of an element.
Accumulators StructEmitter::Element(Value* number, Value* from, Value* to,
                                    const Accumulators& start) {
  Value* element = b_.CreateInBoundsGEP(b_.getInt8Ty(), f_.ContextField(abi::kElements),
                                        b_.CreateNSWMul(number, b_.getInt64(abi::kElementBytes)));
  ReadPlace(element);
  BasicBlock* body = f_.NewBlock("element");
  Value* begin = nullptr;
  Value* end = nullptr;
  if (plan_.slices) {
    begin = b_.CreateZExt(Field(element, abi::kBegin, b_.getInt32Ty()), b_.getInt64Ty());
    Value* count = b_.CreateZExt(Field(element, abi::kCount, b_.getInt32Ty()), b_.getInt64Ty());
    end = b_.CreateNSWAdd(begin, count);
  }
  f_.trees().OpenPrologue(body, leaves_, /*always_visits=*/!plan_.slices);
  Accumulators after;
  if (!plan_.slices) {
    f_.trees().Know(plan_.field.getTree(), plan_.node, at_, cell_);
    after = Cells(from, to, start);
  } else {
    after = Slice(begin, end, start);
  }
  f_.trees().ClosePrologue();
  return after;
}

// --- Lists of cells: dense levels are loops ----------------------------------------------

Accumulators StructEmitter::Cells(Value* from, Value* to, const Accumulators& start) {
  for (int64_t axis = 0; axis < abi::kMaxAxes; ++axis) {
    const int64_t inner = plan_.tree.getAxisExtent(plan_.field.getNode(), axis) /
                          plan_.tree.getAxisExtent(plan_.node, axis);
    up_[axis] = Affine();
    up_[axis].Add(at_[axis], inner);
  }
  if (plan_.shared == 0) return Nest(0, start);
  // The outermost loops, as one that the iterations share.
  return Loop(from, to, start, [&](Value* iteration, const Accumulators& values) {
    const TreeWalker::Coordinates saved = up_;
    Affine rest = Leaf(iteration, 0, plan_.iterations - 1);
    for (size_t d = plan_.shared; d-- > 0;) {
      const Dimension& dimension = plan_.dimensions[d];
      Affine digit = rest;
      if (d > 0) std::tie(rest, digit) = DivideAffine(b_, rest, dimension.extent);
      if (digit.terms.size() == 1) {
        digit.terms[0].low = 0;
        digit.terms[0].high = dimension.extent - 1;
      }
      up_[dimension.axis].Add(digit, dimension.factor);
    }
    const Accumulators after = Nest(plan_.shared, values);
    up_ = saved;
    return after;
  });
}

// The ends of a dimension apart, and what is between, from where all that the body reads at
// constant distances lies in the block; or a short row in one loop.
Accumulators StructEmitter::Nest(size_t dimension, const Accumulators& start) {
  if (dimension == plan_.dimensions.size()) return NestedIteration(start);
  const Dimension& d = plan_.dimensions[dimension];
  const bool whole = dimension + 1 == plan_.dimensions.size() && OpenRow(d);
  const int64_t before = whole ? 0 : ends_[dimension].first;
  const int64_t end = d.extent - (whole ? 0 : ends_[dimension].second);
  const Affine saved = up_[d.axis];
  Accumulators values = start;
  const auto single = [&](int64_t index) {
    up_[d.axis].constant += index * d.factor;
    values = Nest(dimension + 1, values);
    up_[d.axis] = saved;
  };
  for (int64_t i = 0; i < before; ++i) single(i);
  values = Loop(b_.getInt64(before), b_.getInt64(end), values,
                [&](Value* index, const Accumulators& inside) {
                  if (whole) f_.trees().set_row_index(index);
                  up_[d.axis].Add(Leaf(index, before, end - 1), d.factor);
                  const Accumulators after = Nest(dimension + 1, inside);
                  up_[d.axis] = saved;
                  return after;
                });
  if (whole) f_.trees().CloseRow();
  for (int64_t i = end; i < d.extent; ++i) single(i);
  return values;
}

// The cell's number in a container that is looped over like a dense one is known, too.
Accumulators StructEmitter::NestedIteration(const Accumulators& start) {
  if (!plan_.slices) return Iteration(up_, nullptr, start);
  Affine offset;
  int64_t bytes = Node().getCellBytes();
  for (int a = Node().getNumAxes(); a-- > 0;) {
    Affine digit = up_[Node().getAxis(a)];
    digit.Add(at_[Node().getAxis(a)], -1);
    offset.Add(digit, bytes);
    bytes *= Node().getExtent(a);
  }
  Value* own = b_.CreateInBoundsGEP(b_.getInt8Ty(), cell_, EmitAffine(b_, offset));
  return Iteration(up_, own, start);
}

// --- Lists of slices -------------------------------------------------------------------

// A kind without a case does not build.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

// The active ones of the cells [begin, end) of a container.
Accumulators StructEmitter::Slice(Value* begin, Value* end, const Accumulators& start) {
  switch (Node().getKind()) {
    case SNodeKind::kPointer:
      return Slots(begin, end, start);
    case SNodeKind::kBitmasked:
      return Words(begin, end, start);
    case SNodeKind::kDynamic:
      return Chunk(begin, end, start);
    case SNodeKind::kRoot:
    case SNodeKind::kDense:
    case SNodeKind::kPlace:
    case SNodeKind::kBitStruct:
    case SNodeKind::kQuantArray:
      break;
  }
  llvm_unreachable("lists are of sparse nodes");
}

#pragma GCC diagnostic pop

// The index of a container's cell along each axis, from its number.
TreeWalker::Coordinates StructEmitter::Digits(Value* cell) {
  TreeWalker::Coordinates index = at_;
  Affine rest = Leaf(cell, 0, Node().getNumCells() - 1);
  for (int a = Node().getNumAxes(); a-- > 0;) {
    if (Node().getExtent(a) == 1) continue;
    Affine digit = rest;
    if (a > 0) std::tie(rest, digit) = DivideAffine(b_, rest, Node().getExtent(a));
    if (digit.terms.size() == 1) {
      digit.terms[0].low = 0;
      digit.terms[0].high = Node().getExtent(a) - 1;
    }
    index[Node().getAxis(a)].Add(digit, 1);
  }
  return index;
}

Accumulators StructEmitter::Slots(Value* begin, Value* end, const Accumulators& start) {
  return Loop(begin, end, start, [&](Value* number, const Accumulators& values) {
    auto* own = b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), cell_, number));
    f_.TagTables(own);
    return If(b_.CreateIsNotNull(own), values,
              [&] { return Iteration(Digits(number), own, values); });
  });
}

Accumulators StructEmitter::Chunk(Value* begin, Value* end, const Accumulators& start) {
  Value* count = b_.CreateNSWSub(end, begin);
  const int64_t cells = Node().getNumCells();
  return Loop(b_.getInt64(0), count, start, [&](Value* number, const Accumulators& values) {
    TreeWalker::Coordinates index = at_;
    Affine& own = index[Node().getAxis(0)];
    own = Leaf(b_.CreateNSWAdd(begin, number), 0, cells - 1);
    return Iteration(index, Cell(number), values);
  });
}

// The active ones of 32 cells from `first` on.
Accumulators StructEmitter::Bits(Value* word, Value* first, const Accumulators& start) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* header = f_.NewBlock("bits");
  BasicBlock* inside = f_.NewBlock("bit");
  BasicBlock* exit = f_.NewBlock("bits_end");
  auto values = f_.Phis(header, AccumulatorTypes());
  llvm::PHINode* left = llvm::IRBuilder<>(header, header->begin()).CreatePHI(word->getType(), 2);
  left->addIncoming(word, before);
  f_.BranchTo(header, values, start);
  b_.SetInsertPoint(header);
  b_.CreateCondBr(b_.CreateIsNotNull(left), inside, exit);
  b_.SetInsertPoint(inside);
  Value* bit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue());
  Value* number = b_.CreateNSWAdd(first, b_.CreateZExt(bit, b_.getInt64Ty()));
  f_.trees().PushScope();
  const Accumulators after =
      Iteration(Digits(number), Cell(number), Accumulators(values.begin(), values.end()));
  f_.trees().PopScope();
  BasicBlock* latch = b_.GetInsertBlock();
  Value* rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
  left->addIncoming(rest, latch);
  for (auto [phi, value] : llvm::zip(values, after)) phi->addIncoming(value, latch);
  f_.BranchBack(header);
  b_.SetInsertPoint(exit);
  return Accumulators(values.begin(), values.end());
}

// Word `number` of the container's mask.
Value* StructEmitter::MaskWord(Value* number) {
  Value* masks = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell_, Node().getMask());
  auto* word = b_.CreateAlignedLoad(
      b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), masks, number), llvm::Align(4));
  word->setAtomic(llvm::AtomicOrdering::Monotonic);
  f_.TagTables(word);
  return word;
}

// `count` cells from `first` on, all active: a plain loop, along one row where rows are long.
Accumulators StructEmitter::FullWord(Value* first, int64_t count, const Accumulators& start) {
  const int last = Node().getNumAxes() - 1;
  Value* base = Cell(first);
  TreeWalker::Coordinates corner = at_;
  if (in_row_) {
    // Where the body's neighbours are in range as well, as IsInside has found.
    corner = Digits(first);
    for (int a = 0; a <= last; ++a) {
      if (Node().getExtent(a) == 1) continue;
      Affine::Term& digit = corner[Node().getAxis(a)].terms.back();
      digit.low = reach_[a].first;
      digit.high = Node().getExtent(a) - 1 - reach_[a].second - (a == last ? 31 : 0);
    }
  }
  return Loop(b_.getInt64(0), b_.getInt64(count), start, [&](Value* k, const Accumulators& values) {
    TreeWalker::Coordinates index = corner;
    if (in_row_) {
      index[Node().getAxis(last)].Add(Leaf(k, 0, 31), 1);
    } else {
      index = Digits(b_.CreateNSWAdd(first, k));
    }
    Value* own = b_.CreateInBoundsGEP(b_.getInt8Ty(), base,
                                      b_.CreateNSWMul(k, b_.getInt64(Node().getCellBytes())));
    return Iteration(index, own, values);
  });
}

// Whether the 32 cells from `first` on and all that the body reads at constant distances lie
// in the container.
Value* StructEmitter::IsInside(Value* first) {
  const TreeWalker::Coordinates corner = Digits(first);
  Value* inside = b_.getTrue();
  for (int a = 0; a < Node().getNumAxes(); ++a) {
    const auto [before, beyond] = reach_[a];
    if (before == 0 && beyond == 0) continue;
    if (Node().getExtent(a) == 1) return b_.getFalse();
    const bool last = a + 1 == Node().getNumAxes();
    Value* digit = corner[Node().getAxis(a)].terms.back().leaf;
    const int64_t room = Node().getExtent(a) - before - beyond - (last ? 31 : 0);
    inside = b_.CreateAnd(inside, b_.CreateICmpULT(b_.CreateSub(digit, b_.getInt64(before)),
                                                   b_.getInt64(std::max<int64_t>(room, 0))));
  }
  return inside;
}

// Words of the mask: empty ones are passed over, full ones are plain loops.
Accumulators StructEmitter::PartlyActive(Value* begin, Value* end, const Accumulators& start) {
  const int64_t cells = std::min<int64_t>(Node().getNumCells(), 32);
  const bool twice = plan_.dimensions.empty() && 2 * CountOps(task_.getBody()) <= kMostCopiedOps;
  Value* first_word = b_.CreateLShr(begin, 5);
  Value* last_word = b_.CreateLShr(b_.CreateNSWAdd(end, b_.getInt64(31)), 5);
  return Loop(first_word, last_word, start, [&](Value* number, const Accumulators& values) {
    Value* word = MaskWord(number);
    Value* first = b_.CreateShl(number, 5, "", /*HasNUW=*/true, /*HasNSW=*/true);
    if (!twice) return Bits(word, first, values);
    const uint32_t full = cells == 32 ? ~0u : (1u << cells) - 1;
    Value* plain = b_.CreateICmpEQ(word, b_.getInt32(full));
    if (in_row_) plain = b_.CreateAnd(plain, IsInside(first));
    return Either(
        plain, [&] { return FullWord(first, cells, values); },
        [&] { return Bits(word, first, values); });
  });
}

// Whether the slice is a whole container with all of its cells.
Value* StructEmitter::AllActive(Value* begin, Value* end) {
  const int64_t cells = Node().getNumCells();
  Value* all = b_.getInt32(-1);
  for (int64_t word = 0; 32 * word < cells; ++word) {
    // Bits beyond the last cell are never set.
    const int64_t left = cells - 32 * word;
    const uint32_t absent = left >= 32 ? 0 : ~((1u << left) - 1);
    all = b_.CreateAnd(all, b_.CreateOr(MaskWord(b_.getInt64(word)), b_.getInt32(absent)));
  }
  Value* whole = b_.CreateICmpEQ(b_.CreateSub(end, begin), b_.getInt64(cells));
  return b_.CreateAnd(whole, b_.CreateICmpEQ(all, b_.getInt32(-1)));
}

Accumulators StructEmitter::Words(Value* begin, Value* end, const Accumulators& start) {
  if (plan_.dimensions.empty()) return PartlyActive(begin, end, start);
  return Either(
      AllActive(begin, end),
      [&] {
        up_ = at_;
        return Nest(0, start);
      },
      [&] { return PartlyActive(begin, end, start); });
}

// --- The task --------------------------------------------------------------------------

void StructEmitter::Emit(Value* begin, Value* end, Value* piece) {
  Accumulators start;
  for (mlir::Attribute init : task_.getInits())
    start.push_back(LlvmConstant(init, b_.getContext()));
  BasicBlock* some = f_.NewBlock("some");
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), some, f_.return_block());
  b_.SetInsertPoint(some);
  Value* iterations = b_.getInt64(plan_.iterations);
  Value* last = b_.CreateUDiv(b_.CreateSub(end, b_.getInt64(1)), iterations);
  const Accumulators result =
      Loop(b_.CreateUDiv(begin, iterations), b_.CreateNSWAdd(last, b_.getInt64(1)), start,
           [&](Value* number, const Accumulators& values) {
             Value* first = b_.CreateNSWMul(number, iterations);
             namespace I = llvm::Intrinsic;
             Value* from =
                 b_.CreateBinaryIntrinsic(I::smax, b_.CreateNSWSub(begin, first), b_.getInt64(0));
             Value* to = b_.CreateBinaryIntrinsic(I::smin, b_.CreateNSWSub(end, first), iterations);
             return Element(number, from, to, values);
           });
  StorePartials(f_, piece, result);
}

void EmitFunction(KernelState* state, ir::RangeTaskOp op, const Plan& plan, int number,
                  const std::string& name, bool parallel) {
  llvm::Function* function = NewTaskFunction(state->module, name);
  FunctionEmitter f(state, function, parallel);
  f.DrawFor(number, op.getBody());
  f.set_asks_at_atomics(AsksAtAtomics(op));
  f.set_task_body(&op.getBody().front());
  f.trees().set_effects(
      EffectsOf(op.getBody(), state->kernel, state->functions,
                [&](const ComponentAccess& access) { return IsOwnCell(plan, op, access); }));
  StructEmitter(f, op, plan).Emit(function->getArg(1), function->getArg(2), function->getArg(3));
  f.Finish();
}

}  // namespace

void EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number, proto::Task* task) {
  const Plan plan = PlanOf(op, state->kernel);
  task->set_kind(proto::TASK_STRUCT);
  task->set_tree(plan.field.getTree());
  task->set_node(plan.node);
  task->set_slices(plan.slices);
  task->set_iterations(plan.iterations);
  task->set_max_threads(op.getMaxThreads());
  task->set_block_dim(op.getBlockDim());
  SetCost(op, static_cast<uint32_t>(plan.cells), task);
  const bool parallel = op.getMaxThreads() != 1;
  EmitFunction(state, op, plan, number, task->symbol(), parallel);
  if (parallel && HasAtomics(op, state->facts)) {
    if (AsksAtAtomics(op)) {
      task->set_alone_symbol(task->symbol());
    } else {
      task->set_alone_symbol(absl::StrCat(task->symbol(), "_alone"));
      EmitFunction(state, op, plan, number, task->alone_symbol(), /*parallel=*/false);
    }
  }
  EmitFinish(state, op, task);
}

proto::Task ListgenFor(const proto::Task& task) {
  proto::Task listgen;
  listgen.set_kind(proto::TASK_LISTGEN);
  listgen.set_tree(task.tree());
  listgen.set_node(task.node());
  listgen.set_slices(task.slices());
  return listgen;
}

}  // namespace kiln
