// Memory that kernels use: arrays, which are arguments, and fields, which kernels name.
#ifndef KILN_DSL_DATA_HPP_
#define KILN_DSL_DATA_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/dsl/error.hpp"
#include "kiln/dsl/struct.hpp"
#include "kiln/dsl/values.hpp"

namespace kiln::dsl {

// Whether values of this type are vectors of indices.
template <typename, typename = void>
constexpr bool kIsIndices = false;
template <typename I>
constexpr bool kIsIndices<I, std::enable_if_t<kIsOperand<I>>> =
    Facts<typename I::Of>::kType.rows > 0 && Facts<typename I::Of>::kType.columns == 0 &&
    std::is_integral_v<ScalarIn<typename I::Of>>;

// The elements of an array or field: x(i, j), x[i]. Each number of indices has a function of its
// own, so that an index knows the program's line.
template <typename T, std::size_t N, typename Data>
class Elements {
 public:
  Ref<T> operator()() const { return At<0>({}); }
  Ref<T> operator()(Index i) const { return At<1>({i}); }
  Ref<T> operator()(Index i, Index j) const { return At<2>({i, j}); }
  Ref<T> operator()(Index i, Index j, Index k) const { return At<3>({i, j, k}); }
  Ref<T> operator()(Index i, Index j, Index k, Index l) const { return At<4>({i, j, k, l}); }
  template <typename... More>
  Ref<T> operator()(Index i, Index j, Index k, Index l, More... more) const {
    return At<4 + sizeof...(More)>({i, j, k, l, Index(more, i.place.file, i.place.line)...});
  }
  Ref<T> operator[](Index index) const {
    static_assert(N == 1, "x(i, j) for several axes");
    return At<1>({index});
  }
  // By a vector of indices: x(at), x[at + Vector<int>(1, 0)].
  template <typename I, typename = std::enable_if_t<kIsIndices<I>>>
  Ref<T> operator()(const I& at, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) const {
    static_assert(Facts<typename I::Of>::kCount == N, "as many indices as axes");
    const Expr<typename I::Of> once(at);
    std::vector<NodeNumber> nodes;
    nodes.reserve(N);
    for (std::size_t i = 0; i < N; ++i) nodes.push_back(once[static_cast<std::int32_t>(i)].node());
    Trace::Current().SetPlace({file, line});
    return static_cast<const Data&>(*this).PlaceAt(std::move(nodes));
  }
  template <typename I, typename = std::enable_if_t<kIsIndices<I>>>
  Ref<T> operator[](const I& at) const {
    return (*this)(at, Trace::Current().place().file, Trace::Current().place().line);
  }
  Ref<T> PlaceAt(std::vector<NodeNumber> indices) const {
    return Ref<T>(static_cast<const Data&>(*this).source(), std::move(indices));
  }

 private:
  template <std::size_t Count>
  Ref<T> At(const std::array<Index, Count>& indices) const {
    static_assert(Count == N, "as many indices as axes");
    std::vector<NodeNumber> nodes;
    nodes.reserve(Count);
    for (const Index& index : indices) nodes.push_back(index.node);
    if constexpr (Count > 0) Trace::Current().SetPlace(indices[0].place);
    return static_cast<const Data&>(*this).PlaceAt(std::move(nodes));
  }
};

// A parameter of a kernel that is an array in C order, of T and N axes. Its shape is that of the
// argument: memory of the program, which the kernel reads and writes in place.
//
//   Kernel scale("scale", [](Array<float, 1> x, Value<float> by) {
//     ForEach(x, [&](Int i) { x[i] *= by; });
//   });
//   std::vector<float> numbers(1000, 1);
//   scale(numbers, 2.0f);
template <typename T, std::size_t N, typename = void>
class Array : public Elements<T, N, Array<T, N>> {
 public:
  static constexpr std::size_t kAxes = N;
  explicit Array(ParamId param) : param_(param), trace_(Trace::Current().serial()) {}

  // The extent along an axis, in kernels.
  Expr<std::int32_t> shape(int axis) const {
    return Expr<std::int32_t>(Trace::Current().Shape(param(), axis));
  }
  ParamId param() const {
    if (trace_ != Trace::Current().serial()) {
      Refuse(Trace::Current().place(), "an array of another kernel is used in this one");
    }
    return param_;
  }
  detail::Source source() const { return detail::Source(param()); }

