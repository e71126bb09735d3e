// Two passes on operations of the threads of a GPU (kiln.simt, kiln.shared_array).
//
// refuse-simt, for CPUs: refuses all of them. Front ends accept them for CUDA alone, but an export
// may name targets of both kinds. Requires and leaves: any level.
//
// check-simt: refuses them in tasks whose threads cannot do them together, and shared arrays for
// which a block has no room. Functions are looked at for each task that calls them, because the
// same function is right in another task. Whether all threads of a block come to a barrier in a
// range task is up to the program. Requires and leaves: offloaded level.
#include "common/language/simt_ops.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/dialect/function_facts.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

bool IsSimt(mlir::Operation* op) { return llvm::isa<ir::SimtOp, ir::SharedArrayOp>(op); }

int64_t BytesOf(ir::SharedArrayOp array) {
  const unsigned bits = array.getType().getPointee().getIntOrFloatBitWidth();
  return array.getCount() * (bits < 8 ? 1 : bits / 8);
}

std::string NameOf(mlir::Operation* op) {
  auto simt = llvm::dyn_cast<ir::SimtOp>(op);
  return simt ? ("ti.simt." + simt.getSpelling()).str() : "ti.simt.block.SharedArray";
}

// Reports the first operation that the task cannot have.
class TaskChecker {
 public:
  TaskChecker(ir::KernelOp kernel, mlir::Operation* task) : kernel_(kernel), task_(task) {
    auto range = llvm::dyn_cast<ir::RangeTaskOp>(task);
    is_sparse_ = range && range.isSparse();
    is_alone_ = !range || range.getMaxThreads() == 1;
  }

  mlir::LogicalResult Check() {
    const auto found =
        WalkCalled(kernel_, task_, [&](mlir::Operation* op, llvm::ArrayRef<ir::CallOp> calls) {
          if (!IsSimt(op)) return mlir::WalkResult::advance();
          const std::string problem = ProblemOf(op);
          if (problem.empty()) return mlir::WalkResult::advance();
          mlir::InFlightDiagnostic diagnostic = op->emitError(problem);
          for (ir::CallOp call : llvm::reverse(calls)) {
            diagnostic.attachNote(call.getLoc()) << "in a function that is called here";
          }
          return mlir::WalkResult::interrupt();
        });
    return mlir::failure(found.wasInterrupted());
  }

 private:
  // "" if there is none.
  std::string ProblemOf(mlir::Operation* op) {
    if (is_sparse_) {
      return NameOf(op) +
             " in a loop over sparse SNodes: the threads of a block do not all have an active cell";
    }
    if (auto simt = llvm::dyn_cast<ir::SimtOp>(op)) {
      if (!is_alone_ || !simt.getSpelling().starts_with("warp.")) return "";
      return NameOf(op) + " outside of a parallel loop: one thread alone is no warp";
    }
    shared_bytes_ += BytesOf(llvm::cast<ir::SharedArrayOp>(op));
    if (shared_bytes_ <= kMostSharedBytes) return "";
    return std::to_string(shared_bytes_) + " bytes of shared arrays in a loop (at most " +
           std::to_string(kMostSharedBytes) + ")";
  }

  ir::KernelOp kernel_;
  mlir::Operation* task_;
  bool is_sparse_, is_alone_;
  int64_t shared_bytes_ = 0;
};

struct CheckSimtPass : mlir::PassWrapper<CheckSimtPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckSimtPass)
  llvm::StringRef getArgument() const override { return "check-simt"; }
  void runOnOperation() override {
    ir::KernelOp kernel = getOperation();
    // Nearly all kernels, whose functions need not be looked at for each task.
    const auto found = kernel.walk([](mlir::Operation* op) {
      return IsSimt(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
    });
    if (!found.wasInterrupted()) return;
    for (mlir::Operation& task : kernel.getBody().front()) {
      if (!llvm::isa<ir::SerialTaskOp, ir::RangeTaskOp>(task)) continue;
      if (mlir::failed(TaskChecker(kernel, &task).Check())) return signalPassFailure();
    }
  }
};

struct RefuseSimtPass : mlir::PassWrapper<RefuseSimtPass, mlir::OperationPass<ir::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseSimtPass)
  llvm::StringRef getArgument() const override { return "refuse-simt"; }
  void runOnOperation() override {
    const auto found = getOperation().walk([](mlir::Operation* op) {
      if (!IsSimt(op)) return mlir::WalkResult::advance();
      op->emitError(NameOf(op) +
                    " needs a CUDA target, such as sm_80 or compute_75, and this"
                    " compilation is for a CPU");
      return mlir::WalkResult::interrupt();
    });
    if (found.wasInterrupted()) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> CreateRefuseSimtPass() { return std::make_unique<RefuseSimtPass>(); }
std::unique_ptr<mlir::Pass> CreateCheckSimtPass() { return std::make_unique<CheckSimtPass>(); }

}  // namespace kiln
