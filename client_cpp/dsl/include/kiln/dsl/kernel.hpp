// Kernels: C++ functions of values of kernels, traced once and compiled, or fetched from a cache.
#ifndef KILN_DSL_KERNEL_HPP_
#define KILN_DSL_KERNEL_HPP_

#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/dsl/data.hpp"
#include "kiln/dsl/error.hpp"
#include "kiln/dsl/program.hpp"
#include "kiln/dsl/struct_data.hpp"
#include "kiln/dsl/struct_values.hpp"

namespace kiln::dsl {

namespace detail {

// What a parameter of the traced function is in the kernel, and what a launch gives for it.
template <typename P>
struct Parameter {
  static_assert(kNever<P>, "a parameter of a kernel is an Array<T, N> or a Value<T>");
};
template <typename T>
struct Parameter<Value<T>> {
  using Argument = const T&;
  // The parts of a struct are parameters that follow each other.
  static ParamId Add() {
    std::vector<ValueType> types;
    Parts<T>::AddTypes(&types);
    const ParamId first = Trace::Current().AddValue(types[0]);
    for (std::size_t i = 1; i < types.size(); ++i) Trace::Current().AddValue(types[i]);
    return first;
  }
  // Returns the parameter after those of the value.
  static ParamId Set(Program* program, ParamId param, const T& value) {
    if constexpr (kIsStruct<T>) {
      Struct<T>::ForEach([&](auto member) {
        param = Parameter<Value<TypeIn<decltype(member)>>>::Set(program, param, member.pick(value));
      });
      return param;
    } else {
      using S = ScalarIn<T>;
      S numbers[Facts<T>::kCount];
      static_assert(sizeof numbers == sizeof value);
      std::memcpy(numbers, &value, sizeof value);
      for (std::uint32_t i = 0; i < Facts<T>::kCount; ++i) {
        if constexpr (std::is_floating_point_v<S>) {
          program->SetFloat(param, i, numbers[i]);
        } else {
          program->SetInteger(param, i, static_cast<std::int64_t>(numbers[i]));
        }
      }
      return {param.number + 1};
    }
  }
};
template <typename T, std::size_t N>
struct Parameter<Array<T, N>> {
  using Argument = const Memory<T, N>&;
  static ParamId Add() {
    if constexpr (kIsStruct<T>) {
      constexpr NumberTypes kTypes = Array<T, N>::kTypes;
      ParamId last{};
      for (std::uint32_t i = 0; i < kTypes.count; ++i) {
        const auto count = static_cast<std::uint32_t>(sizeof(T) / kTypes.bytes[i]);
        last = Trace::Current().AddArray({kTypes.dtypes[i], count, 0}, N);
      }
      return {last.number + 1 - kTypes.count};
    } else {
      return Trace::Current().AddArray(Facts<T>::kType, N);
    }
  }
  static void Set(Program* program, ParamId param, const Memory<T, N>& memory) {
    if (memory.field != nullptr) return program->SetField(param, memory.field);
    std::uint64_t size = 1;
    for (std::uint64_t extent : memory.shape) size *= extent;
    if (memory.data == nullptr && size > 0) {
      throw Error(KILN_INVALID_ARGUMENT, "argument " + std::to_string(param.number) +
                                             ": no memory for an array of " + std::to_string(size) +
                                             " elements");
    }
    if constexpr (kIsStruct<T>) {
      for (std::uint32_t i = 0; i < Array<T, N>::kTypes.count; ++i) {
        program->SetArray({param.number + i}, memory.data, memory.shape.data(), N);
      }
    } else if (memory.gradient != nullptr) {
      program->SetArrayWithGradient(param, memory.data, memory.gradient, memory.shape.data(), N);
    } else {
      program->SetArray(param, memory.data, memory.shape.data(), N);
    }
  }
};

template <typename R>
struct Result {
  static_assert(kIsValue<R>, "a kernel returns a value of its own: of a number, Expr<int>(3)");
  using Type = typename R::Of;
  static void Return(const R& value) {
    std::vector<NodeNumber> nodes;
    Parts<Type>::AddNodes(value, &nodes);
    std::vector<ValueType> types;
    Parts<Type>::AddTypes(&types);
    Trace::Current().Return(nodes, types);
  }
};

// Reads a value of the program from the slots of a launch's results, from `slot` on. Returns the
// next one.
template <typename T>
std::size_t TakeResults(const Program& program, std::size_t slot, T* value) {
  if constexpr (kIsStruct<T>) {
    Struct<T>::ForEach(
        [&](auto member) { slot = TakeResults(program, slot, &member.pick(*value)); });
  } else {
    using S = ScalarIn<T>;
    S numbers[Facts<T>::kCount];
    for (S& number : numbers) {
      const std::uint64_t bits = program.result(slot++);
      std::memcpy(&number, &bits, sizeof(S));
    }
    std::memcpy(value, numbers, sizeof *value);
  }
  return slot;
}

template <typename>
struct Signature;
template <typename F, typename R, typename... Params>
struct Signature<R (F::*)(Params...) const> {
  using Returns = R;
  using Parameters = std::tuple<std::decay_t<Params>...>;
};

}  // namespace detail

// Signature: of the traced function, which runs once, in the constructor. Its parameters are
// Value<T> and Array<T, N>; the fields that it names are arguments, too. It returns nothing, or a
// value.
//
//   Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
//     ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
//   });
//   saxpy(xs, ys, 2.0f);
//
// The constructor throws Error, for what is wrong in the kernel; so do launches that fail. One
// object is for one thread at a time.
template <typename Returns, typename... Params>
class KernelOf {
 public:
  template <typename Function>
  KernelOf(const std::string& name, const Function& function, Place place)
      : program_(Make(name, function, place, std::index_sequence_for<Params...>())) {}

