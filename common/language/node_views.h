// Nodes by the names of their parts. Each kind has a view with an accessor for every operand,
// attribute and block, and for the index, as its row in proto/kernel.proto names them:
//
//   ExtractNode node(id, function.nodes(id));
//   node.tensor();   // the first operand
//   node.indices();  // the operands after it
//
// Views are made from the rows, so what checks and what lowers a kind cannot disagree about the
// order of its parts. The accessors require a node that CheckUnit accepts, or at least the numbers
// of operands, attributes and blocks that it accepts.
//
// A view refers to its message, which must outlive it, and is cheap to copy.
#ifndef KILN_COMMON_LANGUAGE_NODE_VIEWS_H_
#define KILN_COMMON_LANGUAGE_NODE_VIEWS_H_

#include <cstdint>
#include <cstdlib>

#include "absl/types/span.h"
#include "common/base/check.h"
#include "common/language/ids.h"
#include "kiln/proto/kernel.pb.h"

namespace kiln {

// What nodes of all kinds have.
class NodeView {
 public:
  NodeView(NodeId id, const proto::Node& message) : id_(id), message_(&message) {}

  NodeId id() const { return id_; }
  proto::NodeKind kind() const { return message_->kind(); }
  TypeId type() const { return TypeId(message_->type()); }
  proto::Op op() const { return message_->op(); }
  NodeIds operands() const { return NodeIds(message_->operands()); }

 protected:
  const proto::Node& message() const { return *message_; }
  NodeId operand(int i) const { return NodeId(message_->operands(i)); }
  NodeIds operands_from(size_t i) const { return NodeIds(message_->operands(), i); }
  absl::Span<const int64_t> attributes() const {
    return {message_->attributes().data(), static_cast<size_t>(message_->attributes_size())};
  }
  int64_t attribute(int i) const { return message_->attributes(i); }
  BlockId block(int i) const { return BlockId(message_->blocks(i)); }

 private:
  NodeId id_;
  const proto::Node* message_;
};

namespace internal {

[[noreturn]] inline void NoSuchKind(int kind) {
  KILN_CHECK(false) << "no kind of node has the number " << kind;
  std::abort();
}

}  // namespace internal

// The views, and
//
//   template <typename Visitor>
//   decltype(auto) VisitNode(NodeId id, const proto::Node& node, Visitor&& visit);
//
// which calls `visit` with the view of the node's kind. A visitor that does not take every kind
// does not build. Requires: the kind has a row.
#include "common/language/node_views_data.inc"  // IWYU pragma: export

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_NODE_VIEWS_H_
