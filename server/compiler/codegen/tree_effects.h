// What code may do to the cells of trees, which decides how long a lookup is valid.
// Private to this folder.
#ifndef KILN_SERVER_COMPILER_CODEGEN_TREE_EFFECTS_H_
#define KILN_SERVER_COMPILER_CODEGEN_TREE_EFFECTS_H_

#include <functional>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseSet.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

struct TreeEffects {
  using Node = std::pair<int64_t, int64_t>;  // tree, node
  llvm::DenseSet<Node> activated;            // sparse nodes whose cells may become active
  llvm::DenseSet<Node> deactivated;
  llvm::DenseSet<Node> queried;  // nodes whose activity or length the code asks for
};

// The component whose address an op computes, and at which indices.
struct ComponentAccess {
  ir::TreeFieldAttr field;
  int64_t component;
  mlir::ValueRange indices;
};

// Of the region and of the functions (by number) that it calls. `active` tells whether the cell of
// an access is always active.
TreeEffects TreeEffectsOf(mlir::Region& region, ir::KernelOp kernel,
                          const std::vector<ir::FunctionOp>& functions,
                          const std::function<bool(const ComponentAccess&)>& active = nullptr);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_TREE_EFFECTS_H_
