#include "server/compiler/dialect/effects.h"

#include "server/compiler/dialect/dialect.h"

namespace kiln {

namespace {

using mlir::Value;

Effects Only(unsigned bits) {
  Effects effects;
  effects.bits = bits;
  return effects;
}

Effects Reading(Value address) {
  Effects effects;
  effects.reads = {address};
  return effects;
}

Effects Writing(Value address) {
  Effects effects;
  effects.writes = {address};
  return effects;
}

Effects Updating(Value address) {
  Effects effects = Only(kIsAtomic);
  effects.reads = {address};
  effects.writes = {address};
  return effects;
}

Effects OnSNode(int64_t storage, unsigned bits) {
  Effects effects = Only(bits);
  effects.snode = storage;
  return effects;
}

llvm::SmallVector<Value, 2> Addresses(mlir::ValueRange values) {
  llvm::SmallVector<Value, 2> addresses;
  for (Value value : values) {
    if (llvm::isa<ir::AddrType>(value.getType())) addresses.push_back(value);
  }
  return addresses;
}

// Arrays are reported element by element.
Effects Reporting(mlir::ValueRange values, unsigned bits) {
  Effects effects = Only(bits);
  effects.reads = Addresses(values);
  return effects;
}

// --- The table: one overload for each op that is not Pure ----------------------------

Effects Of(ir::LoadOp op) { return Reading(op.getAddress()); }
Effects Of(ir::StoreOp op) { return Writing(op.getAddress()); }
Effects Of(ir::ZeroOp op) { return Writing(op.getAddress()); }
Effects Of(ir::AtomicOp op) { return Updating(op.getAddress()); }
Effects Of(ir::UpdateOp op) { return Updating(op.getAddress()); }
// Memory that no other op knows yet.
Effects Of(ir::LocalOp) { return {}; }
Effects Of(ir::LocalArrayOp) { return {}; }

Effects Of(ir::ActivateOp op) { return OnSNode(op.getStorage(), kActivates); }
Effects Of(ir::DeactivateOp op) { return OnSNode(op.getStorage(), kDeactivates); }
Effects Of(ir::IsActiveOp op) { return OnSNode(op.getStorage(), kQueries); }
Effects Of(ir::LengthOp op) { return OnSNode(op.getStorage(), kQueries); }
Effects Of(ir::AppendOp op) { return OnSNode(op.getStorage(), kActivates | kQueries | kIsAtomic); }

// A tape without room fails the launch.
Effects Of(ir::TapePushOp) { return Only(kTapes | kFails); }
Effects Of(ir::TapeTopOp) { return Only(kTapes); }
Effects Of(ir::TapePopOp) { return Only(kTapes); }

// Barriers and fences order all memory, and values come from other threads: like a call of unknown
// code.
Effects Of(ir::SimtOp) { return Only(kTouchesMemory | kCalls); }
// Other threads may write to it, so it is none of the memories that passes tell apart.
Effects Of(ir::SharedArrayOp) { return {}; }
Effects Of(ir::RandomOp) { return Only(kDraws); }
Effects Of(ir::ResultOp) { return Only(kReports); }
Effects Of(ir::PrintOp op) { return Reporting(op.getValues(), kReports); }
Effects Of(ir::AssertOp op) { return Reporting(op.getValues(), kFails | kLeaves); }

// The callee may read and write at the addresses that it is given.
Effects Of(ir::CallOp op) {
  Effects effects = Only(kCalls);
  effects.reads = Addresses(op.getArguments());
  effects.writes = effects.reads;
  return effects;
}

Effects Of(ir::ContinueOp) { return Only(kLeaves); }
Effects Of(ir::BreakOp) { return Only(kLeaves); }
Effects Of(ir::ReturnOp) { return Only(kLeaves); }
// It may have no end.
Effects Of(ir::LoopOp) { return Only(kLeaves); }

// Nothing but what the ops in their regions do.
Effects Of(ir::IfOp) { return {}; }
Effects Of(ir::ForOp) { return {}; }
Effects Of(ir::ParallelForOp) { return {}; }
Effects Of(ir::KernelOp) { return {}; }
Effects Of(ir::FunctionOp) { return {}; }
Effects Of(ir::SerialTaskOp) { return {}; }
Effects Of(ir::RangeTaskOp) { return {}; }

// The runtime's own tasks. No pass moves tasks, so nothing asks what these do to lists and cells.
Effects Of(ir::ListgenTaskOp) { return {}; }
Effects Of(ir::GcTaskOp) { return {}; }

// --- Which row applies ---------------------------------------------------------------

template <typename Op>
Effects EffectsOfOp(Op op) {
  // `Pure` in ops.td. All other ops need an overload, or this does not build.
  if constexpr (Op::template hasTrait<mlir::OpTrait::AlwaysSpeculatableImplTrait>()) {
    return {};
  } else {
    return Of(op);
  }
}

template <typename... Ops>
Effects EffectsOfOneOf(mlir::Operation* op) {
  Effects effects;
  const auto applies = [&](auto candidate) {
    if (candidate) effects = EffectsOfOp(candidate);
    return static_cast<bool>(candidate);
  };
  // The list of ops is generated from ops.td, so a new op cannot be forgotten.
  (applies(llvm::dyn_cast<Ops>(op)) || ...);
  return effects;
}

}  // namespace

Effects EffectsOf(mlir::Operation* op) {
  // arith and math have no effects.
  if (!llvm::isa_and_nonnull<ir::KilnDialect>(op->getDialect())) return {};
  return EffectsOfOneOf<
#define GET_OP_LIST
#include "server/compiler/dialect/ops.cc.inc"
      >(op);
}

void AppendMemoryEffects(
    mlir::Operation* op,
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>* out) {
  // MLIR's passes know reads and writes only. Activations change what reads see, and draws the
  // stream.
  constexpr unsigned kWrites = kActivates | kDeactivates | kDraws | kTapes;
  const Effects effects = EffectsOf(op);
  if (!effects.reads.empty() || effects.Has(kWrites | kQueries)) {
    out->emplace_back(mlir::MemoryEffects::Read::get());
  }
  if (!effects.writes.empty() || effects.Has(kWrites)) {
    out->emplace_back(mlir::MemoryEffects::Write::get());
  }
}

mlir::Value ArrayOf(mlir::Value address) {
  while (auto element = address.getDefiningOp<ir::ElementOp>()) address = element.getArray();
  return address;
}

}  // namespace kiln
