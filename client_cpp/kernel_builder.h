// Builds the kernel message node by node, typed eagerly: every call checks its operands by the
// rules of common/language/type_rules.h and returns the new node's id, whose type is known at once.
// Nodes are appended to the current block, in call order.
//
// Errors (InvalidArgument; OutOfRange for a constant index outside its tensor) carry the user's
// text and leave the kernel unchanged, so that a front end can add the position and continue.
// Operands are cast to the types that the rules promote to, by nodes of their own (constants at
// once); a scalar beside a tensor stays a scalar.
//
// Code after a break, continue or return in the same block never runs; its nodes get ids but belong
// to no block.
//
// A kernel may have functions, which it and they may call, recursion included. A function's nodes
// belong to it alone: values of its caller are passed as arguments. Storages are the kernel's
// parameters and usable in every function.
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
#include "common/language/type.h"
#include "common/language/type_rules.h"
#include "common/layout/prune_trees.h"
#include "common/unit/node_number.h"
#include "proto/source_map.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

using NodeId = uint32_t;  // common/unit/node_number.h: tells functions apart; 0: none
using ParamId = uint32_t;
using FunctionId = uint32_t;

struct FunctionParam {
  TypeId type;
  bool by_reference = false;  // the address of a scalar
};

class KernelBuilder {
 public:
  explicit KernelBuilder(DefaultTypes defaults = {});

  // --- Types -------------------------------------------------------------
  TypeTable& types() { return types_; }
  TypeId ScalarType(Scalar s) { return types_.GetScalar(s); }
  TypeId TypeOf(NodeId node) const;  // value type; for addresses, of the addressed value
  bool IsAddress(NodeId node) const;

  // --- Parameters, results -------------------------------------------------
  // Of the kernel, also while a function is open.
  ParamId AddValueParam(TypeId type);
  // `storage` comes from TreeLayout::DescribeDense, DescribeTreeField or an ndarray descriptor. The
  // value type of GLOBAL nodes is `storage.element()` interned here.
  ParamId AddStorageParam(const proto::Storage& storage);
  void SetReturnTypes(absl::Span<const TypeId> types);
  // A whole tree (TreeLayout::DescribeTree); storages of the tree form refer to it by the returned
  // number.
  uint32_t AddTree(const proto::TreePart& tree);
  // The number of indices that a storage parameter takes.
  int NumIndices(ParamId storage) const;

  // --- Values --------------------------------------------------------------
  NodeId ConstInt(int64_t value, Scalar type);  // wraps to the type's width
  NodeId ConstUInt(uint64_t value, Scalar type);
  NodeId ConstFloat(double value, Scalar type);
  NodeId ConstBool(bool value);
  absl::StatusOr<NodeId> Param(ParamId param);  // value parameters, of the open function
  absl::StatusOr<NodeId> Unary(proto::Op op, NodeId x);
  absl::StatusOr<NodeId> Binary(proto::Op op, NodeId a, NodeId b);
  absl::StatusOr<NodeId> Ternary(proto::Op op, NodeId c, NodeId a, NodeId b);
  absl::StatusOr<NodeId> Cast(NodeId x, TypeId to);  // no node if x already has the type
  absl::StatusOr<NodeId> BitCast(NodeId x, TypeId to);
  // Elements are promoted to one scalar type; shape {n} or {n, m}.
  absl::StatusOr<NodeId> MakeTensor(absl::Span<const NodeId> elements,
                                    const std::vector<uint32_t>& shape);
  absl::StatusOr<NodeId> Extract(NodeId tensor, absl::Span<const NodeId> indices);
  // The tensor of `shape` whose element (i, j) is element first + i * strides[0] + j * strides[1]
  // of `tensor`, row-major. Requires: all of these exist.
  absl::StatusOr<NodeId> Pick(NodeId tensor, const std::vector<uint32_t>& shape, uint32_t first,
                              absl::Span<const int32_t> strides);
  // The elements of `tensor` combined by an associative op, in row-major order.
  absl::StatusOr<NodeId> Reduce(proto::Op op, NodeId tensor);
  absl::StatusOr<NodeId> MakeStruct(TypeId type, absl::Span<const NodeId> members);
  absl::StatusOr<NodeId> GetMember(NodeId value, int member);
  NodeId Random(TypeId type);                               // a scalar type; 0 for any other
  absl::StatusOr<NodeId> Shape(ParamId storage, int axis);  // i32

