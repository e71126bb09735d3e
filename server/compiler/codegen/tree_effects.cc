#include "server/compiler/codegen/tree_effects.h"

#include "server/compiler/dialect/effects.h"

namespace kiln {
namespace {

// Collects the effects of a region, and of the functions that it calls, each of them once.
class Collector {
 public:
  Collector(ir::KernelOp kernel, const std::vector<ir::FunctionOp>& functions,
            const std::function<bool(const ComponentAccess&)>& active)
      : kernel_(kernel), functions_(functions), active_(active) {}

  void Visit(mlir::Region& region);
  TreeEffects effects;

 private:
  void Activate(int64_t tree, int64_t node);
  template <typename Op>
  void VisitWrite(Op address, int64_t first, int64_t count);
  void VisitSNode(int64_t storage, const Effects& of_op);

  ir::KernelOp kernel_;
  const std::vector<ir::FunctionOp>& functions_;
  const std::function<bool(const ComponentAccess&)>& active_;
  llvm::DenseSet<uint64_t> visited_;
};

// A cell is active only with all cells above it.
void Collector::Activate(int64_t tree, int64_t node) {
  for (int64_t n : kernel_.getTree(tree).getPath(node)) {
    if (kernel_.getTree(tree).getNode(n).isSparse()) effects.activated.insert({tree, n});
  }
}

// Writing to one of `count` components from `first` on activates the cells on the way to it. A cell
// that is known to be active stays as it is.
template <typename Op>
void Collector::VisitWrite(Op address, int64_t first, int64_t count) {
  ir::TreeFieldAttr field = kernel_.getTreeField(address.getStorage());
  if (!field || (active_ && active_({field, first, address.getIndices()}))) return;
  for (int64_t c = first; c < first + count; ++c) {
    Activate(field.getComponentTree(c), field.getComponentNode(c));
  }
}

void Collector::VisitSNode(int64_t storage, const Effects& of_op) {
  ir::TreeFieldAttr field = kernel_.getTreeField(storage);
  const TreeEffects::Node node = {field.getTree(), field.getNode()};
  if (of_op.Has(kActivates)) Activate(node.first, node.second);
  if (of_op.Has(kDeactivates)) effects.deactivated.insert(node);
  if (of_op.Has(kQueries)) effects.queried.insert(node);
}

void Collector::Visit(mlir::Region& region) {
  region.walk([&](mlir::Operation* op) {
    const Effects of_op = EffectsOf(op);
    for (mlir::Value written : of_op.writes) {
      const mlir::Value address = ArrayOf(written);
      if (auto global = address.getDefiningOp<ir::GlobalOp>()) {
        if (!global.getNoActivate()) VisitWrite(global, global.getComponent(), 1);
      } else if (auto component = address.getDefiningOp<ir::ComponentOp>()) {
        VisitWrite(component, component.getFirst(), component.getCount());
      }
    }
    if (of_op.snode) VisitSNode(*of_op.snode, of_op);
    auto call = llvm::dyn_cast<ir::CallOp>(op);
    if (!call) return;
    const uint64_t callee = call.getCallee();
    if (callee < functions_.size() && functions_[callee] && visited_.insert(callee).second) {
      ir::FunctionOp function = functions_[callee];
      Visit(function.getBody());
    }
  });
}

}  // namespace

TreeEffects TreeEffectsOf(mlir::Region& region, ir::KernelOp kernel,
                          const std::vector<ir::FunctionOp>& functions,
                          const std::function<bool(const ComponentAccess&)>& active) {
  if (!kernel.getTrees()) return {};
  Collector collector(kernel, functions, active);
  collector.Visit(region);
  return std::move(collector.effects);
}

}  // namespace kiln
