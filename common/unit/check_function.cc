#include "common/unit/check_function.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/op_table.h"
#include "common/layout/layout.h"
#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"

namespace kiln {
namespace {

using proto::Node;

bool IsLoop(proto::NodeKind kind) {
  return kind == proto::RANGE_FOR || kind == proto::STRUCT_FOR || kind == proto::WHILE;
}

SNodeOp SNodeOpOf(proto::NodeKind kind) {
  switch (kind) {
    case proto::SNODE_ACTIVATE:
      return SNodeOp::kActivate;
    case proto::SNODE_DEACTIVATE:
      return SNodeOp::kDeactivate;
    case proto::SNODE_IS_ACTIVE:
      return SNodeOp::kIsActive;
    case proto::SNODE_LENGTH:
      return SNodeOp::kLength;
    default:
      return SNodeOp::kAppend;
  }
}

// Walks the blocks in program order, from block 0. Nodes that no block lists (code after
// a jump) never run, and only need a known kind.
class Checker {
 public:
  Checker(const UnitFacts& facts, const proto::Function& function, uint32_t number,
          std::vector<proto::Diagnostic>* diagnostics)
      : facts_(facts),
        types_(*facts.types),
        function_(function),
        number_(number),
        diagnostics_(diagnostics) {}

  absl::Status Run() {
    const int num_nodes = function_.nodes_size();
    if (num_nodes == 0 || function_.blocks_size() == 0) {
      // An empty message is an empty body.
      return num_nodes + function_.blocks_size() == 0 ? absl::OkStatus()
                                                      : Malformed("nodes without blocks");
    }
    if (static_cast<uint32_t>(num_nodes) > kMaxNodes)
      return Malformed(absl::StrCat(num_nodes, " nodes"));
    if (function_.nodes(0).ByteSizeLong() != 0) return Malformed("node 0 is used");
    for (int i = 1; i < num_nodes; ++i) {
      if (FindNode(function_.nodes(i).kind()) == nullptr) {
        return Malformed(absl::StrCat("node ", i, " of kind ", function_.nodes(i).kind()));
      }
    }
    visible_.assign(static_cast<size_t>(num_nodes), false);
    listed_.assign(static_cast<size_t>(num_nodes), false);
    entered_.assign(static_cast<size_t>(function_.blocks_size()), false);
    return CheckBlock(0, 0);
  }

  std::vector<uint32_t> TakeReached() { return std::move(reached_); }

 private:
  // --- Failures --------------------------------------------------------------------

  absl::Status Malformed(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("function ", number_, ": ", what));
  }

  template <typename... Parts>
  absl::Status Bad(uint32_t id, const Parts&... parts) const {
    return absl::InvalidArgumentError(absl::StrCat("function ", number_, ", node ", id, " (",
                                                   FindNode(node(id).kind())->spelling,
                                                   "): ", parts...));
  }

  // Reports a mistake of the user's program; the walk continues.
  absl::Status Report(uint32_t id, proto::DiagnosticKind kind, std::string message) const {
    proto::Diagnostic diagnostic;
    diagnostic.set_severity(proto::ERROR);
    diagnostic.set_kind(kind);
    diagnostic.set_function(number_);
    diagnostic.set_node(id);
    diagnostic.set_message(std::move(message));
    diagnostics_->push_back(std::move(diagnostic));
    return absl::OkStatus();
  }

  // --- Operands --------------------------------------------------------------------

  const Node& node(uint32_t id) const { return function_.nodes(static_cast<int>(id)); }
  uint32_t operand(uint32_t id, int i) const { return node(id).operands(i); }
  TypeId type_of(uint32_t id) const { return node(id).type(); }
  TypeId ScalarId(Scalar s) const { return types_.GetScalar(s); }

  bool IsInteger(TypeId type) const {
    return types_[type].IsScalar() && IsInt(types_[type].scalar);
  }

  absl::Status CheckValueAt(uint32_t id, int i) const {
    const uint32_t value = operand(id, i);
    if (FindNode(node(value).kind())->has_value && type_of(value) != 0) return absl::OkStatus();
    return Bad(id, "operand ", i, " is not a value");
  }

