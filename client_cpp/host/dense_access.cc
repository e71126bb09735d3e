#include "client_cpp/host/dense_access.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln {
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
  // The message lists digits outermost first, but an index is decomposed from its innermost digit.
  for (int d = dense.digits_size() - 1; d >= 0; --d) {
    Digit digit;
    // The descriptor leaves the outermost extent open (0).
    digit.extent = static_cast<int64_t>(d == 0 ? field.outer_extent : dense.digits(d).extent());
    for (uint32_t b = 0; b < dense.num_bases(); ++b) {
      digit.stride.push_back(static_cast<int64_t>(dense.base_strides_size() == 0
                                                      ? dense.digits(d).stride()
                                                      : dense.base_strides(b).stride(d)));
    }
    // Digits of one axis need not be neighbours: levels of a tree may divide the axes in turn.
    access.axes_[dense.digits(d).axis()].digits.push_back(std::move(digit));
  }
  for (const proto::Component& component : dense.components()) {
    access.components_.push_back(
        {root + field.base_offsets[component.base()] + component.bit_offset() / 8,
         static_cast<int>(component.base())});
  }
  if (field.storage.has_word()) access.SetWord(field.storage.word());
  return access;
}

void DenseAccess::SetWord(const proto::Word& word) {
  // Shared by copies of this access: the codec's tables depend on the word only.
  codec_ = std::make_shared<WordCodec>(word, scalar_);
  for (const proto::Digit& digit : word.digits()) {
    axes_[digit.axis()].cells = static_cast<int64_t>(digit.extent());
    axes_[digit.axis()].bits = static_cast<int64_t>(digit.stride());
  }
}

