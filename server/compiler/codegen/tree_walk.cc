#include "server/compiler/codegen/tree_walk.h"

#include "llvm/IR/MDBuilder.h"
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/function_emitter.h"

namespace kiln {
namespace {

using llvm::Value;

// The first number of a key is an Access, or one of these.
constexpr uint64_t kDivision = 100;
constexpr uint64_t kNeighbour = 101;

// Terms in the order of their addresses, so that x + y and y + x have one key. Keys live only while
// one function is emitted, so the order may differ between runs.
void AddTo(const Affine& value, std::vector<uint64_t>* key) {
  llvm::SmallVector<std::pair<uint64_t, uint64_t>, 4> terms;
  for (const Affine::Term& t : value.terms) {
    terms.emplace_back(reinterpret_cast<uint64_t>(t.leaf), static_cast<uint64_t>(t.factor));
  }
  llvm::sort(terms);
  key->push_back(terms.size());
  key->push_back(static_cast<uint64_t>(value.constant));
  for (auto [leaf, factor] : terms) key->insert(key->end(), {leaf, factor});
}

}  // namespace

llvm::IRBuilder<>& TreeWalker::b() { return f_.b_; }

// The anchor of the node; 0 if all cells on its path are in their containers.
int64_t TreeWalker::Anchor(ir::TreeAttr tree, int64_t node) {
  while (node != 0 && !tree.getNode(node).getFacts().keeps_memory()) {
    node = tree.getNode(node).getParent();
  }
  return node;
}

TreeWalker::Coordinates TreeWalker::At(ir::TreeFieldAttr field, mlir::ValueRange indices) {
  ir::TreeAttr tree = kernel_.getTree(field.getTree());
  // Ops on lists name a container: they have one index less than the list has axes.
  const bool above = static_cast<int>(indices.size()) < field.getNumAxes();
  const int64_t own = above ? tree.getNode(field.getNode()).getAxis(0) : -1;
  Coordinates at(abi::kMaxAxes);
  size_t next = 0;
  for (int i = 0; i < field.getNumAxes(); ++i) {
    if (above && field.getAxis(i) == own) continue;
    const mlir::Value index = indices[next++];
    if (field.getAxis(i) < 0) continue;
    at[field.getAxis(i)] = f_.indices_.Read(f_.b_, index, f_.values_);
  }
  return at;
}

TreeWalker::Coordinates TreeWalker::At(ir::TreeFieldAttr field, int component,
                                       mlir::ValueRange indices) {
  Coordinates at(abi::kMaxAxes);
  for (int i = 0; i < field.getNumAxes(); ++i) {
    const int64_t axis = field.getComponentAxis(component, i);
    if (axis < 0) continue;
    at[axis] = f_.indices_.Read(f_.b_, indices[i], f_.values_);
    // Physical indices count from 0, whatever offset the program gave the field.
    at[axis].constant -= field.getAxisOffset(i);
  }
  return at;
}

// --- What is remembered ------------------------------------------------------------
//
// Coordinates of one form have one key, so a lookup that the kernel states twice is emitted once.
// LLVM could not merge the two where code between them writes: it does not know what containers
// are.

TreeWalker::Key TreeWalker::KeyOf(const Walk& walk, Access access, int64_t node,
                                  const Coordinates& at) {
  // A walk from a cell in the middle (a neighbour's block) must not be taken for one from the root.
  Key key = {static_cast<uint64_t>(access), static_cast<uint64_t>(walk.tree),
             static_cast<uint64_t>(node), reinterpret_cast<uint64_t>(walk.from_cell)};
  // Only coordinates of the path's axes decide the cell, so others do not enter the key.
  for (int64_t n = node; n != 0; n = Node(walk.tree, n).getParent()) {
    ir::SNodeAttr level = Node(walk.tree, n);
    for (int a = 0; a < level.getNumAxes(); ++a) AddTo(at[level.getAxis(a)], &key);
  }
  return key;
}

const std::pair<Value*, Value*>* TreeWalker::Lookup(const Key& key) {
  // From the innermost scope outwards. Scopes that are closed held values of blocks that do not
  // dominate the code here.
  for (size_t s = ScopeNow() + 1; s-- > 0;) {
    if (auto found = scopes_[s].find(key); found != scopes_[s].end()) return &found->second;
  }
  return nullptr;
}

// Whether code may deactivate cells on the path to the node. Then no lookup is remembered.
bool TreeWalker::CanChange(int64_t tree, int64_t node) const {
  ir::KernelOp kernel = kernel_;
  return llvm::any_of(kernel.getTree(tree).getPath(node),
                      [&](int64_t n) { return effects_.deactivated.contains({tree, n}); });
}

TreeWalker::Found TreeWalker::Remembered(const Walk& walk, int64_t node, const Coordinates& at) {
  if (CanChange(walk.tree, node)) return {};
  // An activated cell exists, so reads may use its address. The reverse would write to a stand-in.
  const auto* known = Lookup(KeyOf(walk, Access::kActivate, node, at));
  if (known == nullptr && walk.access != Access::kActivate && walk.steady) {
    known = Lookup(KeyOf(walk, walk.access, node, at));
  }
  return known == nullptr ? Found() : Found{known->first, known->second};
}

void TreeWalker::Know(int64_t tree, int64_t node, const Coordinates& at, Value* cell) {
  scopes_.back()[KeyOf({tree}, Access::kActivate, node, at)] = {cell, nullptr};
}

std::pair<Affine, Affine> TreeWalker::Divide(const Affine& value, int64_t divisor) {
  auto parts = SplitAffine(value, divisor);
  if (IsRemainder(parts.second, divisor)) return parts;
  Key key = {kDivision, static_cast<uint64_t>(divisor)};
  AddTo(value, &key);
  if (const auto* known = Lookup(key)) {
    return {Leaf(known->first), Leaf(known->second, 0, divisor - 1)};
  }
  // Remembered, because neighbours of a cell share most divisions and LLVM merges only equal ones.
  parts = DivideAffine(b(), value, divisor);
  scopes_[ScopeNow()][key] = {parts.first.terms[0].leaf, parts.second.terms[0].leaf};
  return parts;
}

// --- Prologues of elements -----------------------------------------------------------

void TreeWalker::OpenPrologue(llvm::BasicBlock* body, llvm::ArrayRef<Value*> leaves,
                              bool always_visits) {
  PushScope();
  // The block is left without a branch: ClosePrologue adds it behind what the walk has appended.
  prologue_.emplace(Prologue{b().GetInsertBlock(), body, scopes_.size() - 1, {}, always_visits});
  prologue_->leaves.insert(leaves.begin(), leaves.end());
  b().SetInsertPoint(body);
}

void TreeWalker::ClosePrologue() {
  llvm::IRBuilder<>(prologue_->end).CreateBr(prologue_->body);
  prologue_.reset();
  PopScope();
}

// Whether the prologue can compute the coordinates: they are made of values that it has.
bool TreeWalker::HoistsAt(const Coordinates& at, int64_t tree, int64_t node) {
  for (int64_t n = node; n != 0; n = Node(tree, n).getParent()) {
    ir::SNodeAttr level = Node(tree, n);
    for (int a = 0; a < level.getNumAxes(); ++a) {
      for (const Affine::Term& t : at[level.getAxis(a)].terms) {
        // A leaf of the loops inside does not exist yet where the prologue is.
        if (!prologue_->leaves.contains(t.leaf)) return false;
      }
    }
  }
  return true;
}

// Whether the prologue may make the lookup. A lookup that activates must also happen for each
// element in any case; one that reads must find there what it would find later.
bool TreeWalker::CanHoist(const Walk& walk, int64_t node, const Coordinates& at) {
  // While hoisting, the whole path is emitted in the prologue already.
  if (!prologue_ || hoisting_ || walk.from >= 0 || CanChange(walk.tree, node)) return false;
  if (walk.access == Access::kActivate) {
    // An op that asks for the cell's activity must not see the activation before it happens.
    const bool asked = llvm::any_of(kernel_.getTree(walk.tree).getPath(node), [&](int64_t n) {
      return effects_.queried.contains({walk.tree, n});
    });
    if (!walk.certain || !prologue_->always_visits || asked) return false;
  } else if (!walk.steady) {
    return false;
  }
  return HoistsAt(at, walk.tree, node);
}

// --- The walk ------------------------------------------------------------------------

Value* TreeWalker::Cell(int64_t tree, int64_t node, const Coordinates& at, Access access,
                        bool certain) {
  Walk walk = QueryWalk(tree, node);
  walk.access = access;
  walk.certain = certain;
  if (access != Access::kActivate) {
    // Only for reads: an access that activates must activate the one cell, not all blocks around
    // it.
    if (Value* cell = Neighbour(tree, node, at, walk)) return cell;
  }
  return Go(walk, node, at).pointer;
}

// Whether code may activate cells with memory of their own on the path to the node: the address of
// such a cell changes when it becomes active.
bool TreeWalker::Grows(int64_t tree, int64_t node) const {
  const int64_t anchor = Anchor(ir::KernelOp(kernel_).getTree(tree), node);
  return anchor != 0 && effects_.activated.contains({tree, anchor});
}

bool TreeWalker::IsSteady(int64_t tree, int64_t node) const {
  return !Grows(tree, node) && !CanChange(tree, node);
}

// A walk that reads.
TreeWalker::Walk TreeWalker::QueryWalk(int64_t tree, int64_t node) {
  return {tree, Access::kRead, !Grows(tree, node), false};
}

TreeWalker::Found TreeWalker::Go(const Walk& walk, int64_t node, const Coordinates& at) {
  if (node == walk.from) return {walk.from_cell, nullptr};
  // The root always exists and has one cell.
  if (node == 0) return {f_.Argument(kernel_.getTree(walk.tree).getSlot(), b().getPtrTy())};
  if (Found known = Remembered(walk, node, at); known.pointer != nullptr) return known;
  llvm::BasicBlock* here = b().GetInsertBlock();
  // The insertion point moves to the prologue for this step and all that it needs, then back.
  const bool hoist = CanHoist(walk, node, at);
  if (hoist) {
    b().SetInsertPoint(prologue_->end);
    hoisting_ = true;
  }
  // Recurses to the parent: the depth is that of the tree.
  const Found found = Step(walk, node, at);
  if (!CanChange(walk.tree, node)) {
    scopes_[ScopeNow()][KeyOf(walk, walk.access, node, at)] = {found.pointer, found.in_range};
  }
  if (hoist) {
    prologue_->end = b().GetInsertBlock();
    hoisting_ = false;
    b().SetInsertPoint(here);
  }
  return found;
}

bool TreeWalker::IsOutermost(int64_t tree, int64_t node, int64_t axis) {
  return kernel_.getTree(tree).getAxisExtent(Node(tree, node).getParent(), axis) == 1;
}

// The container of the node, and which of its cells the coordinates name. Each index is divided by
// the level's extent: the quotient is the index in the level above, the remainder the digit at this
// level. The outermost level of an axis takes the whole index as digit, which may be out of range:
// then the digit is 0 and own_range false.
TreeWalker::Place TreeWalker::PlaceOf(const Walk& walk, int64_t node, const Coordinates& at) {
  ir::SNodeAttr level = Node(walk.tree, node);
  Coordinates up = at;
  // From the cell to the root: quotients are the coordinates of the container, and `up` goes on
  // with them.
  llvm::SmallVector<Affine, 4> digits;
  for (int a = 0; a < level.getNumAxes(); ++a) {
    const int64_t axis = level.getAxis(a);
    Affine digit = at[axis];
    if (IsOutermost(walk.tree, node, axis)) {
      up[axis] = Affine();
    } else {
      std::tie(up[axis], digit) = Divide(at[axis], level.getExtent(a));
    }
    digits.push_back(std::move(digit));
  }
  const Found parent = Go(walk, level.getParent(), up);
  Place place = {b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), parent.pointer, level.getOffset()),
                 Affine(), nullptr, nullptr};
  // Row-major: the number of cells that one step along the axis skips.
  int64_t cells = level.getNumCells();
  for (int a = 0; a < level.getNumAxes(); ++a) {
    const int64_t extent = level.getExtent(a);
    cells /= extent;
    // A digit whose bounds are those of a remainder is in range.
    if (!IsRemainder(digits[a], extent)) {
      Value* digit = EmitAffine(b(), digits[a]);
      // Unsigned: negative digits are huge, so one comparison finds both kinds.
      Value* fits = b().CreateICmpULT(digit, b().getInt64(extent));
      digits[a] = Leaf(b().CreateSelect(fits, digit, b().getInt64(0)), 0, extent - 1);
      place.own_range = And(place.own_range, fits);
    }
    place.number.Add(digits[a], cells);
  }
  place.in_range = And(parent.in_range, place.own_range);
  return place;
}