  absl::Status CheckValuesFrom(uint32_t id, int first) const {
    for (int i = first; i < node(id).operands_size(); ++i) RETURN_IF_ERROR(CheckValueAt(id, i));
    return absl::OkStatus();
  }

  absl::Status CheckAddressAt(uint32_t id, int i) const {
    const uint32_t address = operand(id, i);
    if (FindNode(node(address).kind())->is_address && type_of(address) != 0) {
      return absl::OkStatus();
    }
    return Bad(id, "operand ", i, " is not an address");
  }

  // Checks that operand `i` is a value of exactly `type`.
  absl::Status CheckTypedAt(uint32_t id, int i, TypeId type) const {
    RETURN_IF_ERROR(CheckValueAt(id, i));
    if (type_of(operand(id, i)) == type) return absl::OkStatus();
    return Bad(id, "operand ", i, " is '", types_.Name(type_of(operand(id, i))), "', not '",
               types_.Name(type), "'");
  }

  absl::Status CheckResult(uint32_t id, TypeId type) const {
    if (type_of(id) == type && type != 0) return absl::OkStatus();
    return Bad(id, "is of '", types_.Name(type_of(id)), "', not '", types_.Name(type), "'");
  }

  // Checks that the operands from `first` to before `end` are integers.
  absl::Status CheckIntegers(uint32_t id, int first, int end) const {
    for (int i = first; i < end; ++i) {
      RETURN_IF_ERROR(CheckValueAt(id, i));
      if (!IsInteger(type_of(operand(id, i)))) return Bad(id, "operand ", i, " is not an integer");
    }
    return absl::OkStatus();
  }

  // Checks the operands from 1 on as indices of a tensor of type `tensor`. A constant outside the
  // tensor is a mistake of the user's program.
  absl::Status CheckTensorIndices(uint32_t id, TypeId tensor) const {
    const Type& type = types_[tensor];
    const int rank = static_cast<int>(type.shape.size());
    if (rank == 0 || node(id).operands_size() != rank + 1) {
      return Bad(id, node(id).operands_size() - 1, " indices for '", types_.Name(tensor), "'");
    }
    RETURN_IF_ERROR(CheckIntegers(id, 1, rank + 1));
    for (int i = 0; i < rank; ++i) {
      const Node& index = node(operand(id, i + 1));
      // A negative constant is a huge number here, because its bits are zero-extended.
      if (index.kind() != proto::CONST || index.index() < type.shape[i]) continue;
      RETURN_IF_ERROR(Report(id, proto::KIND_INDEX,
                             absl::StrCat("index is out of range for dimension ", i, " of '",
                                          types_.Name(tensor), "'")));
    }
    return CheckResult(id, ScalarId(type.scalar));
  }

  // `of`: the function that declares the parameter.
  absl::Status CheckParam(uint32_t id, const proto::Function& of, uint64_t index,
                          proto::Param::Kind kind) const {
    if (index < static_cast<uint64_t>(of.params_size()) &&
        of.params(static_cast<int>(index)).kind() == kind) {
      return absl::OkStatus();
    }
    return Bad(id, "parameter ", index, " does not exist or is of another kind");
  }

  // Checks a node for one of the function's own parameters, which must have the node's type.
  absl::Status CheckOwnParam(uint32_t id, proto::Param::Kind kind) const {
    RETURN_IF_ERROR(CheckParam(id, function_, node(id).index(), kind));
    return CheckResult(id, function_.params(static_cast<int>(node(id).index())).type());
  }

  absl::Status CheckStorageParam(uint32_t id) const {
    return CheckParam(id, facts_.unit.kernel().body(), node(id).index(),
                      proto::Param::PARAM_STORAGE);
  }

  absl::Status CheckParamAttributes(uint32_t id) const {
    for (const int64_t attribute : node(id).attributes()) {
      RETURN_IF_ERROR(CheckParam(id, facts_.unit.kernel().body(), static_cast<uint64_t>(attribute),
                                 proto::Param::PARAM_STORAGE));
    }
    return absl::OkStatus();
  }

