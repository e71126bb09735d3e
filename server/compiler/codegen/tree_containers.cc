// The walk's step through one container, by the kind of its SNode: the only place in the walk where
// kinds differ. Each kind has a step to a cell and code that asks for the cell's activity; lists
// have two ops more. What the runtime does is called from the device library
// (runtime/device_lib/tree.h), whose bitcode is linked in.
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/tree_walk.h"

namespace kiln {

using llvm::Value;

// A kind without a case does not build.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

// From a container to its cell.
TreeWalker::Found TreeWalker::Step(const Walk& walk, int64_t node, const Coordinates& at) {
  const Place place = PlaceOf(walk, node, at);
  switch (Node(walk.tree, node).getKind()) {
    case SNodeKind::kDense:
      return DenseStep(walk, node, place);
    case SNodeKind::kPointer:
      return PointerStep(walk, node, place);
    case SNodeKind::kBitmasked:
      return BitmaskedStep(walk, node, place);
    case SNodeKind::kDynamic:
      return DynamicStep(walk, node, place);
    case SNodeKind::kRoot:
    case SNodeKind::kPlace:
    case SNodeKind::kBitStruct:
    case SNodeKind::kQuantArray:
      break;
  }
  llvm_unreachable("the root ends the walk, and trees have no other nodes");
}

// i1: whether the cell of a sparse node is active, if the container exists.
Value* TreeWalker::Activity(int64_t tree, int64_t node, const Place& place) {
  const auto ask = [&](const char* name, llvm::ArrayRef<Value*> arguments) {
    return b().CreateIsNotNull(Call(name, b().getInt32Ty(), arguments));
  };
  switch (Node(tree, node).getKind()) {
    case SNodeKind::kPointer: {
      return b().CreateIsNotNull(LoadSlot(tree, node, Slot(place)));
    }
    case SNodeKind::kBitmasked: {
      Value* number = EmitAffine(b(), place.number);
      return ask("kiln_bitmasked_is_active", {Mask(tree, node, place), number});
    }
    case SNodeKind::kDynamic:
      return ask("kiln_dynamic_is_active", {place.container, EmitAffine(b(), place.number)});
    case SNodeKind::kRoot:
    case SNodeKind::kDense:
    case SNodeKind::kPlace:
    case SNodeKind::kBitStruct:
    case SNodeKind::kQuantArray:
      break;
  }
  llvm_unreachable("cells of nodes that are not sparse are always active");
}

#pragma GCC diagnostic pop

// --- dense: arithmetic -------------------------------------------------------------

TreeWalker::Found TreeWalker::DenseStep(const Walk& walk, int64_t node, const Place& place) {
  Value* cell = CellAddress(walk.tree, node, place);
  if (place.own_range != nullptr) {
    // Below dense levels alone there is no stand-in. Digit 0 has replaced the one out of range, so
    // the cell exists.
    Value* spare = SpareBelow(walk.tree, node, walk.access);
    if (spare != nullptr) cell = b().CreateSelect(place.own_range, cell, spare);
  }
  return {cell, place.in_range};
}

// --- pointer: an array of pointers to cells -----------------------------------------

Value* TreeWalker::Slot(const Place& place) {
  return b().CreateInBoundsGEP(b().getPtrTy(), place.container, EmitAffine(b(), place.number));
}

Value* TreeWalker::LoadSlot(int64_t tree, int64_t node, Value* slot) {
  auto* cell = b().CreateLoad(b().getPtrTy(), slot);
  if (!f_.state_->target->LoadsSeeOtherThreads() && !IsSteady(tree, node)) {
    cell->setAtomic(llvm::AtomicOrdering::Monotonic);
    cell->setAlignment(llvm::Align(abi::kPointerBytes));
  }
  f_.TagTables(cell);
  return cell;
}

TreeWalker::Found TreeWalker::PointerStep(const Walk& walk, int64_t node, const Place& place) {
  Value* spare = Spare(walk.tree, node, walk.access);
  if (walk.access == Access::kActivate) {
    Value* number = EmitAffine(b(), place.number);
    Value* cell = If(place.in_range, spare, [&]() -> Value* {
      return Call("kiln_pointer_activate", b().getPtrTy(),
                  {f_.function_->getArg(0), NodeState(walk.tree, node), place.container, number});
    });
    return {cell, place.in_range};
  }
  Value* cell = LoadSlot(walk.tree, node, Slot(place));
  // Out of range, digit 0 was loaded: a valid slot of the container, whose content does not count.
  Value* active = And(b().CreateIsNotNull(cell), place.in_range);
  return {b().CreateSelect(active, cell, spare), nullptr};
}

// --- bitmasked: cells, then a mask of bits --------------------------------------------

Value* TreeWalker::Mask(int64_t tree, int64_t node, const Place& place) {
  return b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), place.container,
                                        Node(tree, node).getMask());
}