// Splits the coordinates of a cell into those of a block (a cell of the anchor) and the rests in
// it. Along some axes, `open`, the cell may also be in the next block. False: it may be further
// away.
bool TreeWalker::SplitByBlock(int64_t tree, int64_t node, int64_t anchor, Coordinates* blocks,
                              Coordinates* rests, llvm::SmallVectorImpl<int64_t>* open) {
  ir::TreeAttr shape = kernel_.getTree(tree);
  for (size_t axis = 0; axis < rests->size(); ++axis) {
    // Blocks are cells of the anchor. An axis that the anchor does not divide has one block.
    const int64_t above = shape.getAxisExtent(anchor, axis);
    if (above == 1) continue;
    const int64_t extent = shape.getAxisExtent(node, axis) / above;
    Affine& rest = (*rests)[axis];
    std::tie((*blocks)[axis], rest) = SplitAffine(Affine(rest), extent);
    if (IsRemainder(rest, extent)) continue;
    // A distance below one block leads to the block itself or the next one. Constants are brought
    // into [0, extent) by SplitAffine, so "before" shows as the next of an earlier block.
    if (!IsRemainder(rest, 2 * extent)) return false;
    open->push_back(axis);
  }
  return true;
}

// The cell of a read at a constant distance from the element's cells; null if it is not such a
// read. Along each axis the cell is in the element's block or in the next one. The prologue looks
// all of these blocks up (2 to the power of such axes); the loop selects one and computes the rest.
Value* TreeWalker::Neighbour(int64_t tree, int64_t node, const Coordinates& at, const Walk& walk) {
  ir::TreeAttr shape = kernel_.getTree(tree);
  const int64_t anchor = Anchor(shape, node);
  if (!prologue_ || anchor == 0 || !walk.steady || CanChange(tree, node)) return nullptr;
  // A key of its own: the same coordinates may also be asked for without a prologue. With the
  // access: from an inactive cell, reads and writes go to different stand-ins.
  Key key = KeyOf(walk, static_cast<Access>(kNeighbour), node, at);
  key.push_back(static_cast<uint64_t>(walk.access));
  if (const auto* known = Lookup(key)) return known->first;
  Coordinates blocks(at.size()), rests = at;
  llvm::SmallVector<int64_t, 4> open;
  if (!SplitByBlock(tree, node, anchor, &blocks, &rests, &open) || open.empty() ||
      !HoistsAt(blocks, tree, anchor)) {
    return nullptr;
  }
  llvm::SmallVector<Value*, 4> leaves;
  for (int64_t axis : open) {
    // Selects instead of branches keep the loop vectorisable.
    const int64_t extent = shape.getAxisExtent(node, axis) / shape.getAxisExtent(anchor, axis);
    Value* rest = EmitAffine(b(), rests[axis]);
    leaves.push_back(b().CreateICmpSGE(rest, b().getInt64(extent)));
    rest = b().CreateSelect(leaves.back(), b().CreateNSWSub(rest, b().getInt64(extent)), rest);
    rests[axis] = Leaf(rest, 0, extent - 1);
  }
  // All combinations of "this block" and "the next one", one axis after the other.
  const std::function<Value*(size_t)> choose = [&](size_t i) -> Value* {
    if (i == open.size()) return Go(walk, anchor, blocks).pointer;
    Value* here = choose(i + 1);
    ++blocks[open[i]].constant;
    Value* next = choose(i + 1);
    --blocks[open[i]].constant;
    return b().CreateSelect(leaves[i], next, here);
  };
  Walk rest = walk;
  rest.from = anchor;
  rest.from_cell = choose(0);
  Value* cell = Go(rest, node, rests).pointer;
  scopes_.back()[key] = {cell, nullptr};
  return cell;
}

