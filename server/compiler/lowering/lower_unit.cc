#include "server/compiler/lowering/lower_unit.h"

#include "server/compiler/lowering/lower_block.h"
#include "server/compiler/lowering/lower_functions.h"
#include "server/compiler/lowering/lower_places.h"
#include "server/compiler/lowering/lowering_context.h"
#include "server/compiler/lowering/storages.h"

namespace kiln {

namespace {

bool IsForward(const proto::CompileUnit& unit) {
  return unit.kernel().autodiff_size() > 0 && unit.kernel().autodiff(0) == proto::AUTODIFF_FORWARD;
}

// By storage, that of its gradients or duals, -1 if it has none; empty if the kernel is not to be
// differentiated.
llvm::SmallVector<int64_t> Companions(const proto::CompileUnit& unit) {
  llvm::SmallVector<int64_t> companions;
  if (unit.kernel().autodiff_size() == 0) return companions;
  for (const proto::Storage& storage : unit.storages()) {
    companions.push_back(int64_t{IsForward(unit) ? storage.dual() : storage.grad()} - 1);
  }
  return companions;
}

// What the compiler cannot differentiate; null: nothing.
const char* Undifferentiable(const UnitLowering& in) {
  if (in.unit.kernel().autodiff_size() == 0) return nullptr;
  if (in.unit.kernel().autodiff_size() > 1 ||
      in.unit.kernel().autodiff(0) == proto::AUTODIFF_VALIDATION) {
    return "this way to differentiate a kernel";
  }
  const llvm::SmallVector<int64_t> companions = Companions(in.unit);
  for (size_t i = 0; i < companions.size(); ++i) {
    if (companions[i] >= 0 &&
        !in.storages.AreArrangedAlike(static_cast<int>(i), static_cast<int>(companions[i]))) {
      return "a gradient whose components are placed otherwise than those of its field";
    }
  }
  return nullptr;
}

ir::KernelOp MakeKernel(const UnitLowering& in, mlir::ModuleOp module) {
  mlir::OpBuilder builder(module.getBodyRegion());
  llvm::SmallVector<mlir::Attribute> results;
  for (Scalar result : in.checked.arguments.results) {
    results.push_back(mlir::TypeAttr::get(ValueType(builder.getContext(), result)));
  }
  const llvm::SmallVector<int64_t> companions = Companions(in.unit);
  auto kernel = builder.create<ir::KernelOp>(
      module.getLoc(), "kernel", in.storages.trees, in.storages.attributes,
      builder.getArrayAttr(results), in.unit.options().fast_math(), in.unit.options().debug(),
      mlir::IntegerAttr(),
      companions.empty() ? mlir::DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(companions),
      IsForward(in.unit), mlir::ArrayAttr());
  kernel.getBodyRegion().emplaceBlock();
  return kernel;
}

void LowerBody(const UnitLowering& in, mlir::OpBuilder builder) {
  LoweringContext c(in, kKernelBody, builder);
  FindDynamicLocals(c, in.checked.nodes[kKernelBody]);
  if (c.function.blocks_size() > 0) LowerBlock(c, kFunctionBody);
  if (!c.Terminated()) c.Create<ir::ReturnOp>();
}

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> LowerUnit(const proto::CompileUnit& unit,
                                            const CheckedUnit& checked, mlir::MLIRContext* context,
                                            std::vector<proto::Diagnostic>* diagnostics) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  const Storages storages = LowerStorages(unit, checked, context);
  const UnitLowering in{unit, checked, storages, diagnostics};
  if (const char* what = Undifferentiable(in)) {
    diagnostics->push_back(NotSupported(NodeNumber(), what));
    return module;
  }
  ir::KernelOp kernel = MakeKernel(in, *module);
  const auto builder = mlir::OpBuilder::atBlockEnd(&kernel.getBodyRegion().front());
  // Calls name functions by number, so their order is free.
  for (int i = 0; i < unit.kernel().functions_size(); ++i) {
    LowerFunction(in, FunctionAtPosition(i), builder);
  }
  LowerBody(in, builder);
  return module;
}

}  // namespace kiln
