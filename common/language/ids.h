// Ids of the parts of a kernel (proto/kernel.proto), a type for each kind of part. Ids of different
// kinds neither convert to each other nor compare with each other. An id is as cheap as its number.
//
// Messages hold numbers. Whatever reads one makes the id: the views of nodes (node_views.h), or
// IdList for lists.
//
//   NodeId value = store.value();
//   TypeOf(store.type());  // does not build: the function takes a node
#ifndef KILN_COMMON_LANGUAGE_IDS_H_
#define KILN_COMMON_LANGUAGE_IDS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

template <typename Kind>
class Id {
 public:
  constexpr Id() = default;  // 0
  // A number beyond 32 bits, which no part has, becomes the largest id: no id wraps to a valid one.
  template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
  constexpr explicit Id(Integer number)
      : number_(static_cast<uint64_t>(number) < kLargest ? static_cast<uint32_t>(number)
                                                         : kLargest) {}

  constexpr uint32_t number() const { return number_; }
  constexpr Id next() const { return Id(number_ + 1); }
  // Whether it is not 0, which some kinds reserve for "none".
  constexpr explicit operator bool() const {
    static_assert(Kind::kZeroIsNone, "0 is an id like any other of this kind");
    return number_ != 0;
  }

  friend constexpr bool operator==(Id a, Id b) { return a.number_ == b.number_; }
  friend constexpr bool operator!=(Id a, Id b) { return a.number_ != b.number_; }
  friend constexpr bool operator<(Id a, Id b) { return a.number_ < b.number_; }
  template <typename H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.number_);
  }

 private:
  static constexpr uint32_t kLargest = std::numeric_limits<uint32_t>::max();

  uint32_t number_ = 0;
};

struct KindWithNone {
  static constexpr bool kZeroIsNone = true;
};
struct KindWithoutNone {
  static constexpr bool kZeroIsNone = false;
};

// A type of the kernel (Kernel.types; TypeTable in type.h).
using TypeId = Id<struct TypeIdKind>;
struct TypeIdKind : KindWithNone {};
// A node of its function (Function.nodes).
using NodeId = Id<struct NodeIdKind>;
struct NodeIdKind : KindWithNone {};
// A block of its function (Function.blocks); 0 is the function's body.
using BlockId = Id<struct BlockIdKind>;
struct BlockIdKind : KindWithoutNone {};
// A parameter of its function (Function.params).
using ParamId = Id<struct ParamIdKind>;
struct ParamIdKind : KindWithoutNone {};
// A function of the kernel: 0 is the kernel's body, 1 + i is Kernel.functions[i].
using FunctionId = Id<struct FunctionIdKind>;
struct FunctionIdKind : KindWithoutNone {};

inline constexpr FunctionId kKernelBody;
inline constexpr BlockId kFunctionBody;

// The function at a position of Kernel.functions, as CALL names it.
constexpr FunctionId FunctionAtPosition(uint64_t position) {
  constexpr uint64_t kLast = std::numeric_limits<uint32_t>::max();
  return FunctionId(position < kLast ? position + 1 : kLast);
}
// Requires: not the kernel's body.
constexpr uint32_t PositionOf(FunctionId function) { return function.number() - 1; }

// The ids that a list of a message holds. Refers to the list, and is cheap to copy.
template <typename IdType, typename Integer = uint32_t>
class IdList {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;
    using pointer = const IdType*;
    using reference = IdType;

    explicit iterator(const Integer* at) : at_(at) {}
    IdType operator*() const { return IdType(*at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) { return iterator(at_++); }
    friend bool operator==(iterator a, iterator b) { return a.at_ == b.at_; }
    friend bool operator!=(iterator a, iterator b) { return a.at_ != b.at_; }

   private:
    const Integer* at_;
  };
  using const_iterator = iterator;

  // Those from number `first` on, which must not be beyond the list's end.
  template <typename List>
  explicit IdList(const List& numbers, size_t first = 0)
      : data_(numbers.data() + first), size_(static_cast<size_t>(numbers.size()) - first) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  IdType operator[](size_t i) const { return IdType(data_[i]); }
  iterator begin() const { return iterator(data_); }
  iterator end() const { return iterator(data_ + size_); }

 private:
  const Integer* data_;
  size_t size_;
};
using NodeIds = IdList<NodeId>;
using TypeIds = IdList<TypeId>;

// A vector with one value for each id of a kind, from 0 on.
template <typename IdType, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t size) : values_(size) {}

  typename std::vector<T>::reference operator[](IdType id) { return values_[id.number()]; }
  typename std::vector<T>::const_reference operator[](IdType id) const {
    return values_[id.number()];
  }
  const std::vector<T>& values() const { return values_; }
  size_t size() const { return values_.size(); }
  bool Has(IdType id) const { return id.number() < values_.size(); }
  // Returns the id of the added value.
  IdType Add(T value) {
    values_.push_back(std::move(value));
    return IdType(values_.size() - 1);
  }

 private:
  std::vector<T> values_;
};

}  // namespace kiln

#endif  // KILN_COMMON_LANGUAGE_IDS_H_