  // --- Blocks ----------------------------------------------------------------------

  // A statement that contains the current block.
  struct Scope {
    uint32_t owner;
    proto::NodeKind kind;
    bool parallel;
  };

  // Checks a block and the blocks nested in its nodes. A node becomes visible after its own check,
  // and invisible at the end of its block: so operands always come from the same or an enclosing
  // block. Each block and node may be used only once, which also bounds the recursion.
  absl::Status CheckBlock(uint32_t block, int depth) {
    if (depth > kMaxBlockDepth) {
      return Malformed(absl::StrCat("blocks nested over ", kMaxBlockDepth, " deep"));
    }
    if (block >= entered_.size() || entered_[block]) {
      return Malformed(absl::StrCat("block ", block, " does not exist or is used twice"));
    }
    entered_[block] = true;
    const auto& ids = function_.blocks(static_cast<int>(block)).nodes();
    for (int i = 0; i < ids.size(); ++i) {
      const uint32_t id = ids.Get(i);
      if (id == 0 || id >= listed_.size() || listed_[id]) {
        return Malformed(absl::StrCat("node ", id, " does not exist or is used twice"));
      }
      listed_[id] = true;
      reached_.push_back(id);
      RETURN_IF_ERROR(CheckShape(id));
      if (FindNode(node(id).kind())->is_terminator && i + 1 != ids.size()) {
        return Bad(id, "nodes follow it in its block");
      }
      RETURN_IF_ERROR(CheckNode(id));
      RETURN_IF_ERROR(EnterBlocks(id, depth));
      visible_[id] = true;
    }
    for (const uint32_t id : ids) visible_[id] = false;
    return absl::OkStatus();
  }

  // Checks counts against the table, that operands are made before the node, and that types exist.
  absl::Status CheckShape(uint32_t id) const {
    const Node& n = node(id);
    const NodeInfo& info = *FindNode(n.kind());
    const int operands = n.operands_size();
    if (operands < info.min_operands || (info.max_operands >= 0 && operands > info.max_operands)) {
      return Bad(id, operands, " operands");
    }
    if (n.blocks_size() != info.blocks) return Bad(id, n.blocks_size(), " blocks");
    if (n.type() >= static_cast<uint32_t>(facts_.unit.kernel().types_size()) && n.type() != 0) {
      return Bad(id, "type ", n.type(), " does not exist");
    }
    if (info.is_address && n.type() == 0) return Bad(id, "address of nothing");
    for (const uint32_t operand : n.operands()) {
      // A loop index refers to its loop from inside, where the loop is not visible as a value.
      if (n.kind() == proto::LOOP_INDEX) continue;
      if (operand >= id || !visible_[operand]) {
        return Bad(id, "operand ", operand, " is not made before it, in a block around it");
      }
    }
    return absl::OkStatus();
  }

  absl::Status EnterBlocks(uint32_t id, int depth) {
    const Node& n = node(id);
    if (n.blocks_size() == 0) return absl::OkStatus();
    scopes_.push_back({id, n.kind(), IsLoop(n.kind()) && IsParallel(n, depth)});
    for (const uint32_t block : n.blocks()) {
      RETURN_IF_ERROR(CheckBlock(block, depth + 1));
      if (n.kind() == proto::CHOOSE) RETURN_IF_ERROR(CheckArm(id, block));
    }
    scopes_.pop_back();
    return absl::OkStatus();
  }

  absl::Status CheckArm(uint32_t id, uint32_t block) const {
    const auto& nodes = function_.blocks(static_cast<int>(block)).nodes();
    if (nodes.empty() || node(nodes[nodes.size() - 1]).kind() != proto::YIELD) {
      return Bad(id, "an arm yields no value");
    }
    return absl::OkStatus();
  }

  static uint64_t ConfigOf(const Node& loop) {
    if (loop.kind() == proto::RANGE_FOR) return loop.index();
    return loop.attributes_size() > 0 ? static_cast<uint64_t>(loop.attributes(0)) : 0;
  }

