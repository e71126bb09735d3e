// Values of large tensors: what a deferred node (deferral.h) is computed from, and when it is
// written to memory after all.
//
// While a node is deferred, LoweringContext::values holds nothing for it. Use Value and Element
// rather than `values` for operands that may be large tensors.
#ifndef KILN_SERVER_COMPILER_LOWERING_LARGE_TENSORS_H_
#define KILN_SERVER_COMPILER_LOWERING_LARGE_TENSORS_H_

#include "absl/container/flat_hash_map.h"
#include "server/compiler/lowering/deferral.h"
#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

class LargeTensors {
 public:
  // Refers to the context, which owns it.
  explicit LargeTensors(LoweringContext& c);

  bool IsDeferred(NodeId id) const { return deferral_.IsDeferred(id); }
  bool IsUsed(NodeId id) const { return deferral_.IsUsed(id); }

  // The pieces of any node's value. Makes an array of a deferred node; it stays deferred, so a
  // later use in a loop still computes its elements.
  const Scalars& Value(NodeId id);
  // An element of any node's value; a scalar is its own element, whatever the index: element-wise
  // ops take scalars beside tensors.
  mlir::Value Element(NodeId id, const Index& at);
  // Computes a large node into a new array.
  mlir::Value Make(NodeId id);
  // An array with the elements of any tensor.
  mlir::Value InMemory(NodeId id);

  // Call before a loop that computes elements of `id`, outside of the loop. Small tensors that
  // deferred picks read are written to memory there, once.
  void Prepare(NodeId id);
  // The same if the loop stores the elements to `target`. Ends the deferral if the loop would read
  // what it has already overwritten.
  void Prepare(NodeId id, const Place& target);
  // Whether such a loop is faster as a nest over rows and columns.
  bool GoesByRows(NodeId id) const { return deferral_.HasPick(id); }

 private:
  void PreparePicks(const proto::Node& node);
  bool ReadsOverwritten(NodeId id, const Place& target, bool moved) const;

  LoweringContext& c_;
  Deferral deferral_;
  absl::flat_hash_map<NodeId, mlir::Value> picked_;  // arrays of small tensors, by node
};

// Stores a large tensor.
void StoreTensor(LoweringContext& c, const Place& place, NodeId id);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LARGE_TENSORS_H_
