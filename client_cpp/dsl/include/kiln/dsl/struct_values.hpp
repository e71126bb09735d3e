// Structs as values and variables of kernels: Expr<S>, Ref<S> and Var<S> have a member for each of
// S, of the same name. `particles[i].mass` is a Ref<float>.
//
// A struct is assigned by member: `a[i] = b[j]`. Operators and functions of numbers take members.
#ifndef KILN_DSL_STRUCT_VALUES_HPP_
#define KILN_DSL_STRUCT_VALUES_HPP_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "kiln/dsl/struct.hpp"
#include "kiln/dsl/values.hpp"

namespace kiln::dsl {

namespace detail {

template <typename T>
using ExprOf = Expr<T>;
template <typename T>
using RefOf = Ref<T>;
template <typename S>
using Values = typename Struct<S>::template Members<ExprOf>;
template <typename S>
using Places = typename Struct<S>::template Members<RefOf>;

template <typename M>
using TypeIn = typename M::Type;  // of a Member

}  // namespace detail

template <typename S>
class Expr<S, detail::IfStruct<S>> : public detail::Values<S> {
  using Values = detail::Values<S>;

 public:
  using Of = S;

  // make(member) returns that member's Expr.
  template <typename Make>
  Expr(detail::ByMember by, const Make& make) : Values(by, make) {}
  Expr(const Ref<S>& place)  // NOLINT: what a place holds
      : Values(detail::ByMember(), [&](auto member) {
          return Expr<detail::TypeIn<decltype(member)>>(member.pick(place));
        }) {}
  // A constant.
  Expr(const S& constant, const char* file = __builtin_FILE(),  // NOLINT: constants are values
       int line = __builtin_LINE())
      : Values(detail::ByMember(), [&](auto member) {
          return Expr<detail::TypeIn<decltype(member)>>(member.pick(constant), file, line);
        }) {}
  Expr(const Expr&) = default;
  // A value does not change: Var<S> does.
  Expr& operator=(const Expr&) = delete;
};

template <typename S>
class Ref<S, detail::IfStruct<S>> : public detail::Places<S> {
  using Places = detail::Places<S>;

 public:
  using Of = S;

  template <typename Make>
  Ref(detail::ByMember by, const Make& make) : Places(by, make) {}
  Ref(const Ref&) = default;  // the same place

  // A value, with the line that assigns it.
  struct Given {
    template <typename A, typename = std::enable_if_t<std::is_convertible_v<A, Expr<S>>>>
    Given(const A& from, const char* file = __builtin_FILE(),  // NOLINT: all that is a value
          int line = __builtin_LINE())
        : place{file, line}, value(from) {}
    Place place;
    Expr<S> value;
  };

  void operator=(const Given& given) {  // NOLINT: an assignment is no value
    detail::Struct<S>::ForEach([&](auto member) {
      using GivenMember = typename Ref<detail::TypeIn<decltype(member)>>::Given;
      member.pick(*this) =
          GivenMember(member.pick(given.value), given.place.file, given.place.line);
    });
  }
  void operator=(const Ref& other) {  // NOLINT
    const Place place = Trace::Current().place();
    *this = Given(other, place.file, place.line);
  }
};

namespace detail {

// A new variable that starts as `init`.
template <typename T>
Ref<T> LocalOf(const Expr<T>& init) {
  if constexpr (kIsStruct<T>) {
    return Ref<T>(ByMember(), [&](auto member) {
      return LocalOf<TypeIn<decltype(member)>>(member.pick(init));
    });
  } else {
    return Ref<T>(Trace::Current().Local(init.node(), Facts<T>::kType));
  }
}

}  // namespace detail

template <typename S>
class Var<S, detail::IfStruct<S>> : public Ref<S> {
 public:
  Var() : Var(S{}) {}
  template <typename A, typename = std::enable_if_t<std::is_convertible_v<A, Expr<S>>>>
  Var(const A& init, const char* file = __builtin_FILE(),  // NOLINT: as a variable of C++
      int line = __builtin_LINE())
      : Ref<S>(Make(typename Ref<S>::Given(init, file, line))) {}
  Var(const Var& other, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : Ref<S>(Make(typename Ref<S>::Given(static_cast<const Ref<S>&>(other), file, line))) {}

  using Ref<S>::operator=;
  // Not const: values that are assigned must not become variables first.
  void operator=(Var& other) { Ref<S>::operator=(other); }  // NOLINT: see Ref

 private:
  static Ref<S> Make(const typename Ref<S>::Given& init) {
    Trace::Current().SetPlace(init.place);
    return detail::LocalOf<S>(init.value);
  }
};

namespace detail {

// Whether A is a value of a kernel: of a number, vector or matrix, or of a struct.
template <typename A, typename = void>
constexpr bool kIsValue = kIsOperand<A>;
template <typename A>
constexpr bool kIsValue<A, IfStruct<typename A::Of>> = true;

// The numbers, vectors and matrices of which a value consists, where it passes from a function or a
// launch to another: those of a struct's members follow each other.
template <typename T, typename = void>
struct Parts {
  static constexpr std::uint32_t kCount = 1;
  static void AddTypes(std::vector<ValueType>* types) { types->push_back(Facts<T>::kType); }
  static void AddNodes(const Expr<T>& value, std::vector<NodeNumber>* nodes) {
    nodes->push_back(value.node());
  }
  // next() returns the node of the next part.
  template <typename Next>
  static Expr<T> Take(const Next& next) {
    return Expr<T>(next());
  }
};
template <typename S>
struct Parts<S, IfStruct<S>> {
  static constexpr std::uint32_t Count() {
    std::uint32_t count = 0;
    Struct<S>::ForEach([&](auto member) { count += Parts<TypeIn<decltype(member)>>::kCount; });
    return count;
  }
  static constexpr std::uint32_t kCount = Count();
  static void AddTypes(std::vector<ValueType>* types) {
    Struct<S>::ForEach([&](auto member) { Parts<TypeIn<decltype(member)>>::AddTypes(types); });
  }
  static void AddNodes(const Expr<S>& value, std::vector<NodeNumber>* nodes) {
    Struct<S>::ForEach(
        [&](auto member) { Parts<TypeIn<decltype(member)>>::AddNodes(member.pick(value), nodes); });
  }
  template <typename Next>
  static Expr<S> Take(const Next& next) {
    return Expr<S>(ByMember(),
                   [&](auto member) { return Parts<TypeIn<decltype(member)>>::Take(next); });
  }
};

}  // namespace detail
}  // namespace kiln::dsl

#endif  // KILN_DSL_STRUCT_VALUES_HPP_