  bool IsParallel(const Node& loop, int depth) const {
    if (number_ != 0 || depth != 0 || loop.kind() == proto::WHILE) return false;
    if (loop.kind() == proto::STRUCT_FOR && IsOverTree(loop)) return true;
    const uint64_t config = ConfigOf(loop);
    return config == 0 || !facts_.unit.kernel().loops(static_cast<int>(config - 1)).serialize();
  }

  // Whether a loop iterates the list of a tree's cells. Even if it is serialized, nothing may break
  // out of it.
  bool IsOverTree(const Node& loop) const {
    const uint32_t storage = StorageOf(loop.index());
    return facts_.unit.storages(static_cast<int>(storage)).has_tree();
  }

  absl::Status CheckConfig(uint32_t id) const {
    const uint64_t config = ConfigOf(node(id));
    if (config <= static_cast<uint64_t>(facts_.unit.kernel().loops_size())) {
      return absl::OkStatus();
    }
    return Bad(id, "loop configuration ", config, " does not exist");
  }

  // --- One node --------------------------------------------------------------------

  absl::Status CheckNode(uint32_t id) {
    switch (node(id).kind()) {
      case proto::CONST:
        return CheckConst(id);
      case proto::PARAM:
        return CheckOwnParam(id, proto::Param::PARAM_VALUE);
      case proto::REFERENCE:
        return CheckOwnParam(id, proto::Param::PARAM_REFERENCE);
      case proto::UNARY:
      case proto::BINARY:
      case proto::TERNARY:
        return CheckOperation(id);
      case proto::CAST_TO:
        return CheckCastTo(id);
      case proto::MAKE_TENSOR:
        return CheckMakeTensor(id);
      case proto::EXTRACT:
        RETURN_IF_ERROR(CheckValueAt(id, 0));
        return CheckTensorIndices(id, type_of(operand(id, 0)));
      case proto::PICK:
        return CheckPick(id);
      case proto::REDUCE:
        return CheckReduce(id);
      case proto::ELEMENT:
        RETURN_IF_ERROR(CheckAddressAt(id, 0));
        return CheckTensorIndices(id, type_of(operand(id, 0)));
      case proto::MAKE_STRUCT:
        return CheckMakeStruct(id);
      case proto::GET_MEMBER:
        RETURN_IF_ERROR(CheckValueAt(id, 0));
        return CheckMember(id);
      case proto::MEMBER:
        RETURN_IF_ERROR(CheckAddressAt(id, 0));
        return CheckMember(id);
      case proto::JOIN:
        return CheckJoin(id);
      case proto::RANDOM:
        return types_[type_of(id)].IsScalar() ? absl::OkStatus() : Bad(id, "is not a scalar");
      case proto::LOOP_INDEX:
        return CheckLoopIndex(id);
      case proto::SHAPE:
        return CheckShapeOf(id);
      case proto::CHOOSE:
        if (type_of(id) == 0) return Bad(id, "has no type");
        return CheckTypedAt(id, 0, ScalarId(proto::U1));
      case proto::CALL:
        return CheckCall(id);
      case proto::LOCAL:
        return node(id).operands_size() == 0 ? absl::OkStatus() : CheckTypedAt(id, 0, type_of(id));
      case proto::GLOBAL:
        return CheckGlobal(id);
      case proto::LOAD:
        RETURN_IF_ERROR(CheckAddressAt(id, 0));
        return CheckResult(id, type_of(operand(id, 0)));
      case proto::STORE:
        RETURN_IF_ERROR(CheckAddressAt(id, 0));
        return CheckTypedAt(id, 1, type_of(operand(id, 0)));
      case proto::ATOMIC:
        return CheckAtomicNode(id);
      case proto::RANGE_FOR:
        return CheckRangeFor(id);
      case proto::STRUCT_FOR:
        return CheckStructFor(id);
      case proto::IF:
        return CheckTypedAt(id, 0, ScalarId(proto::U1));
      case proto::BREAK:
      case proto::CONTINUE:
        return CheckJump(id);
      case proto::RETURN:
        return CheckReturn(id);
      case proto::YIELD:
        if (scopes_.empty() || scopes_.back().kind != proto::CHOOSE) {
          return Bad(id, "outside a choice");
        }
        return CheckTypedAt(id, 0, type_of(scopes_.back().owner));
      case proto::ASSERT:
        RETURN_IF_ERROR(CheckTypedAt(id, 0, ScalarId(proto::U1)));
        return CheckValuesFrom(id, 1);
      case proto::ASSUME_IN_RANGE:
        if (node(id).attributes_size() != 2) return Bad(id, "needs two attributes");
        RETURN_IF_ERROR(CheckIntegers(id, 0, 2));
        return CheckResult(id, type_of(operand(id, 0)));
      case proto::LOOP_UNIQUE:
        RETURN_IF_ERROR(CheckParamAttributes(id));
        [[fallthrough]];
      case proto::STOP_GRADIENT:
        RETURN_IF_ERROR(CheckValueAt(id, 0));
        return CheckResult(id, type_of(operand(id, 0)));
      case proto::BLOCK_LOCAL:
      case proto::CACHE_READ_ONLY:
        return CheckParamAttributes(id);
      case proto::SNODE_ADDRESS:
        RETURN_IF_ERROR(CheckIndices(id));
        if (facts_.element_type[StorageOf(node(id).index())] == 0) {
          return Bad(id, "an SNode itself has no elements");
        }
        return CheckResult(id, ScalarId(proto::U64));
      case proto::SNODE_ACTIVATE:
      case proto::SNODE_DEACTIVATE:
      case proto::SNODE_IS_ACTIVE:
      case proto::SNODE_LENGTH:
      case proto::SNODE_APPEND:
        return CheckSNodeOp(id);
      case proto::CHECKPOINT_BIT:
      case proto::NO_ACTIVATE:
        RETURN_IF_ERROR(CheckStorageParam(id));
        return CheckIntegers(id, 0, node(id).operands_size());
      case proto::PRINT:
        return CheckValuesFrom(id, 0);
      case proto::WHILE:
        return absl::OkStatus();
      default:
        // The table has a kind that this switch lacks.
        return Bad(id, "has no check");
    }
  }

