// SNodes: what activates, asks and lists their cells, and loops over fields in trees.
#include "server/compiler/lowering/lowering.h"

namespace kiln {

ir::TreeAttr Lowering::TreeOf(ir::TreeFieldAttr field) const {
  return llvm::cast<ir::TreeAttr>(storages_.trees[field.getTree()]);
}

Scalars Lowering::IndicesOf(const Node& node) {
  Scalars indices;
  for (uint32_t operand : node.operands()) {
    indices.push_back(ConvertTo(proto::I32, ScalarOf(operand), values_[operand][0]));
  }
  return indices;
}

Scalars Lowering::SNodeOp(const Node& node) {
  const int storage = storages_.of_param[node.index()];
  auto field = llvm::cast<ir::TreeFieldAttr>(storages_.attributes[storage]);
  const Scalars indices = IndicesOf(node);
  if (unit_.options().debug() || unit_.options().check_bounds()) {
    const bool above = indices.size() < static_cast<size_t>(field.getNumAxes());
    CheckBounds(node, indices,
                above ? field.getIndicesAbove(TreeOf(field))
                      : llvm::to_vector(llvm::seq<int>(0, indices.size())));
  }
  switch (node.kind()) {
    case proto::SNODE_ACTIVATE:
      b_.create<ir::ActivateOp>(loc_, storage, indices);
      return {};
    case proto::SNODE_DEACTIVATE:
      b_.create<ir::DeactivateOp>(loc_, storage, indices);
      return {};
    case proto::SNODE_IS_ACTIVE:
      return {b_.create<ir::IsActiveOp>(loc_, b_.getI1Type(), storage, indices)};
    case proto::SNODE_LENGTH:
      return {b_.create<ir::LengthOp>(loc_, b_.getI32Type(), storage, indices)};
    default: {
      mlir::Value number = b_.create<ir::AppendOp>(loc_, b_.getI32Type(), storage, indices);
      if (unit_.options().debug()) CheckAppended(indices, field, number);
      return {number};
    }
  }
}

// Where a field's element lies, as a number.
Scalars Lowering::AddressNumber(const Node& node) {
  Root root;
  root.storage = storages_.of_param[node.index()];
  root.indices = IndicesOf(node);
  if (unit_.options().debug() || unit_.options().check_bounds()) CheckBounds(node, root.indices);
  EnterWord(node, &root);
  if (root.word != nullptr) {
    return {b_.create<ir::AddressOfOp>(loc_, b_.getI64Type(), WordAddress(root))};
  }
  const uint32_t storage = function_.params(node.index()).storage();
  const mlir::Type element = TypeOf(unit_.storages(storage).element().scalar());
  const mlir::Type type = ir::AddrType::get(context_, element);
  mlir::Value address =
      b_.create<ir::GlobalOp>(loc_, type, root.storage, /*component=*/0, root.indices);
  return {b_.create<ir::AddressOfOp>(loc_, b_.getI64Type(), address)};
}

// Over the active cells; where no level above is sparse, over all: a loop like those over dense
// fields.
void Lowering::TreeStructFor(const Node& node, int storage, ir::TreeFieldAttr field) {
  const uint64_t config_index = node.attributes_size() > 0 ? node.attributes(0) : 0;
  const proto::LoopConfig none;
  const proto::LoopConfig& config =
      config_index == 0 ? none : unit_.kernel().loops(config_index - 1);
  const uint32_t id = node_;
  index_scalar_[id] = proto::I32;
  ir::TreeAttr tree = TreeOf(field);
  if (tree.getLastSparse(field.getNode()) != 0) {
    mlir::OpBuilder::InsertionGuard guard(b_);
    const auto optional = [&](uint32_t value) {
      return value == 0 ? mlir::IntegerAttr() : b_.getI32IntegerAttr(value);
    };
    auto loop = b_.create<ir::ParallelForOp>(
        loc_, mlir::ValueRange(), mlir::ValueRange(), b_.getI64IntegerAttr(storage),
        optional(config.serialize() ? 1 : config.parallelize()), optional(config.block_dim()));
    mlir::Block& body = loop.getBodyRegion().emplaceBlock();
    for (int i = 0; i < field.getNumAxes(); ++i) body.addArgument(b_.getI32Type(), loc_);
    b_.setInsertionPointToStart(&body);
    if (unit_.options().debug()) CheckVisited(storage, field, Scalars(body.getArguments()));
    if (storages_.quant_arrays[storage] != nullptr) {
      EnterWords(id, storage, Scalars(body.getArguments()), GoesByWords(node, storage));
    } else {
      indices_[id] = AddOffsets(Scalars(body.getArguments()), field.getOffset());
    }
    return LoopBody(node.blocks(0));
  }
  llvm::SmallVector<std::pair<int64_t, int64_t>> levels;
  Scalars uppers;
  for (int64_t n : tree.getPath(field.getNode())) {
    for (int a = 0; a < tree.getNode(n).getNumAxes(); ++a) {
      const auto index = llvm::find(field.getAxes().asArrayRef(), tree.getNode(n).getAxis(a));
      if (index == field.getAxes().asArrayRef().end()) continue;
      levels.push_back(
          {index - field.getAxes().asArrayRef().begin(), tree.getNode(n).getExtent(a)});
      uppers.push_back(Int32(tree.getNode(n).getExtent(a)));
    }
  }
  const auto words = [&](const Scalars& digits) {
    return IndicesFromDigits(levels, field.getNumAxes(), digits);
  };
  if (storages_.quant_arrays[storage] != nullptr) {
    return OverWords(node, storage, uppers, config_index, words);
  }
  if (uppers.empty()) uppers.push_back(Int32(1));
  const Scalars lowers(uppers.size(), Int32(0));
  Nest(lowers, uppers, config_index, storage, node.blocks(0),
       [&](Scalars digits) { indices_[id] = AddOffsets(words(digits), field.getOffset()); });
}

}  // namespace kiln
