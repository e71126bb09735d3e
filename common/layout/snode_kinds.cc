#include "common/layout/snode_kinds.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr uint64_t kTooMuch = ~uint64_t{0};
constexpr uint64_t kPointerBytes = 8;
constexpr uint64_t kListBytes = 16;  // length, four unused bytes, pointer
constexpr uint64_t kMaskWordBytes = 4;

uint64_t Times(uint64_t count, uint64_t bytes) {
  uint64_t product;
  return __builtin_mul_overflow(count, bytes, &product) ? kTooMuch : product;
}

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return value > kTooMuch - alignment ? kTooMuch : (value + alignment - 1) / alignment * alignment;
}

}  // namespace

uint64_t ContainerBytes(const SNodeFacts& kind, uint64_t num_cells, uint64_t cell_bytes,
                        uint64_t mask_offset) {
  switch (kind.cells) {
    case CellsAre::kInContainer: {
      if (!kind.has_mask) return Times(num_cells, cell_bytes);
      const uint64_t mask = (num_cells / 32 + (num_cells % 32 != 0 ? 1 : 0)) * kMaskWordBytes;
      return mask_offset > kTooMuch - mask ? kTooMuch : mask_offset + mask;
    }
    case CellsAre::kBehindPointer:
      return Times(num_cells, kPointerBytes);
    case CellsAre::kInChunks:
      return kListBytes;
    case CellsAre::kInWord:
      return cell_bytes;
  }
  return kTooMuch;
}

ContainerShape ShapeOfContainer(const SNodeFacts& kind, uint64_t num_cells, uint64_t cell_bytes,
                                uint64_t cell_alignment) {
  ContainerShape shape = {0, kind.keeps_memory() ? kPointerBytes : cell_alignment, 0};
  if (kind.has_mask) {
    shape.alignment = std::max(shape.alignment, kMaskWordBytes);
    shape.mask_offset = AlignUp(Times(num_cells, cell_bytes), kMaskWordBytes);
  }
  shape.bytes = ContainerBytes(kind, num_cells, cell_bytes, shape.mask_offset);
  if (kind.has_mask) shape.bytes = AlignUp(shape.bytes, shape.alignment);
  return shape;
}

}  // namespace kiln
