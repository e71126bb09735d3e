// Functions that kernels call. A kernel has the code of each once, however often it calls it, and a
// function may call itself. C++ functions, in contrast, become part of the kernel where they are
// called.
#ifndef KILN_DSL_FUNCTION_HPP_
#define KILN_DSL_FUNCTION_HPP_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/dsl/data.hpp"
#include "kiln/dsl/kernel.hpp"
#include "kiln/dsl/struct_values.hpp"

namespace kiln::dsl {

namespace detail {

// What a parameter is in the function, and what a call gives for it.
template <typename P>
struct FunctionParameter {
  static_assert(kNever<P>, "a parameter of a function is a Value<T>, or a Ref<T> of a number");
};
template <typename T>
struct FunctionParameter<Value<T>> {
  using Argument = const typename Ref<T>::Given&;
  static constexpr std::uint32_t kCount = Parts<T>::kCount;
  static void AddTypes(std::vector<::kiln_function_param>* params) {
    std::vector<ValueType> types;
    Parts<T>::AddTypes(&types);
    for (const ValueType type : types) params->push_back({type, 0});
  }
  static Value<T> Make(ParamId first) { return Value<T>(first); }
  static void AddNodes(const typename Ref<T>::Given& given, std::vector<NodeNumber>* nodes) {
    if constexpr (kIsStruct<T>) {
      Parts<T>::AddNodes(given.value, nodes);
    } else {
      nodes->push_back(given.node);
    }
  }
};
template <typename T>
struct FunctionParameter<Ref<T>> {
  static_assert(Facts<T>::kIsScalar, "only a number is passed by reference");
  using Argument = const Ref<T>&;
  static constexpr std::uint32_t kCount = 1;
  static void AddTypes(std::vector<::kiln_function_param>* params) {
    params->push_back({Facts<T>::kType, 1});
  }
  static Ref<T> Make(ParamId param) { return Ref<T>(Trace::Current().Reference(param)); }
  static void AddNodes(const Ref<T>& place, std::vector<NodeNumber>* nodes) {
    nodes->push_back(place.address());
  }
};

inline void ReturnNodes(const std::vector<NodeNumber>& nodes, const std::vector<ValueType>& types) {
  Trace& trace = Trace::Current();
  if (!trace.IsInFunction()) {
    Refuse(trace.place(), "Return outside a function: a kernel returns at the end of its own");
  }
  const auto is_same = [](const ValueType& a, const ValueType& b) {
    return a.scalar == b.scalar && a.rows == b.rows && a.columns == b.columns;
  };
  const std::vector<ValueType>& results = trace.results();
  if (!std::equal(types.begin(), types.end(), results.begin(), results.end(), is_same)) {
    Refuse(trace.place(), "a value of another type than the function returns");
  }
  trace.Return(nodes, types);
}
template <typename A>
void ReturnValue(const A& value) {
  static_assert(kIsValue<A>, "a function returns a value of its own: of a number, Expr<int>(3)");
  using Parts = Parts<typename A::Of>;
  std::vector<NodeNumber> nodes;
  Parts::AddNodes(value, &nodes);
  std::vector<ValueType> types;
  Parts::AddTypes(&types);
  ReturnNodes(nodes, types);
}

}  // namespace detail

// A function with parameters Value<T>, and Ref<T> for numbers that it may change, which returns
// Expr<T>, or nothing (void). With this type, whose arguments name what it returns and takes, it
// can call itself:
//
//   FunctionOf<Expr<int>, Value<int>> fibonacci([&](Value<int> n) -> Expr<int> {
//     If(n < 2, [&] { Return(n); });
//     return fibonacci(n - 1) + fibonacci(n - 2);
//   });
//   Kernel k("k", [&](Value<int> n) { return fibonacci(n); });
//
// The body runs once for each kernel that calls the function. It may use the kernel's arrays, and
// fields, but no other values of its caller: using one is an Error. Loops in functions are serial.
// Copies are the same function. Several threads may make kernels that call it.
template <typename Returns, typename... Params>
class FunctionOf {
 public:
  template <typename Lambda>
  explicit FunctionOf(const Lambda& lambda) : body_(std::make_shared<BodyOf<Lambda>>(lambda)) {
    static_assert(std::is_invocable_v<const Lambda&, Params...>,
                  "a function takes its parameters by value");
  }

  auto operator()(typename detail::FunctionParameter<Params>::Argument... arguments) const {
    const ::kiln_function called = Number();
    std::vector<NodeNumber> nodes;
    (detail::FunctionParameter<Params>::AddNodes(arguments, &nodes), ...);
    [[maybe_unused]] const NodeNumber call = Trace::Current().Call(called, nodes);
    if constexpr (!std::is_void_v<Returns>) {
      using Parts = detail::Parts<typename Returns::Of>;
      std::uint32_t part = 0;
      return Parts::Take(
          [&] { return Parts::kCount == 1 ? call : Trace::Current().Result(call, part++); });
    }
  }

 private:
  struct Body {
    virtual ~Body() = default;
    virtual Returns Run(Params... params) const = 0;
    const std::uint64_t serial = Trace::NextSerial();
  };
  template <typename Lambda>
  struct BodyOf : Body {
    explicit BodyOf(const Lambda& of) : lambda(of) {}
    Returns Run(Params... params) const override { return lambda(params...); }
    const Lambda lambda;
  };

  // Of this function in the kernel that is being traced.
  ::kiln_function Number() const {
    std::vector<::kiln_function_param> params;
    (detail::FunctionParameter<Params>::AddTypes(&params), ...);
    std::vector<ValueType> results;
    if constexpr (!std::is_void_v<Returns>) detail::Parts<typename Returns::Of>::AddTypes(&results);
    return Trace::Current().FunctionNumber(body_->serial, params, results, [&] { TraceBody(); });
  }
  void TraceBody() const {
    std::uint32_t next = 0;
    const auto take = [&](std::uint32_t count) {
      next += count;
      return ParamId{next - count};
    };
    // Braces compute their elements in order.
    const std::tuple<Params...> params{detail::FunctionParameter<Params>::Make(
        take(detail::FunctionParameter<Params>::kCount))...};
    const auto run = [&](const Params&... all) -> Returns { return body_->Run(all...); };
    if constexpr (std::is_void_v<Returns>) {
      std::apply(run, params);
    } else {
      detail::ReturnValue(std::apply(run, params));
    }
  }

  std::shared_ptr<const Body> body_;
};

namespace detail {
template <typename Returns, typename Tuple>
struct FunctionType;
template <typename Returns, typename... Params>
struct FunctionType<Returns, std::tuple<Params...>> {
  using Type = FunctionOf<Returns, Params...>;
};
template <typename Lambda>
using FunctionFor = typename FunctionType<typename SignatureOf<Lambda>::Returns,
                                          typename SignatureOf<Lambda>::Parameters>::Type;
}  // namespace detail

// The function of a lambda:
//
//   Function blend([](Value<float> a, Value<float> b, Value<float> t) { return a + t * (b - a); });
template <typename Lambda>
class Function : public detail::FunctionFor<Lambda> {
 public:
  explicit Function(const Lambda& lambda) : detail::FunctionFor<Lambda>(lambda) {}
};

// Ends the function whose body this is in, with its value. C++ functions that become part of a
// kernel return as C++ does, and kernels at the end of theirs.
template <typename A>
void Return(const A& value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Trace::Current().SetPlace({file, line});
  detail::ReturnValue(value);
}
inline void Return(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Trace::Current().SetPlace({file, line});
  detail::ReturnNodes({}, {});
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_FUNCTION_HPP_