 private:
  ParamId param_;
  std::uint64_t trace_;
};

// A parameter of a kernel that is a number, vector or matrix.
template <typename T, typename = void>
class Value : public Expr<T> {
 public:
  explicit Value(ParamId param) : Expr<T>(Trace::Current().Param(param)) {}
};

template <typename T, std::size_t N, typename = void>
class Field;

namespace detail {
template <typename>
constexpr bool kIsField = false;
template <typename T, std::size_t N>
constexpr bool kIsField<Field<T, N>> = true;
}  // namespace detail

// An argument for Array<T, N>: memory in C order, which the launch uses, or a field, which it uses
// where it is. Where kernels run on a CUDA device, memory may be that device's; that of the host is
// copied there and back.
//
// A gradient is memory of the same form; fields bring theirs with them:
//   std::vector<float> x(100), x_grad(100);
//   measure.Grad({x, x_grad});
template <typename T, std::size_t N>
struct Memory {
  Memory(T* from, const std::array<std::uint64_t, N>& extents, T* with_gradient = nullptr)
      : data(from), shape(extents), gradient(with_gradient) {
    if (detail::kIsStruct<T> && gradient != nullptr) {
      throw Error(KILN_INVALID_ARGUMENT, "arrays of structs have no gradients: use fields");
    }
  }
  Memory(const Field<T, N>& of);  // NOLINT: as its memory
  template <typename Vector, typename = decltype(*std::declval<Vector&>().data()),
            typename = std::enable_if_t<!detail::kIsField<std::remove_const_t<Vector>>>>
  Memory(Vector& vector) : data(vector.data()), shape{vector.size()} {  // NOLINT: as its memory
    using Given = std::remove_reference_t<decltype(*vector.data())>;
    static_assert(N == 1, "an array of several axes: Memory<T, N>(data, {n, m})");
    static_assert(!std::is_const_v<Given>, "a kernel may write to its arrays: none is const");
    static_assert(std::is_same_v<std::remove_const_t<Given>, T>, "elements of another type");
  }
  template <typename Vector, typename = decltype(*std::declval<Vector&>().data())>
  Memory(Vector& vector, Vector& with_gradient) : Memory(vector) {
    static_assert(!detail::kIsStruct<T>, "arrays of structs have no gradients: use fields");
    static_assert(std::is_floating_point_v<ScalarIn<T>>, "only arrays of floats have gradients");
    if (with_gradient.size() != vector.size()) {
      throw Error(KILN_INVALID_ARGUMENT, "an array of " + std::to_string(vector.size()) +
                                             " elements with a gradient of " +
                                             std::to_string(with_gradient.size()));
    }
    gradient = with_gradient.data();
  }
  T* data;
  std::array<std::uint64_t, N> shape;
  T* gradient = nullptr;  // null: none
  const ::kiln_dense* field = nullptr;
};

// Makes a field with a gradient: Field<float, 1> x({100}, kGrad).
struct WithGradient {};
inline constexpr WithGradient kGrad;

// A dense zeroed field. Kernels that use it have it among their arguments; copies share its memory.
//
//   Field<Vec<float, 2>, 1> place({1000});
//   place.set({0.5f, 0.25f}, 3);                                        // in the program
//   Kernel fall("fall", [&] { ForEach(place, [&](Int i) { place[i] -= ...; }); });   // in kernels
//
// Threads may share a field, as they may plain memory. On a CUDA device, functions throw Error if
// the device fails.
template <typename T, std::size_t N, typename>
class Field : public Elements<T, N, Field<T, N>> {
 public:
  static constexpr std::size_t kAxes = N;

  // Throws Error for impossible shapes, and if the system refuses memory.
  explicit Field(const std::array<std::uint64_t, N>& shape) : shape_(shape) {
    ::kiln_dense* made = nullptr;
    Check(kiln_dense_new(Facts<T>::kType, shape.data(), N, &made));
    Own(made);
  }

  // With a gradient: grad(), for the derivatives of a loss by the field's elements, which a Tape
  // computes. Kernels that name the field are differentiated by it.
  Field(const std::array<std::uint64_t, N>& shape, WithGradient) : shape_(shape) {
    static_assert(std::is_floating_point_v<ScalarIn<T>>, "only fields of floats have gradients");
    ::kiln_dense* made = nullptr;
    ::kiln_dense* gradient = nullptr;
    Check(kiln_dense_new_with_gradient(Facts<T>::kType, shape.data(), N, &made, &gradient));
    Own(made);
    grad_.reset(gradient, &kiln_dense_free);
  }
  // Throws Error if the field was made without one.
  Field grad() const {
    if (grad_ == nullptr) {
      throw Error(KILN_FAILED_PRECONDITION,
                  "the field has no gradient: make it as Field<T, N>(shape, kGrad)");
    }
    return Field(shape_, grad_);
  }

