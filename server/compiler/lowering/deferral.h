// Fusion of large tensors: which nodes are not computed where they are listed, but element by
// element where their value is used.
//
//   c = a * 2 + b            for i: c[i] = a[i] * 2 + b[i]
//
// becomes one loop, with no array for a * 2 and none for the sum. A node is *deferred* if that
// changes nothing:
//
// - it is a load, an element-wise op, or a parameter of the kernel;
// - each use is in its own block, with nothing between the two that writes memory (a parameter
//   never changes: its uses may be anywhere);
// - an element-wise op has one use, so that nothing is computed twice.
//
// Whether the store of a deferred value overwrites what the value still reads depends on places.
// The store checks it (LargeTensors::Prepare) and ends the deferral in that case.
#ifndef KILN_SERVER_COMPILER_LOWERING_DEFERRAL_H_
#define KILN_SERVER_COMPILER_LOWERING_DEFERRAL_H_

#include <cstdint>

#include "common/language/ids.h"
#include "common/language/type.h"
#include "kiln/proto/kernel.pb.h"

namespace kiln {

// Whether the value is computed element by element: UNARY, CAST_TO, PICK and so on; no products of
// matrices.
bool IsElementwise(const proto::Node& node);

class Deferral {
 public:
  // Refers to the function. `is_body`: it is the kernel's body. Requires a function that CheckUnit
  // accepts. Linear in its nodes.
  Deferral(const proto::Function& function, const TypeTable& types, bool is_body);

  bool IsDeferred(NodeId id) const { return deferred_[id]; }
  // From now on the node has a value.
  void End(NodeId id) { deferred_[id] = false; }
  bool IsUsed(NodeId id) const { return uses_[id] > 0; }

  // Whether computing an element of the deferred node computes a pick: a row and a column then
  // spare a division for each element.
  bool HasPick(NodeId id) const;
  // Whether computing an element of the element-wise node, deferred or not, does.
  bool ComputesPick(NodeId id) const;

 private:
  // A position in the program: no write to memory is between two of one block and number of writes.
  struct Position {
    BlockId block;
    uint32_t writes = 0;  // visited before
  };

  void Visit(BlockId block);
  void Use(NodeId operand, const Position& here);

  const proto::Function& function_;
  const TypeTable& types_;
  const bool is_body_;
  IdVector<NodeId, bool> deferred_;
  IdVector<NodeId, Position> made_;  // of deferred nodes
  IdVector<NodeId, uint32_t> uses_;
  uint32_t writes_ = 0;  // nodes visited that write memory
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_DEFERRAL_H_
