#include "server/compiler/lowering/large_tensors.h"

#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/elementwise.h"
#include "server/compiler/lowering/lower_memory.h"
#include "server/compiler/lowering/lower_values.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

LargeTensors::LargeTensors(LoweringContext& c)
    : c_(c), deferral_(c.function, c.types, c.IsBody()) {}

const Scalars& LargeTensors::Value(NodeId id) {
  // All of it is needed here, so an array is made.
  if (IsDeferred(id)) c_.values[id] = {Make(id)};
  return c_.values[id];
}

mlir::Value LargeTensors::Make(NodeId id) {
  const proto::Node& node = c_.node(id);
  // The handlers of these two make an array by themselves.
  if (node.kind() == proto::PARAM) return Lower(c_, ParamNode(id, node))[0];
  if (node.kind() == proto::LOAD) return Lower(c_, LoadNode(id, node))[0];
  PreparePicks(node);
  const Type& type = c_.TypeOf(id);
  mlir::Value array = NewArray(c_, type.scalar, type.NumElements());
  RepeatOver(c_, type, deferral_.ComputesPick(id),
             [&](const Index& at) { StoreInto(c_, array, at, ComputeElement(c_, id, at)); });
  return array;
}

mlir::Value LargeTensors::Element(NodeId id, const Index& at) {
  if (!IsDeferred(id)) {
    // In memory, or scalars. A run-time index into scalars takes the copy that PreparePicks made.
    const Scalars& pieces = c_.values[id];
    if (IsLarge(c_.TypeOf(id))) return LoadFrom(c_, pieces[0], at);
    if (at.value && pieces.size() > 1) return LoadFrom(c_, picked_.at(id), at);
    return pieces[pieces.size() == 1 ? 0 : at.number];
  }
  // Ops and reports name the deferred node, not its user.
  const AtNode here(c_, id);
  const proto::Node& node = c_.node(id);
  if (node.kind() == proto::LOAD) {
    return LoadAt(c_, c_.places[LoadNode(id, node).address()], at, c_.ScalarOf(id));
  }
  if (node.kind() == proto::PARAM) {
    const uint64_t slot = c_.FirstSlot(ParamNode(id, node).param());
    return c_.Create<ir::ArgumentOp>(c_.ValueTypeOf(c_.ScalarOf(id)), slot + at.number, at.value);
  }
  return ComputeElement(c_, id, at);
}

mlir::Value LargeTensors::InMemory(NodeId id) {
  if (IsLarge(c_.TypeOf(id))) return Value(id)[0];
  return ArrayOf(c_, c_.ScalarOf(id), c_.values[id]);
}

void LargeTensors::Prepare(NodeId id) {
  if (IsDeferred(id)) PreparePicks(c_.node(id));
}

void LargeTensors::Prepare(NodeId id, const Place& target) {
  if (ReadsOverwritten(id, target, false)) {
    c_.values[id] = {Make(id)};
    // So that later uses read the array, not the memory that has changed.
    deferral_.End(id);
  }
  Prepare(id);
}

// A run-time index into a small tensor needs it in memory, as its scalars have no addresses.
void LargeTensors::PreparePicks(const proto::Node& node) {
  if (!IsElementwise(node)) return;
  for (NodeId operand : NodeIds(node.operands())) {
    if (node.kind() == proto::PICK && !IsLarge(c_.TypeOf(operand))) {
      picked_[operand] = InMemory(operand);
    } else if (IsDeferred(operand)) {
      PreparePicks(c_.node(operand));
    }
  }
}

// Storing element i after reading element i is fine, so the same memory is, unless a pick moves
// elements (`moved`). Memory that overlaps in unknown ways never is.
bool LargeTensors::ReadsOverwritten(NodeId id, const Place& target, bool moved) const {
  if (!IsDeferred(id)) return false;
  const proto::Node& node = c_.node(id);
  if (node.kind() == proto::LOAD) {
    const Root& source = *c_.places[LoadNode(id, node).address()].root;
    const Root& written = *target.root;
    if (source.IsJoin() || written.IsJoin()) return true;
    // Locals of different roots never overlap, nor does a local with a storage.
    if (!source.InStorage() || !written.InStorage()) return moved && &source == &written;
    if (source.storage == written.storage) return moved;
    return c_.storages.MayAlias(source.storage, written.storage);
  }
  if (!IsElementwise(node)) return false;
  return llvm::any_of(NodeIds(node.operands()), [&](NodeId operand) {
    return ReadsOverwritten(operand, target, moved || node.kind() == proto::PICK);
  });
}

void StoreTensor(LoweringContext& c, const Place& place, NodeId id) {
  c.tensors->Prepare(id, place);
  RepeatOver(c, c.TypeOf(id), c.tensors->GoesByRows(id),
             [&](const Index& at) { StoreAt(c, place, at, c.tensors->Element(id, at)); });
}

}  // namespace kiln
