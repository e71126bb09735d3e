// Values and variables of kernels.
//
//   Expr<T>  a value. `Expr v = x[i]` is what x[i] was then.
//   Ref<T>   a place in memory, as x[i] is. Reads where it is used: `auto v = x[i]` is an alias.
//   Var<T>   a variable of the kernel. `Var<float> s = 0;` makes one, assignments change it.
//
// C++ numbers in expressions are constants. As in the language, one of floating type takes the
// other operand's type if that is floating, and is an f32 otherwise. An integer is an i32, unless
// C++ has it in 64 bits. A number that does not fit its type is an Error.
//
// `+=` and its like on places are atomic, as in the language. `&&` and `||` compute both sides.
#ifndef KILN_DSL_VALUES_HPP_
#define KILN_DSL_VALUES_HPP_

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/dsl/error.hpp"
#include "kiln/dsl/types.hpp"

namespace kiln::dsl {

// The second parameter chooses the implementation: see struct_values.hpp.
template <typename T, typename = void>
class Expr;
template <typename T, typename = void>
class Ref;
template <typename T, typename = void>
class Var;

// The base of what operators take. Belongs to the kernel, or the function, that made it.
class Operand {
 public:
  Operand() : scope_(Trace::Current().scope()) {}

 protected:
  // Its numbers mean something else in another kernel.
  void CheckOwn() const {
    const Trace& trace = Trace::Current();
    if (scope_ == trace.scope()) return;
    Refuse(trace.place(), trace.IsInFunction()
                              ? "a value of the caller, or of another kernel, is used in a "
                                "function: pass it as an argument"
                              : "a value of another kernel is used in this one");
  }

 private:
  std::uint64_t scope_;
};

// The type of an operand's value; C++ numbers are their own.
template <typename A, typename = void>
struct ValueIn {
  using Type = void;
};
template <typename A>
struct ValueIn<A, std::enable_if_t<std::is_base_of_v<Operand, A>>> {
  using Type = typename A::Of;
};
// Numbers, vectors and matrices of C++, which are constants in kernels.
template <typename A>
constexpr bool kIsArray = false;
template <typename S, std::size_t N>
constexpr bool kIsArray<std::array<S, N>> = std::is_arithmetic_v<S>;
template <typename S, std::size_t N, std::size_t M>
constexpr bool kIsArray<std::array<std::array<S, M>, N>> = std::is_arithmetic_v<S>;
template <typename A>
constexpr bool kIsConstant = std::is_arithmetic_v<A> || kIsArray<A>;
template <typename A>
struct ValueIn<A, std::enable_if_t<kIsConstant<A>>> {
  using Type = A;
};
template <typename A>
constexpr bool kIsOperand = std::is_base_of_v<Operand, A>;
template <typename A, typename B>
constexpr bool kAreOperands =
    (kIsOperand<A> && (kIsOperand<B> || kIsConstant<B>)) || (kIsOperand<B> && kIsConstant<A>);

// The type of a C++ number beside an operand whose numbers are S. Vectors keep theirs.
template <typename Number, typename S>
using ConstantType = std::conditional_t<
    std::is_floating_point_v<Number>, std::conditional_t<std::is_floating_point_v<S>, S, float>,
    std::conditional_t<kIsArray<Number> || std::is_same_v<Number, bool> || sizeof(Number) == 8,
                       Number, std::int32_t>>;
template <typename A, typename B>
using TypeBeside = typename std::conditional_t<
    kIsOperand<A>, ValueIn<A>, ValueIn<ConstantType<A, ScalarIn<typename ValueIn<B>::Type>>>>::Type;
namespace detail {
// Constants are looked at only if they are numbers.
template <typename A, typename B, bool kBoth = kIsOperand<A> && kIsOperand<B>,
          bool kA = kIsOperand<A>>
struct Pair;
template <typename A, typename B>
struct Pair<A, B, true, true> {
  using First = typename A::Of;
  using Second = typename B::Of;
};
template <typename A, typename B>
struct Pair<A, B, false, true> {
  using First = typename A::Of;
  using Second = ConstantType<B, ScalarIn<First>>;
};
template <typename A, typename B>
struct Pair<A, B, false, false> {
  using Second = typename B::Of;
  using First = ConstantType<A, ScalarIn<Second>>;
};
}  // namespace detail

template <typename Number>
std::string TextOf(Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(number));
    return text;
  } else {
    return std::to_string(number);
  }
}

