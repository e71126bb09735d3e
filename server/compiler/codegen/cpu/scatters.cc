#include "server/compiler/codegen/cpu/scatters.h"

#include <optional>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cpu {
namespace {

bool IsSum(ir::AtomicKind kind, bool fast_math) {
  switch (kind) {
    case ir::AtomicKind::addi:
    case ir::AtomicKind::subi:
      return true;
    case ir::AtomicKind::addf:
    case ir::AtomicKind::subf:
      // What no thread has added to keeps its sign, also if it is a zero: -0.0 + 0.0 would be 0.0.
      return fast_math;
    default:
      return false;
  }
}

proto::Scatter::Number NumberOf(mlir::Type type) {
  if (type.isInteger(8)) return proto::Scatter::NUMBER_I8;
  if (type.isInteger(16)) return proto::Scatter::NUMBER_I16;
  if (type.isInteger(32)) return proto::Scatter::NUMBER_I32;
  if (type.isInteger(64)) return proto::Scatter::NUMBER_I64;
  if (type.isF32()) return proto::Scatter::NUMBER_F32;
  if (type.isF64()) return proto::Scatter::NUMBER_F64;
  return proto::Scatter::NUMBER_NONE;
}

// The memory of a base of the field, if it holds nothing else, and numbers of one type.
std::optional<proto::Scatter> ScatterOf(ir::DenseAttr dense, int base) {
  proto::Scatter scatter;
  int64_t bytes = 0;
  for (auto [c, type] : llvm::enumerate(dense.getTypes().getAsValueRange<mlir::TypeAttr>())) {
    if (dense.getComponentBase(static_cast<int>(c)) != base) continue;
    const proto::Scatter::Number number = NumberOf(type);
    const bool same = bytes == 0 || number == scatter.number();
    if (number == proto::Scatter::NUMBER_NONE || !same) return {};
    scatter.set_number(number);
    bytes += Bytes(type);
  }
  // From the innermost digit outwards: each step is all of what is inside.
  for (int d = dense.getNumDigits() - 1; d >= 0; --d) {
    if (dense.getDigitStride(base, d) != bytes) return {};
    const int64_t extent = dense.getDigitExtent(d);
    if (d == 0 && extent == 0) {
      scatter.set_extent_slot(static_cast<uint32_t>(dense.getExtentSlot()));
    } else {
      bytes *= extent;
    }
  }
  scatter.set_slot(static_cast<uint32_t>(dense.getSlot() + base));
  scatter.set_bytes(static_cast<uint64_t>(bytes));
  return scatter;
}

// Ops that neither touch memory which they do not name, nor call hooks of the launch. Hooks run
// kernels, which must not wait for this one.
bool IsQuiet(mlir::Operation* op) {
  return llvm::isa<ir::GlobalOp, ir::LoadOp, ir::StoreOp, ir::AtomicOp, ir::ArgumentOp,
                   ir::TemporaryOp, ir::LocalOp, ir::LocalArrayOp, ir::ElementOp, ir::ExtentOp,
                   ir::OuterExtentOp, ir::RandomOp, ir::IfOp, ir::InsideOp, ir::ForOp, ir::LoopOp,
                   ir::YieldOp, ir::ContinueOp, ir::BreakOp>(op) ||
         llvm::isa<mlir::arith::ArithDialect, mlir::math::MathDialect>(op->getDialect());
}

}  // namespace

void SetScatters(KernelState* state, ir::RangeTaskOp op, proto::Task* task) {
  if (!op.getInits().empty()) return;
  // By storage: the bases that atomics add to. Storages of other accesses.
  llvm::MapVector<int64_t, llvm::SetVector<int>> added;
  llvm::SetVector<int64_t> others;
  const bool fast_math = state->kernel.getFastMath();
  const auto refused = op.getBody().walk([&](mlir::Operation* inner) {
    if (!IsQuiet(inner)) return mlir::WalkResult::interrupt();
    if (auto atomic = llvm::dyn_cast<ir::AtomicOp>(inner)) {
      auto global = atomic.getAddress().getDefiningOp<ir::GlobalOp>();
      if (!global || !IsSum(atomic.getKind(), fast_math) || !atomic.getOld().use_empty()) {
        return mlir::WalkResult::interrupt();
      }
      auto dense = llvm::dyn_cast<ir::DenseAttr>(state->kernel.getStorages()[global.getStorage()]);
      if (!dense || dense.getAlias() != 0) return mlir::WalkResult::interrupt();
      added[global.getStorage()].insert(
          static_cast<int>(dense.getComponentBase(global.getComponent())));
    } else if (auto global = llvm::dyn_cast<ir::GlobalOp>(inner)) {
      const auto adds = [&](mlir::Operation* user) { return llvm::isa<ir::AtomicOp>(user); };
      if (!llvm::all_of(global->getUsers(), adds)) others.insert(global.getStorage());
    }
    return mlir::WalkResult::advance();
  });
  if (refused.wasInterrupted()) return;
  std::vector<proto::Scatter> scatters;
  for (const auto& [storage, bases] : added) {
    if (others.contains(storage)) return;
    auto dense = llvm::cast<ir::DenseAttr>(state->kernel.getStorages()[storage]);
    for (const int base : bases) {
      const std::optional<proto::Scatter> scatter = ScatterOf(dense, base);
      if (!scatter) return;
      scatters.push_back(*scatter);
    }
  }
  task->mutable_scatters()->Assign(scatters.begin(), scatters.end());
}

}  // namespace kiln::cpu
