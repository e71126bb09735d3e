#include "server/compiler/codegen/tree_effects.h"

#include "llvm/ADT/TypeSwitch.h"

namespace kiln {
namespace {

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
  void VisitAddress(Op op, int64_t first, int64_t count);
  template <typename Op>
  TreeEffects::Node NodeOf(Op op) {
    ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
    return {field.getTree(), field.getNode()};
  }

  ir::KernelOp kernel_;
  const std::vector<ir::FunctionOp>& functions_;
  const std::function<bool(const ComponentAccess&)>& active_;
  llvm::DenseSet<uint64_t> visited_;
};

void Collector::Activate(int64_t tree, int64_t node) {
  for (int64_t n : kernel_.getTree(tree).getPath(node)) {
    if (kernel_.getTree(tree).getNode(n).isSparse()) effects.activated.insert({tree, n});
  }
}

// An address by itself activates nothing; its users do, unless they only read.
template <typename Op>
void Collector::VisitAddress(Op op, int64_t first, int64_t count) {
  ir::TreeFieldAttr field = kernel_.getTreeField(op.getStorage());
  if (!field) return;
  const bool writes = llvm::any_of(op->getUsers(), [](mlir::Operation* user) {
    return !llvm::isa<ir::LoadOp, ir::AddressOfOp>(user);
  });
  if (!writes || (active_ && active_({field, first, op.getIndices()}))) return;
  for (int64_t c = first; c < first + count; ++c) {
    Activate(field.getComponentTree(c), field.getComponentNode(c));
  }
}

void Collector::Visit(mlir::Region& region) {
  region.walk([&](mlir::Operation* op) {
    llvm::TypeSwitch<mlir::Operation*>(op)
        .Case([&](ir::GlobalOp o) {
          if (!o.getNoActivate()) VisitAddress(o, o.getComponent(), 1);
        })
        .Case([&](ir::ComponentOp o) { VisitAddress(o, o.getFirst(), o.getCount()); })
        .Case([&](ir::ActivateOp o) { Activate(NodeOf(o).first, NodeOf(o).second); })
        .Case([&](ir::AppendOp o) {
          Activate(NodeOf(o).first, NodeOf(o).second);
          effects.queried.insert(NodeOf(o));
        })
        .Case([&](ir::DeactivateOp o) { effects.deactivated.insert(NodeOf(o)); })
        .Case<ir::IsActiveOp, ir::LengthOp>([&](auto o) { effects.queried.insert(NodeOf(o)); })
        .Case([&](ir::CallOp o) {
          const uint64_t callee = o.getCallee();
          if (callee < functions_.size() && functions_[callee] && visited_.insert(callee).second) {
            ir::FunctionOp function = functions_[callee];
            Visit(function.getBody());
          }
        });
  });
}

}  // namespace

TreeEffects EffectsOf(mlir::Region& region, ir::KernelOp kernel,
                      const std::vector<ir::FunctionOp>& functions,
                      const std::function<bool(const ComponentAccess&)>& active) {
  if (!kernel.getTrees()) return {};
  Collector collector(kernel, functions, active);
  collector.Visit(region);
  return std::move(collector.effects);
}

}  // namespace kiln