// A C++ number as a constant of type T.
template <typename T, typename Number>
NodeNumber ConstantNode(Number number, Place place) {
  if (!Holds<T>(number)) {
    Refuse(place, "the number " + TextOf(number) + " does not fit " + NameOf<T>());
  }
  if constexpr (std::is_floating_point_v<T>) {
    return Trace::Current().Float(static_cast<double>(number), DtypeOf<T>());
  } else {
    return Trace::Current().Integer(static_cast<std::int64_t>(static_cast<T>(number)),
                                    DtypeOf<T>());
  }
}

template <typename>
constexpr bool kNever = false;

// The same of a vector or matrix, of numbers of type S.
template <typename S, typename T>
NodeNumber ConstantNodeOf(const T& constant, Place place) {
  static_assert(std::is_floating_point_v<S> || !std::is_floating_point_v<ScalarIn<T>>,
                "a fraction for an integer: use Cast<...>(...)");
  std::vector<NodeNumber> elements;
  elements.reserve(Facts<T>::kCount);
  for (const auto& row : constant) {
    if constexpr (kIsArray<std::decay_t<decltype(row)>>) {
      for (const auto& number : row) elements.push_back(ConstantNode<S>(number, place));
    } else {
      elements.push_back(ConstantNode<S>(row, place));
    }
  }
  return Trace::Current().Tensor(elements, Facts<typename Facts<T>::template With<S>>::kType);
}

// A place in an index or an assignment, with the line of the program that says it.
struct Index;

template <typename T, typename>
class Expr : public Operand {
 public:
  using Of = T;  // the type of the value

  explicit Expr(NodeNumber node) : node_(node) {}
  Expr(const Ref<T>& place);  // NOLINT: what a place holds
  // A constant.
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Expr(Number number, const char* file = __builtin_FILE(),  // NOLINT: constants are values
       int line = __builtin_LINE())
      : node_(ConstantNode<ScalarIn<T>>(number, {file, line})) {
    static_assert(Facts<T>::kIsScalar, "a number is no vector: use Vector(...)");
    static_assert(std::is_floating_point_v<T> || !std::is_floating_point_v<Number>,
                  "a fraction for an integer: use Cast<...>(...)");
  }
  // The same of a vector or matrix.
  template <typename A, typename = std::enable_if_t<kIsArray<A> && std::is_same_v<A, T>>,
            typename = void>
  Expr(const A& constant, const char* file = __builtin_FILE(),  // NOLINT: constants are values
       int line = __builtin_LINE())
      : node_(ConstantNodeOf<ScalarIn<T>>(constant, {file, line})) {}
  Expr(const Expr&) = default;
  // A value does not change: Var<T> does.
  Expr& operator=(const Expr&) = delete;

  NodeNumber node() const {
    this->CheckOwn();
    return node_;
  }

  // Of a vector (one index) or matrix (two).
  template <typename... Indices>
  Expr<ScalarIn<T>> operator()(Indices... indices) const {
    static_assert(sizeof...(Indices) == (Facts<T>::kType.columns > 0 ? 2 : 1), "as many as axes");
    return Expr<ScalarIn<T>>(Trace::Current().Extract(node(), {Position(indices)...}));
  }
  template <typename I>
  Expr<ScalarIn<T>> operator[](I index) const {
    return (*this)(index);
  }

  template <typename B, typename = std::enable_if_t<std::is_same_v<B, bool>>>
  explicit operator B() const {
    static_assert(kNever<T>, "a value of a kernel is no condition of C++: use If(condition, ...)");
    return false;
  }

 private:
  template <typename I>
  static NodeNumber Position(const I& index) {
    if constexpr (kIsOperand<I>) {
      return Expr<std::int32_t>(index).node();
    } else {
      return ConstantNode<std::int32_t>(index, Trace::Current().place());
    }
  }

