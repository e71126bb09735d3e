// Access from the host to the elements of dense storage: the address of one element, and copies and
// fills of all elements.
//
// It is built from the same descriptor as kernels (proto DenseStorage), so Python and generated
// code always agree. Immutable; threads may share it.
#ifndef KILN_CLIENT_CPP_HOST_DENSE_ACCESS_H_
#define KILN_CLIENT_CPP_HOST_DENSE_ACCESS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client_cpp/host/strided_copy.h"
#include "common/language/type.h"
#include "common/layout/layout.h"
#include "common/layout/word_codec.h"

namespace kiln {

class DenseAccess {
 public:
  DenseAccess() = default;
  // For a field; `root` is the address of its tree's root container.
  static DenseAccess OfField(const TreeLayout::DenseField& field, uint8_t* root, Scalar scalar);
  // For a C-ordered array of `shape` with `components` scalars per cell.
  static DenseAccess OfArray(uint8_t* data, Scalar scalar, int components,
                             const std::vector<int64_t>& shape);
  // For a field in trees: only types and indices, no addresses.
  static DenseAccess OfShape(Scalar scalar, int components, const std::vector<int64_t>& shape,
                             const std::vector<int64_t>& offsets);

  Scalar scalar() const { return scalar_; }
  int ndim() const { return static_cast<int>(axes_.size()); }
  int num_components() const { return static_cast<int>(components_.size()); }
  int64_t extent(int axis) const { return axes_[axis].extent; }
  int64_t offset(int axis) const { return axes_[axis].offset; }  // first valid index
  int64_t num_elements() const;

  // The address of a component of the element at `indices`. Requires: indices are in range and
  // count from the axes' offsets.
  uint8_t* Address(const int64_t* indices, int component) const {
    const Component& at = components_[component];
    uint8_t* address = at.data;
    for (size_t a = 0; a < axes_.size(); ++a) {
      address += AxisOffset(axes_[a], indices[a] / axes_[a].cells, at.base);
    }
    return address;
  }

  // The codec of a quantised storage, whose addresses are those of words; null for others.
  const WordCodec* codec() const { return codec_.get(); }
  void SetWord(const proto::Word& word);
  // The bit offset of a quant array's cell in its word, relative to the word's first cell.
  uint32_t ShiftOf(const int64_t* indices) const {
    int64_t bits = 0;
    for (size_t a = 0; a < axes_.size(); ++a) bits += indices[a] % axes_[a].cells * axes_[a].bits;
    return static_cast<uint32_t>(bits);
  }
  // Reads a component at its address, or from the word there, into the low bytes of the result.
  uint64_t Read(const uint8_t* at, const int64_t* indices, int component) const;
  void Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const;
  // Writes all components of an element; those in one word together.
  void WriteElement(const int64_t* indices, const uint64_t* values) const;
  void WriteNumbers(uint8_t* at, const int64_t* indices, const uint64_t* values) const;
  // Calls visit(indices, number of the first scalar in C order) for each element.
  template <typename Visit>
  void ForEachElement(const Visit& visit) const {
    int64_t indices[kMaxIndices] = {};
    const int64_t count = num_elements();
    for (int64_t element = 0; element < count; ++element) {
      visit(static_cast<const int64_t*>(indices), element * num_components());
      for (int a = ndim() - 1; a >= 0; --a) {
        if (++indices[a] < axes_[a].extent) break;
        indices[a] = 0;
      }
    }
  }

  // Whether addresses are linear in the indices, because each axis has one digit.
  bool IsLinear() const;
  int64_t LinearStride(int axis) const { return axes_[axis].digits[0].stride[components_[0].base]; }
  uint8_t* ComponentData(int component) const { return components_[component].data; }

  // The distance in bytes between neighbours along each axis, then along each axis of an element.
  // False if it is not constant.
  bool ElementStrides(const std::vector<uint32_t>& element_shape,
                      std::vector<int64_t>* strides) const;

  // Copy all elements to or from a C-contiguous array whose innermost axes are the components.
  void CopyTo(void* array) const;
  void CopyFrom(const void* array) const;
  // Copies all elements of another storage of the same scalar, shape and components. False, without
  // any effect, if the two storages have different levels.
  bool CopyFrom(const DenseAccess& other) const;
  // Sets all elements. `values` has one scalar per component, each in 8 bytes.
  void Fill(const uint64_t* values) const;
  // Sets all elements to zero. Requires memory that ClearMemory takes (clear_memory.h).
  void Clear() const;

 private:
  struct Digit {
    int64_t extent;
    std::vector<int64_t> stride;  // per base
  };
  struct Axis {
    int64_t extent = 1;
    int64_t offset = 0;
    std::vector<Digit> digits;  // innermost first
    // Quant arrays: the number of the axis's cells in a word, and the bits from one to the next.
    int64_t cells = 1;
    int64_t bits = 0;
  };
  struct Component {
    uint8_t* data;
    int base;
  };

  static int64_t AxisOffset(const Axis& axis, int64_t index, int base) {
    if (axis.digits.size() == 1) return index * axis.digits[0].stride[base];
    int64_t offset = 0;
    for (const Digit& digit : axis.digits) {
      offset += index % digit.extent * digit.stride[base];
      index /= digit.extent;
    }
    return offset;
  }
  // The loops over all elements of component `c`, with the strides of this storage (to_stride) and
  // of a C-ordered array with cells of `cell` bytes (from_stride).
  std::vector<CopyAxis> AxesOf(int c, int64_t cell) const;
  // The components from `first` on that have its base and are at a regular distance: their number
  // and the distance. Their loops differ in nothing else, so one copy handles them all.
  struct Group {
    int count;
    int64_t stride;
  };
  Group GroupAt(int first) const;

  Scalar scalar_ = proto::SCALAR_NONE;
  std::vector<Axis> axes_;
  std::vector<Component> components_;
  std::shared_ptr<const WordCodec> codec_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_DENSE_ACCESS_H_
