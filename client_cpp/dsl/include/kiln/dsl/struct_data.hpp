// Data of structs: fields and arrays of them, and structs as arguments of kernels.
#ifndef KILN_DSL_STRUCT_DATA_HPP_
#define KILN_DSL_STRUCT_DATA_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/dsl/data.hpp"
#include "kiln/dsl/struct_values.hpp"
#include "kiln/dsl/tree.hpp"

namespace kiln::dsl {

// A parameter of a kernel or function that is a struct. The launch gives an S.
template <typename S>
class Value<S, detail::IfStruct<S>> : public Expr<S> {
 public:
  // Its parts are parameters from `first` on.
  explicit Value(ParamId first) : Expr<S>(Parts(first)) {}

 private:
  static Expr<S> Parts(ParamId next) {
    return detail::Parts<S>::Take([&] {
      const ParamId part = next;
      ++next.number;
      return Trace::Current().Param(part);
    });
  }
};

namespace detail {

// What fields of structs in and out of trees have in common. Fields: one for each member.
template <typename S, std::size_t N, typename Fields, typename Data>
class MemberFields : public Elements<S, N, Data> {
 public:
  static constexpr std::size_t kAxes = N;

  // Those of the members, by their names: `particles.fields().mass` is a field of numbers.
  const Fields& fields() const { return fields_; }

  // --- In the program, as those of fields of numbers.
  std::array<std::uint64_t, N> shape() const {
    std::array<std::uint64_t, N> shape{};
    Struct<S>::ForEach([&](auto member) { shape = member.pick(fields_).shape(); });
    return shape;
  }
  std::uint64_t size() const {
    std::uint64_t size = 1;
    for (const std::uint64_t extent : shape()) size *= extent;
    return size;
  }
  template <typename... Integers>
  S get(Integers... indices) const {
    S element{};
    Struct<S>::ForEach(
        [&](auto member) { member.pick(element) = member.pick(fields_).get(indices...); });
    return element;
  }
  template <typename... Integers>
  void set(const S& element, Integers... indices) const {
    Struct<S>::ForEach(
        [&](auto member) { member.pick(fields_).set(member.pick(element), indices...); });
  }
  void CopyTo(S* elements) const {
    const std::uint64_t count = size();
    Struct<S>::ForEach([&](auto member) {
      const std::unique_ptr<TypeIn<decltype(member)>[]> all(new TypeIn<decltype(member)>[count]);
      member.pick(fields_).CopyTo(all.get());
      for (std::uint64_t i = 0; i < count; ++i) member.pick(elements[i]) = all[i];
    });
  }
  void CopyFrom(const S* elements) const {
    const std::uint64_t count = size();
    Struct<S>::ForEach([&](auto member) {
      const std::unique_ptr<TypeIn<decltype(member)>[]> all(new TypeIn<decltype(member)>[count]);
      for (std::uint64_t i = 0; i < count; ++i) all[i] = member.pick(elements[i]);
      member.pick(fields_).CopyFrom(all.get());
    });
  }

  // --- In kernels, beside f(i, j)
  ParamId param() const {  // the first member's alone: a kernel has parameters for what it uses
    ParamId first{};
    bool is_first = true;
    Struct<S>::ForEach([&](auto member) {
      if (is_first) first = member.pick(fields_).param();
      is_first = false;
    });
    return first;
  }
  Ref<S> PlaceAt(const std::vector<NodeNumber>& indices) const {
    return Ref<S>(ByMember(), [&](auto member) { return member.pick(fields_).PlaceAt(indices); });
  }

 protected:
  // make(member) returns that member's field.
  template <typename Make>
  explicit MemberFields(const Make& make) : fields_(ByMember(), make) {}
  auto Gradients() const {
    return [this](auto member) { return member.pick(fields_).grad(); };
  }

  Fields fields_;
};

template <std::size_t N>
struct WithAxes {
  template <typename T>
  using FieldOf = Field<T, N>;
  template <typename T>
  using TreeFieldOf = TreeField<T, N>;
};
template <typename S, std::size_t N, typename Data>
using DenseFields =
    MemberFields<S, N, typename Struct<S>::template Members<WithAxes<N>::template FieldOf>, Data>;
template <typename S, std::size_t N, typename Data>
using TreeFields =
    MemberFields<S, N, typename Struct<S>::template Members<WithAxes<N>::template TreeFieldOf>,
                 Data>;

}  // namespace detail

// A dense field of structs, which is one of each member: what loops read of one member is together
// in memory, on CPUs and GPUs.
template <typename S, std::size_t N>
class Field<S, N, detail::IfStruct<S>> : public detail::DenseFields<S, N, Field<S, N>> {
  using Base = detail::DenseFields<S, N, Field<S, N>>;