  absl::Status CheckConst(uint32_t id) const {
    const Type& type = types_[type_of(id)];
    if (!type.IsScalar()) return Bad(id, "is not a scalar");
    const int bits = ScalarBits(type.scalar);
    // Equal constants must have equal bits, or equal kernels would have different keys.
    if (bits < 64 && node(id).index() >> bits != 0) return Bad(id, "has bits beyond its type");
    return absl::OkStatus();
  }

  absl::Status CheckOperation(uint32_t id) {
    const Node& n = node(id);
    const OpInfo* info = FindOp(n.op());
    if (info == nullptr || info->arity != n.operands_size() || info->family == proto::FAMILY_CAST ||
        info->family == proto::FAMILY_ATOMIC) {
      return Bad(id, "op ", n.op(), " does not fit");
    }
    absl::InlinedVector<TypeId, 3> operands;
    for (int i = 0; i < n.operands_size(); ++i) {
      RETURN_IF_ERROR(CheckValueAt(id, i));
      operands.push_back(type_of(n.operands(i)));
    }
    absl::StatusOr<OpTyping> typing = TypeOp(n.op(), operands, facts_.defaults, &types_);
    if (!typing.ok()) return Bad(id, typing.status().message());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (types_[operands[i]].scalar != typing->operand_scalars[i]) {
        return Bad(id, "operand ", i, " must be cast to ", ScalarName(typing->operand_scalars[i]));
      }
    }
    return CheckResult(id, typing->result);
  }

  absl::Status CheckCastTo(uint32_t id) const {
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    if (type_of(id) == 0) return Bad(id, "to no type");
    const TypeId from = type_of(operand(id, 0));
    absl::Status status;
    if (node(id).op() == proto::OP_CAST) {
      status = CheckCast(from, type_of(id), types_);
    } else if (node(id).op() == proto::OP_BIT_CAST) {
      status = CheckBitCast(from, type_of(id), types_);
    } else {
      return Bad(id, "op ", node(id).op(), " is not a cast");
    }
    return status.ok() ? status : Bad(id, status.message());
  }

