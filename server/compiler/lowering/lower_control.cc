// Loops, branches, and what leaves the kernel.
#include "server/compiler/lowering/lowering.h"

namespace kiln {

// --- Extents -----------------------------------------------------------------------

Scalars Lowering::DenseExtents(int storage, mlir::Type type) {
  auto dense = llvm::cast<ir::DenseAttr>(storages_.attributes[storage]);
  Scalars extents;
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    const int64_t extent = dense.getDigitExtent(d);
    if (extent == 0) {
      extents.push_back(b_.create<ir::OuterExtentOp>(loc_, type, storage));
    } else {
      extents.push_back(Int(type, extent));
    }
  }
  return extents;
}

mlir::Value Lowering::AxisExtent(int storage, int axis, mlir::Type type) {
  if (auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storages_.attributes[storage])) {
    return Int(type, TreeOf(field).getAxisExtent(field.getNode(), field.getAxis(axis)) *
                         CellsInWord(storage, axis));
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
  if (!dense) return b_.create<ir::ExtentOp>(loc_, type, storage, axis);
  mlir::Value extent;
  const Scalars extents = DenseExtents(storage, type);
  for (int d = 0; d < dense.getNumDigits(); ++d) {
    if (dense.getDigitAxis(d) != axis) continue;
    extent =
        extent ? b_.create<mlir::arith::MulIOp>(loc_, extent, extents[d]).getResult() : extents[d];
  }
  if (!extent) extent = Int(type, 1);
  const int64_t cells = CellsInWord(storage, axis);
  return cells == 1 ? extent : b_.create<mlir::arith::MulIOp>(loc_, extent, Int(type, cells));
}

// --- Loops -------------------------------------------------------------------------

bool Lowering::IsParallel(const proto::LoopConfig& config) const {
  return number_ == 0 && depth_ == 1 && !config.serialize();
}

// A break of the loop whose block this is.
bool Lowering::HasBreak(uint32_t block) const {
  for (uint32_t id : function_.blocks(block).nodes()) {
    const Node& node = function_.nodes(id);
    if (node.kind() == proto::BREAK) return true;
    if (node.kind() != proto::IF) continue;
    for (uint32_t inner : node.blocks()) {
      if (HasBreak(inner)) return true;
    }
  }
  return false;
}

void Lowering::LoopBody(uint32_t block) {
  const int open = std::exchange(open_loops_, 0);
  if (const std::optional<ByWords> loop = std::exchange(by_words_, std::nullopt)) {
    LowerByWords(*loop, block);
  } else {
    LowerBlock(block);
  }
  if (!Terminated()) b_.create<ir::ContinueOp>(loc_);
  for (int i = 0; i < open; ++i) {
    b_.setInsertionPointAfter(b_.getInsertionBlock()->getParentOp());
    b_.create<ir::ContinueOp>(loc_);
  }
}

mlir::Value Lowering::BeginFor(mlir::Value lower, mlir::Value upper) {
  auto loop = b_.create<ir::ForOp>(loc_, mlir::TypeRange(), lower, upper, mlir::ValueRange());
  mlir::Block& body = loop.getBodyRegion().emplaceBlock();
  b_.setInsertionPointToStart(&body);
  return body.addArgument(lower.getType(), loc_);
}

