// CheckStorage: one storage descriptor of a unit, which may come from anywhere.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/layout/layout.h"

namespace kiln {
namespace {

// More than any tree has levels; each costs a division in the kernel.
constexpr int kMaxDigits = 64;

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::StatusOr<uint64_t> CheckElement(const proto::Type& element) {
  if (!proto::Scalar_IsValid(element.scalar())) return Bad("element of scalar ", element.scalar());
  if (element.members_size() > 0) return Bad("a storage holds scalars or tensors, no structs");
  if (element.shape_size() > 2) return Bad("element of ", element.shape_size(), " dimensions");
  uint64_t elements = 1;
  for (const uint32_t extent : element.shape()) {
    elements *= extent;
    // Checked at each factor, so the product cannot overflow.
    if (extent == 0 || elements > kMaxTensorElements) return Bad("element of absurd shape");
  }
  if (element.has_quant()) return Bad("element of a quantised type: its word says so");
  return elements;
}

// Bounds the bytes from the first cell to the end of the last, without the outermost extent.
absl::Status CheckStrides(const proto::DenseStorage& dense, const proto::Strides* strides) {
  uint64_t span = 0;
  for (int i = 0; i < dense.digits_size(); ++i) {
    const uint64_t stride = strides != nullptr ? strides->stride(i) : dense.digits(i).stride();
    // The launch passes the outermost extent (0 here), so it counts once.
    const uint64_t extent = std::max<uint64_t>(dense.digits(i).extent(), 1);
    uint64_t bytes;
    // A stride of 0 would make all cells one, and parallel stores to them a race that no check
    // sees.
    if (stride == 0 || __builtin_mul_overflow(extent, stride, &bytes) ||
        __builtin_add_overflow(span, bytes, &span) || span > kMaxTreeBytes) {
      return Bad("digit ", i, ": stride of ", stride, " bytes");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDigits(const proto::DenseStorage& dense) {
  if (dense.digits_size() > kMaxDigits) return Bad(dense.digits_size(), " digits");
  uint64_t cells = 1;
  for (int i = 0; i < dense.digits_size(); ++i) {
    const proto::Digit& digit = dense.digits(i);
    if (digit.axis() >= dense.num_axes()) return Bad("digit ", i, ": axis ", digit.axis());
    // Only the outermost extent is unknown until the launch.
    if (digit.extent() == 0 && i > 0) return Bad("digit ", i, ": extent of zero");
    if (__builtin_mul_overflow(cells, std::max<uint64_t>(digit.extent(), 1), &cells) ||
        cells > kMaxTreeBytes) {
      return Bad("digit ", i, ": extent of ", digit.extent());
    }
  }
  RETURN_IF_ERROR(CheckStrides(dense, nullptr));
  if (dense.base_strides_size() == 0) return absl::OkStatus();
  // Strides for all bases or for none: code generation indexes them by base.
  if (dense.base_strides_size() != static_cast<int>(dense.num_bases())) {
    return Bad("strides of ", dense.base_strides_size(), " bases, not ", dense.num_bases());
  }
  for (const proto::Strides& strides : dense.base_strides()) {
    if (strides.stride_size() != dense.digits_size()) return Bad("strides of other digits");
    RETURN_IF_ERROR(CheckStrides(dense, &strides));
  }
  return absl::OkStatus();
}

// The smallest step between two cells of `base`; 0: there is one cell.
uint64_t CellBytes(const proto::DenseStorage& dense, uint32_t base) {
  uint64_t bytes = 0;
  for (int i = 0; i < dense.digits_size(); ++i) {
    const uint64_t stride = dense.base_strides_size() > 0
                                ? dense.base_strides(static_cast<int>(base)).stride(i)
                                : dense.digits(i).stride();
    // A digit of extent 1 makes no step, whatever its stride.
    if (dense.digits(i).extent() != 1 && (bytes == 0 || stride < bytes)) bytes = stride;
  }
  return bytes;
}

absl::Status CheckComponents(const proto::Storage& storage, uint64_t elements) {
  const proto::DenseStorage& dense = storage.dense();
  // What a component reads or writes at once: quantised ones their whole word.
  const uint64_t bits = storage.has_word()
                            ? storage.word().bits()
                            : 8 * static_cast<uint64_t>(ScalarBytes(storage.element().scalar()));
  if (static_cast<uint64_t>(dense.components_size()) != elements) {
    return Bad(dense.components_size(), " components for an element of ", elements, " scalars");
  }
  if (dense.num_bases() == 0 || dense.num_bases() > elements) {
    return Bad(dense.num_bases(), " bases for ", elements, " components");
  }
  RETURN_IF_ERROR(CheckDigits(dense));
  for (int i = 0; i < dense.components_size(); ++i) {
    const proto::Component& component = dense.components(i);
    if (component.base() >= dense.num_bases()) {
      return Bad("component ", i, ": base ", component.base());
    }
    const uint64_t cell = CellBytes(dense, component.base());
    if (component.bit_offset() % 8 != 0 || component.bit_offset() > 8 * kMaxTreeBytes ||
        // A component beyond its cell would overlap the next cell's.
        (cell != 0 && component.bit_offset() + bits > 8 * cell)) {
      return Bad("component ", i, ": offset of ", component.bit_offset(), " bits");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDense(const proto::Storage& storage, uint64_t elements) {
  const proto::DenseStorage& dense = storage.dense();
  if (storage.element().scalar() == proto::SCALAR_NONE) return Bad("dense storage of no type");
  if (dense.num_axes() > kMaxIndices) return Bad(dense.num_axes(), " indices");
  if (dense.index_offset_size() != 0 &&
      dense.index_offset_size() != static_cast<int>(dense.num_axes())) {
    return Bad(dense.index_offset_size(), " index offsets for ", dense.num_axes(), " indices");
  }
  for (const int64_t offset : dense.index_offset()) {
    if (offset < -kMaxIndexOffset || offset > kMaxIndexOffset) return Bad("index offset ", offset);
  }
  return CheckComponents(storage, elements);
}

}  // namespace

absl::Status CheckStorage(const proto::Storage& storage, const TreeParts& trees) {
  ASSIGN_OR_RETURN(const uint64_t elements, CheckElement(storage.element()));
  if (storage.has_word()) RETURN_IF_ERROR(CheckWord(storage, elements));
  switch (storage.form_case()) {
    case proto::Storage::kDense:
      return CheckDense(storage, elements);
    case proto::Storage::kTree:
      return CheckTreeStorage(storage, elements, trees);
    case proto::Storage::kNdarray:
      if (storage.element().scalar() == proto::SCALAR_NONE) return Bad("ndarray of no type");
      // The bytes of an ndarray belong to NumPy or another library, which has no such numbers.
      if (storage.has_word()) return Bad("ndarray of quantised numbers");
      if (storage.ndarray().ndim() > kMaxIndices) return Bad(storage.ndarray().ndim(), " indices");
      if (!proto::Boundary_IsValid(storage.ndarray().boundary())) return Bad("unknown boundary");
      return absl::OkStatus();
    default:
      return Bad("storage without form");
  }
}

}  // namespace kiln
