#include "common/unit/check_node.h"

namespace kiln {

absl::Status NodeChecker::CheckNode(NodeId id) {
  return VisitNode(id, node(id), [this](const auto& view) { return Check(view); });
}

}  // namespace kiln
