#include "runtime/tree/tree_data.h"

#include <string>

namespace kiln {

Result<> CheckContainers(const TreeShape& shape) {
  for (int n = 0; n < shape.size(); ++n) {
    if (shape[n].kind->is_sparse && shape[n].num_cells > kMaxContainerCells) {
      return Error{ErrorCode::kInvalidArgument,
                   "SNode " + std::to_string(n) + ": " + std::to_string(shape[n].num_cells) +
                       " cells; at most " + std::to_string(kMaxContainerCells) +
                       " fit into a sparse container"};
    }
  }
  return {};
}

}  // namespace kiln
