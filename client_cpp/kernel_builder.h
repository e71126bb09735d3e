// Builds the kernel message node by node. Every call checks its operands by the rules of
// common/language/type_rules.h, and returns the number of the new node, whose type is then known.
// Nodes are appended to the current block, in call order.
//
// Errors (InvalidArgument; OutOfRange for a constant index outside its tensor) carry the user's
// text and leave the kernel unchanged, so that a front end can add the position and continue.
// Operands are cast to the types that the rules promote to, by nodes of their own (constants at
// once); a scalar beside a tensor stays a scalar.
//
// Code after a break, continue or return in the same block never runs; its nodes get numbers but
// belong to no block.
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
//   NodeNumber loop = *b.BeginStructFor(x, {});
//   NodeNumber i = *b.LoopIndex(loop, 0);
//   NodeNumber xi = *b.Load(*b.Global(x, {i}));
//   NodeNumber yi = *b.Global(y, {i});
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
#include "common/language/ids.h"
#include "common/language/kernel_parts.h"
#include "common/language/type.h"
#include "common/language/type_rules.h"
#include "common/layout/prune_trees.h"
#include "common/unit/node_number.h"
#include "kiln/proto/source_map.pb.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {

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
  TypeId TypeOf(NodeNumber node) const;  // value type; for addresses, of the addressed value
  bool IsAddress(NodeNumber node) const;
  // The nodes so far of the function whose body is open.
  int NumNodes() const { return current_.message->nodes_size(); }

  // --- Parameters, results -------------------------------------------------
  // Of the kernel, also while a function is open.
  ParamId AddValueParam(TypeId type);
  // `storage` comes from TreeLayout::DescribeDense, DescribeTreeField or an ndarray descriptor. The
  // value type of GLOBAL nodes is `storage.element()` interned here.
  ParamId AddStorageParam(const proto::Storage& storage);
  void SetReturnTypes(absl::Span<const TypeId> types);
  // Makes the kernel one that computes derivatives of what it computes otherwise.
  void Differentiate(proto::AutodiffMode mode);
  // `gradient`, a storage of the same form, receives the gradients of `of`. Both are storage
  // parameters.
  absl::Status SetGradient(ParamId of, ParamId gradient);
  // `dual`, likewise, has the duals of `of`: its derivatives along a direction.
  absl::Status SetDual(ParamId of, ParamId dual);
  // A whole tree (TreeLayout::DescribeTree); storages of the tree form refer to it by the returned
  // number.
  uint32_t AddTree(const proto::TreePart& tree);
  // The number of indices that a storage parameter takes.
  int NumIndices(ParamId storage) const;

  // --- Values --------------------------------------------------------------
  NodeNumber ConstInt(int64_t value, Scalar type);  // wraps to the type's width
  NodeNumber ConstUInt(uint64_t value, Scalar type);
  NodeNumber ConstFloat(double value, Scalar type);
  NodeNumber ConstBool(bool value);
  absl::StatusOr<NodeNumber> Param(ParamId param);  // value parameters, of the open function
  absl::StatusOr<NodeNumber> Unary(proto::Op op, NodeNumber x);
  absl::StatusOr<NodeNumber> Binary(proto::Op op, NodeNumber a, NodeNumber b);
  absl::StatusOr<NodeNumber> Ternary(proto::Op op, NodeNumber c, NodeNumber a, NodeNumber b);
  absl::StatusOr<NodeNumber> Cast(NodeNumber x, TypeId to);  // no node if x already has the type
  absl::StatusOr<NodeNumber> BitCast(NodeNumber x, TypeId to);
  // Elements are promoted to one scalar type; shape {n} or {n, m}.
  absl::StatusOr<NodeNumber> MakeTensor(absl::Span<const NodeNumber> elements,
                                        const std::vector<uint32_t>& shape);
  absl::StatusOr<NodeNumber> Extract(NodeNumber tensor, absl::Span<const NodeNumber> indices);
  // The tensor of `shape` whose element (i, j) is element first + i * strides[0] + j * strides[1]
  // of `tensor`, row-major. Requires: all of these exist.
  absl::StatusOr<NodeNumber> Pick(NodeNumber tensor, const std::vector<uint32_t>& shape,
                                  uint32_t first, absl::Span<const int32_t> strides);
  // The elements of `tensor` combined by an associative op, in row-major order.
  absl::StatusOr<NodeNumber> Reduce(proto::Op op, NodeNumber tensor);
  // `value`, as a constant for derivatives.
  absl::StatusOr<NodeNumber> StopGradient(NodeNumber value);
  absl::StatusOr<NodeNumber> MakeStruct(TypeId type, absl::Span<const NodeNumber> members);
  absl::StatusOr<NodeNumber> GetMember(NodeNumber value, int member);
  NodeNumber Random(TypeId type);                               // a scalar type; none for any other
  absl::StatusOr<NodeNumber> Shape(ParamId storage, int axis);  // i32

  // --- Addresses and memory --------------------------------------------------
  // A new local of `type`, zeroed, or initialised with `init` cast to it.
  absl::StatusOr<NodeNumber> Local(TypeId type, NodeNumber init = {});
  absl::StatusOr<NodeNumber> Global(ParamId storage, absl::Span<const NodeNumber> indices);
  absl::StatusOr<NodeNumber> Element(NodeNumber address, absl::Span<const NodeNumber> indices);
  // The address of a tensor of shape {n} or {n, m} from those of its scalars, all of one type.
  absl::StatusOr<NodeNumber> Join(absl::Span<const NodeNumber> addresses,
                                  const std::vector<uint32_t>& shape);
  absl::StatusOr<NodeNumber> MemberAddress(NodeNumber address, int member);
  absl::StatusOr<NodeNumber> Load(NodeNumber address);
  // From here on, and until the next call, loads of these storage parameters are constants for
  // derivatives.
  void StopGradientsOf(std::vector<ParamId> storages);
  // From here on, a load from storage parameter `of` sets the same element of `marks` to 1, and a
  // store or an atomic asserts that it is 0, failing with `text`. Loads that are constants for
  // derivatives set nothing. Requires: both have elements of one float type, and equal indices.
  absl::Status CheckOverwrites(ParamId of, ParamId marks, const std::string& text);
  absl::Status Store(NodeNumber address, NodeNumber value);  // casts (and broadcasts) the value
  absl::StatusOr<NodeNumber> Atomic(proto::Op op, NodeNumber address,
                                    NodeNumber value);  // old value

  // --- Control ---------------------------------------------------------------
  // Each Begin opens a block; Else switches; End closes.
  absl::StatusOr<NodeNumber> BeginRangeFor(absl::Span<const NodeNumber> bounds,  // b0,e0,b1,e1,…
                                           const proto::LoopConfig& config);
  absl::StatusOr<NodeNumber> BeginStructFor(ParamId storage, const proto::LoopConfig& config);
  absl::StatusOr<NodeNumber> LoopIndex(NodeNumber loop, int dimension);  // i32
  absl::StatusOr<NodeNumber> BeginWhile();
  absl::StatusOr<NodeNumber> BeginIf(NodeNumber condition);
  // Value-yielding choice: Yield in each arm; the node's type is the promoted one.
  absl::StatusOr<NodeNumber> BeginChoose(NodeNumber condition);
  absl::Status Else();
  absl::Status Yield(NodeNumber value);
  absl::Status End();
  absl::Status Break();
  absl::Status Continue();
  absl::Status Return(absl::Span<const NodeNumber> values);  // cast to the return types

  // Returns none if one of the values is not a value.
  NodeNumber Print(absl::Span<const NodeNumber> values, const proto::Format& format);
  absl::StatusOr<NodeNumber> Assert(NodeNumber condition, absl::Span<const NodeNumber> values,
                                    const proto::Format& format);
  // Any other node kind of the table (SNode operations, hints, internal calls).
  absl::StatusOr<NodeNumber> Append(proto::Node node);

  // --- Functions -----------------------------------------------------------------
  // Declares a function and opens its body: new nodes belong to it until EndFunction, and nodes of
  // the enclosing function are unusable meanwhile. It may be called at once, also from within
  // itself. If control reaches its end, its results are zero. Its loops are serial. Example, n! of
  // the kernel's parameter:
  //
  //   FunctionId f = *b.BeginFunction({{i32}}, {i32});
  //   NodeNumber n = *b.Param(ParamId(0));
  //   b.BeginIf(*b.Binary(proto::OP_LE, n, b.ConstInt(1, proto::I32)));
  //   b.Return({b.ConstInt(1, proto::I32)});
  //   b.End();
  //   NodeNumber less = *b.Binary(proto::OP_SUB, n, b.ConstInt(1, proto::I32));
  //   b.Return({*b.Binary(proto::OP_MUL, n, *b.Call(f, {less}))});
  //   b.EndFunction();
  //   NodeNumber result = *b.Call(f, {*b.Param(kernel_n)});
  absl::StatusOr<FunctionId> BeginFunction(absl::Span<const FunctionParam> params,
                                           absl::Span<const TypeId> returns);
  absl::Status EndFunction();
  absl::StatusOr<NodeNumber> Reference(ParamId param);  // the address that the caller passed
  // One argument per parameter: a value, which is cast to its type, or an address of exactly its
  // type. The node's value is the result: a struct if there are several (GetMember), no value if
  // there are none.
  absl::StatusOr<NodeNumber> Call(FunctionId function, absl::Span<const NodeNumber> arguments);

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
  // builder is unusable afterwards. `whole`: gets storages and trees as they were before, if there
  // are trees.
  absl::Status Finish(proto::CompileUnit* unit, proto::SourceMap* source_map,
                      std::vector<ReachedTree>* reached = nullptr,
                      proto::CompileUnit* whole = nullptr);

 private:
  // A block being filled, one of its owner's.
  struct OpenBlock {
    NodeNumber owner;      // none: the function's body
    proto::NodeKind kind;  // of the owner
    BlockId blocks[2];     // the owner's; of one block, twice the same
    bool second = false;   // which of them this is
    // After a break, continue or return: later nodes are made but never listed.
    bool terminated = false;
    NodeNumber yields[2];  // values of a CHOOSE, per arm

    BlockId block() const { return blocks[second]; }
  };

  // A function being built.
  struct Building {
    proto::Function* message = nullptr;  // of unit_
    FunctionId id = kKernelBody;
    std::vector<OpenBlock> open;
    IdVector<NodeId, BlockId> node_block;
    IdVector<BlockId, bool> block_open;
    google::protobuf::RepeatedField<uint32_t>* spans = nullptr;  // of source_map_, per node
    uint32_t span = 0;                                           // of the next nodes
  };

  // Nodes of the open function.
  const proto::Node& node(NodeNumber number) const {
    return NodeAt(*current_.message, NodeInFunction(number));
  }
  // The node by the names of its parts (common/language/node_views.h).
  template <typename View>
  View As(NodeNumber number) const {
    return View(NodeInFunction(number), node(number));
  }
  proto::Node* mutable_node(NodeNumber number) {
    return current_.message->mutable_nodes(NodeInFunction(number).number());
  }
  // The node of any function; null if there is none.
  const proto::Node* FindAnyNode(NodeNumber number) const;

  // Makes a node and lists it in the current block.
  NodeNumber Append(proto::NodeKind kind, TypeId type, absl::Span<const NodeNumber> operands);
  NodeNumber AppendIn(BlockId block, bool listed, proto::NodeKind kind, TypeId type,
                      absl::Span<const NodeNumber> operands);
  NodeNumber Const(uint64_t bits, Scalar type);

  // Whether the node exists and its block is still open.
  absl::Status CheckVisible(NodeNumber node) const;
  absl::Status CheckValue(NodeNumber node) const;
  absl::Status CheckAddress(NodeNumber node) const;
  absl::Status CheckType(TypeId type) const;
  absl::Status CheckParam(ParamId param, proto::Param::Kind kind) const;
  // Of two storage parameters of the open kernel: the storage of one, 1 + that of its companion.
  absl::StatusOr<std::pair<proto::Storage*, uint32_t>> Companions(ParamId of, ParamId companion);
  // Whether the address is in a storage whose gradients are stopped.
  bool IsStopped(const proto::Node& address) const;
  // See CheckOverwrites. The address of the marks of what is at `address`; none without them.
  NodeNumber MarksAt(NodeNumber address, const std::string** text);
  absl::Status AssertUnmarked(NodeNumber address);
  // One integer per dimension of `shape`; constants must be within it.
  absl::Status CheckTensorIndices(TypeId tensor, absl::Span<const NodeNumber> indices) const;
  absl::Status CheckIntegers(absl::Span<const NodeNumber> indices) const;
  // Casts indices: bools become integers.
  std::vector<NodeNumber> IndexOperands(NodeNumber first, absl::Span<const NodeNumber> indices);

  NodeNumber CastUnchecked(NodeNumber x, TypeId to);
  NodeNumber CastScalars(NodeNumber x, Scalar to);        // element-wise, shape kept
  NodeNumber FoldedCast(NodeNumber constant, Scalar to);  // none: not folded
  absl::StatusOr<NodeNumber> Condition(NodeNumber x);
  // The type in which to compute a power of two integers; none where the base's type will do. An
  // exponent of a wider type, or of the other sign, may lose bits in the base's type. A base wraps
  // alike in both.
  Scalar TypeOfPower(NodeNumber base, NodeNumber exponent) const;
  absl::StatusOr<NodeNumber> WidePower(NodeNumber base, NodeNumber exponent, Scalar wide);
  absl::StatusOr<NodeNumber> Operation(proto::NodeKind kind, proto::Op op,
                                       absl::Span<const NodeNumber> operands);

  void BeginBody();
  absl::Status CheckClosed() const;
  absl::Status CheckSignature(absl::Span<const FunctionParam> params,
                              absl::Span<const TypeId> returns) const;
  absl::StatusOr<NodeNumber> Argument(const proto::Param& param, size_t position, NodeNumber given);
  TypeId ResultType(const proto::Function& function);

  BlockId NewBlock();
  void Open(NodeNumber owner, proto::NodeKind kind, BlockId first, BlockId second);
  absl::StatusOr<NodeNumber> BeginBlocks(proto::NodeKind kind,
                                         absl::Span<const NodeNumber> operands, int blocks);
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
  IdVector<ParamId, ParamInfo> params_;                                  // the kernel's
  std::vector<ParamId> stopped_;                                         // see StopGradientsOf
  absl::flat_hash_map<ParamId, std::pair<ParamId, std::string>> marks_;  // see CheckOverwrites
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_KERNEL_BUILDER_H_