// One loop a dimension, or, where a break must leave them all, one over the product.
void Lowering::SerialNest(const Scalars& lowers, const Scalars& uppers, uint32_t block,
                          llvm::function_ref<void(Scalars)> enter) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  Scalars indices;
  const size_t dims = lowers.size();
  if (dims > 1 && HasBreak(block)) {
    mlir::Type type = lowers[0].getType();
    mlir::Value product = Int(type, 1), zero = Int(type, 0);
    Scalars extents;
    for (size_t d = 0; d < dims; ++d) {
      mlir::Value extent = b_.create<mlir::arith::SubIOp>(loc_, uppers[d], lowers[d]);
      extents.push_back(b_.create<mlir::arith::MaxSIOp>(loc_, extent, zero));
      product = b_.create<mlir::arith::MulIOp>(loc_, product, extents[d]);
    }
    mlir::Value rest = BeginFor(zero, product);
    indices.resize(dims);
    for (size_t d = dims; d-- > 0;) {
      // The body runs only where no extent is zero; unsigned division never overflows.
      mlir::Value digit =
          d == 0 ? rest : b_.create<mlir::arith::RemUIOp>(loc_, rest, extents[d]).getResult();
      if (d > 0) rest = b_.create<mlir::arith::DivUIOp>(loc_, rest, extents[d]);
      indices[d] = b_.create<mlir::arith::AddIOp>(loc_, lowers[d], digit);
    }
    enter(indices);
    return LoopBody(block);
  }
  for (size_t d = 0; d < dims; ++d) {
    indices.push_back(BeginFor(lowers[d], uppers[d]));
  }
  enter(indices);
  LoopBody(block);
  // The bodies of the outer loops end, inside out.
  for (size_t d = 1; d < dims; ++d) {
    b_.setInsertionPointAfter(b_.getInsertionBlock()->getParentOp());
    b_.create<ir::ContinueOp>(loc_);
  }
}

void Lowering::ParallelNest(const Scalars& lowers, const Scalars& uppers,
                            const proto::LoopConfig& config, int over, uint32_t block,
                            llvm::function_ref<void(Scalars)> enter) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  auto optional = [&](uint32_t value) {
    return value == 0 ? mlir::IntegerAttr() : b_.getI32IntegerAttr(value);
  };
  auto loop = b_.create<ir::ParallelForOp>(
      loc_, lowers, uppers, over < 0 ? mlir::IntegerAttr() : b_.getI64IntegerAttr(over),
      optional(config.parallelize()), optional(config.block_dim()));
  mlir::Block& body = loop.getBodyRegion().emplaceBlock();
  for (mlir::Value lower : lowers) body.addArgument(lower.getType(), loc_);
  b_.setInsertionPointToStart(&body);
  enter(Scalars(body.getArguments()));
  LoopBody(block);
}

void Lowering::Nest(const Scalars& lowers, const Scalars& uppers, uint64_t config_index, int over,
                    uint32_t block, llvm::function_ref<void(Scalars)> enter) {
  const proto::LoopConfig none;
  const proto::LoopConfig& config =
      config_index == 0 ? none : unit_.kernel().loops(config_index - 1);
  if (IsParallel(config)) {
    ParallelNest(lowers, uppers, config, over, block, enter);
  } else {
    SerialNest(lowers, uppers, block, enter);
  }
}

void Lowering::RangeFor(const Node& node) {
  // i32 holds every index of most loops; anything wider or unsigned takes i64.
  Scalar scalar = proto::I32;
  for (uint32_t operand : node.operands()) {
    const Scalar of = ScalarOf(operand);
    if (ScalarBits(of) > 32 || of == proto::U32) scalar = proto::I64;
  }
  Scalars lowers, uppers;
  for (int i = 0; i < node.operands_size(); ++i) {
    (i % 2 == 0 ? lowers : uppers)
        .push_back(ConvertTo(scalar, ScalarOf(node.operands(i)), Operand(node, i)[0]));
  }
  const uint32_t id = node_;
  Nest(lowers, uppers, node.index(), -1, node.blocks(0), [&](Scalars indices) {
    index_scalar_[id] = scalar;
    indices_[id] = std::move(indices);
  });
}