  absl::Status CheckMakeTensor(uint32_t id) const {
    const Type& type = types_[type_of(id)];
    if (!type.IsTensor() || type.NumElements() != static_cast<uint64_t>(node(id).operands_size())) {
      return Bad(id, node(id).operands_size(), " elements for '", types_.Name(type_of(id)), "'");
    }
    for (int i = 0; i < node(id).operands_size(); ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(type.scalar)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckJoin(uint32_t id) const {
    const Type& type = types_[type_of(id)];
    if (!type.IsTensor() || type.NumElements() != static_cast<uint64_t>(node(id).operands_size())) {
      return Bad(id, node(id).operands_size(), " addresses for '", types_.Name(type_of(id)), "'");
    }
    for (int i = 0; i < node(id).operands_size(); ++i) {
      RETURN_IF_ERROR(CheckAddressAt(id, i));
      if (type_of(operand(id, i)) != ScalarId(type.scalar)) {
        return Bad(id, "operand ", i, " is the address of '", types_.Name(type_of(operand(id, i))),
                   "'");
      }
    }
    return absl::OkStatus();
  }

  // Checks that every element that the attributes select is within the operand.
  absl::Status CheckPick(uint32_t id) const {
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    const Type& from = types_[type_of(operand(id, 0))];
    const Type& to = types_[type_of(id)];
    if (!from.IsTensor() || !to.IsTensor() || from.scalar != to.scalar) {
      return Bad(id, "from '", types_.Name(type_of(operand(id, 0))), "' to '",
                 types_.Name(type_of(id)), "'");
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
      const int64_t span = attributes[d] * (d == 0 ? 1 : int64_t{to.shape[d - 1]} - 1);
      if (d == 0 || span < 0) lowest += span;
      if (d == 0 || span > 0) last += span;
    }
    if (lowest >= 0 && last < static_cast<int64_t>(from.NumElements())) return absl::OkStatus();
    return Bad(id, "elements ", lowest, " to ", last, " of '", types_.Name(type_of(operand(id, 0))),
               "'");
  }

  absl::Status CheckReduce(uint32_t id) {
    RETURN_IF_ERROR(CheckValueAt(id, 0));
    absl::StatusOr<TypeId> type =
        TypeReduce(node(id).op(), type_of(operand(id, 0)), facts_.defaults, &types_);
    if (!type.ok()) return Bad(id, type.status().message());
    if (*type != ScalarId(types_[type_of(operand(id, 0))].scalar)) {
      return Bad(id, "the operand must be cast to ", types_.Name(*type));
    }
    return CheckResult(id, *type);
  }

  absl::Status CheckMakeStruct(uint32_t id) const {
    const Type& type = types_[type_of(id)];
    if (!type.IsStruct() || type.members.size() != static_cast<size_t>(node(id).operands_size())) {
      return Bad(id, node(id).operands_size(), " members for '", types_.Name(type_of(id)), "'");
    }
    for (int i = 0; i < node(id).operands_size(); ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, i, type.members[i].second));
    }
    return absl::OkStatus();
  }

  absl::Status CheckMember(uint32_t id) const {
    const Type& type = types_[type_of(operand(id, 0))];
    if (node(id).index() >= type.members.size()) return Bad(id, "no member ", node(id).index());
    return CheckResult(id, type.members[node(id).index()].second);
  }

  uint32_t StorageOf(uint64_t param_index) const {
    return facts_.unit.kernel().body().params(static_cast<int>(param_index)).storage();
  }

  int StorageIndices(uint32_t param_index) const {
    return facts_.num_indices[StorageOf(param_index)];
  }