 public:
  // Throws Error for impossible shapes, and if the system refuses memory.
  explicit Field(const std::array<std::uint64_t, N>& shape)
      : Base([&](auto member) { return Field<detail::TypeIn<decltype(member)>, N>(shape); }) {}
  // With gradients of all members, which are of floats.
  Field(const std::array<std::uint64_t, N>& shape, WithGradient)
      : Base([&](auto member) {
          return Field<detail::TypeIn<decltype(member)>, N>(shape, kGrad);
        }) {}
  Field grad() const { return Field(detail::ByMember(), this->Gradients()); }
  void Fill(const S& element) const {
    detail::Struct<S>::ForEach(
        [&](auto member) { member.pick(this->fields_).Fill(member.pick(element)); });
  }

 private:
  template <typename Make>
  Field(detail::ByMember, const Make& make) : Base(make) {}
};

// A field of structs in the cells of an SNode, where the members of an element are neighbours.
template <typename S, std::size_t N>
class TreeField<S, N, detail::IfStruct<S>> : public detail::TreeFields<S, N, TreeField<S, N>> {
  using Base = detail::TreeFields<S, N, TreeField<S, N>>;

 public:
  explicit TreeField(const SNode& parent)
      : Base([&](auto member) { return TreeField<detail::TypeIn<decltype(member)>, N>(parent); }),
        parent_(parent) {}
  TreeField(const SNode& parent, WithGradient)
      : Base([&](auto member) {
          return TreeField<detail::TypeIn<decltype(member)>, N>(parent, kGrad);
        }),
        parent_(parent) {}
  TreeField grad() const { return TreeField(parent_, this->Gradients()); }
  const SNode& parent() const { return parent_; }

 private:
  template <typename Make, typename = std::enable_if_t<!std::is_same_v<Make, WithGradient>>>
  TreeField(const SNode& parent, const Make& make) : Base(make), parent_(parent) {}

  SNode parent_;
};

namespace detail {

// The types of the numbers in a struct, each once.
struct NumberTypes {
  kiln_dtype dtypes[KILN_F64 + 1] = {};
  std::uint32_t bytes[KILN_F64 + 1] = {};
  std::uint32_t count = 0;

  constexpr std::uint32_t PositionOf(kiln_dtype dtype) const {
    std::uint32_t position = 0;
    while (position < count && dtypes[position] != dtype) ++position;
    return position;
  }
};
template <typename T>
constexpr void AddNumberTypes(NumberTypes* types) {
  if constexpr (kIsStruct<T>) {
    Struct<T>::ForEach([&](auto member) { AddNumberTypes<TypeIn<decltype(member)>>(types); });
  } else {
    constexpr kiln_dtype kDtype = DtypeOf<ScalarIn<T>>();
    if (types->PositionOf(kDtype) < types->count) return;
    types->dtypes[types->count] = kDtype;
    types->bytes[types->count] = sizeof(ScalarIn<T>);
    ++types->count;
  }
}
template <typename S>
constexpr NumberTypes NumberTypesOf() {
  NumberTypes types;
  AddNumberTypes<S>(&types);
  return types;
}

}  // namespace detail

// An array of structs of the program, used in place. For the kernel it is several arrays of the
// same memory: one for each type of numbers in S, whose elements are as many of these as fill an S.
template <typename S, std::size_t N>
class Array<S, N, detail::IfStruct<S>> : public Elements<S, N, Array<S, N>> {
  static_assert(
      std::is_standard_layout_v<S> && std::is_trivially_copyable_v<S>,
      "kernels use the struct's memory: it has no base classes, constructors or pointers");

 public:
  static constexpr std::size_t kAxes = N;
  static constexpr detail::NumberTypes kTypes = detail::NumberTypesOf<S>();

  // Its arrays are parameters from `first` on, in the order of kTypes.
  explicit Array(ParamId first) : first_(first), trace_(Trace::Current().serial()) {}

  Expr<std::int32_t> shape(int axis) const {
    return Expr<std::int32_t>(Trace::Current().Shape(param(), axis));
  }
  ParamId param() const {
    if (trace_ != Trace::Current().serial()) {
      Refuse(Trace::Current().place(), "an array of another kernel is used in this one");
    }
    return first_;
  }
  Ref<S> PlaceAt(const std::vector<NodeNumber>& indices) const { return PartAt<S>(0, indices); }

 private:
  // Of the part of type T, that many bytes from the element's begin.
  template <typename T>
  Ref<T> PartAt(std::size_t offset, const std::vector<NodeNumber>& indices) const {
    if constexpr (detail::kIsStruct<T>) {
      return Ref<T>(detail::ByMember(), [&](auto member) {
        return PartAt<detail::TypeIn<decltype(member)>>(offset + member.offset, indices);
      });
    } else {
      using Number = ScalarIn<T>;
      const ParamId numbers = {param().number + kTypes.PositionOf(DtypeOf<Number>())};
      return Ref<T>(detail::Source(numbers), indices,
                    static_cast<std::uint32_t>(offset / sizeof(Number)));
    }
  }

  ParamId first_;
  std::uint64_t trace_;
};

}  // namespace kiln::dsl

#endif  // KILN_DSL_STRUCT_DATA_HPP_