  // Launches the kernel, and returns when it has ended, what it returns. On a CUDA device, a launch
  // that returns nothing, prints nothing and cannot fail may end later: see Sync.
  auto operator()(typename detail::Parameter<Params>::Argument... arguments) {
    SetAll(std::index_sequence_for<Params...>(), arguments...);
    program_.Run();
    if constexpr (!std::is_void_v<Returns>) {
      typename detail::Result<Returns>::Type value;
      detail::TakeResults(program_, 0, &value);
      return value;
    }
  }

  // Runs the kernel's gradient with these arguments: adds to the gradients of the fields and arrays
  // that the kernel reads, and takes those of what it writes. What has no gradient is constant.
  // Throws Error if nothing has one, and for what has no derivative.
  void Grad(typename detail::Parameter<Params>::Argument... arguments) {
    SetAll(std::index_sequence_for<Params...>(), arguments...);
    program_.RunGradient();
  }

  const Program& program() const { return program_; }

 private:
  template <typename Function, std::size_t... I>
  Program Make(const std::string& name, const Function& function, Place place,
               std::index_sequence<I...>) {
    static_assert(std::is_invocable_v<const Function&, Params...>,
                  "a kernel takes its parameters by value");
    Trace trace;
    trace.SetPlace(place);  // until a statement has a line of its own
    ((params_[I] = detail::Parameter<Params>::Add()), ...);
    if constexpr (std::is_void_v<Returns>) {
      function(Params(params_[I])...);
    } else {
      detail::Result<Returns>::Return(function(Params(params_[I])...));
    }
    return Program(name, trace);
  }
  template <std::size_t... I, typename... Arguments>
  void SetAll(std::index_sequence<I...>, const Arguments&... arguments) {
    (detail::Parameter<Params>::Set(&program_, params_[I], arguments), ...);
  }

  ParamId params_[sizeof...(Params) + 1];  // before `program_`, which fills it in
  Program program_;
};

namespace detail {
template <typename Returns, typename Tuple>
struct KernelType;
template <typename Returns, typename... Params>
struct KernelType<Returns, std::tuple<Params...>> {
  using Type = KernelOf<Returns, Params...>;
};
template <typename Function, typename = void>
constexpr bool kHasOneForm = false;
template <typename Function>
constexpr bool kHasOneForm<Function, std::void_t<decltype(&Function::operator())>> = true;
template <typename Function>
struct SignatureIn {
  static_assert(kHasOneForm<Function>,
                "a kernel is a lambda whose parameters are Array<T, N> and Value<T>, not auto");
  using Type = Signature<decltype(&Function::operator())>;
};
template <typename Function>
using SignatureOf = typename SignatureIn<Function>::Type;
template <typename Function>
using KernelFor = typename KernelType<typename SignatureOf<Function>::Returns,
                                      typename SignatureOf<Function>::Parameters>::Type;
}  // namespace detail

template <typename Function>
class Kernel : public detail::KernelFor<Function> {
 public:
  Kernel(const std::string& name, const Function& function, const char* file = __builtin_FILE(),
         int line = __builtin_LINE())
      : detail::KernelFor<Function>(name, function, Place{file, line}) {}
};

}  // namespace kiln::dsl

#endif  // KILN_DSL_KERNEL_HPP_
