// Statements of kernels. Their bodies are C++ functions, which run once while the kernel is traced.
//
//   ForEach(Range(n, m), [&](Int i, Int j) { ... });   parallel if it is outermost
//   While([&] { return s < 3; }, [&] { ... });
//   If(x[i] > 0, [&] { ... }, [&] { ... });
//
// Loops and conditions of C++ work, too: they unroll, or choose, while the kernel is traced.
#ifndef KILN_DSL_STATEMENTS_HPP_
#define KILN_DSL_STATEMENTS_HPP_

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/dsl/values.hpp"

namespace kiln::dsl {

using Int = Expr<std::int32_t>;

// The condition of a statement, with its line.
struct Condition {
  template <typename C, typename = std::enable_if_t<kIsOperand<C>>>
  Condition(const C& condition, const char* file = __builtin_FILE(),  // NOLINT: values of all kinds
            int line = __builtin_LINE())
      : place{file, line}, node(Expr<typename C::Of>(condition).node()) {
    static_assert(Facts<typename C::Of>::kIsScalar, "a condition is one number");
  }
  Place place;
  NodeNumber node;
};

// The index space of loops: Range(n), Range(n, m), or of pairs Range({from, to}, ...).
struct Bounds {
  template <typename I, typename = std::enable_if_t<kIsOperand<I> || std::is_integral_v<I>>>
  Bounds(const I& count, const char* file = __builtin_FILE(),  // NOLINT: from 0
         int line = __builtin_LINE())
      : from(0, file, line), to(count, file, line) {}
  Bounds(Index first, Index last) : from(first), to(last) {}
  Index from, to;
};
template <std::size_t N>
struct RangeOf {
  std::vector<NodeNumber> bounds;
  Place place;
};
template <typename... Axes>
RangeOf<sizeof...(Axes)> MakeRange(const Axes&... axes) {
  RangeOf<sizeof...(Axes)> made;
  const auto add = [&](const Bounds& axis) {
    made.bounds.push_back(axis.from.node);
    made.bounds.push_back(axis.to.node);
    made.place = axis.to.place;
  };
  (add(axes), ...);
  return made;
}
inline RangeOf<1> Range(Bounds a) { return MakeRange(a); }
inline RangeOf<2> Range(Bounds a, Bounds b) { return MakeRange(a, b); }
inline RangeOf<3> Range(Bounds a, Bounds b, Bounds c) { return MakeRange(a, b, c); }

namespace detail {

template <std::size_t... Axes, typename Body>
void LoopBody(NodeNumber loop, const Body& body, std::index_sequence<Axes...>) {
  Trace& trace = Trace::Current();
  constexpr std::size_t kCount = sizeof...(Axes);
  using Indices = Expr<Vec<std::int32_t, kCount>>;
  constexpr bool kTakesVector = kCount > 1 && std::is_invocable_v<const Body&, Indices>;
  static_assert(
      kTakesVector || std::is_invocable_v<const Body&, decltype(Int(loop), Axes, Int(loop))...>,
      "the body takes an Int for each axis, or an Expr<Vec<int, N>>");
  const Int indices[] = {Int(trace.LoopIndex(loop, static_cast<int>(Axes)))...};
  if constexpr (kTakesVector) {
    body(Indices(trace.Tensor({indices[Axes].node()...}, Facts<typename Indices::Of>::kType)));
  } else {
    body(indices[Axes]...);
  }
  trace.End();
}

template <std::size_t N, typename Body>
void Loop(const RangeOf<N>& range, const Body& body, bool serial) {
  Trace& trace = Trace::Current();
  trace.SetPlace(range.place);
  LoopBody(trace.BeginRange(range.bounds, serial), body, std::make_index_sequence<N>());
}

}  // namespace detail

// For each of the indices, in any order and on several threads if no loop is around it. The body
// takes an Int for each axis, or all as an Expr<Vec<int, N>>.
template <std::size_t N, typename Body>
void ForEach(const RangeOf<N>& range, const Body& body) {
  detail::Loop(range, body, false);
}
// One after the other.
template <std::size_t N, typename Body>
void For(const RangeOf<N>& range, const Body& body) {
  detail::Loop(range, body, true);
}
// For each element of an array or field.
template <typename Data, typename Body, std::size_t kAxes = Data::kAxes>
void ForEach(const Data& data, const Body& body, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  static_assert(kAxes > 0, "without an axis there is one element: no loop is needed");
  Trace& trace = Trace::Current();
  trace.SetPlace({file, line});
  detail::LoopBody(trace.BeginOver(data.param()), body, std::make_index_sequence<kAxes>());
}

inline void Break(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Trace::Current().SetPlace({file, line});
  Trace::Current().Break();
}
inline void Continue(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Trace::Current().SetPlace({file, line});
  Trace::Current().Continue();
}

template <typename Then>
void If(const Condition& condition, const Then& then) {
  Trace::Current().SetPlace(condition.place);
  Trace::Current().BeginIf(condition.node);
  then();
  Trace::Current().End();
}
template <typename Then, typename Otherwise>
void If(const Condition& condition, const Then& then, const Otherwise& otherwise) {
  Trace::Current().SetPlace(condition.place);
  Trace::Current().BeginIf(condition.node);
  then();
  Trace::Current().Else();
  otherwise();
  Trace::Current().End();
}

// `condition` is a function, as it is computed before each turn.
template <typename Function, typename Body>
void While(const Function& condition, const Body& body, const char* file = __builtin_FILE(),
           int line = __builtin_LINE()) {
  static_assert(!kIsOperand<Function>,
                "the condition is a function: While([&] { return ...; }, ...)");
  Trace& trace = Trace::Current();
  trace.SetPlace({file, line});
  trace.BeginWhile();
  If(Condition(!condition(), file, line), [&] { trace.Break(); });
  body();
  trace.End();
}

// The value of one of two functions, of which only one is computed.
template <typename Then, typename Otherwise>
auto Choose(const Condition& condition, const Then& then, const Otherwise& otherwise) {
  using R = typename decltype(then())::Of;
  static_assert(std::is_same_v<R, typename decltype(otherwise())::Of>, "values of two types");
  Trace& trace = Trace::Current();
  trace.SetPlace(condition.place);
  const NodeNumber chosen = trace.BeginChoose(condition.node);
  trace.Yield(Expr<R>(then()).node());
  trace.Else();
  trace.Yield(Expr<R>(otherwise()).node());
  trace.End();
  return Expr<R>(chosen);
}

// Prints a line; each {} takes a value: Print("x[{}] = {}", i, x[i]).
template <typename... Values>
void Print(const std::string& format, const Values&... values) {
  Trace::Current().Print(format, {Plain(values).node()...});
}
// In debug sessions: fails the launch with the text if the condition does not hold.
template <typename... Values>
void Assert(const Condition& condition, const std::string& format, const Values&... values) {
  Trace::Current().SetPlace(condition.place);
  Trace::Current().Assert(condition.node, format, {Plain(values).node()...});
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_STATEMENTS_HPP_