  // --- Addresses and memory --------------------------------------------------
  // A new local of `type`, zeroed, or initialised with `init` cast to it.
  absl::StatusOr<NodeId> Local(TypeId type, NodeId init = 0);
  absl::StatusOr<NodeId> Global(ParamId storage, absl::Span<const NodeId> indices);
  absl::StatusOr<NodeId> Element(NodeId address, absl::Span<const NodeId> indices);
  // The address of a tensor of shape {n} or {n, m} from those of its scalars, all of one type.
  absl::StatusOr<NodeId> Join(absl::Span<const NodeId> addresses,
                              const std::vector<uint32_t>& shape);
  absl::StatusOr<NodeId> MemberAddress(NodeId address, int member);
  absl::StatusOr<NodeId> Load(NodeId address);
  absl::Status Store(NodeId address, NodeId value);  // casts (and broadcasts) the value
  absl::StatusOr<NodeId> Atomic(proto::Op op, NodeId address, NodeId value);  // old value

  // --- Control ---------------------------------------------------------------
  // Each Begin opens a block; Else switches; End closes.
  absl::StatusOr<NodeId> BeginRangeFor(absl::Span<const NodeId> bounds,  // b0,e0,b1,e1,…
                                       const proto::LoopConfig& config);
  absl::StatusOr<NodeId> BeginStructFor(ParamId storage, const proto::LoopConfig& config);
  absl::StatusOr<NodeId> LoopIndex(NodeId loop, int dimension);  // i32
  NodeId BeginWhile();
  absl::StatusOr<NodeId> BeginIf(NodeId condition);
  // Value-yielding choice: Yield in each arm; the node's type is the promoted one.
  absl::StatusOr<NodeId> BeginChoose(NodeId condition);
  absl::Status Else();
  absl::Status Yield(NodeId value);
  absl::Status End();
  absl::Status Break();
  absl::Status Continue();
  absl::Status Return(absl::Span<const NodeId> values);  // cast to the return types

  // Returns 0 if one of the values is 0 (no node).
  NodeId Print(absl::Span<const NodeId> values, const proto::Format& format);
  absl::StatusOr<NodeId> Assert(NodeId condition, absl::Span<const NodeId> values,
                                const proto::Format& format);
  // Any other node kind of the table (SNode operations, hints, internal calls).
  absl::StatusOr<NodeId> Append(proto::Node node);

  // --- Functions -----------------------------------------------------------------
  // Declares a function and opens its body: new nodes belong to it until EndFunction, and nodes of
  // the enclosing function are unusable meanwhile. It may be called at once, also from within
  // itself. If control reaches its end, its results are zero. Its loops are serial. Example, n! of
  // the kernel's parameter:
  //
  //   FunctionId f = *b.BeginFunction({{i32}}, {i32});
  //   NodeId n = *b.Param(0);
  //   b.BeginIf(*b.Binary(proto::OP_LE, n, b.ConstInt(1, proto::I32)));
  //   b.Return({b.ConstInt(1, proto::I32)});
  //   b.End();
  //   NodeId less = *b.Binary(proto::OP_SUB, n, b.ConstInt(1, proto::I32));
  //   b.Return({*b.Binary(proto::OP_MUL, n, *b.Call(f, {less}))});
  //   b.EndFunction();
  //   NodeId result = *b.Call(f, {*b.Param(kernel_n)});
  absl::StatusOr<FunctionId> BeginFunction(absl::Span<const FunctionParam> params,
                                           absl::Span<const TypeId> returns);
  absl::Status EndFunction();
  absl::StatusOr<NodeId> Reference(ParamId param);  // the address that the caller passed
  // One argument per parameter: a value, which is cast to its type, or an address of exactly its
  // type. The node's value is the result: a struct if there are several (GetMember), no value if
  // there are none.
  absl::StatusOr<NodeId> Call(FunctionId function, absl::Span<const NodeId> arguments);

  // --- Source positions --------------------------------------------------------
  // Indices for Span.file and Span.function.
  uint32_t AddFile(const std::string& path);
  uint32_t AddName(const std::string& function);
  // Returns 1 + the span's index, the form of Span.inlined_at and SetSpan; 0: none.
  uint32_t AddSpan(const proto::Span& span);
  // Nodes appended from now on have this span.
  void SetSpan(uint32_t span) { current_.span = span; }