  NodeNumber node_;
};

// The value of an operand as type T; of numbers, a constant.
template <typename T, typename A>
Expr<T> ValueOf(const A& operand) {
  if constexpr (kIsOperand<A>) {
    return Expr<typename A::Of>(operand);
  } else {
    const Place place = Trace::Current().place();
    return Expr<T>(operand, place.file, place.line);
  }
}

// The same in an operation whose result is an R. A whole number that is no i32 is an i64 there,
// unless the result could not show it.
template <typename R, typename T, typename A>
NodeNumber OperandNode(const A& operand) {
  using S = ScalarIn<R>;
  if constexpr (std::is_integral_v<A> && sizeof(A) == sizeof(std::int32_t)) {
    if (!Holds<std::int32_t>(operand)) {
      constexpr bool kShows = std::is_floating_point_v<S> || std::is_same_v<S, bool> ||
                              std::is_unsigned_v<S> || sizeof(S) == 8;
      if constexpr (kShows) {
        return Trace::Current().Integer(static_cast<std::int64_t>(operand), KILN_I64);
      }
    }
  }
  return ValueOf<T>(operand).node();
}

struct Index {
  template <typename I, typename = std::enable_if_t<kIsOperand<I> || std::is_integral_v<I>>>
  Index(const I& index, const char* file = __builtin_FILE(),  // NOLINT: indices of all kinds
        int line = __builtin_LINE())
      : place{file, line}, node(NodeOf(index, place)) {}

  template <typename I>
  static NodeNumber NodeOf(const I& index, Place place) {
    if constexpr (kIsOperand<I>) {
      static_assert(std::is_integral_v<typename I::Of>, "an index is an integer");
      return Expr<typename I::Of>(index).node();
    } else {
      return ConstantNode<std::int32_t>(index, place);
    }
  }

  Place place;
  NodeNumber node;
};

template <typename T, typename>
class Ref : public Operand {
 public:
  using Of = T;  // the type of the value

  explicit Ref(NodeNumber address) : address_(address), source_(ParamId{}) {}
  // Of an array or field. Its address is computed where it is used. A kernel's operations are
  // therefore in one order, whatever the order in which a compiler computes operands.
  Ref(detail::Source source, std::vector<NodeNumber> indices)
      : address_{0}, source_(std::move(source)), indices_(std::move(indices)), is_global_(true) {}
  // Of the numbers from `first` on of such an element, which is a vector.
  Ref(detail::Source source, std::vector<NodeNumber> indices, std::uint32_t first)
      : Ref(std::move(source), std::move(indices)) {
    first_ = static_cast<std::int64_t>(first);
  }
  Ref(const Ref&) = default;  // the same place

  // A value, with the line that assigns it.
  struct Given {
    template <typename A, typename = std::enable_if_t<kIsOperand<A> || kIsConstant<A>>>
    Given(const A& value, const char* file = __builtin_FILE(),  // NOLINT: values of all kinds
          int line = __builtin_LINE())
        : place{file, line}, node(NodeOf(value, place)) {}
    template <typename A>
    static NodeNumber NodeOf(const A& value, Place place) {
      if constexpr (kIsOperand<A>) {
        // A number fills a vector; a vector is no number.
        static_assert(Facts<typename A::Of>::kIsScalar ||
                          (kShapesFit<T, typename A::Of> && !Facts<T>::kIsScalar),
                      "a value of another shape");
        return Expr<typename A::Of>(value).node();
      } else if constexpr (kIsArray<A>) {
        static_assert(kShapesFit<T, A> && !Facts<T>::kIsScalar, "a value of another shape");
        return ConstantNodeOf<ScalarIn<T>>(value, place);
      } else {
        return Expr<ScalarIn<T>>(value, place.file, place.line).node();
      }
    }
    Place place;
    NodeNumber node;
  };