// --- Instructions --------------------------------------------------------------------

Value* TreeWalker::CellAddress(int64_t tree, int64_t node, const Place& place) {
  // The constant is a step of its own at the end, so that cells at constant distances share the
  // rest.
  Affine offset;
  offset.Add(place.number, Node(tree, node).getCellBytes());
  Value* cell = place.container;
  if (Value* terms = EmitTerms(b(), offset)) {
    cell = b().CreateInBoundsGEP(b().getInt8Ty(), cell, terms);
  }
  return b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), cell, offset.constant);
}

Value* TreeWalker::NodeState(int64_t tree, int64_t node) {
  Value* nodes = f_.Argument(kernel_.getTree(tree).getSlot() + 1, b().getPtrTy());
  return f_.EntryLoad(nodes, abi::kPointerBytes * node);
}

// The cell that stands in for inactive cells of a sparse node.
Value* TreeWalker::Spare(int64_t tree, int64_t node, Access access) {
  return f_.EntryLoad(NodeState(tree, node), access == Access::kRead ? abi::kAmbient : abi::kDump);
}

// The same for a dense node: its first cell in the stand-in of the last sparse node above. Null if
// there is none.
Value* TreeWalker::SpareBelow(int64_t tree, int64_t node, Access access) {
  int64_t offset = 0;
  // A stand-in is a whole cell of the sparse node, so it contains cells of all levels below.
  for (; node != 0 && !Node(tree, node).isSparse(); node = Node(tree, node).getParent()) {
    offset += Node(tree, node).getOffset();
  }
  if (node == 0) return nullptr;
  return b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), Spare(tree, node, access), offset);
}

