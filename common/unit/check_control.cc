// The nodes that decide what runs: loops, branches, jumps, calls; and those that report.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/language/kernel_parts.h"
#include "common/layout/tree_shape.h"
#include "common/unit/check_node.h"

namespace kiln {

absl::Status NodeChecker::CheckConfig(NodeId id, uint64_t config) const {
  // 0 is the default configuration, so the numbers begin at 1.
  if (config <= static_cast<uint64_t>(kernel().loops_size())) {
    return absl::OkStatus();
  }
  return Bad(id, "loop configuration ", config, " does not exist");
}

absl::Status NodeChecker::Check(RangeForNode n) const {
  const NodeId id = n.id();
  const int bounds = static_cast<int>(n.bounds().size());
  // Pairs of begin and end, one for each dimension.
  if (bounds % 2 != 0 || bounds > 2 * kMaxIndices) return Bad(id, bounds, " bounds");
  for (int i = 0; i < bounds; ++i) RETURN_IF_ERROR(CheckTypedAt(id, i, ScalarId(proto::I32)));
  return CheckConfig(id, n.config());
}

absl::Status NodeChecker::Check(StructForNode n) const {
  const NodeId id = n.id();
  RETURN_IF_ERROR(CheckStorageParam(id, n.param()));
  RETURN_IF_ERROR(CheckConfig(id, static_cast<uint64_t>(n.config())));
  if (IsOverTree(n) && StorageIndices(n.param()) == 0) {
    return Bad(id, "over no index");
  }
  // A list of cells is made once, before the task. Within a loop it would have to be made in each
  // iteration.
  if (IsAtTopOfKernel()) return absl::OkStatus();
  return Report(id, proto::KIND_SYNTAX,
                "Struct for cannot be nested inside a kernel: it must be outermost");
}

absl::Status NodeChecker::Check(LoopIndexNode n) const {
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

absl::Status NodeChecker::Check(IfNode n) const {
  return CheckTypedAt(n.id(), 0, ScalarId(proto::U1));
}

absl::Status NodeChecker::Check(ChooseNode n) const {
  if (!n.type()) return Bad(n.id(), "has no type");
  return CheckTypedAt(n.id(), 0, ScalarId(proto::U1));
}

absl::Status NodeChecker::Check(YieldNode n) const {
  if (scopes_.empty() || scopes_.back().kind != proto::CHOOSE) {
    return Bad(n.id(), "outside a choice");
  }
  return CheckTypedAt(n.id(), 0, type_of(scopes_.back().owner));
}

absl::Status NodeChecker::CheckJump(const NodeView& n) const {
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

absl::Status NodeChecker::Check(ReturnNode n) const {
  const NodeId id = n.id();
  // All of them, unlike a jump: a return leaves every loop around it.
  for (const Scope& scope : scopes_) {
    if (scope.kind == proto::CHOOSE) return Bad(id, "inside a choice");
    if (scope.parallel) {
      return Report(id, proto::KIND_SYNTAX, "Return statements are not allowed in a parallel loop");
    }
  }
  const TypeIds returns = ReturnTypesOf(function());
  if (n.values().size() != returns.size()) {
    return Bad(id, n.values().size(), " values, not ", returns.size());
  }
  for (size_t i = 0; i < returns.size(); ++i) {
    RETURN_IF_ERROR(CheckTypedAt(id, static_cast<int>(i), returns[i]));
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::Check(CallNode n) const {
  const NodeId id = n.id();
  if (!HasFunction(kernel(), n.function())) {
    return Bad(id, "function ", n.function().number(), " does not exist");
  }
  const proto::Function& callee = FunctionAt(kernel(), n.function());
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
  const Type& type = types()[n.type()];
  if (returns.empty() ||
      !std::equal(type.members.begin(), type.members.end(), returns.begin(), returns.end(),
                  [](const auto& member, TypeId result) { return member.second == result; })) {
    return Bad(id, "is of another type than the function's results");
  }
  return absl::OkStatus();
}

absl::Status NodeChecker::Check(AssertNode n) const {
  RETURN_IF_ERROR(CheckTypedAt(n.id(), 0, ScalarId(proto::U1)));
  return CheckValuesFrom(n.id(), 1);
}

}  // namespace kiln