  // --- In the program.
  const std::array<std::uint64_t, N>& shape() const { return shape_; }
  std::uint64_t size() const {
    std::uint64_t size = 1;
    for (std::uint64_t extent : shape_) size *= extent;
    return size;
  }
  // One element. Both throw Error for indices beyond the shape.
  template <typename... Integers>
  T get(Integers... indices) const {
    const std::uint64_t position = CheckedPosition(indices...);
    if (data_ != nullptr) return data_[position];
    T element;
    Check(kiln_dense_read(dense_.get(), position, 1, &element));
    return element;
  }
  template <typename... Integers>
  void set(const T& element, Integers... indices) const {
    const std::uint64_t position = CheckedPosition(indices...);
    if (data_ != nullptr) {
      data_[position] = element;
    } else {
      Check(kiln_dense_write(dense_.get(), position, 1, &element));
    }
  }
  void Fill(const T& element) const { Check(kiln_dense_fill(dense_.get(), &element)); }
  // All elements, in C order.
  void CopyTo(T* elements) const { Check(kiln_dense_read(dense_.get(), 0, size(), elements)); }
  void CopyFrom(const T* elements) const {
    Check(kiln_dense_write(dense_.get(), 0, size(), elements));
  }
  // The memory of all elements, in C order, and an element there; indices are not checked. Both
  // throw Error for a field on a CUDA device, whose memory the program cannot use.
  T* data() const { return OnHost(); }
  template <typename... Integers>
  T& at(Integers... indices) const {
    return OnHost()[PositionOf(indices...)];
  }
  // The address that kernels use, for the program's own CUDA code in CUDA's legacy default stream.
  T* device_data() const {
    void* address = nullptr;
    Check(kiln_dense_device_data(dense_.get(), &address));
    return static_cast<T*>(address);
  }
  const ::kiln_dense* get_dense() const { return dense_.get(); }

  // --- In kernels, beside f(i, j)
  ParamId param() const { return source().Use(); }
  detail::Source source() const { return detail::Source(dense_); }

 private:
  Field(const std::array<std::uint64_t, N>& shape, std::shared_ptr<::kiln_dense> dense)
      : shape_(shape), dense_(std::move(dense)) {
    data_ = static_cast<T*>(kiln_dense_data(dense_.get()));
  }
  void Own(::kiln_dense* made) {
    dense_.reset(made, &kiln_dense_free);
    data_ = static_cast<T*>(kiln_dense_data(made));
  }
  template <typename... Integers>
  std::uint64_t PositionOf(Integers... indices) const {
    static_assert(sizeof...(Integers) == N, "as many indices as axes");
    static_assert((std::is_integral_v<Integers> && ...),
                  "the program's indices are integers: in kernels, write x(i) for x.get(i)");
    std::uint64_t position = 0;
    std::size_t axis = 0;
    ((position = position * shape_[axis++] + static_cast<std::uint64_t>(indices)), ...);
    return position;
  }
  template <typename... Integers>
  std::uint64_t CheckedPosition(Integers... indices) const {
    static_assert((std::is_integral_v<Integers> && ...),
                  "the program's indices are integers: in kernels, write x(i) for x.get(i)");
    std::size_t axis = 0;
    (CheckIndex(static_cast<std::int64_t>(indices), axis++), ...);
    return PositionOf(indices...);
  }
  void CheckIndex(std::int64_t index, std::size_t axis) const {
    if (index >= 0 && static_cast<std::uint64_t>(index) < shape_[axis]) return;
    throw Error(KILN_OUT_OF_RANGE, "index " + std::to_string(index) + " of axis " +
                                       std::to_string(axis) + " of a field with " +
                                       std::to_string(shape_[axis]));
  }
  T* OnHost() const {
    if (data_ == nullptr) {
      throw Error(KILN_FAILED_PRECONDITION,
                  "the field is in memory of a CUDA device: get, set, CopyTo and CopyFrom copy its "
                  "elements");
    }
    return data_;
  }

  std::array<std::uint64_t, N> shape_;
  std::shared_ptr<::kiln_dense> dense_, grad_;  // no gradient: null
  T* data_ = nullptr;                           // null: in memory of a device
};

template <typename T, std::size_t N>
Memory<T, N>::Memory(const Field<T, N>& of) : data(nullptr), shape(of.shape()) {
  static_assert(!detail::kIsStruct<T>,
                "a field of structs is no array of them: name it in the kernel");
  if constexpr (!detail::kIsStruct<T>) field = of.get_dense();
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_DATA_HPP_