  // All of these return nothing: an assignment is no value.
  void operator=(const Given& value) { Store(value); }  // NOLINT
  void operator=(const Ref& other) {                    // NOLINT
    const Place place = Trace::Current().place();       // of the indices
    Store(Given(other, place.file, place.line));
  }
  void operator+=(const Given& value) { Update("atomic_add", value); }
  void operator-=(const Given& value) { Update("atomic_sub", value); }
  void operator*=(const Given& value) { Update("atomic_mul", value); }
  void operator&=(const Given& value) { Update("atomic_and", value); }
  void operator|=(const Given& value) { Update("atomic_or", value); }
  void operator^=(const Given& value) { Update("atomic_xor", value); }
  // These are not atomic, as in the language.
  void operator/=(const Given& value) {
    static_assert(std::is_floating_point_v<ScalarIn<T>>,
                  "a quotient is a fraction: for integers, use FloorDiv or TruncDiv");
    Change("truediv", value);
  }
  void operator%=(const Given& value) { Change("mod", value); }
  void operator<<=(const Given& value) { Change("shl", value); }
  void operator>>=(const Given& value) { Change("shr", value); }

  // The place of one number of a vector (one index) or matrix (two).
  template <typename... Indices>
  Ref<ScalarIn<T>> operator()(Indices... indices) const {
    static_assert(sizeof...(Indices) == (Facts<T>::kType.columns > 0 ? 2 : 1), "as many as axes");
    return Ref<ScalarIn<T>>(Trace::Current().Element(address(), {Index(indices).node...}));
  }
  template <typename I>
  Ref<ScalarIn<T>> operator[](I index) const {
    return (*this)(index);
  }

  NodeNumber address() const {
    this->CheckOwn();
    if (!is_global_) return address_;
    const NodeNumber element = Trace::Current().Global(source_.Use(), indices_);
    return first_ < 0 ? element : PartOf(element);
  }

 private:
  NodeNumber PartOf(NodeNumber element) const {
    Trace& trace = Trace::Current();
    std::vector<NodeNumber> numbers;
    numbers.reserve(Facts<T>::kCount);
    for (std::int64_t i = first_; i < first_ + Facts<T>::kCount; ++i) {
      numbers.push_back(trace.Element(element, {trace.Integer(i, KILN_I32)}));
    }
    return Facts<T>::kIsScalar ? numbers[0] : trace.Join(numbers, Facts<T>::kType);
  }
  void Store(const Given& value) {
    Trace::Current().SetPlace(value.place);
    Trace::Current().Store(address(), value.node);
  }
  void Change(const char* op, const Given& value) {
    Trace& trace = Trace::Current();
    trace.SetPlace(value.place);
    const NodeNumber at = address();
    trace.Store(at, trace.Binary(op, trace.Load(at), value.node, Facts<T>::kType));
  }
  void Update(const char* op, const Given& value) {
    Trace::Current().SetPlace(value.place);
    Trace::Current().Atomic(op, address(), value.node);
  }

  NodeNumber address_;
  detail::Source source_;
  std::vector<NodeNumber> indices_;
  bool is_global_ = false;
  std::int64_t first_ = -1;  // of the element's numbers; -1: all are the value
};

template <typename T, typename U>
Expr<T, U>::Expr(const Ref<T>& place) : node_(Trace::Current().Load(place.address())) {}