// Over digits, in memory order; an axis' index is its digits in mixed radix.
void Lowering::StructFor(const Node& node) {
  const int storage = storages_.of_param[node.index()];
  mlir::Type type = b_.getI32Type();
  if (auto field = llvm::dyn_cast<ir::TreeFieldAttr>(storages_.attributes[storage])) {
    return TreeStructFor(node, storage, field);
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(storages_.attributes[storage]);
  Scalars uppers;
  llvm::SmallVector<std::pair<int64_t, int64_t>> levels;
  if (dense) {
    uppers = DenseExtents(storage, type);
    for (int d = 0; d < dense.getNumDigits(); ++d) {
      levels.push_back({dense.getDigitAxis(d), dense.getDigitExtent(d)});
    }
  } else {
    auto ndarray = llvm::cast<ir::NdarrayAttr>(storages_.attributes[storage]);
    for (int64_t axis = 0; axis < ndarray.getAxes(); ++axis) {
      uppers.push_back(b_.create<ir::ExtentOp>(loc_, type, storage, axis));
    }
  }
  const uint64_t config = node.attributes_size() > 0 ? node.attributes(0) : 0;
  const uint32_t id = node_;
  if (storages_.quant_arrays[storage] != nullptr) {
    index_scalar_[id] = proto::I32;
    return OverWords(node, storage, uppers, config, [&](const Scalars& digits) {
      return IndicesFromDigits(levels, dense.getAxes(), digits);
    });
  }
  // A field without axes is one cell.
  if (uppers.empty()) uppers.push_back(Int32(1));
  const Scalars lowers(uppers.size(), Int32(0));
  Nest(lowers, uppers, config, storage, node.blocks(0), [&](Scalars digits) {
    index_scalar_[id] = proto::I32;
    indices_[id] =
        dense ? AddOffsets(IndicesFromDigits(levels, dense.getAxes(), digits), dense.getOffset())
              : digits;
  });
}

Scalars Lowering::IndicesFromDigits(llvm::ArrayRef<std::pair<int64_t, int64_t>> levels,
                                    int64_t axes, const Scalars& digits) {
  Scalars indices(axes);
  for (auto [level, digit] : llvm::zip(levels, digits)) {
    mlir::Value& index = indices[level.first];
    if (index) {
      index = b_.create<mlir::arith::MulIOp>(loc_, index, Int32(level.second));
      index = b_.create<mlir::arith::AddIOp>(loc_, index, digit);
    } else {
      index = digit;
    }
  }
  for (mlir::Value& index : indices) {
    if (!index) index = Int32(0);
  }
  return indices;
}

Scalars Lowering::AddOffsets(Scalars indices, llvm::ArrayRef<int64_t> offset) {
  for (auto [index, start] : llvm::zip(indices, offset)) {
    if (start != 0) index = b_.create<mlir::arith::AddIOp>(loc_, index, Int32(start));
  }
  return indices;
}

Scalars Lowering::LoopIndex(const Node& node) {
  const uint32_t loop = node.operands(0);
  return {ConvertTo(types_[node.type()].scalar, index_scalar_[loop], indices_[loop][node.index()])};
}

void Lowering::While(const Node& node) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  auto loop = b_.create<ir::LoopOp>(loc_, mlir::TypeRange(), mlir::ValueRange());
  b_.setInsertionPointToStart(&loop.getBodyRegion().emplaceBlock());
  LoopBody(node.blocks(0));
}

// --- Branches ----------------------------------------------------------------------

void Lowering::If(const Node& node) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  mlir::Value condition = ConvertTo(proto::U1, ScalarOf(node.operands(0)), Operand(node, 0)[0]);
  auto branch = b_.create<ir::IfOp>(loc_, mlir::TypeRange(), condition);
  for (int i = 0; i < 2; ++i) {
    b_.setInsertionPointToStart(&branch->getRegion(i).emplaceBlock());
    LowerBlock(node.blocks(i));
    if (!Terminated()) b_.create<ir::YieldOp>(loc_);
  }
}

