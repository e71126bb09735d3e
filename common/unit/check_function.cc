#include "common/unit/check_function.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"
#include "common/language/simt_ops.h"
#include "common/layout/layout.h"
#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"

namespace kiln {
namespace {

using proto::Node;

// Walks the blocks in program order, from block 0. Nodes that no block lists (code after
// a jump) never run, and only need a known kind.
class Checker {
 public:
  Checker(const UnitFacts& facts, FunctionId id, std::vector<proto::Diagnostic>* diagnostics)
      : facts_(facts),
        types_(*facts.types),
        id_(id),
        function_(FunctionAt(facts.unit.kernel(), id)),
        diagnostics_(diagnostics) {}

  absl::Status Run() {
    const int num_nodes = function_.nodes_size();
    if (num_nodes == 0 || function_.blocks_size() == 0) {
      // An empty message is an empty body.
      return num_nodes + function_.blocks_size() == 0 ? absl::OkStatus()
                                                      : Malformed("nodes without blocks");
    }
    // The bound keeps every later pass within memory: a unit may come from another machine.
    if (static_cast<uint32_t>(num_nodes) > kMaxNodes)
      return Malformed(absl::StrCat(num_nodes, " nodes"));
    // 0 means "no node" in operands, so nothing may have that number.
    if (function_.nodes(0).ByteSizeLong() != 0) return Malformed("node 0 is used");
    // Before the walk, because every look-up in the table of kinds below relies on it.
    for (int i = 1; i < num_nodes; ++i) {
      if (FindNode(function_.nodes(i).kind()) == nullptr) {
        return Malformed(absl::StrCat("node ", i, " of kind ", function_.nodes(i).kind()));
      }
    }
    // Vectors by number instead of sets: a unit may have kMaxNodes nodes.
    visible_ = IdVector<NodeId, bool>(num_nodes);
    listed_ = IdVector<NodeId, bool>(num_nodes);
    entered_ = IdVector<BlockId, bool>(function_.blocks_size());
    return CheckBlock(kFunctionBody, 0);
  }

  std::vector<NodeId> TakeReached() { return std::move(reached_); }

 private:
  // --- Failures --------------------------------------------------------------------

  absl::Status Malformed(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("function ", id_.number(), ": ", what));
  }

  template <typename... Parts>
  absl::Status Bad(NodeId id, const Parts&... parts) const {
    // Such messages are for the author of a client: no kernel that our front ends make can cause
    // them.
    return absl::InvalidArgumentError(
        absl::StrCat("function ", id_.number(), ", node ", id.number(), " (",
                     FindNode(node(id).kind())->spelling, "): ", parts...));
  }

  // Reports a mistake of the user's program; the walk continues.
  absl::Status Report(NodeId id, proto::DiagnosticKind kind, std::string message) const {
    proto::Diagnostic diagnostic;
    diagnostic.set_severity(proto::ERROR);
    diagnostic.set_kind(kind);
    diagnostic.set_function(id_.number());
    diagnostic.set_node(id.number());
    diagnostic.set_message(std::move(message));
    diagnostics_->push_back(std::move(diagnostic));
    return absl::OkStatus();
  }

  // --- Operands --------------------------------------------------------------------

  const Node& node(NodeId id) const { return NodeAt(function_, id); }
  NodeId operand(NodeId id, int i) const { return NodeId(node(id).operands(i)); }
  TypeId type_of(NodeId id) const { return TypeId(node(id).type()); }
  TypeId ScalarId(Scalar s) const { return types_.GetScalar(s); }

  bool IsInteger(TypeId type) const {
    return types_[type].IsScalar() && IsInt(types_[type].scalar);
  }

  absl::Status CheckValueAt(NodeId id, int i) const {
    const NodeId value = operand(id, i);
    if (FindNode(node(value).kind())->has_value && type_of(value)) return absl::OkStatus();
    // Statements have no value, and a call without results has a kind with one but no type.
    return Bad(id, "operand ", i, " is not a value");
  }

  absl::Status CheckValuesFrom(NodeId id, int first) const {
    for (int i = first; i < node(id).operands_size(); ++i) RETURN_IF_ERROR(CheckValueAt(id, i));
    return absl::OkStatus();
  }

  absl::Status CheckAddressAt(NodeId id, int i) const {
    const NodeId address = operand(id, i);
    if (FindNode(node(address).kind())->is_address && type_of(address)) {
      return absl::OkStatus();
    }
    return Bad(id, "operand ", i, " is not an address");
  }