template <typename T, typename>
class Var : public Ref<T> {
 public:
  // Zeros.
  Var() : Ref<T>(Trace::Current().Local({0}, Facts<T>::kType)) {}
  template <typename A, typename = std::enable_if_t<kIsOperand<A> || kIsConstant<A>>>
  Var(const A& init, const char* file = __builtin_FILE(),  // NOLINT: as a variable of C++
      int line = __builtin_LINE())
      : Ref<T>(Make(init, {file, line})) {}
  Var(const Var& other, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : Ref<T>(Make(static_cast<const Ref<T>&>(other), {file, line})) {}

  using Ref<T>::operator=;
  // Not const: values that are assigned must not become variables first.
  void operator=(Var& other) { Ref<T>::operator=(other); }  // NOLINT: see Ref

 private:
  template <typename A>
  static NodeNumber Make(const A& init, Place place) {
    Trace::Current().SetPlace(place);
    return Trace::Current().Local(Ref<T>::Given::NodeOf(init, place), Facts<T>::kType);
  }
};

// --- Operators and functions, by their name in the language and the rule of their result

// Calls of the language's binary op with operands of the same kernel, or a C++ number.
template <typename R, typename A, typename B>
Expr<R> BinaryOp(const char* op, const A& a, const B& b) {
  using Types = detail::Pair<A, B>;
  static_assert(kShapesFit<typename Types::First, typename Types::Second>,
                "vectors and matrices of different shapes");
  const NodeNumber first = OperandNode<R, typename Types::First>(a);
  const NodeNumber second = OperandNode<R, typename Types::Second>(b);
  return Expr<R>(Trace::Current().Binary(op, first, second, Facts<R>::kType));
}

template <typename A, typename B>
using PromotedPair =
    Promoted<typename detail::Pair<A, B>::First, typename detail::Pair<A, B>::Second>;
template <typename A, typename B>
using TruthPair =
    Shaped<typename detail::Pair<A, B>::First, typename detail::Pair<A, B>::Second, bool>;
template <typename A, typename B>
using FirstOf = typename detail::Pair<A, B>::First;
template <typename A, typename B>
using FloatPair = FloatOf<PromotedPair<A, B>>;

#define KILN_DSL_BINARY(name, op, Result)                                            \
  template <typename A, typename B, typename = std::enable_if_t<kAreOperands<A, B>>> \
  auto name(const A& a, const B& b) {                                                \
    return BinaryOp<Result<A, B>>(op, a, b);                                         \
  }
KILN_DSL_BINARY(operator+, "add", PromotedPair)
KILN_DSL_BINARY(operator-, "sub", PromotedPair)
KILN_DSL_BINARY(operator*, "mul", PromotedPair)
KILN_DSL_BINARY(operator/, "truediv", FloatPair)  // of integers, too; FloorDiv rounds down
KILN_DSL_BINARY(operator%, "mod", PromotedPair)   // of the divisor's sign
KILN_DSL_BINARY(FloorDiv, "floordiv", PromotedPair)
KILN_DSL_BINARY(TruncDiv, "raw_div", PromotedPair)  // as / of C++
KILN_DSL_BINARY(TruncMod, "raw_mod", PromotedPair)  // as % of C++
KILN_DSL_BINARY(operator&, "bit_and", PromotedPair)
KILN_DSL_BINARY(operator|, "bit_or", PromotedPair)
KILN_DSL_BINARY(operator^, "bit_xor", PromotedPair)
KILN_DSL_BINARY(operator<<, "shl", FirstOf)
KILN_DSL_BINARY(operator>>, "shr", FirstOf)   // keeps the sign
KILN_DSL_BINARY(ShiftIn, "bit_shr", FirstOf)  // to the right, too; zeros come in
KILN_DSL_BINARY(operator<, "cmp_lt", TruthPair)
KILN_DSL_BINARY(operator<=, "cmp_le", TruthPair)
KILN_DSL_BINARY(operator>, "cmp_gt", TruthPair)
KILN_DSL_BINARY(operator>=, "cmp_ge", TruthPair)
KILN_DSL_BINARY(operator==, "cmp_eq", TruthPair)
KILN_DSL_BINARY(operator!=, "cmp_ne", TruthPair)
KILN_DSL_BINARY(operator&&, "logical_and", TruthPair)
KILN_DSL_BINARY(operator||, "logical_or", TruthPair)
KILN_DSL_BINARY(Min, "min", PromotedPair)
KILN_DSL_BINARY(Max, "max", PromotedPair)
KILN_DSL_BINARY(Pow, "pow", PromotedPair)
KILN_DSL_BINARY(Atan2, "atan2", FloatPair)
#undef KILN_DSL_BINARY

template <typename A>
using SameAs = A;
template <typename A>
using TruthOf = typename Facts<A>::template With<bool>;
template <typename A>
using IntOf = typename Facts<A>::template With<std::int32_t>;

#define KILN_DSL_UNARY(name, op, Result)                            \
  template <typename A, typename = std::enable_if_t<kIsOperand<A>>> \
  auto name(const A& a) {                                           \
    using R = Result<typename A::Of>;                               \
    const NodeNumber x = Expr<typename A::Of>(a).node();            \
    return Expr<R>(Trace::Current().Unary(op, x, Facts<R>::kType)); \
  }
KILN_DSL_UNARY(operator-, "neg", SameAs)
KILN_DSL_UNARY(operator~, "bit_not", SameAs)
KILN_DSL_UNARY(operator!, "logical_not", TruthOf)
KILN_DSL_UNARY(Abs, "abs", SameAs)
KILN_DSL_UNARY(Sqrt, "sqrt", FloatOf)
KILN_DSL_UNARY(Rsqrt, "rsqrt", FloatOf)
KILN_DSL_UNARY(Sin, "sin", FloatOf)
KILN_DSL_UNARY(Cos, "cos", FloatOf)
KILN_DSL_UNARY(Tan, "tan", FloatOf)
KILN_DSL_UNARY(Asin, "asin", FloatOf)
KILN_DSL_UNARY(Acos, "acos", FloatOf)
KILN_DSL_UNARY(Tanh, "tanh", FloatOf)
KILN_DSL_UNARY(Exp, "exp", FloatOf)
KILN_DSL_UNARY(Log, "log", FloatOf)
KILN_DSL_UNARY(Floor, "floor", FloatOf)
KILN_DSL_UNARY(Ceil, "ceil", FloatOf)
KILN_DSL_UNARY(Round, "round", FloatOf)
KILN_DSL_UNARY(IsNan, "isnan", TruthOf)
KILN_DSL_UNARY(IsInf, "isinf", TruthOf)
KILN_DSL_UNARY(Popcount, "popcnt", IntOf)
KILN_DSL_UNARY(LeadingZeros, "clz", IntOf)
#undef KILN_DSL_UNARY

// `x` as numbers of type S, converted as C++ converts.
template <typename S, typename A>
auto Cast(const A& x) {
  using R = typename Facts<typename A::Of>::template With<S>;
  return Expr<R>(Trace::Current().Cast(Expr<typename A::Of>(x).node(), Facts<R>::kType));
}

// The bits of `x` as numbers of type S, which is as wide.
template <typename S, typename A>
auto BitCast(const A& x) {
  static_assert(sizeof(S) == sizeof(ScalarIn<typename A::Of>), "a type of the same width");
  using R = typename Facts<typename A::Of>::template With<S>;
  return Expr<R>(Trace::Current().BitCast(Expr<typename A::Of>(x).node(), Facts<R>::kType));
}

template <typename A, typename = std::enable_if_t<kIsOperand<A>>>
auto operator+(const A& a) {
  return Expr<typename A::Of>(a);
}

// The least and the largest of several.
template <typename A, typename B, typename C, typename... More>
auto Min(const A& a, const B& b, const C& c, const More&... more) {
  return Min(Min(a, b), c, more...);
}
template <typename A, typename B, typename C, typename... More>
auto Max(const A& a, const B& b, const C& c, const More&... more) {
  return Max(Max(a, b), c, more...);
}

// A value; of a C++ number, the constant that it is beside an integer.
template <typename A>
auto Plain(const A& operand) {
  if constexpr (kIsOperand<A>) {
    return Expr<typename A::Of>(operand);
  } else {
    static_assert(kIsConstant<A>, "a number, vector or matrix, or a value of the kernel");
    return ValueOf<ConstantType<A, std::int32_t>>(operand);
  }
}

// `a` where the condition holds, otherwise `b`; both are computed.
template <typename C, typename A, typename B>
auto Select(const C& condition, const A& a, const B& b) {
  if constexpr (!kIsOperand<A> && !kIsOperand<B>) {
    return Select(condition, Plain(a), b);
  } else {
    using Types = detail::Pair<A, B>;
    using R = PromotedPair<A, B>;
    return Expr<R>(Trace::Current().Select(
        Expr<typename C::Of>(condition).node(), OperandNode<R, typename Types::First>(a),
        OperandNode<R, typename Types::Second>(b), Facts<R>::kType));
  }
}

// A number as an element of a vector of S; values of other types are converted, but no fraction to
// an integer.
template <typename S, typename A>
NodeNumber ElementNode(const A& element) {
  if constexpr (kIsOperand<A>) {
    using Of = typename A::Of;
    static_assert(Facts<Of>::kIsScalar, "an element of a vector or matrix is a number");
    static_assert(std::is_floating_point_v<S> || !std::is_floating_point_v<ScalarIn<Of>>,
                  "a fraction for an integer: use Cast<...>(...)");
    const NodeNumber node = Expr<Of>(element).node();
    if constexpr (std::is_same_v<S, Of>) return node;
    return Trace::Current().Cast(node, Facts<S>::kType);
  } else {
    return ValueOf<S>(element).node();
  }
}

// A vector of numbers: Vector<float>(x[i], 0, 1).
template <typename S, typename... Elements>
auto Vector(const Elements&... elements) {
  using R = Vec<S, sizeof...(Elements)>;
  return Expr<R>(Trace::Current().Tensor({ElementNode<S>(elements)...}, Facts<R>::kType));
}
// A matrix of N rows: Matrix<float, 2>(a, b, c, d).
template <typename S, std::size_t N, typename... Elements>
auto Matrix(const Elements&... elements) {
  static_assert(sizeof...(Elements) % N == 0, "rows of the same length");
  using R = Mat<S, N, sizeof...(Elements) / N>;
  return Expr<R>(Trace::Current().Tensor({ElementNode<S>(elements)...}, Facts<R>::kType));
}

namespace detail {
template <typename A, typename B>
struct Product {
  static_assert(kNever<A>, "the second operand has as many rows as the first has columns");
  using Type = A;
};
template <typename S, std::size_t N, std::size_t K, std::size_t M>
struct Product<Mat<S, N, K>, Mat<S, K, M>> {
  using Type = Mat<S, N, M>;
};
template <typename S, std::size_t N, std::size_t K>
struct Product<Mat<S, N, K>, Vec<S, K>> {
  using Type = Vec<S, N>;
};
}  // namespace detail

// The product of two matrices, or of a matrix and a vector.
template <typename A, typename B>
auto MatMul(const A& a, const B& b) {
  using R = typename detail::Product<typename ValueIn<A>::Type, typename ValueIn<B>::Type>::Type;
  const NodeNumber first = Expr<typename ValueIn<A>::Type>(a).node();
  const NodeNumber second = Expr<typename ValueIn<B>::Type>(b).node();
  return Expr<R>(Trace::Current().Binary("matmul", first, second, Facts<R>::kType));
}

// A random number: in [0, 1) for floats, any for integers.
template <typename S>
Expr<S> Random() {
  return Expr<S>(Trace::Current().Random(DtypeOf<S>()));
}

// Atomic updates; each returns what was there before.
#define KILN_DSL_ATOMIC(name, op)                                             \
  template <typename T>                                                       \
  Expr<T> name(const Ref<T>& place, const typename Ref<T>::Given& value) {    \
    Trace::Current().SetPlace(value.place);                                   \
    return Expr<T>(Trace::Current().Atomic(op, place.address(), value.node)); \
  }
KILN_DSL_ATOMIC(AtomicAdd, "atomic_add")
KILN_DSL_ATOMIC(AtomicSub, "atomic_sub")
KILN_DSL_ATOMIC(AtomicMul, "atomic_mul")
KILN_DSL_ATOMIC(AtomicAnd, "atomic_and")
KILN_DSL_ATOMIC(AtomicOr, "atomic_or")
KILN_DSL_ATOMIC(AtomicXor, "atomic_xor")
KILN_DSL_ATOMIC(AtomicMin, "atomic_min")
KILN_DSL_ATOMIC(AtomicMax, "atomic_max")
#undef KILN_DSL_ATOMIC

}  // namespace kiln::dsl

#endif  // KILN_DSL_VALUES_HPP_