// Cells exist whether they are active or not, and keep their data. Writes that do not activate go
// to active ones only, as in the other containers.
TreeWalker::Found TreeWalker::BitmaskedStep(const Walk& walk, int64_t node, const Place& place) {
  Value* cell = CellAddress(walk.tree, node, place);
  if (walk.access == Access::kActivate) {
    Value* number = EmitAffine(b(), place.number);
    If(place.in_range, nullptr, [&]() -> Value* {
      Call("kiln_bitmasked_activate", b().getVoidTy(),
           {NodeState(walk.tree, node), Mask(walk.tree, node, place), number});
      return nullptr;
    });
  }
  Value* is_target = place.in_range;
  if (walk.access == Access::kFind) is_target = And(is_target, Activity(walk.tree, node, place));
  if (is_target == nullptr) return {cell, nullptr};
  cell = b().CreateSelect(is_target, cell, Spare(walk.tree, node, walk.access));
  return {cell, walk.access == Access::kActivate ? place.in_range : nullptr};
}

// --- dynamic: a length, and chunks of cells -------------------------------------------

// The numbers that describe a list to the device library: cells, cells of a chunk, bytes of a cell.
llvm::SmallVector<Value*> TreeWalker::Shape(int64_t tree, int64_t node) {
  ir::SNodeAttr level = Node(tree, node);
  return {b().getInt64(level.getNumCells()), b().getInt64(level.getChunk()),
          b().getInt64(level.getCellBytes())};
}

TreeWalker::Found TreeWalker::DynamicStep(const Walk& walk, int64_t node, const Place& place) {
  Value* spare = Spare(walk.tree, node, walk.access);
  Value* number = EmitAffine(b(), place.number);
  llvm::SmallVector<Value*> arguments = {NodeState(walk.tree, node), place.container, number};
  llvm::append_range(arguments, Shape(walk.tree, node));
  if (walk.access == Access::kActivate) {
    arguments.insert(arguments.begin(), f_.function_->getArg(0));
    Value* cell = If(place.in_range, spare, [&]() -> Value* {
      return Call("kiln_dynamic_activate", b().getPtrTy(), arguments);
    });
    return {cell, place.in_range};
  }
  const char* name = walk.access == Access::kRead ? "kiln_dynamic_read" : "kiln_dynamic_find";
  Value* cell = Call(name, b().getPtrTy(), arguments);
  return {Select(place.in_range, cell, spare), nullptr};
}

Value* TreeWalker::Length(ir::LengthOp op) {
  ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
  const Coordinates at = At(field, op.getIndices());
  const Place place = PlaceOf(QueryWalk(field.getTree(), field.getNode()), field.getNode(), at);
  Value* length = Call("kiln_dynamic_length", b().getInt32Ty(), {place.container});
  return Select(place.in_range, length, b().getInt32(0));
}

// Remembers the new cell's address for the stores that follow.
Value* TreeWalker::Append(ir::AppendOp op) {
  ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
  const int64_t tree = field.getTree(), node = field.getNode();
  Coordinates at = At(field, op.getIndices());
  Walk walk = QueryWalk(tree, node);
  walk.access = Access::kActivate;
  const Place place = PlaceOf(walk, node, at);
  Value* cell = f_.Alloca(b().getPtrTy(), 1);
  // For indices out of range: the stores that follow go to the dump.
  b().CreateStore(Spare(tree, node, Access::kFind), cell);
  llvm::SmallVector<Value*> arguments = {f_.function_->getArg(0), NodeState(tree, node),
                                         place.container};
  llvm::append_range(arguments, Shape(tree, node));
  arguments.push_back(cell);
  Value* number = If(place.in_range, b().getInt32(-1), [&]() -> Value* {
    return Call(f_.parallel_ ? "kiln_dynamic_append" : "kiln_dynamic_append_alone",
                b().getInt32Ty(), arguments);
  });
  // The program indexes the list by the number that append returned, so the form is the same.
  at[Node(tree, node).getAxis(0)] = Leaf(number);
  Know(tree, node, at, b().CreateLoad(b().getPtrTy(), cell));
  return number;
}

}  // namespace kiln
