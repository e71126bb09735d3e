// Two passes on operations of the threads of a GPU (kiln.simt, kiln.shared_array).
//
// refuse-simt, for CPUs: refuses all of them. Front ends accept them for CUDA alone, but an export
// may name targets of both kinds. Requires and leaves: any level.
//
// check-simt: refuses them in tasks whose threads cannot do them together, and shared arrays for
// which a block has no room. Functions are looked at for each task that calls them, because the
// same function is right in another task. Whether all threads of a block come to a barrier is up to
// the program, but that each thread has an iteration is not: in a loop over the dense cells below a
// sparse SNode, a block has as many threads as divide these cells, so that it takes its iterations
// from one block of cells at a time. The pass chooses that size where the program does not:
//
//   kiln.task.range_for struct_for 0 ... {block_dim = 64 : i32}    // 8 x 8 cells
//
// Requires and leaves: offloaded level.
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

// Whether a thread does it without others, or only says something about itself.
bool NeedsNoOther(mlir::Operation* op) {
  constexpr llvm::StringRef kAlone[] = {"block.thread_idx", "block.global_thread_idx",
                                        "warp.active_mask", "grid.memfence"};
  auto simt = llvm::dyn_cast<ir::SimtOp>(op);
  return simt && llvm::is_contained(kAlone, simt.getSpelling());
}

// The sizes of blocks that divide a number of cells, the largest first.
llvm::SmallVector<int64_t> SizesFor(int64_t cells) {
  llvm::SmallVector<int64_t> sizes;
  for (int64_t size = std::min<int64_t>(cells, kMostOfBlock); size > 0; --size) {
    if (cells % size == 0) sizes.push_back(size);
  }
  return sizes;
}

// All cells if they are few; otherwise whole warps, if there are such sizes. 0: what divides the
// cells is less than a warp or more than the usual threads.
int64_t UsualSizeFor(int64_t cells) {
  int64_t largest = 0;
  for (const int64_t size : SizesFor(cells)) {
    if (size > kUsualBlock) continue;
    if (size == cells || size % kWarp == 0) return size;
    largest = std::max(largest, size);
  }
  return largest < kWarp ? 0 : largest;
}

std::string NameOf(mlir::Operation* op) {
  auto simt = llvm::dyn_cast<ir::SimtOp>(op);
  return simt ? ("ti.simt." + simt.getSpelling()).str() : "ti.simt.block.SharedArray";
}

// Reports the first operation that the task cannot have, and chooses the size of its blocks.
class TaskChecker {
 public:
  TaskChecker(ir::KernelOp kernel, mlir::Operation* task)
      : kernel_(kernel), task_(task), range_(llvm::dyn_cast<ir::RangeTaskOp>(task)) {
    is_alone_ = !range_ || range_.getMaxThreads() == 1;
    if (is_alone_ || !range_.isSparse()) return;
    ir::TreeFieldAttr field = kernel.getTreeField(*range_.getOver());
    ir::TreeAttr tree = kernel.getTree(field.getTree());
    const int64_t sparse = tree.getLastSparse(field.getNode());
    if (sparse == field.getNode()) {
      sparse_cells_ = tree.getNode(sparse).getFacts().name;
      return;
    }
    dense_cells_ = 1;
    for (int64_t n = field.getNode(); n != sparse; n = tree.getNode(n).getParent()) {
      dense_cells_ *= tree.getNode(n).getNumCells();
    }
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
    if (!sparse_cells_.empty() && !NeedsNoOther(op)) {
      return (NameOf(op) + " in a loop over " + sparse_cells_ +
              " cells: not all threads of a block have an active cell; they do in a loop over a"
              " dense SNode below")
          .str();
    }
    if (dense_cells_ == 0 && !is_alone_ && range_.getBlockDim() > kMostOfBlock) {
      return NameOf(op) + " in a loop with block_dim=" + std::to_string(range_.getBlockDim()) +
             ": a block has at most " + std::to_string(kMostOfBlock) + " threads";
    }
    if (dense_cells_ > 0) {
      if (std::string problem = ChooseSize(op); !problem.empty()) return problem;
    }
    if (auto simt = llvm::dyn_cast<ir::SimtOp>(op)) {
      if (!is_alone_ || !simt.getSpelling().starts_with("warp.")) return "";
      return NameOf(op) + " outside of a parallel loop: one thread alone is not a warp";
    }
    shared_bytes_ += BytesOf(llvm::cast<ir::SharedArrayOp>(op));
    if (shared_bytes_ <= kMostSharedBytes) return "";
    return std::to_string(shared_bytes_) + " bytes of shared arrays in a loop (at most " +
           std::to_string(kMostSharedBytes) + ")";
  }

  // Likewise.
  std::string ChooseSize(mlir::Operation* op) {
    const int64_t given = range_.getBlockDim();
    if (given == 0) {
      if (const int64_t size = UsualSizeFor(dense_cells_)) {
        range_.setBlockDim(static_cast<uint32_t>(size));
        return "";
      }
    } else if (given <= kMostOfBlock && dense_cells_ % given == 0) {
      return "";
    }
    std::string problem = NameOf(op) + " in a loop over blocks of " + std::to_string(dense_cells_) +
                          " cells: each thread of a block needs a cell, so block_dim";
    if (given != 0) problem += ", here " + std::to_string(given) + ",";
    problem += " has to divide them:";
    constexpr size_t kMostNamed = 8;
    for (const auto& [i, size] : llvm::enumerate(SizesFor(dense_cells_))) {
      if (i < kMostNamed) problem += (i == 0 ? " " : ", ") + std::to_string(size);
    }
    return problem;
  }

  ir::KernelOp kernel_;
  mlir::Operation* task_;
  ir::RangeTaskOp range_;         // null: a serial task
  bool is_alone_;                 // one thread runs the task
  llvm::StringRef sparse_cells_;  // the kind of the loop's cells, if they may be inactive
  int64_t dense_cells_ = 0;       // of a block of cells below a sparse SNode; 0: no such loop
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
