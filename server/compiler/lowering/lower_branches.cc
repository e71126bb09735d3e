#include "server/compiler/lowering/lower_branches.h"

#include "server/compiler/lowering/arrays.h"
#include "server/compiler/lowering/large_tensors.h"
#include "server/compiler/lowering/lower_block.h"
#include "server/compiler/lowering/pieces.h"

namespace kiln {

// The value of an open CHOOSE, by piece. Scalars are results of the branch. A large tensor has an
// array made before the branch, which each arm copies its value into.
struct Choice {
  struct Piece {
    mlir::Value array;  // null: a scalar
    uint64_t count = 1;
  };
  llvm::SmallVector<Piece> pieces;
};

namespace {

mlir::Value Condition(LoweringContext& c, NodeId id) {
  return c.Convert(proto::U1, c.ScalarOf(id), c.values[id][0]);
}

}  // namespace

void Lower(LoweringContext& c, IfNode node) {
  mlir::OpBuilder::InsertionGuard guard(c.b);
  auto branch = c.Create<ir::IfOp>(mlir::TypeRange(), Condition(c, node.condition()));
  const BlockId blocks[] = {node.then_block(), node.else_block()};
  for (int i = 0; i < 2; ++i) {
    c.b.setInsertionPointToStart(&branch->getRegion(i).emplaceBlock());
    LowerBlock(c, blocks[i]);
    if (!c.Terminated()) c.Create<ir::YieldOp>();
  }
}

Scalars Lower(LoweringContext& c, ChooseNode node) {
  mlir::OpBuilder::InsertionGuard guard(c.b);
  mlir::Value condition = Condition(c, node.condition());
  Choice choice;
  llvm::SmallVector<mlir::Type> types;
  ForEachTensor(c.types, node.type(), [&](const Type& type) {
    const uint64_t count = type.NumElements();
    if (IsLarge(type)) {
      choice.pieces.push_back({NewArray(c, type.scalar, count), count});
    } else {
      choice.pieces.append(count, Choice::Piece());
      types.append(count, c.ValueTypeOf(type.scalar));
    }
  });
  auto branch = c.Create<ir::IfOp>(types, condition);
  // An arm may hold another CHOOSE: YIELD nodes are of the innermost open one.
  const Choice* outer = std::exchange(c.choice, &choice);
  const BlockId blocks[] = {node.then_block(), node.else_block()};
  for (int i = 0; i < 2; ++i) {
    c.b.setInsertionPointToStart(&branch->getRegion(i).emplaceBlock());
    LowerBlock(c, blocks[i]);
  }
  c.choice = outer;
  Scalars out;
  int scalar = 0;
  for (const Choice::Piece& piece : choice.pieces) {
    out.push_back(piece.array ? piece.array : branch.getResult(scalar++));
  }
  return out;
}

// Ends an arm of the innermost CHOOSE.
void Lower(LoweringContext& c, YieldNode node) {
  const Scalars& values = c.tensors->Value(node.value());
  Scalars scalars;
  for (auto [value, piece] : llvm::zip(values, c.choice->pieces)) {
    mlir::Value from = value, to = piece.array;
    if (!to) {
      scalars.push_back(from);
      continue;
    }
    Repeat(c, piece.count, [&](const Index& at) { StoreInto(c, to, at, LoadFrom(c, from, at)); });
  }
  c.Create<ir::YieldOp>(scalars);
}

}  // namespace kiln
