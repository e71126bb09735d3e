// Lays out arbitrary trees like a client. The layout must end with a result or an error, and units
// with its description must pass their checks.
#include <cstdlib>

#include "common/layout/layout.h"

namespace {

void DescribePlace(const kiln::TreeLayout& layout, int place) {
  const kiln::proto::Type& type = layout.tree().nodes(place).type();
  const auto dense = layout.DescribeDense({place}, type);
  if (dense.ok() && dense->base_offsets[0] > layout.root_bytes()) std::abort();
  (void)kiln::DescribeTreeField({{&layout, 0, place}}, type);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kiln::proto::Tree tree;
  if (!tree.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto layout = kiln::TreeLayout::Make(tree);
  if (!layout.ok()) return 0;
  if (layout->DescribeTree().nodes_size() != tree.nodes_size()) std::abort();
  for (int node = 0; node < tree.nodes_size(); ++node) {
    if (tree.nodes(node).kind() == kiln::proto::SNODE_PLACE) {
      DescribePlace(*layout, node);
    } else {
      (void)layout->DescribeNode(node, 0);
    }
  }
  return 0;
}