  // Checks that operand `i` is a value of exactly `type`.
  absl::Status CheckTypedAt(NodeId id, int i, TypeId type) const {
    RETURN_IF_ERROR(CheckValueAt(id, i));
    // Equal numbers are equal types: the table has each type once.
    if (type_of(operand(id, i)) == type) return absl::OkStatus();
    return Bad(id, "operand ", i, " is '", types_.Name(type_of(operand(id, i))), "', not '",
               types_.Name(type), "'");
  }

  absl::Status CheckResult(NodeId id, TypeId type) const {
    if (type_of(id) == type && type) return absl::OkStatus();
    return Bad(id, "is of '", types_.Name(type_of(id)), "', not '", types_.Name(type), "'");
  }

  // Checks that the operands from `first` to before `end` are integers.
  absl::Status CheckIntegers(NodeId id, int first, int end) const {
    for (int i = first; i < end; ++i) {
      RETURN_IF_ERROR(CheckValueAt(id, i));
      if (!IsInteger(type_of(operand(id, i)))) return Bad(id, "operand ", i, " is not an integer");
    }
    return absl::OkStatus();
  }

  // Checks the operands from 1 on as indices of a tensor of type `tensor`. A constant outside the
  // tensor is a mistake of the user's program.
  absl::Status CheckTensorIndices(NodeId id, NodeIds indices, TypeId tensor) const {
    const Type& type = types_[tensor];
    const int rank = static_cast<int>(type.shape.size());
    if (rank == 0 || indices.size() != type.shape.size()) {
      return Bad(id, indices.size(), " indices for '", types_.Name(tensor), "'");
    }
    RETURN_IF_ERROR(CheckIntegers(id, 1, rank + 1));
    for (int i = 0; i < rank; ++i) {
      const Node& index = node(indices[i]);
      // A negative constant is a huge number here, because its bits are zero-extended.
      if (index.kind() != proto::CONST || index.index() < type.shape[i]) continue;
      RETURN_IF_ERROR(Report(id, proto::KIND_INDEX,
                             absl::StrCat("index is out of range for dimension ", i, " of '",
                                          types_.Name(tensor), "'")));
    }
    return CheckResult(id, ScalarId(type.scalar));
  }

  // `of`: the function that declares the parameter.
  absl::Status CheckParam(NodeId id, const proto::Function& of, ParamId param,
                          proto::Param::Kind kind) const {
    if (param.number() < static_cast<uint32_t>(of.params_size()) &&
        ParamAt(of, param).kind() == kind) {
      return absl::OkStatus();
    }
    return Bad(id, "parameter ", param.number(), " does not exist or is of another kind");
  }

  // Checks a node for one of the function's own parameters, which must have the node's type.
  absl::Status CheckOwnParam(NodeId id, ParamId param, proto::Param::Kind kind) const {
    RETURN_IF_ERROR(CheckParam(id, function_, param, kind));
    return CheckResult(id, TypeOfParam(ParamAt(function_, param)));
  }

  absl::Status CheckStorageParam(NodeId id, ParamId param) const {
    return CheckParam(id, facts_.unit.kernel().body(), param, proto::Param::PARAM_STORAGE);
  }

  absl::Status CheckStorageParams(NodeId id, IdList<ParamId, int64_t> params) const {
    for (const ParamId param : params) RETURN_IF_ERROR(CheckStorageParam(id, param));
    return absl::OkStatus();
  }

  // --- Blocks ----------------------------------------------------------------------

  // A statement that contains the current block.
  struct Scope {
    NodeId owner;
    proto::NodeKind kind;
    bool parallel;
  };

