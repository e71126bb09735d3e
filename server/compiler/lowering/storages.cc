#include "server/compiler/lowering/storages.h"

#include <tuple>

namespace kiln {

int64_t Storages::AxisOffset(int storage, int64_t axis) const {
  // The attribute of a quant array describes words, so offsets of cells are those of the
  // descriptor.
  if (const proto::Storage* of = quant_arrays[storage]) {
    const auto& offset = of->has_dense() ? of->dense().index_offset() : of->tree().index_offset();
    return offset.empty() ? 0 : offset[static_cast<int>(axis)];
  }
  auto dense = llvm::dyn_cast<ir::DenseAttr>(attributes[storage]);
  auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(attributes[storage]);
  return dense ? dense.getAxisOffset(axis) : tree ? tree.getAxisOffset(axis) : 0;
}

int64_t Storages::CellsInWord(int storage, int64_t axis) const {
  int64_t cells = 1;
  const proto::Storage* of = quant_arrays[storage];
  if (of == nullptr) return cells;
  for (const proto::Digit& digit : of->word().digits()) {
    if (digit.axis() == axis) cells *= static_cast<int64_t>(digit.extent());
  }
  return cells;
}

const proto::Storage* Storages::BitArray(int storage) const {
  const proto::Storage* of = quant_arrays[storage];
  if (of == nullptr || of->word().digits_size() != 1) return nullptr;
  const proto::Word& word = of->word();
  const proto::QuantType& quant = word.components(0).quant();
  // Only then is a word a vector of bits, one for each iteration of a lane loop.
  const bool fills = quant.kind() == proto::QuantType::QUANT_INT && quant.bits() == 1 &&
                     word.components_size() == 1 && word.digits(0).extent() == word.bits();
  return fills ? of : nullptr;
}

bool Storages::MayAlias(int storage, int other) const {
  const auto set_of = [&](int position) {
    auto dense = llvm::dyn_cast<ir::DenseAttr>(attributes[position]);
    auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(attributes[position]);
    auto tree = llvm::dyn_cast<ir::TreeFieldAttr>(attributes[position]);
    return dense ? dense.getAlias() : ndarray ? ndarray.getAlias() : tree ? tree.getAlias() : 0;
  };
  // Set 0 has no other members: such a storage overlaps nothing.
  return set_of(storage) != 0 && set_of(storage) == set_of(other);
}

bool Storages::IsContiguous(int storage, uint64_t first, uint64_t count) const {
  if (auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(attributes[storage])) return !ndarray.getSoa();
  const std::vector<uint32_t>& run = runs[storage];
  // Runs are numbered in order, so equal ends mean that all in between are of the same run.
  return run[first] == run[first + count - 1];
}

bool Storages::HasUnevenStrides(int storage, uint64_t first, uint64_t count) const {
  auto dense = llvm::dyn_cast<ir::DenseAttr>(attributes[storage]);
  return dense && !dense.getBaseStrides().empty() &&
         dense.getComponentBase(first) != dense.getComponentBase(first + count - 1);
}

bool Storages::AreArrangedAlike(int storage, int other) const {
  auto ndarray = llvm::dyn_cast<ir::NdarrayAttr>(attributes[storage]);
  if (ndarray) return ndarray.getSoa() == llvm::cast<ir::NdarrayAttr>(attributes[other]).getSoa();
  const uint64_t count = runs[storage].size();
  return runs[storage] == runs[other] &&
         HasUnevenStrides(storage, 0, count) == HasUnevenStrides(other, 0, count);
}

}  // namespace kiln