DenseAccess DenseAccess::OfArray(uint8_t* data, Scalar scalar, int components,
                                 const std::vector<int64_t>& shape) {
  DenseAccess access;
  access.scalar_ = scalar;
  access.axes_.resize(shape.size());
  int64_t stride = int64_t{ScalarBytes(scalar)} * components;
  // Row-major, as in NumPy and as kernels address arrays.
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

DenseAccess DenseAccess::OfShape(Scalar scalar, int components, const std::vector<int64_t>& shape,
                                 const std::vector<int64_t>& offsets) {
  DenseAccess access;
  access.scalar_ = scalar;
  access.axes_.resize(shape.size());
  for (size_t a = 0; a < shape.size(); ++a) {
    access.axes_[a].extent = shape[a];
    if (a < offsets.size()) access.axes_[a].offset = offsets[a];
  }
  // No addresses: the elements are found elsewhere, as through a tree.
  access.components_.assign(components, {nullptr, 0});
  return access;
}

uint64_t DenseAccess::Read(const uint8_t* at, const int64_t* indices, int component) const {
  uint64_t word = 0;
  if (codec_ == nullptr) {
    // Little-endian: the low bytes of the slot are the value's.
    std::memcpy(&word, at, ScalarBytes(scalar_));
    return word;
  }
  std::memcpy(&word, at, codec_->bytes());
  return codec_->Read(word, component, ShiftOf(indices));
}

void DenseAccess::Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const {
  if (codec_ == nullptr) {
    std::memcpy(at, &value, ScalarBytes(scalar_));
    return;
  }
  uint64_t word = 0;
  std::memcpy(&word, at, codec_->bytes());
  // The word's other numbers stay as they are. The host does not write while kernels run.
  word = codec_->Write(word, component, ShiftOf(indices), value);
  std::memcpy(at, &word, codec_->bytes());
}

void DenseAccess::WriteElement(const int64_t* indices, const uint64_t* values) const {
  // All components at once: those that share an exponent would otherwise round several times.
  if (codec_ != nullptr) return WriteNumbers(Address(indices, 0), indices, values);
  for (int c = 0; c < num_components(); ++c) Write(Address(indices, c), indices, c, values[c]);
}

void DenseAccess::WriteNumbers(uint8_t* at, const int64_t* indices, const uint64_t* values) const {
  uint64_t word = 0;
  std::memcpy(&word, at, codec_->bytes());
  word = codec_->WriteAll(word, ShiftOf(indices), values);
  std::memcpy(at, &word, codec_->bytes());
}

int64_t DenseAccess::num_elements() const {
  int64_t count = 1;
  for (const Axis& axis : axes_) count *= axis.extent;
  return count;
}

// Linear: an address is a sum of products, without divisions.
bool DenseAccess::IsLinear() const {
  if (codec_ != nullptr) return false;
  for (const Axis& axis : axes_) {
    if (axis.digits.size() != 1) return false;
  }
  return true;
}

bool DenseAccess::ElementStrides(const std::vector<uint32_t>& element_shape,
                                 std::vector<int64_t>* strides) const {
  // Views have one stride for each axis, and one for all components.
  if (codec_ != nullptr || !IsLinear() ||
      (num_components() > 1 && GroupAt(0).count != num_components()))
    return false;
  for (int a = 0; a < ndim(); ++a) strides->push_back(LinearStride(a));
  // Components are numbered row-major.
  int64_t stride = num_components() > 1 ? GroupAt(0).stride : ScalarBytes(scalar_);
  std::vector<int64_t> of_element(element_shape.size());
  for (size_t a = element_shape.size(); a-- > 0;) {
    of_element[a] = stride;
    stride *= element_shape[a];
  }
  strides->insert(strides->end(), of_element.begin(), of_element.end());
  return true;
}

std::vector<CopyAxis> DenseAccess::AxesOf(int c, int64_t cell) const {
  std::vector<CopyAxis> loops;
  int64_t stride = cell;
  // Row-major in the array: the last axis has the shortest stride. `within` is the stride of a
  // digit.
  for (size_t a = axes_.size(); a-- > 0;) {
    int64_t within = stride;
    for (const Digit& digit : axes_[a].digits) {
      loops.push_back({digit.extent, digit.stride[components_[c].base], within});
      within *= digit.extent;
    }
    stride *= axes_[a].extent;
  }
  return loops;
}

DenseAccess::Group DenseAccess::GroupAt(int first) const {
  Group group = {1, 0};
  const auto strides_equal = [&](int base, int other) {
    for (const Axis& axis : axes_) {
      for (const Digit& digit : axis.digits) {
        // Components with other bases or strides need a loop nest of their own.
        if (digit.stride[base] != digit.stride[other]) return false;
      }
    }
    return true;
  };
  for (int c = first + 1; c < num_components(); ++c) {
    // A group is copied in one nest of loops, with the components as its innermost axis.
    const int64_t stride = components_[c].data - components_[c - 1].data;
    if (stride <= 0 || (c > first + 1 && stride != group.stride)) break;
    if (!strides_equal(components_[first].base, components_[c].base)) break;
    group = {c - first + 1, stride};
  }
  return group;
}

void DenseAccess::CopyTo(void* array) const {
  const int64_t size = ScalarBytes(scalar_);
  if (codec_ != nullptr) {
    return ForEachElement([&](const int64_t* indices, int64_t first) {
      for (int c = 0; c < num_components(); ++c) {
        const uint64_t value = Read(Address(indices, c), indices, c);
        std::memcpy(static_cast<uint8_t*>(array) + (first + c) * size, &value, size);
      }
    });
  }
  const int64_t cell = size * num_components();
  for (int c = 0; c < num_components();) {
    const Group group = GroupAt(c);
    std::vector<CopyAxis> loops = AxesOf(c, cell);
    // AxesOf has the field as the target.
    for (CopyAxis& loop : loops) std::swap(loop.to_stride, loop.from_stride);
    loops.push_back({group.count, size, group.stride});
    CopyStrided(static_cast<uint8_t*>(array) + c * size, components_[c].data, std::move(loops),
                size);
    c += group.count;
  }
}

void DenseAccess::CopyFrom(const void* array) const {
  const int64_t size = ScalarBytes(scalar_);
  if (codec_ != nullptr) {
    std::vector<uint64_t> values(components_.size());
    return ForEachElement([&](const int64_t* indices, int64_t first) {
      for (int c = 0; c < num_components(); ++c) {
        std::memcpy(&values[c], static_cast<const uint8_t*>(array) + (first + c) * size, size);
      }
      WriteNumbers(Address(indices, 0), indices, values.data());
    });
  }
  const int64_t cell = size * num_components();
  for (int c = 0; c < num_components();) {
    const Group group = GroupAt(c);
    std::vector<CopyAxis> loops = AxesOf(c, cell);
    loops.push_back({group.count, group.stride, size});
    CopyStrided(components_[c].data, static_cast<const uint8_t*>(array) + c * size,
                std::move(loops), size);
    c += group.count;
  }
}

bool DenseAccess::CopyFrom(const DenseAccess& other) const {
  if (codec_ != nullptr || other.codec_ != nullptr) return false;
  // With equal digits, one nest of loops can run over both storages, each with its own strides.
  for (int a = 0; a < ndim(); ++a) {
    const auto same = [](const Digit& x, const Digit& y) { return x.extent == y.extent; };
    if (!std::equal(axes_[a].digits.begin(), axes_[a].digits.end(), other.axes_[a].digits.begin(),
                    other.axes_[a].digits.end(), same)) {
      return false;
    }
  }
  const int64_t size = ScalarBytes(scalar_);
  for (int c = 0; c < num_components();) {
    // The fields may have their components grouped differently: the shorter group is copied.
    const Group group = GroupAt(c), from = other.GroupAt(c);
    const int count = std::min(group.count, from.count);
    std::vector<CopyAxis> loops = AxesOf(c, 0);
    const std::vector<CopyAxis> source = other.AxesOf(c, 0);
    for (size_t i = 0; i < loops.size(); ++i) loops[i].from_stride = source[i].to_stride;
    loops.push_back({count, group.stride, from.stride});
    CopyStrided(components_[c].data, other.components_[c].data, std::move(loops), size);
    c += count;
  }
  return true;
}

void DenseAccess::Fill(const uint64_t* values) const {
  if (codec_ != nullptr) {
    return ForEachElement([&](const int64_t* indices, int64_t) {
      WriteNumbers(Address(indices, 0), indices, values);
    });
  }
  const size_t size = ScalarBytes(scalar_);
  for (int c = 0; c < num_components();) {
    // Adjacent components with the same value need only one fill.
    const Group group = GroupAt(c);
    int count = 1;
    while (count < group.count && values[c + count] == values[c]) ++count;
    std::vector<CopyAxis> loops = AxesOf(c, 0);
    loops.push_back({count, group.stride, 0});
    FillStrided(components_[c].data, &values[c], std::move(loops), size);
    c += count;
  }
}

void DenseAccess::Clear() const {
  if (codec_ != nullptr) return Fill(std::vector<uint64_t>(num_components(), 0).data());
  const size_t size = ScalarBytes(scalar_);
  for (int c = 0; c < num_components();) {
    const Group group = GroupAt(c);
    std::vector<CopyAxis> loops = AxesOf(c, 0);
    loops.push_back({group.count, group.stride, 0});
    ClearStrided(components_[c].data, std::move(loops), size);
    c += group.count;
  }
}

}  // namespace kiln
