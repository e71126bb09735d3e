#include "server/compiler/lowering/lowering_context.h"

#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/quant_words.h"
#include "server/compiler/lowering/quant_writes.h"

namespace kiln {

namespace {

EmitOptions EmitOptionsOf(const proto::CodeOptions& options) {
  EmitOptions emit;
  emit.fast_math = options.fast_math();
  emit.debug = options.debug();
  return emit;
}

}  // namespace

proto::Diagnostic NotSupported(NodeNumber node, const std::string& what) {
  proto::Diagnostic diagnostic;
  diagnostic.set_severity(proto::ERROR);
  diagnostic.set_kind(proto::KIND_UNSUPPORTED);
  diagnostic.set_function(FunctionOfNode(node).number());
  diagnostic.set_node(NodeInFunction(node).number());
  diagnostic.set_message(what + " is not supported yet");
  return diagnostic;
}

LoweringContext::LoweringContext(const UnitLowering& of, FunctionId id, mlir::OpBuilder builder)
    : in(of),
      unit(of.unit),
      types(of.checked.types),
      storages(of.storages),
      function_id(id),
      function(FunctionAt(of.unit.kernel(), id)),
      emit(EmitOptionsOf(of.unit.options())),
      b(builder),
      loc(builder.getUnknownLoc()),
      // By number, for all nodes: a look-up is an index, and kernels have thousands of nodes.
      values(function.nodes_size()),
      places(function.nodes_size()),
      loops(function.nodes_size()),
      dynamic(function.nodes_size()),
      tensors(std::make_unique<LargeTensors>(*this)),
      writes(std::make_unique<QuantWrites>(*this)),
      words(std::make_unique<WordIndices>()),
      file_(builder.getStringAttr("kernel")) {}

LoweringContext::~LoweringContext() = default;

const std::vector<Scalar>& LoweringContext::ScalarsIn(TypeId type) {
  // On the heap: roots keep pointers to the list while the table grows.
  std::unique_ptr<std::vector<Scalar>>& scalars = scalars_in_[type];
  if (!scalars) {
    scalars = std::make_unique<std::vector<Scalar>>();
    types.AppendScalars(type, scalars.get());
  }
  return *scalars;
}

bool LoweringContext::IsParallel(const proto::LoopConfig& config) const {
  // As the check of the unit has it: outermost loops of the kernel's own body.
  return IsBody() && depth == 1 && !config.serialize();
}

void LoweringContext::Unsupported(const std::string& what) {
  // Lowering goes on, so that one run reports all of them.
  in.diagnostics->push_back(NotSupported(CurrentNode(), what));
}

void LoweringContext::Enter(NodeId id) {
  current = id;
  // Passes keep locations, so a node's number in place of a line survives to code generation.
  loc = mlir::FileLineColLoc::get(file_, CurrentNode().number(), 0);
}

bool LoweringContext::Terminated() const {
  // If so, the nodes that follow in the block are never reached.
  mlir::Block* block = b.getInsertionBlock();
  return !block->empty() && block->back().hasTrait<mlir::OpTrait::IsTerminator>();
}

mlir::Value LoweringContext::Int(mlir::Type type, int64_t value) {
  return Create<mlir::arith::ConstantOp>(b.getIntegerAttr(type, value));
}

Root* LoweringContext::NewRoot(TypeId type) {
  Root& root = roots.emplace_back();
  root.scalars = &ScalarsIn(type);
  return &root;
}

}  // namespace kiln
