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

// Whether the derivative of the gradient along a direction is wanted.
bool IsSecond(const proto::CompileUnit& unit) {
  return unit.kernel().autodiff_size() == 2 &&
         unit.kernel().autodiff(0) == proto::AUTODIFF_REVERSE &&
         unit.kernel().autodiff(1) == proto::AUTODIFF_FORWARD;
}

// By storage, that of its duals or gradients, -1 if it has none.
llvm::SmallVector<int64_t> Companions(const proto::CompileUnit& unit, bool duals) {
  llvm::SmallVector<int64_t> companions;
  for (const proto::Storage& storage : unit.storages()) {
    companions.push_back(int64_t{duals ? storage.dual() : storage.grad()} - 1);
  }
  return companions;
}

// What the compiler cannot differentiate; null: nothing.
const char* Undifferentiable(const UnitLowering& in) {
  if (in.unit.kernel().autodiff_size() == 0) return nullptr;
  if ((in.unit.kernel().autodiff_size() > 1 && !IsSecond(in.unit)) ||
      in.unit.kernel().autodiff(0) == proto::AUTODIFF_VALIDATION) {
    return "this way to differentiate a kernel";
  }
  for (const bool duals : {false, true}) {
    const llvm::SmallVector<int64_t> companions = Companions(in.unit, duals);
    for (size_t i = 0; i < companions.size(); ++i) {
      if (companions[i] >= 0 &&
          !in.storages.AreArrangedAlike(static_cast<int>(i), static_cast<int>(companions[i]))) {
        return "a gradient whose components are placed otherwise than those of its field";
      }
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
  const auto list = [&](bool wanted, bool duals) {
    return wanted ? builder.getDenseI64ArrayAttr(Companions(in.unit, duals))
                  : mlir::DenseI64ArrayAttr();
  };
  auto kernel = builder.create<ir::KernelOp>(
      module.getLoc(), "kernel", in.storages.trees, in.storages.attributes,
      builder.getArrayAttr(results), in.unit.options().fast_math(), in.unit.options().debug(),
      mlir::IntegerAttr(), list(in.unit.kernel().autodiff_size() > 0, IsForward(in.unit)),
      IsForward(in.unit), list(IsSecond(in.unit), true), mlir::ArrayAttr());
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
