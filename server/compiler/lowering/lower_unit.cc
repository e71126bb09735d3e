#include "server/compiler/lowering/lower_unit.h"

#include "common/base/status_macros.h"
#include "common/language/op_table.h"
#include "server/compiler/lowering/lowering.h"

namespace kiln {

namespace {

proto::Diagnostic NotSupported(uint32_t node, const std::string& what) {
  proto::Diagnostic diagnostic;
  diagnostic.set_severity(proto::ERROR);
  diagnostic.set_kind(proto::KIND_UNSUPPORTED);
  diagnostic.set_function(FunctionOfNode(node));
  diagnostic.set_node(NodeInFunction(node));
  diagnostic.set_message(what + " is not supported yet");
  return diagnostic;
}

ir::KernelOp MakeKernel(const proto::CompileUnit& unit, const ArgumentLayout& layout,
                        const LoweredStorages& storages, mlir::ModuleOp module) {
  mlir::OpBuilder builder(module.getBodyRegion());
  llvm::SmallVector<mlir::Attribute> results;
  for (Scalar result : layout.results) {
    results.push_back(mlir::TypeAttr::get(ValueType(builder.getContext(), result)));
  }
  auto kernel = builder.create<ir::KernelOp>(
      module.getLoc(), "kernel", storages.trees, storages.attributes, builder.getArrayAttr(results),
      unit.options().fast_math(), unit.options().debug(), mlir::IntegerAttr());
  kernel.getBodyRegion().emplaceBlock();
  return kernel;
}

}  // namespace

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> LowerUnit(
    const proto::CompileUnit& unit, const CheckedUnit& checked, mlir::MLIRContext* context,
    std::vector<proto::Diagnostic>* diagnostics) {
  const auto& [types, layout, nodes] = checked;
  RETURN_IF_ERROR(CheckAccesses(unit, nodes, types));
  LoweredStorages storages = LowerStorages(unit, nodes, types, layout, context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  if (unit.kernel().autodiff() != proto::AUTODIFF_NONE) {
    diagnostics->push_back(NotSupported(0, "differentiating a kernel"));
    return module;
  }
  ir::KernelOp kernel = MakeKernel(unit, layout, storages, *module);
  const auto builder = mlir::OpBuilder::atBlockEnd(&kernel.getBodyRegion().front());
  for (uint32_t number = 1; number < nodes.size(); ++number) {
    LowerFunction(unit, number, types, layout, storages, nodes[number], builder, diagnostics);
  }
  Lowering(unit, 0, types, layout, storages, builder, diagnostics).LowerKernel(nodes[0]);
  return module;
}

uint32_t NodeOf(mlir::Location location) {
  auto position = location->findInstanceOf<mlir::FileLineColLoc>();
  return position ? position.getLine() : 0;
}

// --- Blocks ------------------------------------------------------------------------

Lowering::Lowering(const proto::CompileUnit& unit, uint32_t number, const TypeTable& types,
                   const ArgumentLayout& layout, const LoweredStorages& storages,
                   mlir::OpBuilder builder, std::vector<proto::Diagnostic>* diagnostics)
    : unit_(unit),
      number_(number),
      function_(FunctionAt(unit, number)),
      types_(types),
      layout_(layout),
      b_(builder),
      context_(builder.getContext()),
      loc_(builder.getUnknownLoc()),
      diagnostics_(diagnostics),
      storages_(storages),
      file_(builder.getStringAttr("kernel")),
      values_(function_.nodes_size()),
      places_(function_.nodes_size()),
      indices_(function_.nodes_size()),
      index_scalar_(function_.nodes_size()),
      dynamic_(function_.nodes_size()),
      deferred_(function_.nodes_size()),
      uses_(function_.nodes_size()) {
  emit_.fast_math = unit.options().fast_math();
  emit_.debug = unit.options().debug();
}

void Lowering::LowerKernel(const std::vector<uint32_t>& nodes) {
  FindDynamicLocals(nodes);
  if (function_.blocks_size() > 0) FindDeferred(0);
  if (function_.blocks_size() > 0) LowerBlock(0);
  if (!Terminated()) b_.create<ir::ReturnOp>(loc_);
}

void Lowering::LowerBlock(uint32_t block) {
  ++depth_;
  for (uint32_t id : function_.blocks(block).nodes()) {
    if (Terminated()) break;  // unreachable code
    node_ = id;
    loc_ = mlir::FileLineColLoc::get(file_, Number(), 0);
    if (pending_ && !LeavesWrites(function_.nodes(id))) FlushWrites();
    LowerNode(id);
  }
  FlushWrites();
  --depth_;
}

bool Lowering::Terminated() const {
  mlir::Block* block = b_.getInsertionBlock();
  return !block->empty() && block->back().hasTrait<mlir::OpTrait::IsTerminator>();
}

void Lowering::Unsupported(const std::string& what) {
  diagnostics_->push_back(NotSupported(Number(), what));
}

// A local whose tensor some ELEMENT indexes by a run-time value lives in an array.
void Lowering::FindDynamicLocals(const std::vector<uint32_t>& nodes) {
  for (uint32_t id : nodes) {
    const proto::Node& node = function_.nodes(id);
    if (node.kind() != proto::ELEMENT) continue;
    bool constant = true;
    uint64_t number;
    for (int i = 1; i < node.operands_size(); ++i) {
      constant = constant && ConstantIndex(node.operands(i), &number);
    }
    uint32_t base = node.operands(0);
    while (function_.nodes(base).kind() == proto::MEMBER) base = function_.nodes(base).operands(0);
    if (!constant) dynamic_[base] = true;
  }
}

// A node kind without a case does not build.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

void Lowering::LowerNode(uint32_t id) {
  const Node& node = function_.nodes(id);
  if (deferred_[id]) return;  // the store that it is for makes it
  const auto value = [&](Scalars made) { values_[id] = std::move(made); };
  switch (node.kind()) {
    // Values.
    case proto::CONST:
      return value({EmitConstant(b_, loc_, types_[node.type()].scalar, node.index())});
    case proto::PARAM:
      return value(Param(node));
    case proto::BINARY:
      return value(node.op() == proto::OP_MATMUL ? Matmul(node) : Elementwise(node));
    case proto::UNARY:
    case proto::TERNARY:
    case proto::CAST_TO:
    case proto::PICK:
      return value(Elementwise(node));
    case proto::REDUCE:
      return value(Reduce(node));
    case proto::MAKE_TENSOR:
      return value(MakeTensor(node));
    case proto::MAKE_STRUCT:
      return value(MakeStruct(node));
    case proto::EXTRACT:
      return value(Extract(node));
    case proto::GET_MEMBER:
      return value(GetMember(node));
    case proto::RANDOM:
      return value(Random(node));
    case proto::LOOP_INDEX:
      return value(LoopIndex(node));
    case proto::SHAPE:
      return value(Shape(node));
    case proto::CHOOSE:
      return value(Choose(node));
    case proto::CALL:
      return value(Call(node));
    case proto::STOP_GRADIENT:
    case proto::ASSUME_IN_RANGE:
    case proto::LOOP_UNIQUE:
      return value(Operand(node, 0));

    // Memory.
    case proto::LOCAL:
      places_[id] = Local(node);
      return;
    case proto::ELEMENT:
      places_[id] = Element(node);
      return;
    case proto::MEMBER:
      places_[id] = Member(node);
      return;
    case proto::GLOBAL:
      places_[id] = Global(node);
      return;
    case proto::JOIN:
      places_[id] = Join(node);
      return;
    case proto::REFERENCE:
      places_[id] = Reference(node);
      return;
    case proto::LOAD:
      return value(Load(node));
    case proto::STORE:
      return Store(node);
    case proto::ATOMIC:
      return value(Atomic(node));
    case proto::SNODE_ACTIVATE:
    case proto::SNODE_DEACTIVATE:
    case proto::SNODE_IS_ACTIVE:
    case proto::SNODE_LENGTH:
    case proto::SNODE_APPEND:
      return value(SNodeOp(node));
    case proto::SNODE_ADDRESS:
      return value(AddressNumber(node));

    // Control and reports.
    case proto::RANGE_FOR:
      return RangeFor(node);
    case proto::STRUCT_FOR:
      return StructFor(node);
    case proto::WHILE:
      return While(node);
    case proto::IF:
      return If(node);
    case proto::BREAK:
      b_.create<ir::BreakOp>(loc_);
      return;
    case proto::CONTINUE:
      b_.create<ir::ContinueOp>(loc_);
      return;
    case proto::RETURN:
      return Return(node);
    case proto::YIELD:
      return Yield(node);
    case proto::PRINT:
      return Print(node);
    case proto::ASSERT:
      return Assert(node);

    // Hints: memory of a CPU needs no copies near it, and no_activate is the storage's.
    case proto::BLOCK_LOCAL:
    case proto::CACHE_READ_ONLY:
    case proto::NO_ACTIVATE:
      return;

    case proto::CHECKPOINT_BIT:
      return Unsupported(std::string("'") + FindNode(node.kind())->spelling + "'");
    case proto::NODE_NONE:  // the check lets no block list these
    case proto::NodeKind_INT_MIN_SENTINEL_DO_NOT_USE_:
    case proto::NodeKind_INT_MAX_SENTINEL_DO_NOT_USE_:
      return;
  }
}

#pragma GCC diagnostic pop

}  // namespace kiln