  absl::Status CheckLoopIndex(uint32_t id) const {
    const uint32_t loop = operand(id, 0);
    const bool encloses = std::any_of(scopes_.begin(), scopes_.end(),
                                      [loop](const Scope& s) { return s.owner == loop; });
    if (!encloses) return Bad(id, "node ", loop, " is not a loop around it");
    uint64_t dimensions = 0;
    if (node(loop).kind() == proto::RANGE_FOR) {
      dimensions = static_cast<uint64_t>(node(loop).operands_size()) / 2;
    } else if (node(loop).kind() == proto::STRUCT_FOR) {
      dimensions = static_cast<uint64_t>(StorageIndices(static_cast<uint32_t>(node(loop).index())));
    }
    if (node(id).index() >= dimensions) return Bad(id, "no dimension ", node(id).index());
    return CheckResult(id, ScalarId(proto::I32));
  }

  absl::Status CheckShapeOf(uint32_t id) const {
    RETURN_IF_ERROR(CheckStorageParam(id));
    const Node& n = node(id);
    if (n.attributes_size() != 1 || n.attributes(0) < 0 ||
        n.attributes(0) >= StorageIndices(static_cast<uint32_t>(n.index()))) {
      return Bad(id, "no such axis");
    }
    return CheckResult(id, ScalarId(proto::I32));
  }

  // Checks that the operands are one integer for each axis of the storage at `index`.
  absl::Status CheckIndices(uint32_t id) const {
    RETURN_IF_ERROR(CheckStorageParam(id));
    const int indices = StorageIndices(static_cast<uint32_t>(node(id).index()));
    if (node(id).operands_size() != indices) {
      return Bad(id, node(id).operands_size(), " indices, not ", indices);
    }
    return CheckIntegers(id, 0, indices);
  }

  absl::Status CheckGlobal(uint32_t id) const {
    RETURN_IF_ERROR(CheckIndices(id));
    return CheckResult(id, facts_.element_type[StorageOf(node(id).index())]);
  }

  // Checks an SNode operation: the kind of its SNode, the number of indices, the type of the
  // result.
  absl::Status CheckSNodeOp(uint32_t id) const {
    RETURN_IF_ERROR(CheckStorageParam(id));
    const Node& n = node(id);
    const proto::Storage& storage =
        facts_.unit.storages(static_cast<int>(StorageOf(static_cast<uint32_t>(n.index()))));
    if (!storage.has_tree()) return Bad(id, "parameter ", n.index(), " is not an SNode");
    const proto::TreePart& tree = facts_.unit.trees(static_cast<int>(storage.tree().tree()));
    const SNodeFacts& kind =
        *FindSNodeKind(tree.nodes(static_cast<int>(storage.tree().node())).kind());
    const SNodeOp op = SNodeOpOf(n.kind());
    if (!Accepts(kind, op)) return Bad(id, "a ", kind.name, " SNode does not have this op");
    const int indices = NamesContainer(kind, op)
                            ? static_cast<int>(IndicesAbove(tree, storage.tree()).size())
                            : storage.tree().axes_size();
    if (n.operands_size() != indices) {
      return Bad(id, n.operands_size(), " indices, not ", indices);
    }
    RETURN_IF_ERROR(CheckIntegers(id, 0, indices));
    switch (op) {
      case SNodeOp::kLength:
      case SNodeOp::kAppend:
        return CheckResult(id, ScalarId(proto::I32));
      case SNodeOp::kIsActive:
        return CheckResult(id, ScalarId(proto::U1));
      case SNodeOp::kActivate:
      case SNodeOp::kDeactivate:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status CheckAtomicNode(uint32_t id) const {
    RETURN_IF_ERROR(CheckAddressAt(id, 0));
    const TypeId type = type_of(operand(id, 0));
    if (absl::Status status = CheckAtomic(node(id).op(), type, types_); !status.ok()) {
      return Bad(id, status.message());
    }
    RETURN_IF_ERROR(CheckTypedAt(id, 1, type));
    return CheckResult(id, type);
  }

  absl::Status CheckCall(uint32_t id) const {
    const Node& n = node(id);
    const proto::Kernel& kernel = facts_.unit.kernel();
    if (n.index() >= static_cast<uint64_t>(kernel.functions_size())) {
      return Bad(id, "function ", n.index(), " does not exist");
    }
    const proto::Function& callee = kernel.functions(static_cast<int>(n.index()));
    if (n.operands_size() != callee.params_size()) return Bad(id, n.operands_size(), " arguments");
    for (int i = 0; i < callee.params_size(); ++i) {
      switch (callee.params(i).kind()) {
        case proto::Param::PARAM_VALUE:
          RETURN_IF_ERROR(CheckTypedAt(id, i, callee.params(i).type()));
          break;
        case proto::Param::PARAM_REFERENCE:
          RETURN_IF_ERROR(CheckAddressAt(id, i));
          if (type_of(operand(id, i)) != callee.params(i).type()) {
            return Bad(id, "argument ", i, " refers to another type");
          }
          break;
        default:
          return Bad(id, "argument ", i, " cannot be passed");
      }
    }
    // A call without results has no type, with one result its type, with several a struct of them.
    if (callee.returns_size() == 0 && n.type() == 0) return absl::OkStatus();
    if (callee.returns_size() == 1) return CheckResult(id, callee.returns(0));
    const Type& type = types_[n.type()];
    if (callee.returns_size() == 0 ||
        !std::equal(type.members.begin(), type.members.end(), callee.returns().begin(),
                    callee.returns().end(),
                    [](const auto& member, uint32_t r) { return member.second == r; })) {
      return Bad(id, "is of another type than the function's results");
    }
    return absl::OkStatus();
  }

  absl::Status CheckRangeFor(uint32_t id) const {
    const int bounds = node(id).operands_size();
    if (bounds % 2 != 0 || bounds > 2 * kMaxIndices) return Bad(id, bounds, " bounds");
    for (int i = 0; i < bounds; ++i) RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(proto::I32)));
    return CheckConfig(id);
  }

