#include "common/unit/check_function.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"
#include "common/language/node_views.h"
#include "common/language/op_table.h"
#include "common/unit/check_node.h"
#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"

namespace kiln {
namespace {

using proto::Node;

// Walks the blocks in program order, from block 0. Nodes that no block lists (code after
// a jump) never run, and only need a known kind.
class Walk {
 public:
  Walk(const UnitFacts& facts, FunctionId id, std::vector<proto::Diagnostic>* diagnostics)
      : checker_(facts, id, diagnostics), function_(checker_.function()) {}

  absl::Status Run() {
    const int num_nodes = function_.nodes_size();
    if (num_nodes == 0 || function_.blocks_size() == 0) {
      // An empty message is an empty body.
      return num_nodes + function_.blocks_size() == 0 ? absl::OkStatus()
                                                      : checker_.Malformed("nodes without blocks");
    }
    // The bound keeps every later pass within memory: a unit may come from another machine.
    if (static_cast<uint32_t>(num_nodes) > kMaxNodes)
      return checker_.Malformed(absl::StrCat(num_nodes, " nodes"));
    // 0 means "no node" in operands, so nothing may have that number.
    if (function_.nodes(0).ByteSizeLong() != 0) return checker_.Malformed("node 0 is used");
    // Before the walk, because every look-up in the table of kinds below relies on it.
    for (int i = 1; i < num_nodes; ++i) {
      if (FindNode(function_.nodes(i).kind()) == nullptr) {
        return checker_.Malformed(absl::StrCat("node ", i, " of kind ", function_.nodes(i).kind()));
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
  // Checks a block and the blocks nested in its nodes. A node becomes visible after its own check,
  // and invisible at the end of its block: so operands always come from the same or an enclosing
  // block. Each block and node may be used only once, which also bounds the recursion.
  absl::Status CheckBlock(BlockId block, int depth) {
    if (depth > kMaxBlockDepth) {
      return checker_.Malformed(absl::StrCat("blocks nested over ", kMaxBlockDepth, " deep"));
    }
    if (!entered_.Has(block) || entered_[block]) {
      return checker_.Malformed(
          absl::StrCat("block ", block.number(), " does not exist or is used twice"));
    }
    entered_[block] = true;
    const NodeIds ids = NodesIn(function_, block);
    for (size_t i = 0; i < ids.size(); ++i) {
      const NodeId id = ids[i];
      if (!id || !listed_.Has(id) || listed_[id]) {
        return checker_.Malformed(
            absl::StrCat("node ", id.number(), " does not exist or is used twice"));
      }
      listed_[id] = true;
      reached_.push_back(id);
      RETURN_IF_ERROR(CheckShape(id));
      // The lowering appends no block after a jump, so nodes there would have no place.
      if (FindNode(checker_.node(id).kind())->is_terminator && i + 1 != ids.size()) {
        return checker_.Bad(id, "nodes follow it in its block");
      }
      // Shape first: the views of the kinds index operands and blocks without a check.
      RETURN_IF_ERROR(checker_.CheckNode(id));
      RETURN_IF_ERROR(EnterBlocks(id, depth));
      visible_[id] = true;
    }
    for (const NodeId id : ids) visible_[id] = false;
    return absl::OkStatus();
  }

  // Checks counts against the table, that operands are made before the node, and that types exist.
  absl::Status CheckShape(NodeId id) const {
    const Node& n = checker_.node(id);
    const NodeInfo& info = *FindNode(n.kind());
    const int operands = n.operands_size();
    if (operands < info.min_operands || (info.max_operands >= 0 && operands > info.max_operands)) {
      return checker_.Bad(id, operands, " operands");
    }
    if (n.blocks_size() != info.blocks) return checker_.Bad(id, n.blocks_size(), " blocks");
    // 0 is no type, also of a kernel without types.
    if (n.type() >= static_cast<uint32_t>(checker_.kernel().types_size()) && n.type() != 0) {
      return checker_.Bad(id, "type ", n.type(), " does not exist");
    }
    if (info.is_address && !checker_.type_of(id)) return checker_.Bad(id, "address of nothing");
    for (const NodeId operand : NodeIds(n.operands())) {
      // A loop index refers to its loop from inside, where the loop is not visible as a value.
      if (n.kind() == proto::LOOP_INDEX) continue;
      // Numbers grow in program order, so no operand can refer to a later node, and values form no
      // cycle.
      if (!(operand < id) || !visible_[operand]) {
        return checker_.Bad(id, "operand ", operand.number(),
                            " is not made before it, in a block around it");
      }
    }
    return absl::OkStatus();
  }

  absl::Status EnterBlocks(NodeId id, int depth) {
    const Node& n = checker_.node(id);
    if (n.blocks_size() == 0) return absl::OkStatus();
    // Around the blocks only: the operands of a loop are computed outside of it.
    checker_.EnterScope({id, n.kind(), IsLoop(n.kind()) && IsParallel(id, depth)});
    for (const BlockId block : IdList<BlockId>(n.blocks())) {
      RETURN_IF_ERROR(CheckBlock(block, depth + 1));
      if (n.kind() == proto::CHOOSE) RETURN_IF_ERROR(CheckArm(id, block));
    }
    checker_.LeaveScope();
    return absl::OkStatus();
  }

  absl::Status CheckArm(NodeId id, BlockId block) const {
    const NodeIds nodes = NodesIn(function_, block);
    if (nodes.empty() || checker_.node(nodes[nodes.size() - 1]).kind() != proto::YIELD) {
      return checker_.Bad(id, "an arm yields no value");
    }
    return absl::OkStatus();
  }

  bool IsParallel(NodeId id, int depth) const {
    // As in Taichi: outermost loops of the kernel's own body run in parallel, all others are
    // serial.
    if (checker_.function_id() != kKernelBody || depth != 0 ||
        checker_.node(id).kind() == proto::WHILE)
      return false;
    if (checker_.node(id).kind() == proto::RANGE_FOR) {
      return !IsSerialized(RangeForNode(id, checker_.node(id)).config());
    }
    const StructForNode loop(id, checker_.node(id));
    return checker_.IsOverTree(loop) || !IsSerialized(static_cast<uint64_t>(loop.config()));
  }

  bool IsSerialized(uint64_t config) const {
    return ConfigAt(checker_.kernel(), config).serialize();
  }

  NodeChecker checker_;
  const proto::Function& function_;
  IdVector<NodeId, bool> visible_;  // a later node may use it as an operand
  IdVector<NodeId, bool> listed_;
  IdVector<BlockId, bool> entered_;
  std::vector<NodeId> reached_;
};

}  // namespace

absl::StatusOr<std::vector<NodeId>> CheckFunction(const UnitFacts& facts, FunctionId function,
                                                  std::vector<proto::Diagnostic>* diagnostics) {
  Walk walk(facts, function, diagnostics);
  RETURN_IF_ERROR(walk.Run());
  return walk.TakeReached();
}

}  // namespace kiln
