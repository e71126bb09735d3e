#include "server/compiler/lowering/lower_unit.h"

#include "server/compiler/lowering/lower_block.h"
#include "server/compiler/lowering/lower_functions.h"
#include "server/compiler/lowering/lower_places.h"
#include "server/compiler/lowering/lowering_context.h"
#include "server/compiler/lowering/storages.h"

namespace kiln {

namespace {

ir::KernelOp MakeKernel(const UnitLowering& in, mlir::ModuleOp module) {
  mlir::OpBuilder builder(module.getBodyRegion());
  llvm::SmallVector<mlir::Attribute> results;
  for (Scalar result : in.checked.arguments.results) {
    results.push_back(mlir::TypeAttr::get(ValueType(builder.getContext(), result)));
  }
  auto kernel = builder.create<ir::KernelOp>(module.getLoc(), "kernel", in.storages.trees,
                                             in.storages.attributes, builder.getArrayAttr(results),
                                             in.unit.options().fast_math(),
                                             in.unit.options().debug(), mlir::IntegerAttr());
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
  if (unit.kernel().autodiff() != proto::AUTODIFF_NONE) {
    diagnostics->push_back(NotSupported(NodeNumber(), "differentiating a kernel"));
    return module;
  }
  const Storages storages = LowerStorages(unit, checked, context);
  const UnitLowering in{unit, checked, storages, diagnostics};
  ir::KernelOp kernel = MakeKernel(in, *module);
  const auto builder = mlir::OpBuilder::atBlockEnd(&kernel.getBodyRegion().front());
  // Calls name functions by number, so their order is free.
  for (int i = 0; i < unit.kernel().functions_size(); ++i) {
    LowerFunction(in, FunctionAtPosition(i), builder);
  }
  LowerBody(in, builder);
  return module;
}

NodeNumber NodeOf(mlir::Location location) {
  auto position = location->findInstanceOf<mlir::FileLineColLoc>();
  return position ? NodeNumber(position.getLine()) : NodeNumber();
}

}  // namespace kiln