  // Checks a block and the blocks nested in its nodes. A node becomes visible after its own check,
  // and invisible at the end of its block: so operands always come from the same or an enclosing
  // block. Each block and node may be used only once, which also bounds the recursion.
  absl::Status CheckBlock(BlockId block, int depth) {
    if (depth > kMaxBlockDepth) {
      return Malformed(absl::StrCat("blocks nested over ", kMaxBlockDepth, " deep"));
    }
    if (!entered_.Has(block) || entered_[block]) {
      return Malformed(absl::StrCat("block ", block.number(), " does not exist or is used twice"));
    }
    entered_[block] = true;
    const NodeIds ids = NodesIn(function_, block);
    for (size_t i = 0; i < ids.size(); ++i) {
      const NodeId id = ids[i];
      if (!id || !listed_.Has(id) || listed_[id]) {
        return Malformed(absl::StrCat("node ", id.number(), " does not exist or is used twice"));
      }
      listed_[id] = true;
      reached_.push_back(id);
      RETURN_IF_ERROR(CheckShape(id));
      // The lowering appends no block after a jump, so nodes there would have no place.
      if (FindNode(node(id).kind())->is_terminator && i + 1 != ids.size()) {
        return Bad(id, "nodes follow it in its block");
      }
      // Shape first: the views of the kinds index operands and blocks without a check.
      RETURN_IF_ERROR(CheckNode(id));
      RETURN_IF_ERROR(EnterBlocks(id, depth));
      visible_[id] = true;
    }
    for (const NodeId id : ids) visible_[id] = false;
    return absl::OkStatus();
  }

  // Checks counts against the table, that operands are made before the node, and that types exist.
  absl::Status CheckShape(NodeId id) const {
    const Node& n = node(id);
    const NodeInfo& info = *FindNode(n.kind());
    const int operands = n.operands_size();
    if (operands < info.min_operands || (info.max_operands >= 0 && operands > info.max_operands)) {
      return Bad(id, operands, " operands");
    }
    if (n.blocks_size() != info.blocks) return Bad(id, n.blocks_size(), " blocks");
    // 0 is no type, also of a kernel without types.
    if (n.type() >= static_cast<uint32_t>(facts_.unit.kernel().types_size()) && n.type() != 0) {
      return Bad(id, "type ", n.type(), " does not exist");
    }
    if (info.is_address && !type_of(id)) return Bad(id, "address of nothing");
    for (const NodeId operand : NodeIds(n.operands())) {
      // A loop index refers to its loop from inside, where the loop is not visible as a value.
      if (n.kind() == proto::LOOP_INDEX) continue;
      // Numbers grow in program order, so no operand can refer to a later node, and values form no
      // cycle.
      if (!(operand < id) || !visible_[operand]) {
        return Bad(id, "operand ", operand.number(),
                   " is not made before it, in a block around it");
      }
    }
    return absl::OkStatus();
  }

  absl::Status EnterBlocks(NodeId id, int depth) {
    const Node& n = node(id);
    if (n.blocks_size() == 0) return absl::OkStatus();
    // Around the blocks only: the operands of a loop are computed outside of it.
    scopes_.push_back({id, n.kind(), IsLoop(n.kind()) && IsParallel(id, depth)});
    for (const BlockId block : IdList<BlockId>(n.blocks())) {
      RETURN_IF_ERROR(CheckBlock(block, depth + 1));
      if (n.kind() == proto::CHOOSE) RETURN_IF_ERROR(CheckArm(id, block));
    }
    scopes_.pop_back();
    return absl::OkStatus();
  }

  absl::Status CheckArm(NodeId id, BlockId block) const {
    const NodeIds nodes = NodesIn(function_, block);
    if (nodes.empty() || node(nodes[nodes.size() - 1]).kind() != proto::YIELD) {
      return Bad(id, "an arm yields no value");
    }
    return absl::OkStatus();
  }

  bool IsParallel(NodeId id, int depth) const {
    // As in Taichi: outermost loops of the kernel's own body run in parallel, all others are
    // serial.
    if (id_ != kKernelBody || depth != 0 || node(id).kind() == proto::WHILE) return false;
    if (node(id).kind() == proto::RANGE_FOR) {
      return !IsSerialized(RangeForNode(id, node(id)).config());
    }
    const StructForNode loop(id, node(id));
    return IsOverTree(loop) || !IsSerialized(static_cast<uint64_t>(loop.config()));
  }

  bool IsSerialized(uint64_t config) const {
    return ConfigAt(facts_.unit.kernel(), config).serialize();
  }

  // Whether a loop iterates the list of a tree's cells. Even if it is serialized, nothing may break
  // out of it.
  bool IsOverTree(StructForNode loop) const { return StorageOf(loop.param()).has_tree(); }

  absl::Status CheckConfig(NodeId id, uint64_t config) const {
    // 0 is the default configuration, so the numbers begin at 1.
    if (config <= static_cast<uint64_t>(facts_.unit.kernel().loops_size())) {
      return absl::OkStatus();
    }
    return Bad(id, "loop configuration ", config, " does not exist");
  }

  // --- One node --------------------------------------------------------------------