  absl::Status CheckStructFor(uint32_t id) const {
    RETURN_IF_ERROR(CheckStorageParam(id));
    RETURN_IF_ERROR(CheckConfig(id));
    if (IsOverTree(node(id)) && StorageIndices(static_cast<uint32_t>(node(id).index())) == 0) {
      return Bad(id, "over no index");
    }
    if (number_ == 0 && scopes_.empty()) return absl::OkStatus();
    return Report(id, proto::KIND_SYNTAX,
                  "Struct for cannot be nested inside a kernel: it must be outermost");
  }

  absl::Status CheckJump(uint32_t id) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->kind == proto::CHOOSE) return Bad(id, "inside a choice");
      if (!IsLoop(scope->kind)) continue;
      if (scope->parallel && node(id).kind() == proto::BREAK) {
        return Report(id, proto::KIND_SYNTAX, "Cannot break in the outermost loop");
      }
      return absl::OkStatus();
    }
    return Bad(id, "outside a loop");
  }

  absl::Status CheckReturn(uint32_t id) const {
    for (const Scope& scope : scopes_) {
      if (scope.kind == proto::CHOOSE) return Bad(id, "inside a choice");
      if (scope.parallel) {
        return Report(id, proto::KIND_SYNTAX,
                      "Return statements are not allowed in a parallel loop");
      }
    }
    if (node(id).operands_size() != function_.returns_size()) {
      return Bad(id, node(id).operands_size(), " values, not ", function_.returns_size());
    }
    for (int i = 0; i < function_.returns_size(); ++i) {
      RETURN_IF_ERROR(CheckTypedAt(id, i, function_.returns(i)));
    }
    return absl::OkStatus();
  }

  const UnitFacts& facts_;
  TypeTable& types_;
  const proto::Function& function_;
  const uint32_t number_;
  std::vector<proto::Diagnostic>* diagnostics_;
  std::vector<bool> visible_;  // nodes that a later node may use as an operand
  std::vector<bool> listed_;
  std::vector<bool> entered_;  // blocks
  std::vector<uint32_t> reached_;
  std::vector<Scope> scopes_;
};

}  // namespace

absl::StatusOr<std::vector<uint32_t>> CheckFunction(const UnitFacts& facts,
                                                    const proto::Function& function,
                                                    uint32_t number,
                                                    std::vector<proto::Diagnostic>* diagnostics) {
  Checker checker(facts, function, number, diagnostics);
  RETURN_IF_ERROR(checker.Run());
  return checker.TakeReached();
}

}  // namespace kiln
