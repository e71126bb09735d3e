// The part of KernelBuilder that opens, fills and closes blocks.
#include "client_cpp/kernel_builder.h"
#include "common/base/status_macros.h"
#include "common/language/diagnostics.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"

namespace kiln {

BlockId KernelBuilder::NewBlock() {
  current_.message->add_blocks();
  return current_.block_open.Add(false);
}

void KernelBuilder::Open(NodeNumber owner, proto::NodeKind kind, BlockId first, BlockId second) {
  OpenBlock opened;
  opened.owner = owner;
  opened.kind = kind;
  opened.blocks[0] = first;
  opened.blocks[1] = second;
  current_.open.push_back(opened);
  current_.block_open[first] = true;
}

absl::StatusOr<NodeNumber> KernelBuilder::BeginBlocks(proto::NodeKind kind,
                                                      absl::Span<const NodeNumber> operands,
                                                      int blocks) {
  // The outermost one is the function's body.
  if (current_.open.size() > kMaxBlockDepth) return Refuse(kBlocksNestedTooDeep, kMaxBlockDepth);
  const NodeNumber made = Append(kind, {}, operands);
  const BlockId first = NewBlock(), second = blocks > 1 ? NewBlock() : first;
  mutable_node(made)->add_blocks(first.number());
  if (second != first) mutable_node(made)->add_blocks(second.number());
  Open(made, kind, first, second);
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Condition(NodeNumber x) {
  RETURN_IF_ERROR(CheckValue(x));
  if (!types_[TypeOf(x)].IsScalar()) {
    // As NumPy does: is a vector true if all are, or any?
    return Refuse(kTruthValueIsAmbiguous, types_.Name(TypeOf(x)));
  }
  return CastScalars(x, proto::U1);
}

uint64_t KernelBuilder::AddLoop(const proto::LoopConfig& config) {
  // Most loops have the default configuration, which is no message.
  if (config.ByteSizeLong() == 0) return 0;
  *unit_.mutable_kernel()->add_loops() = config;
  return static_cast<uint64_t>(unit_.kernel().loops_size());
}

absl::StatusOr<NodeNumber> KernelBuilder::BeginRangeFor(absl::Span<const NodeNumber> bounds,
                                                        const proto::LoopConfig& config) {
  if (bounds.empty() || bounds.size() % 2 != 0 || bounds.size() > 2 * 12) {
    return Misuse("a range loop takes a begin and an end per dimension");
  }
  for (const NodeNumber bound : bounds) {
    RETURN_IF_ERROR(CheckValue(bound));
    const Type& type = types_[TypeOf(bound)];
    if (!type.IsScalar() || IsFloat(type.scalar)) {
      return Refuse(kRangeTakesIntegers, types_.Name(TypeOf(bound)));
    }
  }
  std::vector<NodeNumber> casts;
  casts.reserve(bounds.size());
  for (const NodeNumber bound : bounds) casts.push_back(CastScalars(bound, proto::I32));
  const uint64_t loop = AddLoop(config);
  ASSIGN_OR_RETURN(const NodeNumber made, BeginBlocks(proto::RANGE_FOR, casts, 1));
  mutable_node(made)->set_index(loop);
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::BeginStructFor(ParamId storage,
                                                         const proto::LoopConfig& config) {
  RETURN_IF_ERROR(CheckParam(storage, proto::Param::PARAM_STORAGE));
  const uint64_t loop = AddLoop(config);
  ASSIGN_OR_RETURN(const NodeNumber made, BeginBlocks(proto::STRUCT_FOR, {}, 1));
  mutable_node(made)->set_index(storage.number());
  mutable_node(made)->add_attributes(static_cast<int64_t>(loop));
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::LoopIndex(NodeNumber loop, int dimension) {
  // An index of a loop that has ended has no value.
  bool encloses = false;
  for (const OpenBlock& block : current_.open) encloses |= loop && block.owner == loop;
  int dimensions = 0;
  if (encloses && node(loop).kind() == proto::RANGE_FOR) {
    dimensions = static_cast<int>(As<RangeForNode>(loop).bounds().size() / 2);
  } else if (encloses && node(loop).kind() == proto::STRUCT_FOR) {
    dimensions = params_[As<StructForNode>(loop).param()].num_indices;
  }
  if (dimension < 0 || dimension >= dimensions) {
    return Misuse("node ", loop.number(), " is not an enclosing loop with a dimension ", dimension);
  }
  const NodeNumber made = Append(proto::LOOP_INDEX, types_.GetScalar(proto::I32), {loop});
  mutable_node(made)->set_index(static_cast<uint64_t>(dimension));
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::BeginWhile() { return BeginBlocks(proto::WHILE, {}, 1); }

absl::StatusOr<NodeNumber> KernelBuilder::BeginIf(NodeNumber condition) {
  ASSIGN_OR_RETURN(const NodeNumber truth, Condition(condition));
  return BeginBlocks(proto::IF, {truth}, 2);
}

absl::StatusOr<NodeNumber> KernelBuilder::BeginChoose(NodeNumber condition) {
  ASSIGN_OR_RETURN(const NodeNumber truth, Condition(condition));
  return BeginBlocks(proto::CHOOSE, {truth}, 2);
}

absl::Status KernelBuilder::Else() {
  OpenBlock& current = current_.open.back();
  if ((current.kind != proto::IF && current.kind != proto::CHOOSE) || current.second) {
    return Misuse("'else' without 'if'");
  }
  current_.block_open[current.block()] = false;
  current.second = true;
  current.terminated = false;
  current_.block_open[current.block()] = true;
  return absl::OkStatus();
}

absl::Status KernelBuilder::Yield(NodeNumber value) {
  OpenBlock& current = current_.open.back();
  if (current.kind != proto::CHOOSE) {
    return Misuse("a value is yielded outside a choice");
  }
  if (current.terminated) return Misuse("this choice already has a value");
  RETURN_IF_ERROR(CheckValue(value));
  // EndChoose makes the node, when the common type is known.
  current.yields[current.second] = value;
  current.terminated = true;
  return absl::OkStatus();
}

absl::Status KernelBuilder::EndChoose(const OpenBlock& choose) {
  const NodeNumber* yields = choose.yields;
  if (!yields[0] || !yields[1]) {
    return Misuse("each arm of a choice needs a value");
  }
  TypeId type = TypeOf(yields[0]);
  if (type != TypeOf(yields[1])) {
    const TypeId condition = types_.GetScalar(proto::U1);
    ASSIGN_OR_RETURN(
        const OpTyping typing,
        TypeOp(proto::OP_SELECT, {condition, type, TypeOf(yields[1])}, defaults_, &types_));
    type = typing.result;
  }
  // Only now is the common type known, so the casts and YIELDs are appended to the closed arms.
  for (int arm = 0; arm < 2; ++arm) {
    NodeNumber value = yields[arm];
    if (TypeOf(value) != type) {
      value = AppendIn(choose.blocks[arm], true, proto::CAST_TO, type, {value});
      mutable_node(value)->set_op(proto::OP_CAST);
    }
    AppendIn(choose.blocks[arm], true, proto::YIELD, {}, {value});
  }
  mutable_node(choose.owner)->set_type(type.number());
  return absl::OkStatus();
}

absl::Status KernelBuilder::End() {
  // The first is the function's own, which EndFunction and Finish close.
  if (current_.open.size() == 1) return Misuse("no block is open");
  const OpenBlock closed = current_.open.back();
  if (closed.kind == proto::CHOOSE) RETURN_IF_ERROR(EndChoose(closed));
  current_.block_open[closed.block()] = false;
  current_.open.pop_back();
  return absl::OkStatus();
}

// Whether the loop is directly in the kernel's body, and not serialised.
bool KernelBuilder::IsParallel(size_t open_index) const {
  const OpenBlock& block = current_.open[open_index];
  // Position 0 is the body itself.
  if (current_.id != kKernelBody || open_index != 1 || block.kind == proto::WHILE) return false;
  const uint64_t config = block.kind == proto::RANGE_FOR
                              ? As<RangeForNode>(block.owner).config()
                              : static_cast<uint64_t>(As<StructForNode>(block.owner).config());
  return !ConfigAt(unit_.kernel(), config).serialize();
}

absl::Status KernelBuilder::Jump(proto::NodeKind kind) {
  const char* spelling = FindNode(kind)->spelling;
  // The innermost loop is the target. A jump may not leave a CHOOSE, which is part of an expression
  // that needs its value.
  for (size_t i = current_.open.size(); i-- > 0;) {
    if (current_.open[i].kind == proto::CHOOSE) {
      return Refuse(kInsideExpression, spelling);
    }
    if (!IsLoop(current_.open[i].kind)) continue;
    if (kind == proto::BREAK && IsParallel(i)) {
      return Refuse(kBreakInOutermostLoop);
    }
    Append(kind, {}, {});
    current_.open.back().terminated = true;
    return absl::OkStatus();
  }
  return Refuse(kOutsideLoop, spelling);
}

absl::Status KernelBuilder::Break() { return Jump(proto::BREAK); }

absl::Status KernelBuilder::Continue() { return Jump(proto::CONTINUE); }

absl::Status KernelBuilder::Return(absl::Span<const NodeNumber> values) {
  const TypeIds returns = ReturnTypesOf(*current_.message);
  if (values.size() != returns.size()) {
    return Refuse(kNumberOfResults, returns.size(), values.size());
  }
  for (size_t i = 0; i < current_.open.size(); ++i) {
    if (current_.open[i].kind == proto::CHOOSE) {
      return Refuse(kInsideExpression, "return");
    }
    if (IsLoop(current_.open[i].kind) && IsParallel(i)) {
      return Refuse(kReturnInParallelLoop);
    }
  }
  // Check all values before the first cast, because an error must leave the kernel unchanged.
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(CheckValue(values[i]));
    RETURN_IF_ERROR(CheckCast(TypeOf(values[i]), returns[i], types_));
  }
  std::vector<NodeNumber> casts;
  casts.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    casts.push_back(CastUnchecked(values[i], returns[i]));
  }
  Append(proto::RETURN, {}, casts);
  current_.open.back().terminated = true;
  return absl::OkStatus();
}

NodeNumber KernelBuilder::Print(absl::Span<const NodeNumber> values, const proto::Format& format) {
  for (const NodeNumber value : values) {
    // No node: a print of a value that does not exist shows nothing.
    if (!CheckValue(value).ok()) return {};
  }
  const NodeNumber made = Append(proto::PRINT, {}, values);
  (*source_map_.mutable_formats())[made.number()] = format;
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Assert(NodeNumber condition,
                                                 absl::Span<const NodeNumber> values,
                                                 const proto::Format& format) {
  for (const NodeNumber value : values) RETURN_IF_ERROR(CheckValue(value));
  ASSIGN_OR_RETURN(const NodeNumber truth, Condition(condition));
  std::vector<NodeNumber> operands = {truth};
  operands.insert(operands.end(), values.begin(), values.end());
  const NodeNumber made = Append(proto::ASSERT, {}, operands);
  (*source_map_.mutable_formats())[made.number()] = format;
  return made;
}

absl::StatusOr<NodeNumber> KernelBuilder::Append(proto::Node given) {
  const NodeInfo* info = FindNode(given.kind());
  // Blocks and jumps change what is open, which has methods of its own.
  if (info == nullptr || info->blocks > 0 || info->is_terminator) {
    return Misuse("node kind ", given.kind(), " cannot be appended alone");
  }
  const int operands = given.operands_size();
  if (operands < info->min_operands || (info->max_operands >= 0 && operands > info->max_operands)) {
    return Misuse("'", info->spelling, "' does not take ", operands, " operands");
  }
  for (const NodeNumber operand : IdList<NodeNumber>(given.operands())) {
    RETURN_IF_ERROR(CheckVisible(operand));
  }
  if (given.type() >= types_.size() || given.blocks_size() > 0) {
    return Misuse("'", info->spelling, "' with a bad type or block");
  }
  for (uint32_t& operand : *given.mutable_operands()) {
    operand = NodeInFunction(NodeNumber(operand)).number();
  }
  const NodeNumber made = Append(given.kind(), TypeId(given.type()), {});
  *mutable_node(made) = std::move(given);
  return made;
}

}  // namespace kiln