Value* TreeWalker::And(Value* x, Value* y) {
  if (x == nullptr || y == nullptr) return x == nullptr ? y : x;
  return b().CreateAnd(x, y);
}

Value* TreeWalker::Select(Value* condition, Value* yes, Value* no) {
  return condition == nullptr ? yes : b().CreateSelect(condition, yes, no);
}

// `then`'s value where the condition holds (null: always), else `otherwise`. The condition is
// likely.
Value* TreeWalker::If(Value* condition, Value* otherwise, llvm::function_ref<Value*()> then) {
  if (condition == nullptr) return then();
  llvm::BasicBlock* before = b().GetInsertBlock();
  llvm::BasicBlock* inside = f_.NewBlock("in_range");
  llvm::BasicBlock* after = f_.NewBlock("walked");
  b().CreateCondBr(condition, inside, after,
                   llvm::MDBuilder(b().getContext()).createLikelyBranchWeights());
  b().SetInsertPoint(inside);
  // What is looked up inside is not known after it, because the block may not run.
  PushScope();
  Value* value = then();
  PopScope();
  inside = b().GetInsertBlock();
  b().CreateBr(after);
  b().SetInsertPoint(after);
  if (otherwise == nullptr) return nullptr;
  llvm::PHINode* phi = b().CreatePHI(value->getType(), 2);
  phi->addIncoming(value, inside);
  phi->addIncoming(otherwise, before);
  return phi;
}

// A function of the device library.
llvm::CallInst* TreeWalker::Call(const char* name, llvm::Type* result,
                                 llvm::ArrayRef<Value*> arguments) {
  llvm::SmallVector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto callee = f_.state_->module->getOrInsertFunction(
      name, llvm::FunctionType::get(result, types, /*isVarArg=*/false));
  llvm::CallInst* call = b().CreateCall(callee, arguments);
  // No function of the runtime throws.
  call->addFnAttr(llvm::Attribute::NoUnwind);
  f_.TagTables(call);
  return call;
}

}  // namespace kiln