  // --- Result --------------------------------------------------------------------
  // Fills in the unit's kernel, storages and trees. Of the trees it keeps only the parts that
  // storages reach (common/layout/prune_trees.h; `reached` describes them, by the unit's trees).
  // Leaves target and options unchanged. FailedPrecondition if blocks or functions are open. The
  // builder is unusable afterwards.
  absl::Status Finish(proto::CompileUnit* unit, proto::SourceMap* source_map,
                      std::vector<ReachedTree>* reached = nullptr);

 private:
  // A block being filled. `owner` has one or two blocks; `second` says which this is.
  struct OpenBlock {
    NodeId owner;          // 0: the function's body
    proto::NodeKind kind;  // of the owner
    uint32_t block;
    bool second = false;
    // After a break, continue or return: later nodes are made but never listed.
    bool terminated = false;
    NodeId yields[2] = {0, 0};  // values of a CHOOSE, per arm
  };

  // A function being built; the kernel's body is number 0.
  struct Building {
    proto::Function* message = nullptr;  // of unit_
    uint32_t number = 0;
    std::vector<OpenBlock> open;
    std::vector<uint32_t> node_block;  // the block of each node
    std::vector<bool> block_open;
    google::protobuf::RepeatedField<uint32_t>* spans = nullptr;  // of source_map_, per node
    uint32_t span = 0;                                           // of the next nodes
  };

  // Nodes of the open function, by number or by id in it.
  const proto::Node& node(NodeId id) const {
    return current_.message->nodes(static_cast<int>(NodeInFunction(id)));
  }
  proto::Node* mutable_node(NodeId id) {
    return current_.message->mutable_nodes(static_cast<int>(NodeInFunction(id)));
  }
  // The node of any function; null if there is none.
  const proto::Node* FindAnyNode(NodeId id) const;

  // Makes a node and lists it in the current block.
  NodeId Append(proto::NodeKind kind, TypeId type, absl::Span<const NodeId> operands);
  NodeId AppendIn(uint32_t block, bool listed, proto::NodeKind kind, TypeId type,
                  absl::Span<const NodeId> operands);
  NodeId Const(uint64_t bits, Scalar type);

  // Whether the node exists and its block is still open.
  absl::Status CheckVisible(NodeId id) const;
  absl::Status CheckValue(NodeId id) const;
  absl::Status CheckAddress(NodeId id) const;
  absl::Status CheckType(TypeId type) const;
  absl::Status CheckParam(ParamId param, proto::Param::Kind kind) const;
  // One integer per dimension of `shape`; constants must be within it.
  absl::Status CheckTensorIndices(TypeId tensor, absl::Span<const NodeId> indices) const;
  absl::Status CheckIntegers(absl::Span<const NodeId> indices) const;
  // Casts indices: bools become integers.
  std::vector<NodeId> IndexOperands(NodeId first, absl::Span<const NodeId> indices);

  NodeId CastUnchecked(NodeId x, TypeId to);
  NodeId CastScalars(NodeId x, Scalar to);        // element-wise, shape kept
  NodeId FoldedCast(NodeId constant, Scalar to);  // 0: not folded
  absl::StatusOr<NodeId> Condition(NodeId x);
  absl::StatusOr<NodeId> Operation(proto::NodeKind kind, proto::Op op,
                                   absl::Span<const NodeId> operands);

  void BeginBody();
  absl::Status CheckClosed() const;
  absl::Status CheckSignature(absl::Span<const FunctionParam> params,
                              absl::Span<const TypeId> returns) const;
  absl::StatusOr<NodeId> Argument(const proto::Param& param, size_t position, NodeId given);
  TypeId ResultType(const proto::Function& function);

  uint32_t NewBlock();
  void Open(NodeId owner, proto::NodeKind kind, uint32_t block);
  NodeId BeginBlocks(proto::NodeKind kind, absl::Span<const NodeId> operands, int blocks);
  absl::Status Jump(proto::NodeKind kind);
  absl::Status EndChoose(const OpenBlock& choose);
  uint64_t AddLoop(const proto::LoopConfig& config);
  bool IsParallel(size_t open_index) const;

  DefaultTypes defaults_;
  TypeTable types_;
  proto::CompileUnit unit_;
  proto::SourceMap source_map_;
  Building current_;
  std::vector<Building> suspended_;  // outermost first
  struct ParamInfo {
    proto::Param::Kind kind;
    TypeId type;  // of the value, or of an element
    int num_indices;
  };
  std::vector<ParamInfo> params_;  // the kernel's
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_KERNEL_BUILDER_H_