Scalars Lowering::Choose(const Node& node) {
  mlir::OpBuilder::InsertionGuard guard(b_);
  mlir::Value condition = ConvertTo(proto::U1, ScalarOf(node.operands(0)), Operand(node, 0)[0]);
  Choice choice;
  llvm::SmallVector<mlir::Type> types;
  ForEachTensor(types_, node.type(), [&](const Type& type) {
    if (IsLarge(type)) {
      choice.counts.push_back(type.NumElements());
      choice.arrays.push_back(NewArray(type.scalar, type.NumElements()));
      return;
    }
    for (uint64_t i = 0; i < type.NumElements(); ++i) {
      types.push_back(TypeOf(type.scalar));
      choice.arrays.push_back({});
      choice.counts.push_back(1);
    }
  });
  choices_.push_back(choice);
  auto branch = b_.create<ir::IfOp>(loc_, types, condition);
  for (int i = 0; i < 2; ++i) {
    b_.setInsertionPointToStart(&branch->getRegion(i).emplaceBlock());
    LowerBlock(node.blocks(i));
  }
  choices_.pop_back();
  Scalars out;
  int scalar = 0;
  for (mlir::Value array : choice.arrays) {
    out.push_back(array ? array : branch.getResult(scalar++));
  }
  return out;
}

void Lowering::Yield(const Node& node) {
  const Scalars& pieces = Operand(node, 0);
  const Choice& choice = choices_.back();
  Scalars scalars;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!choice.arrays[i]) {
      scalars.push_back(pieces[i]);
      continue;
    }
    Repeat(choice.counts[i], [&](const Index& at) {
      mlir::Value value = LoadFrom(pieces[i], at);
      b_.create<ir::StoreOp>(loc_, value, ElementOf(choice.arrays[i], at));
    });
  }
  b_.create<ir::YieldOp>(loc_, scalars);
}

// --- What leaves the kernel ----------------------------------------------------------

void Lowering::Return(const Node& node) {
  if (number_ != 0) return ReturnFromFunction(node);
  uint64_t slot = 0;
  for (int i = 0; i < node.operands_size(); ++i) {
    const Scalars& pieces = Operand(node, i);
    auto piece = pieces.begin();
    ForEachTensor(types_, function_.nodes(node.operands(i)).type(), [&](const Type& type) {
      const uint64_t count = type.NumElements();
      if (IsLarge(type)) {
        mlir::Value array = *piece++;
        Repeat(count, [&](const Index& at) {
          b_.create<ir::ResultOp>(loc_, slot, LoadFrom(array, at), at.value);
        });
        slot += count;
        return;
      }
      for (uint64_t e = 0; e < count; ++e) b_.create<ir::ResultOp>(loc_, slot++, *piece++);
    });
  }
  b_.create<ir::ReturnOp>(loc_);
}

Scalars Lowering::AllOperands(const Node& node, int first, mlir::DenseI64ArrayAttr* counts) {
  Scalars out;
  llvm::SmallVector<int64_t> numbers;
  bool any_large = false;
  for (int i = first; i < node.operands_size(); ++i) {
    out.append(Operand(node, i));
    ForEachTensor(types_, function_.nodes(node.operands(i)).type(), [&](const Type& type) {
      any_large |= IsLarge(type);
      if (IsLarge(type)) {
        numbers.push_back(type.NumElements());
      } else {
        numbers.append(type.NumElements(), 1);
      }
    });
  }
  if (any_large) *counts = b_.getDenseI64ArrayAttr(numbers);
  return out;
}

void Lowering::Print(const Node& node) {
  mlir::DenseI64ArrayAttr counts;
  const Scalars values = AllOperands(node, 0, &counts);
  b_.create<ir::PrintOp>(loc_, Number(), values, counts);
}

void Lowering::Assert(const Node& node) {
  if (!unit_.options().debug()) return;
  mlir::Value condition = ConvertTo(proto::U1, ScalarOf(node.operands(0)), Operand(node, 0)[0]);
  mlir::DenseI64ArrayAttr counts;
  const Scalars values = AllOperands(node, 1, &counts);
  b_.create<ir::AssertOp>(loc_, condition, Number(), values, counts);
}

}  // namespace kiln
