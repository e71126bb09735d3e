#include "client_py/dense_access.h"

#include <algorithm>
#include <cstring>

namespace kiln {
namespace {

// The size is a constant in the loops: memcpy becomes a load and a store.
template <size_t kSize>
void CopyLoop(uint8_t* to, int64_t to_stride, const uint8_t* from, int64_t from_stride,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, kSize);
  }
}

void CopyStrided(uint8_t* to, int64_t to_stride, const uint8_t* from, int64_t from_stride,
                 int64_t count, size_t size) {
  if (to_stride == from_stride && to_stride == static_cast<int64_t>(size)) {
    std::memcpy(to, from, size * count);
    return;
  }
  switch (size) {
    case 1:
      return CopyLoop<1>(to, to_stride, from, from_stride, count);
    case 2:
      return CopyLoop<2>(to, to_stride, from, from_stride, count);
    case 4:
      return CopyLoop<4>(to, to_stride, from, from_stride, count);
    case 8:
      return CopyLoop<8>(to, to_stride, from, from_stride, count);
    case 12:
      return CopyLoop<12>(to, to_stride, from, from_stride, count);
    case 16:
      return CopyLoop<16>(to, to_stride, from, from_stride, count);
    default:
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * to_stride, from + i * from_stride, size);
      }
  }
}

template <typename T>
void FillRun(uint8_t* address, int64_t stride, int64_t count, const void* value) {
  T scalar;
  std::memcpy(&scalar, value, sizeof(T));
  if (stride == static_cast<int64_t>(sizeof(T))) {
    // Field memory is aligned to its scalars.
    std::fill_n(reinterpret_cast<T*>(address), count, scalar);
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(address + i * stride, &scalar, sizeof(T));
}

}  // namespace

DenseAccess DenseAccess::OfField(const TreeLayout::DenseField& field, uint8_t* root,
                                 Scalar scalar) {
  const proto::DenseStorage& dense = field.storage.dense();
  DenseAccess access;
  access.scalar_ = scalar;
  access.axes_.resize(dense.num_axes());
  for (int a = 0; a < access.ndim(); ++a) {
    access.axes_[a].extent = static_cast<int64_t>(field.shape[a]);
    if (a < dense.index_offset_size()) access.axes_[a].offset = dense.index_offset(a);
  }
  // Digits come outermost first; indices are taken apart from the innermost.
  for (int d = dense.digits_size() - 1; d >= 0; --d) {
    Digit digit;
    digit.extent = static_cast<int64_t>(d == 0 ? field.outer_extent : dense.digits(d).extent());
    for (uint32_t b = 0; b < dense.num_bases(); ++b) {
      digit.stride.push_back(static_cast<int64_t>(dense.base_strides_size() == 0
                                                      ? dense.digits(d).stride()
                                                      : dense.base_strides(b).stride(d)));
    }
    access.axes_[dense.digits(d).axis()].digits.push_back(std::move(digit));
  }
  for (const proto::Component& component : dense.components()) {
    access.components_.push_back(
        {root + field.base_offsets[component.base()] + component.bit_offset() / 8,
         static_cast<int>(component.base())});
  }
  return access;
}

DenseAccess DenseAccess::OfArray(uint8_t* data, Scalar scalar, int components,
                                 const std::vector<int64_t>& shape) {
  DenseAccess access;
  access.scalar_ = scalar;
  access.axes_.resize(shape.size());
  int64_t stride = int64_t{ScalarBytes(scalar)} * components;
  for (int a = access.ndim() - 1; a >= 0; --a) {
    access.axes_[a].extent = shape[a];
    access.axes_[a].digits.push_back({shape[a], {stride}});
    stride *= shape[a];
  }
  for (int c = 0; c < components; ++c) {
    access.components_.push_back({data + c * ScalarBytes(scalar), 0});
  }
  return access;
}

int64_t DenseAccess::num_elements() const {
  int64_t count = 1;
  for (const Axis& axis : axes_) count *= axis.extent;
  return count;
}

bool DenseAccess::IsLinear() const {
  for (const Axis& axis : axes_) {
    if (axis.digits.size() != 1) return false;
  }
  return true;
}

bool DenseAccess::IsPacked() const {
  for (int c = 1; c < num_components(); ++c) {
    if (components_[c].base != components_[0].base ||
        components_[c].data != components_[0].data + c * ScalarBytes(scalar_)) {
      return false;
    }
  }
  return true;
}

template <typename Run>
void DenseAccess::ForEachRun(const Component& component, const Run& run) const {
  if (axes_.empty()) {
    run(component.data, int64_t{0}, int64_t{1}, int64_t{0});
    return;
  }
  const Axis& last = axes_.back();
  // Along the last axis runs are as long as its innermost digit is wide.
  const Digit* inner = last.digits.empty() ? nullptr : &last.digits[0];
  const int64_t run_length = inner == nullptr ? last.extent : inner->extent;
  const int64_t run_stride = inner == nullptr ? 0 : inner->stride[component.base];
  std::vector<int64_t> index(axes_.size() - 1, 0);
  int64_t position = 0;
  const int64_t total = num_elements();
  while (position < total) {
    uint8_t* row = component.data;
    for (size_t a = 0; a < index.size(); ++a) {
      row += AxisOffset(axes_[a], index[a], component.base);
    }
    for (int64_t i = 0; i < last.extent; i += run_length) {
      const int64_t count = i + run_length <= last.extent ? run_length : last.extent - i;
      run(row + AxisOffset(last, i, component.base), position + i, count, run_stride);
    }
    position += last.extent;
    for (int a = static_cast<int>(index.size()) - 1; a >= 0; --a) {
      if (++index[a] < axes_[a].extent) break;
      index[a] = 0;
    }
  }
}

void DenseAccess::CopyTo(void* array) const {
  const size_t size = ScalarBytes(scalar_);
  const int64_t cell = static_cast<int64_t>(size) * num_components();
  uint8_t* out = static_cast<uint8_t*>(array);
  const bool packed = IsPacked();
  for (int c = 0; c < (packed ? 1 : num_components()); ++c) {
    ForEachRun(components_[c],
               [&](uint8_t* address, int64_t position, int64_t count, int64_t stride) {
                 CopyStrided(out + position * cell + c * size, cell, address, stride, count,
                             packed ? cell : size);
               });
  }
}

void DenseAccess::CopyFrom(const void* array) const {
  const size_t size = ScalarBytes(scalar_);
  const int64_t cell = static_cast<int64_t>(size) * num_components();
  const uint8_t* in = static_cast<const uint8_t*>(array);
  const bool packed = IsPacked();
  for (int c = 0; c < (packed ? 1 : num_components()); ++c) {
    ForEachRun(components_[c],
               [&](uint8_t* address, int64_t position, int64_t count, int64_t stride) {
                 CopyStrided(address, stride, in + position * cell + c * size, cell, count,
                             packed ? cell : size);
               });
  }
}

void DenseAccess::Fill(const uint64_t* values) const {
  const size_t size = ScalarBytes(scalar_);
  const auto fill = size == 1   ? FillRun<uint8_t>
                    : size == 2 ? FillRun<uint16_t>
                    : size == 4 ? FillRun<uint32_t>
                                : FillRun<uint64_t>;
  for (int c = 0; c < num_components(); ++c) {
    ForEachRun(components_[c], [&](uint8_t* address, int64_t, int64_t count, int64_t stride) {
      fill(address, stride, count, &values[c]);
    });
  }
}

}  // namespace kiln