  // Calls Check with the view of the node's kind. A kind without a Check does not build.
  absl::Status CheckNode(NodeId id) {
    return VisitNode(id, node(id), [this](const auto& view) { return Check(view); });
  }

  absl::Status Check(ParamNode n) const {
    return CheckOwnParam(n.id(), n.param(), proto::Param::PARAM_VALUE);
  }
  absl::Status Check(ReferenceNode n) const {
    return CheckOwnParam(n.id(), n.param(), proto::Param::PARAM_REFERENCE);
  }
  absl::Status Check(UnaryNode n) { return CheckOperation(n); }
  absl::Status Check(BinaryNode n) { return CheckOperation(n); }
  absl::Status Check(TernaryNode n) { return CheckOperation(n); }
  absl::Status Check(ExtractNode n) const {
    RETURN_IF_ERROR(CheckValueAt(n.id(), 0));
    return CheckTensorIndices(n.id(), n.indices(), type_of(n.tensor()));
  }
  absl::Status Check(ElementNode n) const {
    RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
    return CheckTensorIndices(n.id(), n.indices(), type_of(n.base()));
  }
  absl::Status Check(GetMemberNode n) const {
    RETURN_IF_ERROR(CheckValueAt(n.id(), 0));
    return CheckMember(n.id(), type_of(n.value()), n.member());
  }
  absl::Status Check(MemberNode n) const {
    RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
    return CheckMember(n.id(), type_of(n.base()), n.member());
  }
  absl::Status Check(RandomNode n) const {
    return types_[n.type()].IsScalar() ? absl::OkStatus() : Bad(n.id(), "is not a scalar");
  }
  absl::Status Check(ChooseNode n) const {
    if (!n.type()) return Bad(n.id(), "has no type");
    return CheckTypedAt(n.id(), 0, ScalarId(proto::U1));
  }
  absl::Status Check(LocalNode n) const {
    return n.operands().empty() ? absl::OkStatus() : CheckTypedAt(n.id(), 0, n.type());
  }
  absl::Status Check(SimtNode n) const {
    const NodeId id = n.id();
    if (n.operation() >= kNumSimtOps)
      return Bad(id, "operation ", n.operation(), " does not exist");
    const SimtFacts& facts = kSimtOps[n.operation()];
    if (static_cast<int>(n.values().size()) != facts.num_operands) {
      return Bad(id, n.values().size(), " operands");
    }
    for (int i = 0; i < facts.num_operands; ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(facts.operands[i])));
    }
    if (facts.result != proto::SCALAR_NONE) return CheckResult(id, ScalarId(facts.result));
    return n.type() ? Bad(id, "has no value") : absl::OkStatus();
  }
  absl::Status Check(SharedArrayNode n) const {
    if (!types_[n.type()].IsTensor()) return Bad(n.id(), "is not a tensor");
    // At the top of the kernel it would belong to no task.
    const bool in_task = id_ != kKernelBody || !scopes_.empty();
    return in_task ? absl::OkStatus() : Bad(n.id(), "outside a loop");
  }
  absl::Status Check(LoadNode n) const {
    RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
    return CheckResult(n.id(), type_of(n.address()));
  }
  absl::Status Check(StoreNode n) const {
    RETURN_IF_ERROR(CheckAddressAt(n.id(), 0));
    return CheckTypedAt(n.id(), 1, type_of(n.address()));
  }
  absl::Status Check(WhileNode) const { return absl::OkStatus(); }
  absl::Status Check(IfNode n) const { return CheckTypedAt(n.id(), 0, ScalarId(proto::U1)); }
  absl::Status Check(BreakNode n) const { return CheckJump(n); }
  absl::Status Check(ContinueNode n) const { return CheckJump(n); }
  absl::Status Check(YieldNode n) const {
    if (scopes_.empty() || scopes_.back().kind != proto::CHOOSE) {
      return Bad(n.id(), "outside a choice");
    }
    return CheckTypedAt(n.id(), 0, type_of(scopes_.back().owner));
  }
  absl::Status Check(PrintNode n) const { return CheckValuesFrom(n.id(), 0); }
  absl::Status Check(AssertNode n) const {
    RETURN_IF_ERROR(CheckTypedAt(n.id(), 0, ScalarId(proto::U1)));
    return CheckValuesFrom(n.id(), 1);
  }
  absl::Status Check(AssumeInRangeNode n) const {
    if (node(n.id()).attributes_size() != 2) return Bad(n.id(), "needs two attributes");
    RETURN_IF_ERROR(CheckIntegers(n.id(), 0, 2));
    return CheckResult(n.id(), type_of(n.value()));
  }
  absl::Status Check(LoopUniqueNode n) const {
    RETURN_IF_ERROR(CheckStorageParams(n.id(), n.params()));
    return CheckSameValue(n.id(), n.value());
  }
  absl::Status Check(StopGradientNode n) const { return CheckSameValue(n.id(), n.value()); }
  absl::Status Check(BlockLocalNode n) const { return CheckStorageParams(n.id(), n.params()); }
  absl::Status Check(CacheReadOnlyNode n) const { return CheckStorageParams(n.id(), n.params()); }
  absl::Status Check(CheckpointBitNode n) const {
    RETURN_IF_ERROR(CheckStorageParam(n.id(), n.param()));
    return CheckIntegers(n.id(), 0, static_cast<int>(n.indices().size()));
  }
  absl::Status Check(NoActivateNode n) const { return CheckStorageParam(n.id(), n.param()); }
  absl::Status Check(SNodeActivateNode n) const { return CheckSNodeOp(n, SNodeOp::kActivate); }
  absl::Status Check(SNodeDeactivateNode n) const { return CheckSNodeOp(n, SNodeOp::kDeactivate); }
  absl::Status Check(SNodeIsActiveNode n) const { return CheckSNodeOp(n, SNodeOp::kIsActive); }
  absl::Status Check(SNodeLengthNode n) const { return CheckSNodeOp(n, SNodeOp::kLength); }
  absl::Status Check(SNodeAppendNode n) const { return CheckSNodeOp(n, SNodeOp::kAppend); }
  absl::Status Check(SNodeAddressNode n) const {
    RETURN_IF_ERROR(CheckIndices(n.id(), n.param(), n.indices()));
    if (!facts_.element_type[StorageNumber(n.param())]) {
      return Bad(n.id(), "an SNode itself has no elements");
    }
    return CheckResult(n.id(), ScalarId(proto::U64));
  }

  // --- Kinds with more to check ------------------------------------------------------

  absl::Status Check(ConstNode n) const {
    const Type& type = types_[n.type()];
    if (!type.IsScalar()) return Bad(n.id(), "is not a scalar");
    const int bits = ScalarBits(type.scalar);
    // Equal constants must have equal bits, or equal kernels would have different keys.
    if (bits < 64 && n.bits() >> bits != 0) return Bad(n.id(), "has bits beyond its type");
    return absl::OkStatus();
  }

  absl::Status CheckOperation(const NodeView& n) {
    const NodeId id = n.id();
    const OpInfo* info = FindOp(n.op());
    // Casts and atomics have node kinds of their own, with other rules.
    const int count = static_cast<int>(n.operands().size());
    if (info == nullptr || info->arity != count || info->family == proto::FAMILY_CAST ||
        info->family == proto::FAMILY_ATOMIC) {
      return Bad(id, "op ", n.op(), " does not fit");
    }
    absl::InlinedVector<TypeId, 3> operands;
    for (int i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CheckValueAt(id, i));
      operands.push_back(type_of(n.operands()[i]));
    }
    // The builder's own rules: a unit of another client must be typed exactly as ours would be.
    absl::StatusOr<OpTyping> typing = TypeOp(n.op(), operands, facts_.defaults, &types_);
    if (!typing.ok()) return Bad(id, typing.status().message());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (types_[operands[i]].scalar != typing->operand_scalars[i]) {
        return Bad(id, "operand ", i, " must be cast to ", ScalarName(typing->operand_scalars[i]));
      }
    }
    return CheckResult(id, typing->result);
  }

  absl::Status Check(CastToNode n) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    if (!n.type()) return Bad(id, "to no type");
    const TypeId from = type_of(n.value());
    absl::Status status;
    if (n.op() == proto::OP_CAST) {
      status = CheckCast(from, n.type(), types_);
    } else if (n.op() == proto::OP_BIT_CAST) {
      status = CheckBitCast(from, n.type(), types_);
    } else {
      return Bad(id, "op ", n.op(), " is not a cast");
    }
    return status.ok() ? status : Bad(id, status.message());
  }

  absl::Status Check(MakeTensorNode n) const {
    const NodeId id = n.id();
    const Type& type = types_[n.type()];
    if (!type.IsTensor() || type.NumElements() != n.elements().size()) {
      return Bad(id, n.elements().size(), " elements for '", types_.Name(n.type()), "'");
    }
    for (int i = 0; i < static_cast<int>(n.elements().size()); ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(type.scalar)));
    }
    return absl::OkStatus();
  }

  absl::Status Check(JoinNode n) const {
    const NodeId id = n.id();
    const Type& type = types_[n.type()];
    if (!type.IsTensor() || type.NumElements() != n.parts().size()) {
      return Bad(id, n.parts().size(), " addresses for '", types_.Name(n.type()), "'");
    }
    for (int i = 0; i < static_cast<int>(n.parts().size()); ++i) {
      RETURN_IF_ERROR(CheckAddressAt(id, i));
      // Each part is one element: tensors of tensors do not exist.
      if (type_of(n.parts()[i]) != ScalarId(type.scalar)) {
        return Bad(id, "operand ", i, " is the address of '", types_.Name(type_of(n.parts()[i])),
                   "'");
      }
    }
    return absl::OkStatus();
  }

  // Checks that every element that the attributes select is within the operand.
  absl::Status Check(PickNode n) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    const Type& from = types_[type_of(n.tensor())];
    const Type& to = types_[n.type()];
    if (!from.IsTensor() || !to.IsTensor() || from.scalar != to.scalar) {
      return Bad(id, "from '", types_.Name(type_of(n.tensor())), "' to '", types_.Name(n.type()),
                 "'");
    }
    const auto& attributes = node(id).attributes();
    if (attributes.size() != static_cast<int>(to.shape.size()) + 1) {
      return Bad(id, attributes.size(), " attributes");
    }
    // The elements selected by a0 + sum of i_d * a_d: each stride adds its full span to the upper
    // end if positive, to the lower end if negative. The limit on attributes prevents overflow.
    int64_t lowest = 0, last = 0;
    for (int d = 0; d < attributes.size(); ++d) {
      constexpr int64_t kMost = kMaxTensorElements;
      if (attributes[d] < -kMost || attributes[d] > kMost) {
        return Bad(id, "attribute ", attributes[d]);
      }
      // Attribute 0 is the first element, the others are strides.
      const int64_t span = attributes[d] * (d == 0 ? 1 : int64_t{to.shape[d - 1]} - 1);
      if (d == 0 || span < 0) lowest += span;
      if (d == 0 || span > 0) last += span;
    }
    if (lowest >= 0 && last < static_cast<int64_t>(from.NumElements())) return absl::OkStatus();
    return Bad(id, "elements ", lowest, " to ", last, " of '", types_.Name(type_of(n.tensor())),
               "'");
  }

  absl::Status Check(ReduceNode n) {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    absl::StatusOr<TypeId> type = TypeReduce(n.op(), type_of(n.tensor()), facts_.defaults, &types_);
    if (!type.ok()) return Bad(id, type.status().message());
    // The result's type decides in which type elements are combined.
    if (*type != ScalarId(types_[type_of(n.tensor())].scalar)) {
      return Bad(id, "the operand must be cast to ", types_.Name(*type));
    }
    return CheckResult(id, *type);
  }

  absl::Status Check(MakeStructNode n) const {
    const NodeId id = n.id();
    const Type& type = types_[n.type()];
    if (!type.IsStruct() || type.members.size() != n.members().size()) {
      return Bad(id, n.members().size(), " members for '", types_.Name(n.type()), "'");
    }
    for (int i = 0; i < static_cast<int>(n.members().size()); ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, i, type.members[i].second));
    }
    return absl::OkStatus();
  }

  absl::Status CheckMember(NodeId id, TypeId of, uint64_t member) const {
    const Type& type = types_[of];
    if (member >= type.members.size()) return Bad(id, "no member ", member);
    return CheckResult(id, type.members[member].second);
  }

  uint32_t StorageNumber(ParamId param) const {
    return ParamAt(facts_.unit.kernel().body(), param).storage();
  }
  const proto::Storage& StorageOf(ParamId param) const {
    return facts_.unit.storages(StorageNumber(param));
  }
  int StorageIndices(ParamId param) const { return facts_.num_indices[StorageNumber(param)]; }

  absl::Status Check(LoopIndexNode n) const {
    const NodeId id = n.id();
    const NodeId loop = n.loop();
    // Loops around it only: after the loop its index has no value.
    const bool encloses = std::any_of(scopes_.begin(), scopes_.end(),
                                      [loop](const Scope& s) { return s.owner == loop; });
    if (!encloses) return Bad(id, "node ", loop.number(), " is not a loop around it");
    // A while loop has none, so any index of one is refused below.
    uint64_t dimensions = 0;
    if (node(loop).kind() == proto::RANGE_FOR) {
      dimensions = RangeForNode(loop, node(loop)).bounds().size() / 2;
    } else if (node(loop).kind() == proto::STRUCT_FOR) {
      dimensions = static_cast<uint64_t>(StorageIndices(StructForNode(loop, node(loop)).param()));
    }
    if (n.dimension() >= dimensions) return Bad(id, "no dimension ", n.dimension());
    return CheckResult(id, ScalarId(proto::I32));
  }

  absl::Status Check(ShapeNode n) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckStorageParam(id, n.param()));
    if (node(id).attributes_size() != 1 || n.axis() < 0 || n.axis() >= StorageIndices(n.param())) {
      return Bad(id, "no such axis");
    }
    return CheckResult(id, ScalarId(proto::I32));
  }

  // Checks that the operands are one integer for each axis of the storage at `index`.
  absl::Status CheckIndices(NodeId id, ParamId param, NodeIds indices) const {
    RETURN_IF_ERROR(CheckStorageParam(id, param));
    const int axes = StorageIndices(param);
    if (static_cast<int>(indices.size()) != axes) {
      return Bad(id, indices.size(), " indices, not ", axes);
    }
    return CheckIntegers(id, 0, axes);
  }

  absl::Status Check(GlobalNode n) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckIndices(id, n.param(), n.indices()));
    return CheckResult(id, facts_.element_type[StorageNumber(n.param())]);
  }

  // Checks an SNode operation: the kind of its SNode, the number of indices, the type of the
  // result.
  template <typename SNodeNode>
  absl::Status CheckSNodeOp(const SNodeNode& n, SNodeOp op) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckStorageParam(id, n.param()));
    const proto::Storage& storage = StorageOf(n.param());
    if (!storage.has_tree()) return Bad(id, "parameter ", n.param().number(), " is not an SNode");
    const proto::TreePart& tree = facts_.unit.trees(static_cast<int>(storage.tree().tree()));
    const SNodeFacts& kind =
        *FindSNodeKind(tree.nodes(static_cast<int>(storage.tree().node())).kind());
    if (!Accepts(kind, op)) return Bad(id, "a ", kind.name, " SNode does not have this op");
    // Ops on a whole list take the indices of its container.
    const int indices = NamesContainer(kind, op)
                            ? static_cast<int>(IndicesAbove(tree, storage.tree()).size())
                            : storage.tree().axes_size();
    if (static_cast<int>(n.indices().size()) != indices) {
      return Bad(id, n.indices().size(), " indices, not ", indices);
    }
    RETURN_IF_ERROR(CheckIntegers(id, 0, indices));
    switch (op) {
      case SNodeOp::kLength:
      case SNodeOp::kAppend:
        return CheckResult(id, ScalarId(proto::I32));
      case SNodeOp::kIsActive:
        return CheckResult(id, ScalarId(proto::U1));
      // Statements: their results are not used, so they have no type.
      case SNodeOp::kActivate:
      case SNodeOp::kDeactivate:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status Check(AtomicNode n) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckAddressAt(id, 0));
    const TypeId type = type_of(n.address());
    if (absl::Status status = CheckAtomic(n.op(), type, types_); !status.ok()) {
      return Bad(id, status.message());
    }
    RETURN_IF_ERROR(CheckTypedAt(id, 1, type));
    return CheckResult(id, type);
  }

  absl::Status Check(CallNode n) const {
    const NodeId id = n.id();
    const proto::Kernel& kernel = facts_.unit.kernel();
    if (!HasFunction(kernel, n.function())) {
      return Bad(id, "function ", n.function().number(), " does not exist");
    }
    const proto::Function& callee = FunctionAt(kernel, n.function());
    if (static_cast<int>(n.arguments().size()) != callee.params_size())
      return Bad(id, n.arguments().size(), " arguments");
    for (int i = 0; i < callee.params_size(); ++i) {
      switch (callee.params(i).kind()) {
        case proto::Param::PARAM_VALUE:
          RETURN_IF_ERROR(CheckTypedAt(id, i, TypeOfParam(callee.params(i))));
          break;
        case proto::Param::PARAM_REFERENCE:
          RETURN_IF_ERROR(CheckAddressAt(id, i));
          if (type_of(n.arguments()[i]) != TypeOfParam(callee.params(i))) {
            return Bad(id, "argument ", i, " refers to another type");
          }
          break;
        default:
          return Bad(id, "argument ", i, " cannot be passed");
      }
    }
    // A call without results has no type, with one result its type, with several a struct of them.
    const TypeIds returns = ReturnTypesOf(callee);
    if (returns.empty() && !n.type()) return absl::OkStatus();
    if (returns.size() == 1) return CheckResult(id, returns[0]);
    const Type& type = types_[n.type()];
    if (returns.empty() ||
        !std::equal(type.members.begin(), type.members.end(), returns.begin(), returns.end(),
                    [](const auto& member, TypeId result) { return member.second == result; })) {
      return Bad(id, "is of another type than the function's results");
    }
    return absl::OkStatus();
  }

  absl::Status Check(RangeForNode n) const {
    const NodeId id = n.id();
    const int bounds = static_cast<int>(n.bounds().size());
    // Pairs of begin and end, one for each dimension.
    if (bounds % 2 != 0 || bounds > 2 * kMaxIndices) return Bad(id, bounds, " bounds");
    for (int i = 0; i < bounds; ++i) RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(proto::I32)));
    return CheckConfig(id, n.config());
  }

  absl::Status Check(StructForNode n) const {
    const NodeId id = n.id();
    RETURN_IF_ERROR(CheckStorageParam(id, n.param()));
    RETURN_IF_ERROR(CheckConfig(id, static_cast<uint64_t>(n.config())));
    if (IsOverTree(n) && StorageIndices(n.param()) == 0) {
      return Bad(id, "over no index");
    }
    // A list of cells is made once, before the task. Within a loop it would have to be made in each
    // iteration.
    if (id_ == kKernelBody && scopes_.empty()) return absl::OkStatus();
    return Report(id, proto::KIND_SYNTAX,
                  "Struct for cannot be nested inside a kernel: it must be outermost");
  }

  // The value of a hint.
  absl::Status CheckSameValue(NodeId id, NodeId value) const {
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    return CheckResult(id, type_of(value));
  }

  absl::Status CheckJump(const NodeView& n) const {
    const NodeId id = n.id();
    // From the inside out: a jump belongs to the innermost loop.
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      // An arm is evaluated for its value; lanes and selects run both arms.
      if (scope->kind == proto::CHOOSE) return Bad(id, "inside a choice");
      if (!IsLoop(scope->kind)) continue;
      if (scope->parallel && n.kind() == proto::BREAK) {
        return Report(id, proto::KIND_SYNTAX, "Cannot break in the outermost loop");
      }
      return absl::OkStatus();
    }
    return Bad(id, "outside a loop");
  }

  absl::Status Check(ReturnNode n) const {
    const NodeId id = n.id();
    // All of them, unlike a jump: a return leaves every loop around it.
    for (const Scope& scope : scopes_) {
      if (scope.kind == proto::CHOOSE) return Bad(id, "inside a choice");
      if (scope.parallel) {
        return Report(id, proto::KIND_SYNTAX,
                      "Return statements are not allowed in a parallel loop");
      }
    }
    const TypeIds returns = ReturnTypesOf(function_);
    if (n.values().size() != returns.size()) {
      return Bad(id, n.values().size(), " values, not ", returns.size());
    }
    for (size_t i = 0; i < returns.size(); ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, static_cast<int>(i), returns[i]));
    }
    return absl::OkStatus();
  }

  const UnitFacts& facts_;
  TypeTable& types_;
  const FunctionId id_;
  const proto::Function& function_;
  std::vector<proto::Diagnostic>* diagnostics_;
  IdVector<NodeId, bool> visible_;  // a later node may use it as an operand
  IdVector<NodeId, bool> listed_;
  IdVector<BlockId, bool> entered_;
  std::vector<NodeId> reached_;
  std::vector<Scope> scopes_;
};

}  // namespace

absl::StatusOr<std::vector<NodeId>> CheckFunction(const UnitFacts& facts, FunctionId function,
                                                  std::vector<proto::Diagnostic>* diagnostics) {
  Checker checker(facts, function, diagnostics);
  RETURN_IF_ERROR(checker.Run());
  return checker.TakeReached();
}

}  // namespace kiln
