#include "server/compiler/lowering/lower_loops.h"

#include "server/compiler/dialect/block_local.h"
#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_block.h"

namespace kiln {

namespace arith = mlir::arith;

namespace {

// Whether a block has a break of the loop that it belongs to. Breaks in inner loops leave those, so
// only branches are searched.
bool HasBreak(const LoweringContext& c, BlockId block) {
  for (NodeId id : NodesIn(c.function, block)) {
    const proto::Node& node = c.node(id);
    if (node.kind() == proto::BREAK) return true;
    if (node.kind() != proto::IF) continue;
    const IfNode branch(id, node);
    if (HasBreak(c, branch.then_block()) || HasBreak(c, branch.else_block())) return true;
  }
  return false;
}

// One loop over all dimensions, so that a break leaves them all:
//
//   for rest in range(n * m): i, j = rest / m, rest % m
void LowerFlatLoop(LoweringContext& c, const LoopBox& box, LoopFiller fill) {
  const size_t dims = box.lowers.size();
  mlir::Type type = box.lowers[0].getType();
  mlir::Value product = c.Int(type, 1), zero = c.Int(type, 0);
  Scalars extents;
  for (size_t d = 0; d < dims; ++d) {
    mlir::Value extent = c.Sub(box.uppers[d], box.lowers[d]);
    // Two negative extents must not make a positive product.
    extents.push_back(c.Create<arith::MaxSIOp>(extent, zero));
    product = c.Mul(product, extents[d]);
  }
  mlir::Value rest = BeginFor(c, zero, product);
  Scalars indices(dims);
  for (size_t d = dims; d-- > 0;) {
    // The body runs only if no extent is zero; unsigned division never overflows.
    mlir::Value digit = d == 0 ? rest : c.Create<arith::RemUIOp>(rest, extents[d]).getResult();
    if (d > 0) rest = c.Create<arith::DivUIOp>(rest, extents[d]);
    indices[d] = c.Add(box.lowers[d], digit);
  }
  fill(indices);
}

void LowerSerialNest(LoweringContext& c, const LoopBox& box, BlockId block, LoopFiller fill) {
  mlir::OpBuilder::InsertionGuard guard(c.b);
  const size_t dims = box.lowers.size();
  if (dims > 1 && HasBreak(c, block)) return LowerFlatLoop(c, box, fill);
  Scalars indices;
  for (size_t d = 0; d < dims; ++d) {
    indices.push_back(BeginFor(c, box.lowers[d], box.uppers[d]));
  }
  fill(indices);
  // `fill` has ended the innermost body; the others hold the loop inside them and end after it.
  for (size_t d = 1; d < dims; ++d) ContinueOuterLoop(c);
}

// `dims` indices of a type; a loop over a list has no bounds to take them from.
void LowerParallelLoop(LoweringContext& c, const LoopBox& box, size_t dims, mlir::Type index_type,
                       LoopFiller fill) {
  mlir::OpBuilder::InsertionGuard guard(c.b);
  const auto optional = [&](uint32_t value) {
    return value == 0 ? mlir::IntegerAttr() : c.b.getI32IntegerAttr(static_cast<int32_t>(value));
  };
  const uint32_t threads = box.config.serialize() ? 1 : box.config.parallelize();
  auto loop = c.Create<ir::ParallelForOp>(
      box.lowers, box.uppers, box.over < 0 ? mlir::IntegerAttr() : c.b.getI64IntegerAttr(box.over),
      optional(threads), optional(box.config.block_dim()));
  if (!c.block_local.empty()) {
    loop->setAttr(kBlockLocalAttribute, c.b.getDenseI64ArrayAttr(c.block_local));
    c.block_local.clear();
  }
  mlir::Block& body = loop.getBodyRegion().emplaceBlock();
  for (size_t d = 0; d < dims; ++d) body.addArgument(index_type, c.loc);
  c.b.setInsertionPointToStart(&body);
  fill(Scalars(body.getArguments()));
}

}  // namespace

void LowerNest(LoweringContext& c, const LoopBox& box, BlockId block, LoopFiller fill) {
  if (c.IsParallel(box.config)) {
    LowerParallelLoop(c, box, box.lowers.size(), box.lowers[0].getType(), fill);
  } else {
    LowerSerialNest(c, box, block, fill);
  }
}

void LowerListLoop(LoweringContext& c, int storage, const proto::LoopConfig& config, int axes,
                   LoopFiller fill) {
  LowerParallelLoop(c, {{}, {}, config, storage}, axes, c.b.getI32Type(), fill);
}

void LowerLoopBody(LoweringContext& c, BlockId block) {
  LowerBlock(c, block);
  if (!c.Terminated()) c.Create<ir::ContinueOp>();
}

void ContinueOuterLoop(LoweringContext& c) {
  c.b.setInsertionPointAfter(c.b.getInsertionBlock()->getParentOp());
  c.Create<ir::ContinueOp>();
}

void Lower(LoweringContext& c, RangeForNode node) {
  // i32 holds every index of most loops; a bound that is wider, or unsigned, makes them i64.
  Scalar scalar = proto::I32;
  for (NodeId bound : node.bounds()) {
    const Scalar of = c.ScalarOf(bound);
    if (ScalarBits(of) > 32 || of == proto::U32) scalar = proto::I64;
  }
  LoopBox box{{}, {}, c.ConfigOf(node.config())};
  for (size_t i = 0; i < node.bounds().size(); ++i) {
    const NodeId bound = node.bounds()[i];
    Scalars& side = i % 2 == 0 ? box.lowers : box.uppers;
    side.push_back(c.Convert(scalar, c.ScalarOf(bound), c.values[bound][0]));
  }
  LowerNest(c, box, node.body(), [&](const Scalars& indices) {
    c.loops[node.id()] = {scalar, indices};
    LowerLoopBody(c, node.body());
  });
}

void Lower(LoweringContext& c, WhileNode node) {
  mlir::OpBuilder::InsertionGuard guard(c.b);
  auto loop = c.Create<ir::LoopOp>(mlir::TypeRange(), mlir::ValueRange());
  c.b.setInsertionPointToStart(&loop.getBodyRegion().emplaceBlock());
  LowerLoopBody(c, node.body());
}

void Lower(LoweringContext& c, BlockLocalNode node) {
  for (const ParamId param : node.params()) c.block_local.push_back(c.storages.Of(param));
}

void Lower(LoweringContext& c, BreakNode) { c.Create<ir::BreakOp>(); }

void Lower(LoweringContext& c, ContinueNode) { c.Create<ir::ContinueOp>(); }

Scalars Lower(LoweringContext& c, LoopIndexNode node) {
  const LoweringContext::Loop& loop = c.loops[node.loop()];
  return {c.Convert(c.ScalarOf(node.id()), loop.scalar, loop.indices[node.dimension()])};
}

}  // namespace kiln
