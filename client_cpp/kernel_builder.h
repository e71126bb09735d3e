// Builds the kernel message node by node, typed eagerly: every call checks its
// operands by the rules of lang/type_rules.h and answers the new node's id, whose
// type is known at once. Nodes are appended to the current block, in call order.
//
// Errors (InvalidArgument) carry the user's text and leave the builder as it
// was, so that a front end can add position and go on.
//
// Example: y[i] = a * x[i] + y[i]
//
//   KernelBuilder b;
//   auto x = b.AddStorageParam(x_descriptor), y = b.AddStorageParam(y_descriptor);
//   auto a = b.AddValueParam(b.ScalarType(proto::F32));
//   NodeId loop = *b.BeginStructFor(x, {});
//   NodeId i = *b.LoopIndex(loop, 0);
//   NodeId xi = *b.Load(*b.Global(x, {i}));
//   NodeId yi = *b.Global(y, {i});
//   b.Store(yi, *b.Binary(proto::OP_ADD, *b.Binary(proto::OP_MUL, *b.Param(a), xi), *b.Load(yi)));
//   b.End();
//
// Not thread-safe.
#ifndef KILN_CLIENT_CPP_KERNEL_BUILDER_H_
#define KILN_CLIENT_CPP_KERNEL_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lang/type.h"
#include "lang/type_rules.h"
#include "proto/source_map.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

using NodeId = uint32_t;   // 0: none
using ParamId = uint32_t;

class KernelBuilder {
 public:
  explicit KernelBuilder(DefaultTypes defaults = {});

  // --- Types -------------------------------------------------------------
  TypeTable& types() { return types_; }
  TypeId ScalarType(Scalar s) { return types_.GetScalar(s); }
  TypeId TypeOf(NodeId node) const;       // value type; for addresses what lies there
  bool IsAddress(NodeId node) const;

  // --- Parameters, results -------------------------------------------------
  ParamId AddValueParam(TypeId type);
  // `storage` as TreeLayout::DescribeDense or an ndarray descriptor makes it. The
  // value type of GLOBAL nodes is `storage.element()` interned here.
  ParamId AddStorageParam(const proto::Storage& storage);
  void SetReturnTypes(absl::Span<const TypeId> types);

  // --- Values --------------------------------------------------------------
  NodeId ConstInt(int64_t value, Scalar type);    // wraps to the type's width
  NodeId ConstUInt(uint64_t value, Scalar type);
  NodeId ConstFloat(double value, Scalar type);
  NodeId ConstBool(bool value);
  absl::StatusOr<NodeId> Param(ParamId param);    // value parameters
  absl::StatusOr<NodeId> Unary(proto::Op op, NodeId x);
  absl::StatusOr<NodeId> Binary(proto::Op op, NodeId a, NodeId b);
  absl::StatusOr<NodeId> Ternary(proto::Op op, NodeId c, NodeId a, NodeId b);
  absl::StatusOr<NodeId> Cast(NodeId x, TypeId to);      // no node when already of the type
  absl::StatusOr<NodeId> BitCast(NodeId x, TypeId to);
  // Elements are promoted to one scalar type; shape {n} or {n, m}.
  absl::StatusOr<NodeId> MakeTensor(absl::Span<const NodeId> elements,
                                    const std::vector<uint32_t>& shape);
  absl::StatusOr<NodeId> Extract(NodeId tensor, absl::Span<const NodeId> indices);
  absl::StatusOr<NodeId> MakeStruct(TypeId type, absl::Span<const NodeId> members);
  absl::StatusOr<NodeId> GetMember(NodeId value, int member);
  NodeId Random(TypeId type);
  absl::StatusOr<NodeId> Shape(ParamId storage, int axis);  // i32

  // --- Addresses and memory --------------------------------------------------
  // A new local of `type`, zeroed, or initialised with `init` cast to it.
  absl::StatusOr<NodeId> Local(TypeId type, NodeId init = 0);
  absl::StatusOr<NodeId> Global(ParamId storage, absl::Span<const NodeId> indices);
  absl::StatusOr<NodeId> Element(NodeId address, absl::Span<const NodeId> indices);
  absl::StatusOr<NodeId> MemberAddress(NodeId address, int member);
  absl::StatusOr<NodeId> Load(NodeId address);
  absl::Status Store(NodeId address, NodeId value);        // casts (and broadcasts) the value
  absl::StatusOr<NodeId> Atomic(proto::Op op, NodeId address, NodeId value);  // old value

  // --- Control ---------------------------------------------------------------
  // Each Begin opens a block; Else switches; End closes.
  absl::StatusOr<NodeId> BeginRangeFor(absl::Span<const NodeId> bounds,  // b0,e0,b1,e1,…
                                       const proto::LoopConfig& config);
  absl::StatusOr<NodeId> BeginStructFor(ParamId storage, const proto::LoopConfig& config);
  absl::StatusOr<NodeId> LoopIndex(NodeId loop, int dimension);          // i32
  NodeId BeginWhile();
  absl::StatusOr<NodeId> BeginIf(NodeId condition);
  // Value-yielding choice: Yield in each arm; the node's type is the promoted one.
  absl::StatusOr<NodeId> BeginChoose(NodeId condition);
  absl::Status Else();
  absl::Status Yield(NodeId value);
  absl::Status End();
  absl::Status Break();
  absl::Status Continue();
  absl::Status Return(absl::Span<const NodeId> values);    // cast to the return types

  NodeId Print(absl::Span<const NodeId> values, const proto::Format& format);
  absl::StatusOr<NodeId> Assert(NodeId condition, absl::Span<const NodeId> values,
                                const proto::Format& format);
  // Any other node kind of the table (SNode operations, hints, internal calls).
  absl::StatusOr<NodeId> Append(proto::Node node);

  // --- Source positions --------------------------------------------------------
  // Nodes appended from now on come from `span` (an index from AddSpan).
  uint32_t AddFile(const std::string& path);
  uint32_t AddSpan(const proto::Span& span);
  void SetSpan(uint32_t span) { current_span_ = span; }

  // --- Result --------------------------------------------------------------------
  // The unit without target and options. Blocks left open are FailedPrecondition.
  absl::Status Finish(proto::CompileUnit* unit, proto::SourceMap* source_map);

 private:
  struct OpenBlock {
    NodeId owner;
    uint32_t block;
  };

  NodeId Append(proto::NodeKind kind, TypeId type, absl::Span<const NodeId> operands);

  DefaultTypes defaults_;
  TypeTable types_;
  proto::CompileUnit unit_;
  proto::SourceMap source_map_;
  std::vector<OpenBlock> open_;
  uint32_t current_span_ = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_KERNEL_BUILDER_H_
