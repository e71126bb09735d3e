/* The C++ face of libkiln (kiln/kiln.h): runs modules, which hold kernels that a program exported
 * (`kiln export`). C++17, header-only, without RTTI; link with libkiln.
 *
 *   kiln::Context context = kiln::Context::create();
 *   kiln::Module module = kiln::Module::open(context, "sim.kiln");
 *   kiln::World world = kiln::World::create(module);
 *   kiln::Kernel substep = module.kernel("substep");
 *   substep(world, 1e-4f);
 *   float energy = module.kernel("energy").call<float>(world);
 *
 * Failures. Functions that may fail throw kiln::Error, a code and a text. In programs compiled with
 * -fno-exceptions, or with KILN_NO_EXCEPTIONS defined, they return kiln::Expected<T> instead. The
 * comments write Result<T>: T in the first case, Expected<T> in the second. Files of one program
 * may differ in this, as long as they pass no objects of this header to each other.
 *
 * Lifetimes. A world keeps its module, and a module its context, so the order in which a program
 * destroys them does not matter. Kernels and graphs keep their module, too. Views of fields
 * (kiln::field) and arrays (kiln::array) keep nothing.
 *
 * Threads. As in kiln.h: any function may be called from any thread, and one object from several,
 * but assigning to an object or destroying it requires that no other thread uses it.
 */
#ifndef KILN_KILN_HPP_
#define KILN_KILN_HPP_

#include <kiln/kiln.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(KILN_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define KILN_NO_EXCEPTIONS
#endif

/* The namespaces differ, so that a linker never takes one form of a function for the other. */
#ifdef KILN_NO_EXCEPTIONS
#define KILN_HPP_NAMESPACE api1_expected
#define KILN_HPP_FAIL(...) return __VA_ARGS__
#else
#include <exception>
#define KILN_HPP_NAMESPACE api1
#define KILN_HPP_FAIL(...) throw __VA_ARGS__
#endif

/* Fails with kiln_error() unless a function of kiln.h has succeeded. */
#define KILN_HPP_TRY(call)                                   \
  do {                                                       \
    const kiln_status kiln_hpp_status = (call);              \
    if (kiln_hpp_status != KILN_OK) {                        \
      KILN_HPP_FAIL(Error(kiln_hpp_status, ::kiln_error())); \
    }                                                        \
  } while (false)

namespace kiln {
inline namespace KILN_HPP_NAMESPACE {

namespace detail {

/* An object that several owners share, of type T or erased (void). In place of std::shared_ptr,
 * whose header takes as long to parse as half of this one. Copies count atomically. */
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(const Shared& other) noexcept : box_(other.box_) {
    if (box_ != nullptr) __atomic_fetch_add(&box_->owners, 1, __ATOMIC_RELAXED);
  }
  Shared(Shared&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~Shared() {
    if (box_ != nullptr && __atomic_fetch_sub(&box_->owners, 1, __ATOMIC_ACQ_REL) == 1) {
      box_->destroy(box_);
    }
  }

  template <typename U, typename... Args>
  static Shared make(Args&&... args) {
    struct Full : Box {
      explicit Full(Args&&... given) : object(std::forward<Args>(given)...) {}
      U object;
    };
    Full* const full = new Full(std::forward<Args>(args)...);
    full->address = &full->object;
    full->destroy = [](Box* box) { delete static_cast<Full*>(box); };
    Shared made;
    made.box_ = full;
    return made;
  }

  explicit operator bool() const noexcept { return box_ != nullptr; }
  T* get() const noexcept { return box_ == nullptr ? nullptr : static_cast<T*>(box_->address); }
  T* operator->() const noexcept { return get(); }

 private:
  struct Box {
    void* address = nullptr;
    void (*destroy)(Box*) = nullptr;
    long owners = 1;
  };
  Box* box_ = nullptr;
};

}  // namespace detail

/* ---- Errors ------------------------------------------------------------------------------------
 */

/* Why a call failed.
 *
 *   try {
 *     module = kiln::Module::open(context, path);
 *   } catch (const kiln::Error& error) {
 *     if (error.code() == KILN_UNAVAILABLE) …
 *     std::fprintf(stderr, "%s\n", error.what());
 *   }
 */
#ifdef KILN_NO_EXCEPTIONS
class Error {
#else
class Error : public std::exception {
#endif
 public:
  Error() = default; /* KILN_OK */
  Error(kiln_status code, const std::string& text)
      : code_(code), text_(detail::Shared<std::string>::make<std::string>(text)) {}

  kiln_status code() const noexcept { return code_; }
#ifdef KILN_NO_EXCEPTIONS
  const char* what() const noexcept { return text_ ? text_->c_str() : ""; }
#else
  const char* what() const noexcept override { return text_ ? text_->c_str() : ""; }
#endif

 private:
  kiln_status code_ = KILN_OK;
  detail::Shared<std::string> text_; /* shared: copies of exceptions must not throw */
};

/* A value, or why there is none. Reading a value that is not there ends the program.
 *
 *   kiln::Expected<kiln::Module> module = kiln::Module::open(context, "sim.kiln");
 *   if (!module) return fail(module.error().what());
 *   module->kernel("substep");
 */
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}
  Expected(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return error_.code() == KILN_OK; }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const noexcept { return error_; }

  T& operator*() & { return check(), value_; }
  const T& operator*() const& { return check(), value_; }
  T&& operator*() && { return check(), std::move(value_); }
  T* operator->() { return check(), &value_; }
  const T* operator->() const { return check(), &value_; }

 private:
  void check() const {
    if (!has_value()) std::abort();
  }

  T value_{};
  Error error_;
};

template <typename T>
class [[nodiscard]] Expected<T&> {
 public:
  Expected(T& value) : value_(&value) {}
  Expected(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const noexcept { return error_; }

  T& operator*() const { return check(), *value_; }
  T* operator->() const { return check(), value_; }

 private:
  void check() const {
    if (!has_value()) std::abort();
  }

  T* value_ = nullptr;
  Error error_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return error_.code() == KILN_OK; }
  explicit operator bool() const noexcept { return has_value(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

#ifdef KILN_NO_EXCEPTIONS
template <typename T>
using Result = Expected<T>;
#else
template <typename T>
using Result = T;
#endif

/* The library's version: major * 10000 + minor * 100 + patch. */
inline std::uint32_t version() noexcept { return kiln_version(); }

/* ---- Numbers and elements ----------------------------------------------------------------------
 */

/* A number of dtype f16, by its bits. */
struct half {
  std::uint16_t bits = 0;
};

namespace detail {

template <typename T>
constexpr kiln_dtype dtype_of_number() {
  if constexpr (std::is_same_v<T, bool>) {
    return KILN_U1;
  } else if constexpr (std::is_same_v<T, half>) {
    return KILN_F16;
  } else if constexpr (std::is_same_v<T, float>) {
    return KILN_F32;
  } else if constexpr (std::is_same_v<T, double>) {
    return KILN_F64;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char> && sizeof(T) <= 8) {
    constexpr kiln_dtype first = std::is_signed_v<T> ? KILN_I8 : KILN_U8;
    return first + (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3);
  } else {
    return KILN_NO_DTYPE;
  }
}

template <typename T>
inline constexpr bool is_number = dtype_of_number<std::remove_cv_t<T>>() != KILN_NO_DTYPE;

template <typename>
inline constexpr bool never = false;

}  // namespace detail

/* What an element of an array or a field consists of: numbers, and std::arrays of them, which are
 * vectors and matrices. A program may add its own types, which must be trivially copyable and have
 * their numbers one after another:
 *
 *   template <>
 *   struct kiln::element_traits<Vec3> {
 *     using number = float;
 *     static constexpr std::array<std::int64_t, 1> shape = {3};
 *   };
 */
template <typename T, typename = void>
struct element_traits {
  static_assert(detail::never<T>,
                "not an element of Kiln's arrays: bool, an integer (but char), float, double, "
                "kiln::half, std::arrays of these, or a type with kiln::element_traits");
};

template <typename T>
struct element_traits<T, std::enable_if_t<detail::is_number<T>>> {
  using number = T;
  static constexpr std::array<std::int64_t, 0> shape = {};
};

template <typename T, std::size_t N>
struct element_traits<std::array<T, N>> {
 private:
  static constexpr std::size_t kInner = element_traits<T>::shape.size();
  static constexpr std::array<std::int64_t, kInner + 1> make() {
    std::array<std::int64_t, kInner + 1> all = {};
    all[0] = static_cast<std::int64_t>(N);
    for (std::size_t i = 0; i < kInner; ++i) all[i + 1] = element_traits<T>::shape[i];
    return all;
  }

 public:
  using number = typename element_traits<T>::number;
  static constexpr std::array<std::int64_t, kInner + 1> shape = make();
};

namespace detail {

template <typename T>
using traits = element_traits<std::remove_cv_t<T>>;
template <typename T>
using number_of = typename traits<T>::number;
template <typename T>
inline constexpr kiln_dtype dtype = dtype_of_number<number_of<T>>();
template <typename T>
inline constexpr std::size_t element_ndim = traits<T>::shape.size();

/* The numbers of an element. */
template <typename T>
constexpr std::size_t count_of() {
  std::size_t count = 1;
  for (const std::int64_t extent : traits<T>::shape) count *= static_cast<std::size_t>(extent);
  static_assert(std::is_trivially_copyable_v<T>, "elements must be trivially copyable");
  return count;
}

template <typename T>
constexpr void check_element() {
  static_assert(sizeof(T) == count_of<T>() * sizeof(number_of<T>),
                "an element has nothing but its numbers");
}

/* Whether memory of dtype `is` may be seen as `wanted`. There is no std::vector of bools. */
constexpr bool fits(kiln_dtype is, kiln_dtype wanted) {
  return is == wanted || (is == KILN_U1 && wanted == KILN_U8);
}

inline std::string name_of(kiln_dtype dtype) {
  const char* const name = kiln_dtype_name(dtype);
  return name == nullptr ? "struct" : name;
}

}  // namespace detail

/* ---- Contexts ----------------------------------------------------------------------------------
 */

namespace detail {

/* A function object of a program, kept alive. */
template <typename Signature>
class Callable;
template <typename R, typename... Args>
class Callable<R(Args...)> {
 public:
  Callable() = default;
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Callable> &&
                                                    std::is_invocable_r_v<R, F&, Args...>>>
  Callable(F&& function)
      : self_(Shared<void>::make<std::decay_t<F>>(std::forward<F>(function))),
        call_([](void* self, Args... args) -> R {
          return (*static_cast<std::decay_t<F>*>(self))(args...);
        }) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }
  R operator()(Args... args) const { return call_(self_.get(), args...); }

 private:
  Shared<void> self_;
  R (*call_)(void*, Args...) = nullptr;
};

}  // namespace detail

/* A part of a loop, which an executor calls as body(begin, end) for ranges of it. */
class Body {
 public:
  Body(void (*call)(void*, std::int64_t, std::int64_t), void* self) : call_(call), self_(self) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(self_, begin, end); }

 private:
  void (*call_)(void*, std::int64_t, std::int64_t);
  void* self_;
};

/* The program's own threads, in place of the context's. `concurrency` is how many of them may work
 * on a loop, the caller included: a number, or a function without arguments. The function
 * parallel_for(count, body) calls body(begin, end) for ranges that together are 0 ... count - 1,
 * each number once, on any threads, and returns when all calls have returned. Several threads may
 * call it at once, and a body may. Neither function may throw.
 *
 *   options.executor = kiln::Executor(8, [&](std::int64_t count, kiln::Body body) {
 *     tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count),
 *                       [&](const auto& range) { body(range.begin(), range.end()); });
 *   });
 */
class Executor {
 public:
  Executor() = default; /* the context's threads */

  template <typename Loop>
  Executor(int concurrency, Loop&& parallel_for)
      : Executor([concurrency] { return concurrency; }, std::forward<Loop>(parallel_for)) {}
  template <typename Count, typename Loop,
            typename = std::enable_if_t<std::is_invocable_r_v<int, Count&>>>
  Executor(Count&& concurrency, Loop&& parallel_for)
      : concurrency_(std::forward<Count>(concurrency)),
        parallel_for_(std::forward<Loop>(parallel_for)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(parallel_for_); }

  /* As kiln.h has it; valid as long as this object. */
  kiln_executor c_executor() {
    kiln_executor made = {};
    made.size = static_cast<std::uint32_t>(sizeof made);
    made.self = this;
    made.concurrency = [](void* self) noexcept -> int {
      return static_cast<Executor*>(self)->concurrency_();
    };
    made.parallel_for = [](void* self, std::int64_t count,
                           void (*body)(void*, std::int64_t, std::int64_t),
                           void* body_self) noexcept {
      static_cast<Executor*>(self)->parallel_for_(count, Body(body, body_self));
    };
    return made;
  }

 private:
  detail::Callable<int()> concurrency_;
  detail::Callable<void(std::int64_t, Body)> parallel_for_;
};

/* Where kernels run. `best`: on a CUDA device, for modules that have code for one that is there. */
enum class Device : std::uint32_t {
  best = KILN_DEVICE_BEST,
  cpu = KILN_DEVICE_CPU,
  cuda = KILN_DEVICE_CUDA
};

/* The functions may be called from any thread, and must not throw. */
struct ContextOptions {
  /* Threads of a loop, the caller included; 0: one for each CPU that the process may use. */
  std::uint32_t max_threads = 0;
  /* Empty: the context starts threads of its own when it first shares a loop. */
  Executor executor;
  /* What kernels print; empty: prints are dropped. */
  detail::Callable<void(std::string_view)> print;
  /* What happened, for a log. */
  detail::Callable<void(std::string_view)> log;
  /* Memory for fields, of any content, at a multiple of the alignment; NULL fails the call. Empty:
   * the system's. Both or neither. */
  detail::Callable<void*(std::size_t bytes, std::size_t alignment)> allocate;
  detail::Callable<void(void* data, std::size_t bytes)> release;
  /* Of the context's modules. All options above are about the CPU. */
  Device device = Device::best;
  /* Of a CUDA device, in the driver's order; -1: the first one. Contexts of several devices can be
   * used at the same time. */
  int cuda_device = -1;
  /* The path of CUDA's driver; empty: "libcuda.so.1". */
  std::string cuda_driver;
};

namespace detail {

struct ContextHandle {
  explicit ContextHandle(ContextOptions given) : options(std::move(given)) {}
  ContextHandle(const ContextHandle&) = delete;
  ContextHandle& operator=(const ContextHandle&) = delete;
  ~ContextHandle() { kiln_context_free(raw); }

  kiln_status open() {
    const kiln_executor executor = options.executor.c_executor();
    kiln_context_options made = {};
    made.size = static_cast<std::uint32_t>(sizeof made);
    made.max_threads = options.max_threads;
    if (options.executor) made.executor = &executor;
    if (options.print) {
      made.print_self = this;
      made.print = [](void* self, const char* text, std::size_t bytes) noexcept {
        static_cast<ContextHandle*>(self)->options.print(std::string_view(text, bytes));
      };
    }
    if (options.log) {
      made.log_self = this;
      made.log = [](void* self, const char* text) noexcept {
        static_cast<ContextHandle*>(self)->options.log(text);
      };
    }
    made.memory_self = this;
    if (options.allocate) {
      made.allocate = [](void* self, std::size_t bytes, std::size_t alignment) noexcept {
        return static_cast<ContextHandle*>(self)->options.allocate(bytes, alignment);
      };
    }
    if (options.release) {
      made.release = [](void* self, void* data, std::size_t bytes) noexcept {
        static_cast<ContextHandle*>(self)->options.release(data, bytes);
      };
    }
    made.device = static_cast<std::uint32_t>(options.device);
    made.cuda_device = static_cast<std::uint32_t>(options.cuda_device + 1);
    if (!options.cuda_driver.empty()) made.cuda_driver = options.cuda_driver.c_str();
    return kiln_context_new(&made, &raw);
  }

  ContextOptions options;
  kiln_context* raw = nullptr;
};

struct ModuleHandle {
  explicit ModuleHandle(Shared<ContextHandle> of) : context(std::move(of)) {}
  ModuleHandle(const ModuleHandle&) = delete;
  ModuleHandle& operator=(const ModuleHandle&) = delete;
  ~ModuleHandle() { kiln_module_free(raw); }

  Shared<ContextHandle> context;
  kiln_module* raw = nullptr;
};

/* Of members that may be empty: their functions then fail as those of freed objects do. */
template <typename Handle>
auto raw_of(const Shared<Handle>& handle) noexcept {
  return handle ? handle->raw : nullptr;
}

}  // namespace detail

/* Threads, and what the library tells the program. Move-only; a default-constructed one is empty.
 *
 *   kiln::ContextOptions options;
 *   options.max_threads = 4;
 *   options.print = [](std::string_view text) { std::cout << text; };
 *   kiln::Context context = kiln::Context::create(std::move(options));
 */
class Context {
 public:
  Context() = default;
  Context(Context&&) = default;
  Context& operator=(Context&&) = default;

  static Result<Context> create(ContextOptions options = {}) {
    Context made;
    made.handle_ =
        detail::Shared<detail::ContextHandle>::make<detail::ContextHandle>(std::move(options));
    KILN_HPP_TRY(made.handle_->open());
    return made;
  }

  /* Starts the threads now, so that no launch has to (see World::prepare). */
  Result<void> prepare() {
    KILN_HPP_TRY(kiln_context_prepare(raw()));
    return Result<void>();
  }
  /* Waits for launches on a CUDA device, and fails if one of them did. */
  Result<void> synchronize() {
    KILN_HPP_TRY(kiln_context_synchronize(raw()));
    return Result<void>();
  }

  /* Borrowed; NULL of an empty one. */
  kiln_context* raw() const noexcept { return detail::raw_of(handle_); }

 private:
  friend class Module;
  detail::Shared<detail::ContextHandle> handle_;
};

/* ---- Arrays ------------------------------------------------------------------------------------
 */

/* Memory of the program as an argument: T's in C order along N axes. Does not own the memory. T may
 * be const for arrays that the kernel only reads; launches check that.
 *
 *   std::vector<float> pixels(480 * 640);
 *   render(world, kiln::array<float, 2>(pixels.data(), {480, 640}));
 */
template <typename T, std::size_t N>
class array {
 public:
  static constexpr std::size_t ndim = N;

  array() = default;
  array(T* data, const std::array<std::int64_t, N>& shape) : data_(data) {
    detail::check_element<T>();
    for (std::size_t i = 0; i < N; ++i) shape_[i] = shape[i];
    for (std::size_t i = 0; i < kElement; ++i) shape_[N + i] = detail::traits<T>::shape[i];
  }
  /* All elements of a std::vector, std::array, std::span and the like, along one axis. */
  template <typename Container, std::size_t Axes = N, typename = std::enable_if_t<Axes == 1>,
            typename = std::enable_if_t<
                std::is_convertible_v<decltype(std::declval<Container&>().data()), T*> &&
                std::is_integral_v<decltype(std::declval<Container&>().size())>>,
            typename = std::enable_if_t<
                !std::is_same_v<std::remove_const_t<Container>, array> &&
                !std::is_same_v<std::remove_const_t<Container>, array<std::remove_const_t<T>, N>>>>
  array(Container& container)
      : array(container.data(), {static_cast<std::int64_t>(container.size())}) {}
  /* An array of T's is one of const T's. */
  template <typename Other,
            typename = std::enable_if_t<std::is_same_v<const Other, T> && !std::is_const_v<Other>>>
  array(const array<Other, N>& other) : array(other.data(), other.shape()) {}

  T* data() const noexcept { return data_; }
  std::array<std::int64_t, N> shape() const noexcept {
    std::array<std::int64_t, N> shape = {};
    for (std::size_t i = 0; i < N; ++i) shape[i] = shape_[i];
    return shape;
  }
  std::size_t size() const noexcept {
    std::int64_t size = 1;
    for (std::size_t i = 0; i < N; ++i) size *= shape_[i];
    return static_cast<std::size_t>(size);
  }

  /* As kiln.h has it; borrows from this object. */
  kiln_array c_array() const noexcept {
    using Data = std::remove_const_t<T>;
    return kiln_array_of(const_cast<Data*>(data_), detail::dtype<T>,
                         static_cast<std::int32_t>(N + kElement), shape_.data());
  }

 private:
  static constexpr std::size_t kElement = detail::element_ndim<T>;
  static_assert(N + kElement <= KILN_MAX_NDIM, "too many axes");

  T* data_ = nullptr;
  std::array<std::int64_t, N + kElement> shape_ = {};
};

class World;

namespace detail {

/* What views of fields have in common. */
template <typename T, std::size_t N>
class field_memory {
 public:
  static constexpr std::size_t ndim = N;

  field_memory() = default;

  /* The first element. */
  T* data() const noexcept { return static_cast<T*>(view_.array.data); }
  const std::array<std::int64_t, N>& shape() const noexcept { return shape_; }
  /* Elements of axis i are strides()[i] numbers (not elements) apart. */
  const std::array<std::int64_t, N>& strides() const noexcept { return strides_; }
  const std::array<std::int64_t, N>& first() const noexcept { return first_; }
  std::size_t size() const noexcept {
    std::int64_t size = 1;
    for (const std::int64_t extent : shape_) size *= extent;
    return static_cast<std::size_t>(size);
  }

  /* All elements in C order. */
  Result<std::vector<std::remove_const_t<T>>> read() const {
    std::vector<std::remove_const_t<T>> all(size());
    KILN_HPP_TRY(kiln_field_read(world_, name_, all.data(), all.size() * sizeof(T)));
    return all;
  }
  /* Replaces all elements, from any container with data() and size(). */
  template <typename Container>
  Result<void> write(const Container& all) const {
    static_assert(!std::is_const_v<T>, "the field is const");
    static_assert(std::is_same_v<std::remove_cv_t<std::remove_pointer_t<decltype(all.data())>>, T>,
                  "the container has elements of another type");
    KILN_HPP_TRY(kiln_field_write(world_, name_, all.data(), all.size() * sizeof(T)));
    return Result<void>();
  }

  /* As kiln.h has it; borrows from this object. */
  kiln_array c_array() const noexcept {
    kiln_array made = view_.array;
    made.shape = const_cast<std::int64_t*>(view_.shape);
    made.strides = const_cast<std::int64_t*>(view_.strides);
    return made;
  }

 protected:
  kiln_view view_ = {};
  std::array<std::int64_t, N> shape_ = {}, strides_ = {}, first_ = {};
  kiln_world* world_ = nullptr;
  const char* name_ = ""; /* the module's */

 private:
  friend class kiln::World;
};

}  // namespace detail

/* A field's memory: T's along N axes, some distance apart. Valid as long as the world; obtained
 * from World::field. Indices are those of the program that made the field: they count from the
 * first index of each axis, which is 0 unless the field has an offset.
 *
 *   kiln::field<float, 2> density = world.field<float, 2>("density");
 *   density.at(3, 4) = 1.0f;
 *   for (std::int64_t i = 0; i < density.shape()[0]; ++i) density(i, 0) = 0.0f;
 *   std::vector<float> all = density.read();
 */
template <typename T, std::size_t N>
class field : public detail::field_memory<T, N> {
 public:
  /* An element, without a check of the indices. */
  template <typename... Indices>
  T& operator()(Indices... indices) const {
    const std::array<std::int64_t, N> at = whole(indices...);
    std::int64_t distance = 0;
    for (std::size_t i = 0; i < N; ++i) {
      distance += (at[i] - this->first_[i]) * this->strides_[i];
    }
    return *reinterpret_cast<T*>(numbers() + distance);
  }
  /* An element; KILN_OUT_OF_RANGE for one that does not exist. */
  template <typename... Indices>
  Result<T&> at(Indices... indices) const {
    const std::array<std::int64_t, N> at = whole(indices...);
    for (std::size_t i = 0; i < N; ++i) {
      const std::int64_t first = this->first_[i], extent = this->shape_[i];
      if (at[i] >= first && at[i] - first < extent) continue;
      KILN_HPP_FAIL(Error(KILN_OUT_OF_RANGE, "field '" + std::string(this->name_) + "': index " +
                                                 std::to_string(at[i]) + " along axis " +
                                                 std::to_string(i) + ", which has " +
                                                 std::to_string(extent) + " from " +
                                                 std::to_string(first)));
    }
    return (*this)(indices...);
  }

 private:
  using Number =
      std::conditional_t<std::is_const_v<T>, const detail::number_of<T>, detail::number_of<T>>;

  Number* numbers() const noexcept { return static_cast<Number*>(this->view_.array.data); }
  template <typename... Indices>
  static std::array<std::int64_t, N> whole(Indices... indices) {
    static_assert(sizeof...(Indices) == N, "one index for each axis");
    static_assert((std::is_integral_v<Indices> && ...), "indices are integers");
    return {{static_cast<std::int64_t>(indices)...}};
  }
};

/* The same in the memory of the device on which the module's kernels run, for the program's own
 * CUDA code: data() and strides() are for kernels, and on_cuda() says whether they are a CUDA
 * device's. Obtained from World::device_field; kiln_field_device_view says how work there is
 * ordered.
 *
 *   kiln::device_field<float, 2> density = world.device_field<float, 2>("density");
 *   blur<<<blocks, threads>>>(density.data(), density.strides()[0]);
 *   std::vector<float> all = density.read();
 */
template <typename T, std::size_t N>
class device_field : public detail::field_memory<T, N> {
 public:
  bool on_cuda() const noexcept { return this->view_.array.device_type == 2; }
  /* The CUDA device's number. */
  int device() const noexcept { return this->view_.array.device_id; }
};

namespace detail {
/* World has functions of these names. */
template <typename T, std::size_t N>
using field_view = field<T, N>;
template <typename T, std::size_t N>
using device_field_view = device_field<T, N>;
}  // namespace detail

/* ---- Arguments ---------------------------------------------------------------------------------
 */

namespace detail {

template <typename T, typename = void>
inline constexpr bool is_container = false;
template <typename T>
inline constexpr bool is_container<
    T, std::void_t<decltype(std::declval<T&>().data()), decltype(std::declval<T&>().size())>> =
    true;
template <typename T>
inline constexpr bool is_view = false;
template <typename T, std::size_t N>
inline constexpr bool is_view<array<T, N>> = true;
template <typename T, std::size_t N>
inline constexpr bool is_view<field<T, N>> = true;
template <typename T, std::size_t N>
inline constexpr bool is_view<device_field<T, N>> = true;
template <typename T>
inline constexpr bool is_view_of_const = false;
template <typename T, std::size_t N>
inline constexpr bool is_view_of_const<array<const T, N>> = true;
template <typename T, std::size_t N>
inline constexpr bool is_view_of_const<field<const T, N>> = true;
template <typename T, std::size_t N>
inline constexpr bool is_view_of_const<device_field<const T, N>> = true;

template <typename T>
kiln_arg number_arg(T value) {
  static_assert(is_number<T> || std::is_same_v<T, char>,
                "not a number that kernels take: bool, an integer, float or double");
  if constexpr (std::is_same_v<T, half>) {
    return kiln_float(kiln_slot_float(KILN_F16, value.bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    return kiln_float(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return kiln_uint(static_cast<std::uint64_t>(value));
  } else {
    return kiln_int(static_cast<std::int64_t>(value));
  }
}

}  // namespace detail

/* The numbers of a struct, in the order of its members: numbers, and std::arrays of them.
 *
 *   step(world, kiln::members(1, 0.5f, std::array<float, 3>{0, 0, -9.8f}));
 */
template <std::size_t N>
struct members_of {
  std::array<kiln_arg, N> args;
};
template <typename... Members>
auto members(const Members&... all) {
  members_of<(detail::count_of<Members>() + ... + 0)> made = {};
  std::size_t next = 0;
  const auto add = [&](const auto& member) {
    using Member = std::decay_t<decltype(member)>;
    detail::check_element<Member>();
    const auto* numbers = reinterpret_cast<const detail::number_of<Member>*>(&member);
    for (std::size_t i = 0; i < detail::count_of<Member>(); ++i) {
      made.args[next++] = detail::number_arg(numbers[i]);
    }
  };
  (add(all), ...);
  return made;
}

namespace detail {

template <typename T>
inline constexpr bool is_members = false;
template <std::size_t N>
inline constexpr bool is_members<members_of<N>> = true;

/* An argument, which borrows what it was made of. What becomes of a container depends on the
 * parameter: an array of one axis, or the numbers of a vector or matrix. */
class Value {
 public:
  template <typename T>
  explicit Value(T&& given) {
    using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
    if constexpr (std::is_same_v<Plain, kiln_arg>) {
      arg_ = given;
    } else if constexpr (std::is_same_v<Plain, kiln_array>) {
      set_array(given);
    } else if constexpr (is_view<Plain>) {
      set_array(given.c_array());
      is_const_ = is_view_of_const<Plain>;
    } else if constexpr (is_members<Plain>) {
      arg_ = kiln_args(given.args.data(), given.args.size());
    } else if constexpr (is_container<Plain>) {
      if constexpr (std::is_lvalue_reference_v<T>) {
        set_container(given.data(), given.size());
      } else {
        set_container(std::as_const(given).data(), given.size());
      }
    } else if constexpr (std::is_array_v<Plain>) {
      set_container(&given[0], std::extent_v<Plain>);
    } else {
      arg_ = number_arg(static_cast<Plain>(given));
    }
  }

  bool is_const() const noexcept { return is_const_; }
  /* For a parameter that is an array, or is none; valid as long as this object. */
  kiln_arg arg(bool for_array) noexcept {
    if (kind_ == kOther) return arg_;
    if (kind_ == kContainer) {
      if (!for_array) return arg_;
      array_.shape = shape_;
    }
    return kiln_array_arg(&array_);
  }

 private:
  enum Kind : unsigned char { kOther, kArray, kContainer };

  void set_array(const kiln_array& given) noexcept {
    array_ = given;
    kind_ = kArray;
  }
  template <typename T>
  void set_container(T* data, std::size_t size) noexcept {
    check_element<T>();
    constexpr std::size_t kElement = element_ndim<T>;
    static_assert(kElement < kAxes, "too many axes");
    shape_[0] = static_cast<std::int64_t>(size);
    for (std::size_t i = 0; i < kElement; ++i) shape_[1 + i] = traits<T>::shape[i];
    array_ = kiln_array_of(const_cast<std::remove_const_t<T>*>(data), dtype<T>,
                           static_cast<std::int32_t>(1 + kElement), shape_);
    arg_ = kiln_numbers(dtype<T>, data, size * count_of<T>());
    kind_ = kContainer;
    is_const_ = std::is_const_v<T>;
  }

  static constexpr std::size_t kAxes = 4;
  kiln_arg arg_ = {};
  kiln_array array_ = {};
  std::int64_t shape_[kAxes] = {}; /* of a container */
  Kind kind_ = kOther;
  bool is_const_ = false;
};

inline Error const_error(const char* of, const std::string& owner, const char* name) {
  return Error(KILN_INVALID_ARGUMENT, std::string(of) + " '" + owner + "', argument '" + name +
                                          "': the kernel writes to it, but the array is const");
}

/* How one number of a result is read: whether a T holds every number of `dtype`. */
template <typename T>
constexpr bool holds(kiln_dtype dtype) {
  const bool is_float = dtype >= KILN_F16;
  const int bits = dtype == KILN_U1                         ? 1
                   : dtype == KILN_I8 || dtype == KILN_U8   ? 8
                   : dtype == KILN_I16 || dtype == KILN_U16 ? 16
                   : dtype == KILN_I32 || dtype == KILN_U32 ? 32
                   : dtype == KILN_F16                      ? 11
                   : dtype == KILN_F32                      ? 24
                   : dtype == KILN_F64                      ? 53
                                                            : 64;
  if constexpr (std::is_same_v<T, half>) {
    return dtype == KILN_F16;
  } else if constexpr (std::is_floating_point_v<T>) {
    /* An integer as a float may surprise, but loses nothing. */
    return bits <= std::numeric_limits<T>::digits;
  } else if constexpr (std::is_same_v<T, bool>) {
    return dtype == KILN_U1;
  } else {
    const bool is_signed = dtype >= KILN_I8 && dtype <= KILN_I64;
    if (is_float || (is_signed && std::is_unsigned_v<T>)) return false;
    return bits - (is_signed ? 1 : 0) <= std::numeric_limits<T>::digits;
  }
}

template <typename T>
T number_of_slot(kiln_dtype dtype, std::uint64_t slot) {
  if constexpr (std::is_same_v<T, half>) {
    return half{static_cast<std::uint16_t>(slot)};
  } else {
    if (dtype >= KILN_F16) return static_cast<T>(kiln_slot_float(dtype, slot));
    const std::int64_t whole = kiln_slot_int(dtype, slot);
    if (dtype == KILN_U64) return static_cast<T>(static_cast<std::uint64_t>(whole));
    return static_cast<T>(whole);
  }
}

/* The results that an R takes: one, or those of a tuple. */
template <typename R>
struct results {
  using types = std::tuple<R>;
};
template <typename... R>
struct results<std::tuple<R...>> {
  using types = std::tuple<R...>;
};

}  // namespace detail

/* ---- Launches ----------------------------------------------------------------------------------
 */

/* Options of launches, for Kernel::with and Graph::with.
 *
 *   std::uint32_t stop = 0;  // another thread stores 1
 *   substep.with(kiln::LaunchOptions().max_threads(2).stop_on(stop))(world, 1e-4f);
 */
class LaunchOptions {
 public:
  LaunchOptions() { options_.size = static_cast<std::uint32_t>(sizeof options_); }

  /* 0: as many as the context has. */
  LaunchOptions& max_threads(std::uint32_t count) {
    options_.max_threads = count;
    return *this;
  }
  /* Storing 1 in the flag, from any thread or a signal handler, ends the launch within about
   * 100 ms: KILN_ABORTED. The caller resets it. Borrowed. */
  LaunchOptions& stop_on(volatile std::uint32_t& flag) {
    options_.stop = &flag;
    return *this;
  }
  /* Receives what the kernel prints, as a std::string_view, in place of the context's function. It
   * must not throw. Borrowed. */
  template <typename F>
  LaunchOptions& print_to(F& function) {
    options_.print_self = &function;
    options_.print = [](void* self, const char* text, std::size_t bytes) noexcept {
      (*static_cast<F*>(self))(std::string_view(text, bytes));
    };
    return *this;
  }

  /* Called, maybe more than once, when a CUDA device has all work of the call and the caller is
   * about to wait for it: what other threads need meanwhile, such as a lock, can be released here.
   * It must not throw. Borrowed. */
  template <typename F>
  LaunchOptions& before_wait(F& function) {
    options_.waits_self = &function;
    options_.waits = [](void* self) noexcept { (*static_cast<F*>(self))(); };
    return *this;
  }

  const kiln_launch_options* raw() const noexcept { return &options_; }

 private:
  kiln_launch_options options_ = {};
};

class World;

/* A kernel of a module; copies are cheap, and keep the module. Called with a world, which kernels
 * without fields may omit, and one argument for each parameter:
 *
 *   number                    bool, an integer, float, double; std::uint32_t for u32, and so on. A
 *                             fraction for an integer, or one out of range, is refused
 *   vector, matrix            a container with data() and size(), as std::array<float, 3>
 *   struct                    kiln::members(...)
 *   array of one axis         std::vector<T>, std::array, std::span, T[N]: its elements are
 * numbers, std::arrays of them, or types with kiln::element_traits array kiln::array<T, N>,
 * kiln::field<T, N>, kiln_array
 *
 *   kiln::Kernel saxpy = module.kernel("saxpy");
 *   std::vector<float> x(1000, 1.0f), y(1000);
 *   saxpy(world, x, y, 2.0f);
 *   double total = module.kernel("total").call<double>(world);
 *
 * A const array, or a temporary one, is refused if the kernel writes to it. Nothing runs if an
 * argument is refused. Launches allocate no memory, unless they fail.
 */
class Kernel {
 public:
  Kernel() = default;

  template <typename... Args>
  Result<void> operator()(World& world, Args&&... args) const;
  template <typename... Args>
  Result<void> operator()(Args&&... args) const {
    return launch(nullptr, nullptr, std::forward<Args>(args)...);
  }

  /* The same with a result: R is a type that holds every number of the result's dtype, a std::array
   * of such for vectors and matrices, or a std::tuple for several results. */
  template <typename R, typename... Args>
  Result<R> call(World& world, Args&&... args) const;
  template <typename R, typename... Args>
  Result<R> call(Args&&... args) const {
    return call_on<R>(nullptr, std::forward<Args>(args)...);
  }

  /* A copy whose launches have these options. */
  Kernel with(const LaunchOptions& options) const {
    Kernel made = *this;
    made.options_ = options;
    return made;
  }

  /* Launches without checks, as kiln_launch_slots. `world` may be null. */
  Result<void> launch_slots(World* world, std::uint64_t* slots, std::uint64_t* results) const;

  /* "substep(x: array<f32, 2>, dt: f32) -> f32" */
  std::string signature() const { return described().text; }
  std::string name() const { return described().name; }
  const kiln_kernel* raw() const noexcept { return raw_; }

 private:
  friend class Module;
  static constexpr std::size_t kKnown = 64; /* parameters of which the two masks know */

  Kernel(detail::Shared<detail::ModuleHandle> module, const kiln_kernel* raw)
      : module_(std::move(module)), raw_(raw) {
    for (std::size_t i = 0; i < kKnown; ++i) {
      kiln_param param = {};
      param.size = static_cast<std::uint32_t>(sizeof param);
      if (kiln_kernel_param(raw, i, &param) != KILN_OK) break;
      arrays_ |= std::uint64_t{param.kind == KILN_PARAM_ARRAY} << i;
      written_ |= std::uint64_t{param.writes != 0} << i;
    }
  }

  kiln_signature described() const {
    kiln_signature signature = {};
    signature.size = static_cast<std::uint32_t>(sizeof signature);
    signature.name = signature.text = "";
    kiln_kernel_signature(raw_, &signature);
    return signature;
  }
  kiln_param param(std::size_t number) const {
    kiln_param param = {};
    param.size = static_cast<std::uint32_t>(sizeof param);
    kiln_kernel_param(raw_, number, &param);
    return param;
  }
  bool is_array(std::size_t i) const {
    return i < kKnown ? (arrays_ >> i & 1) != 0 : param(i).kind == KILN_PARAM_ARRAY;
  }
  bool is_written(std::size_t i) const {
    return i < kKnown ? (written_ >> i & 1) != 0 : param(i).writes != 0;
  }

  template <typename... Args>
  Result<void> launch(kiln_world* world, std::uint64_t* results, Args&&... args) const {
    constexpr std::size_t kCount = sizeof...(Args);
    std::array<detail::Value, kCount> values = {{detail::Value(std::forward<Args>(args))...}};
    std::array<kiln_arg, kCount> packed = {};
    for (std::size_t i = 0; i < kCount; ++i) {
      if (values[i].is_const() && is_array(i) && is_written(i)) {
        KILN_HPP_FAIL(detail::const_error("kernel", name(), param(i).name));
      }
      packed[i] = values[i].arg(is_array(i));
    }
    KILN_HPP_TRY(kiln_launch(raw_, world, packed.data(), kCount, results, options_.raw()));
    return Result<void>();
  }

  /* Where result `number` is, if a T can take it. */
  template <typename T>
  Error find_result(std::size_t number, kiln_param* found) const {
    found->size = static_cast<std::uint32_t>(sizeof *found);
    const kiln_status status = kiln_kernel_result(raw_, number, found);
    if (status != KILN_OK) return Error(status, kiln_error());
    bool fits = found->count == detail::count_of<T>();
    for (std::uint32_t i = 0; fits && i < found->count; ++i) {
      fits = detail::holds<detail::number_of<T>>(dtype_of(*found, i));
    }
    if (fits) return Error();
    return Error(KILN_INVALID_ARGUMENT, "kernel '" + name() + "': result " +
                                            std::to_string(number) + " of " + signature() +
                                            " does not fit the type that the call asks for");
  }
  static kiln_dtype dtype_of(const kiln_param& result, std::uint32_t number) {
    return result.dtype != KILN_NO_DTYPE ? result.dtype : result.dtypes[number];
  }

  template <typename T>
  static T read_result(const kiln_param& result, const std::uint64_t* slots) {
    detail::check_element<T>();
    T value = {};
    auto* const numbers = reinterpret_cast<detail::number_of<T>*>(&value);
    for (std::uint32_t i = 0; i < result.count; ++i) {
      numbers[i] = detail::number_of_slot<detail::number_of<T>>(dtype_of(result, i),
                                                                slots[result.first_slot + i]);
    }
    return value;
  }

  template <typename R, typename... Args>
  Result<R> call_on(kiln_world* world, Args&&... args) const {
    using Types = typename detail::results<R>::types;
    return call_for<R, Types>(std::make_index_sequence<std::tuple_size_v<Types>>(), world,
                              std::forward<Args>(args)...);
  }
  template <typename R, typename Types, std::size_t... I, typename... Args>
  Result<R> call_for(std::index_sequence<I...>, kiln_world* world, Args&&... args) const {
    constexpr std::size_t kSlots = (detail::count_of<std::tuple_element_t<I, Types>>() + ... + 0);
    constexpr std::size_t kResults = sizeof...(I);
    const kiln_signature signature = described();
    kiln_param found[kResults + 1] = {};
    Error error;
    const auto is_found = [&](Error one) { return (error = std::move(one)).code() == KILN_OK; };
    (void)(is_found(find_result<std::tuple_element_t<I, Types>>(I, &found[I])) && ...);
    if (error.code() != KILN_OK) KILN_HPP_FAIL(error);
    if (signature.results != kResults || signature.result_slots != kSlots) {
      KILN_HPP_FAIL(Error(KILN_INVALID_ARGUMENT, std::string(signature.text) + " returns " +
                                                     std::to_string(signature.results) +
                                                     " results, the call asks for " +
                                                     std::to_string(kResults)));
    }
    std::uint64_t slots[kSlots + 1] = {};
#ifdef KILN_NO_EXCEPTIONS
    if (Expected<void> done = launch(world, slots, std::forward<Args>(args)...); !done) {
      return done.error();
    }
#else
    launch(world, slots, std::forward<Args>(args)...);
#endif
    if constexpr (std::is_same_v<R, Types>) {
      return R(read_result<std::tuple_element_t<I, Types>>(found[I], slots)...);
    } else {
      return read_result<R>(found[0], slots);
    }
  }

  detail::Shared<detail::ModuleHandle> module_;
  const kiln_kernel* raw_ = nullptr;
  std::uint64_t arrays_ = 0, written_ = 0; /* a bit for each parameter */
  LaunchOptions options_;
};

/* An argument of a graph, which borrows its value. */
class NamedArg {
 public:
  template <typename T>
  NamedArg(const char* name, T&& value) : name_(name), value_(std::forward<T>(value)) {}

 private:
  friend class Graph;
  const char* name_;
  detail::Value value_;
};

/* Launches in an order that was exported. Copies are cheap, and keep the module.
 *
 *   module.graph("update").run(world, {{"x", x}, {"dt", 1e-4f}});
 */
class Graph {
 public:
  Graph() = default;

  /* `args` has all arguments of the graph, in any order. All are checked before the first launch.
   */
  Result<void> run(World& world, std::initializer_list<NamedArg> args) const;
  /* Of kernels without fields. */
  Result<void> run(std::initializer_list<NamedArg> args) const { return run_on(nullptr, args); }

  Graph with(const LaunchOptions& options) const {
    Graph made = *this;
    made.options_ = options;
    return made;
  }
  std::string name() const { return kiln_graph_name(raw_); }
  const kiln_graph* raw() const noexcept { return raw_; }

 private:
  friend class Module;
  Graph(detail::Shared<detail::ModuleHandle> module, const kiln_graph* raw)
      : module_(std::move(module)), raw_(raw) {}

  Result<void> run_on(kiln_world* world, std::initializer_list<NamedArg> args) const {
    std::vector<detail::Value> values;
    std::vector<kiln_named_arg> packed;
    values.reserve(args.size()); /* `packed` points into it */
    packed.reserve(args.size());
    for (const NamedArg& arg : args) {
      const kiln_param param = param_named(arg.name_);
      const bool is_array = param.kind == KILN_PARAM_ARRAY;
      if (arg.value_.is_const() && is_array && param.writes != 0) {
        KILN_HPP_FAIL(detail::const_error("graph", name(), arg.name_));
      }
      values.push_back(arg.value_);
      packed.push_back({arg.name_, values.back().arg(is_array)});
    }
    KILN_HPP_TRY(kiln_graph_run(raw_, world, packed.data(), packed.size(), options_.raw()));
    return Result<void>();
  }
  /* Zeros for a name that the graph lacks, which kiln_graph_run then refuses. */
  kiln_param param_named(std::string_view name) const {
    for (std::size_t i = 0;; ++i) {
      kiln_param param = {};
      param.size = static_cast<std::uint32_t>(sizeof param);
      if (kiln_graph_param(raw_, i, &param) != KILN_OK) return kiln_param();
      if (name == param.name) return param;
    }
  }

  detail::Shared<detail::ModuleHandle> module_;
  const kiln_graph* raw_ = nullptr;
  LaunchOptions options_;
};

/* ---- Modules -----------------------------------------------------------------------------------
 */

/* Kernels with their code, and blueprints of the fields and graphs that they use. Immutable,
 * move-only; a default-constructed one is empty.
 *
 *   kiln::Module module = kiln::Module::open(context, "sim.kiln");
 *   for (const kiln::Kernel& kernel : module.kernels()) std::puts(kernel.signature().c_str());
 */
class Module {
 public:
  Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  /* Loads a file for the best target that it has and the context's device runs. KILN_UNAVAILABLE if
   * it cannot be read, KILN_DATA_LOSS if it is damaged, KILN_FAILED_PRECONDITION if it has nothing
   * for this machine, or this machine or this library is too old for it. `signatures` is a
   * generated header's digest: a module with other signatures is refused. */
  static Result<Module> open(const Context& context, const std::string& path,
                             const std::uint64_t* signatures = nullptr) {
    return opened(context, signatures, [&](const kiln_open_options* options, kiln_module** out) {
      return kiln_module_open(context.raw(), path.c_str(), options, out);
    });
  }
  /* The same of a file's bytes, which are copied. */
  static Result<Module> open_bytes(const Context& context, const void* bytes, std::size_t count,
                                   const std::uint64_t* signatures = nullptr) {
    return opened(context, signatures, [&](const kiln_open_options* options, kiln_module** out) {
      return kiln_module_open_bytes(context.raw(), bytes, count, options, out);
    });
  }
  /* The same of a module that is linked into the program (`kiln export --static`): the address of
   * its symbol kiln_module_v1_NAME. */
  static Result<Module> open_linked(const Context& context, const void* symbol,
                                    const std::uint64_t* signatures = nullptr) {
    return opened(context, signatures, [&](const kiln_open_options* options, kiln_module** out) {
      return kiln_module_open_linked(context.raw(), symbol, options, out);
    });
  }

  /* By name; KILN_NOT_FOUND has the names that there are. */
  Result<Kernel> kernel(const std::string& name) const {
    const kiln_kernel* const found = kiln_module_kernel(raw(), name.c_str());
    if (found == nullptr) KILN_HPP_FAIL(Error(missing(), kiln_error()));
    return Kernel(handle_, found);
  }
  Result<Graph> graph(const std::string& name) const {
    const kiln_graph* const found = kiln_module_graph(raw(), name.c_str());
    if (found == nullptr) KILN_HPP_FAIL(Error(missing(), kiln_error()));
    return Graph(handle_, found);
  }

  /* In order of their names. */
  std::vector<Kernel> kernels() const {
    std::vector<Kernel> all;
    while (const kiln_kernel* kernel = kiln_module_kernel_at(raw(), all.size())) {
      all.push_back(Kernel(handle_, kernel));
    }
    return all;
  }
  std::vector<Graph> graphs() const {
    std::vector<Graph> all;
    while (const kiln_graph* graph = kiln_module_graph_at(raw(), all.size())) {
      all.push_back(Graph(handle_, graph));
    }
    return all;
  }
  /* Their pointers are valid as long as the module. */
  std::vector<kiln_field> fields() const {
    std::vector<kiln_field> all;
    kiln_field field = {};
    field.size = static_cast<std::uint32_t>(sizeof field);
    while (kiln_module_field_at(raw(), all.size(), &field) == KILN_OK) all.push_back(field);
    return all;
  }

  std::string name() const { return kiln_module_name(raw()); }
  /* For which it was loaded: "x86-64-v3", "sm_90". */
  std::string target() const { return kiln_module_target(raw()); }
  /* Borrowed; NULL of an empty one. */
  kiln_module* raw() const noexcept { return detail::raw_of(handle_); }

 private:
  friend class World;

  template <typename Open>
  static Result<Module> opened(const Context& context, const std::uint64_t* signatures,
                               const Open& open) {
    kiln_open_options options = {};
    options.size = static_cast<std::uint32_t>(sizeof options);
    options.signatures = signatures;
    Module made;
    made.handle_ =
        detail::Shared<detail::ModuleHandle>::make<detail::ModuleHandle>(context.handle_);
    KILN_HPP_TRY(open(&options, &made.handle_->raw));
    return made;
  }
  kiln_status missing() const { return handle_ ? KILN_NOT_FOUND : KILN_INVALID_ARGUMENT; }

  detail::Shared<detail::ModuleHandle> handle_;
};

/* ---- Worlds ------------------------------------------------------------------------------------
 */

struct WorldOptions {
  std::uint64_t seed = 0;      /* of random numbers */
  std::uint64_t max_bytes = 0; /* of the fields, sparse cells included; 0: no limit */
};

/* A module's fields, with memory of their own: all elements are zero, all sparse cells inactive.
 * Kernels run on the world that a launch names; threads may run kernels on different worlds at
 * once. Move-only; a default-constructed one is empty.
 *
 *   std::vector<kiln::World> worlds;
 *   for (int i = 0; i < 1000; ++i) worlds.push_back(kiln::World::create(module));
 *   worlds[0].write("x", std::vector<float>(64, 1.0f));
 *   step(worlds[0], 1e-4f);
 *   std::vector<float> x = worlds[0].read<float>("x");
 */
class World {
 public:
  World() = default;
  World(World&& other) noexcept { *this = std::move(other); }
  World& operator=(World&& other) noexcept {
    std::swap(module_, other.module_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~World() { kiln_world_free(raw_); }

  static Result<World> create(const Module& module, const WorldOptions& given = WorldOptions()) {
    kiln_world_options options = {};
    options.size = static_cast<std::uint32_t>(sizeof options);
    options.seed = given.seed;
    options.max_bytes = given.max_bytes;
    World made;
    made.module_ = module.handle_;
    KILN_HPP_TRY(kiln_world_new(module.raw(), &options, &made.raw_));
    return made;
  }

  /* Restarts random numbers. */
  Result<void> seed(std::uint64_t seed) {
    KILN_HPP_TRY(kiln_world_seed(raw_, seed));
    return Result<void>();
  }
  /* Touches the fields' memory. After this and Context::prepare, a launch on dense fields by a
   * thread that has launched the kernel before neither allocates memory nor takes a lock, unless
   * the kernel prints or fails. */
  Result<void> prepare() {
    KILN_HPP_TRY(kiln_world_prepare(raw_));
    return Result<void>();
  }

  /* A field's memory, for elements T along N axes. Elements that are vectors or matrices may also
   * be seen as numbers, with their axes last: field<float, 3> of vectors along two axes.
   * KILN_FAILED_PRECONDITION, with the reason, for fields that are no strided array of such
   * elements, as sparse ones, and on CUDA devices: use read, write, get and set. */
  template <typename T, std::size_t N>
  Result<detail::field_view<T, N>> field(const std::string& name) {
    return view<detail::field_view<T, N>, T, N>(kiln_field_view, name);
  }
  /* The same in the memory of the module's device: kiln_field_device_view. */
  template <typename T, std::size_t N>
  Result<detail::device_field_view<T, N>> device_field(const std::string& name) {
    return view<detail::device_field_view<T, N>, T, N>(kiln_field_device_view, name);
  }

  /* All elements of any field in C order; inactive cells are zeros. */
  template <typename T>
  Result<std::vector<T>> read(const std::string& name) const {
    static_assert(!std::is_same_v<T, bool>, "read fields of u1 as std::uint8_t");
    kiln_field about = {};
    about.size = static_cast<std::uint32_t>(sizeof about);
    KILN_HPP_TRY(kiln_module_field(detail::raw_of(module_), name.c_str(), &about));
    if (!has_elements<T>(about)) {
      KILN_HPP_FAIL(mismatch(about, detail::dtype<T>, about.ndim, detail::element_ndim<T>));
    }
    std::vector<T> all(static_cast<std::size_t>(about.bytes) / sizeof(T));
    KILN_HPP_TRY(kiln_field_read(raw_, name.c_str(), all.data(), all.size() * sizeof(T)));
    return all;
  }
  /* Replaces all elements, from a container with data() and size(); skips inactive cells. */
  template <typename Container>
  Result<void> write(const std::string& name, const Container& all) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(all.data())>>;
    kiln_field about = {};
    about.size = static_cast<std::uint32_t>(sizeof about);
    KILN_HPP_TRY(kiln_module_field(detail::raw_of(module_), name.c_str(), &about));
    if (!has_elements<T>(about)) {
      KILN_HPP_FAIL(mismatch(about, detail::dtype<T>, about.ndim, detail::element_ndim<T>));
    }
    KILN_HPP_TRY(kiln_field_write(raw_, name.c_str(), all.data(), all.size() * sizeof(T)));
    return Result<void>();
  }

  /* One element of a field, on any device: a number, or a vector or matrix. An inactive cell reads
   * as zeros, and becomes active by a write. KILN_UNIMPLEMENTED as for kiln_field_get.
   *
   *   world.set("smoke", {3, 4, 5}, 1.0f);
   *   float one = world.get<float>("smoke", {3, 4, 5});
   */
  template <typename T>
  Result<T> get(const std::string& name, std::initializer_list<std::int64_t> indices) const {
    kiln_field about = {};
    about.size = static_cast<std::uint32_t>(sizeof about);
    KILN_HPP_TRY(kiln_module_field(detail::raw_of(module_), name.c_str(), &about));
    if (!is_element<T>(about, indices.size())) {
      KILN_HPP_FAIL(mismatch(about, detail::dtype<T>, indices.size(), detail::element_ndim<T>));
    }
    T element = {};
    KILN_HPP_TRY(kiln_field_get(raw_, name.c_str(), indices.begin(), &element, sizeof element));
    return element;
  }
  template <typename T>
  Result<void> set(const std::string& name, std::initializer_list<std::int64_t> indices,
                   const T& element) {
    kiln_field about = {};
    about.size = static_cast<std::uint32_t>(sizeof about);
    KILN_HPP_TRY(kiln_module_field(detail::raw_of(module_), name.c_str(), &about));
    if (!is_element<T>(about, indices.size())) {
      KILN_HPP_FAIL(mismatch(about, detail::dtype<T>, indices.size(), detail::element_ndim<T>));
    }
    KILN_HPP_TRY(kiln_field_set(raw_, name.c_str(), indices.begin(), &element, sizeof element));
    return Result<void>();
  }

  /* The address of one number of an element: `component` counts the element's numbers. An inactive
   * cell becomes active with `activate`; otherwise its address is null.
   *
   *   *world.locate<float>("smoke", {3, 4, 5}, 0, true) = 1.0f;
   */
  template <typename T>
  Result<T*> locate(const std::string& name, std::initializer_list<std::int64_t> indices,
                    std::uint32_t component = 0, bool activate = false) {
    static_assert(detail::is_number<T>, "fields consist of numbers");
    kiln_field about = {};
    about.size = static_cast<std::uint32_t>(sizeof about);
    KILN_HPP_TRY(kiln_module_field(detail::raw_of(module_), name.c_str(), &about));
    if (!detail::fits(about.dtype, detail::dtype<T>) || indices.size() != about.ndim) {
      KILN_HPP_FAIL(mismatch(about, detail::dtype<T>, indices.size(), about.element_ndim));
    }
    void* address = nullptr;
    KILN_HPP_TRY(kiln_field_locate(raw_, name.c_str(), indices.begin(), component, activate ? 1 : 0,
                                   &address));
    return static_cast<T*>(address);
  }

  /* Borrowed; NULL of an empty one. */
  kiln_world* raw() const noexcept { return raw_; }

 private:
  using ViewFunction = kiln_status (*)(kiln_world*, const char*, kiln_view*);

  template <typename View, typename T, std::size_t N>
  Result<View> view(ViewFunction of, const std::string& name) {
    detail::check_element<T>();
    kiln_field about = {};
    about.size = static_cast<std::uint32_t>(sizeof about);
    KILN_HPP_TRY(kiln_module_field(detail::raw_of(module_), name.c_str(), &about));
    View made;
    KILN_HPP_TRY(of(raw_, name.c_str(), &made.view_));
    constexpr std::size_t kElement = detail::element_ndim<T>;
    const auto& element = detail::traits<T>::shape;
    bool fits = detail::fits(about.dtype, detail::dtype<T>) &&
                made.view_.array.ndim == static_cast<std::int32_t>(N + kElement) && N >= about.ndim;
    std::int64_t distance = 1;
    bool is_packed = true;
    for (std::size_t i = kElement; fits && i-- > 0;) {
      fits = made.view_.shape[N + i] == element[i];
      is_packed = is_packed && (element[i] == 1 || made.view_.strides[N + i] == distance);
      distance *= element[i];
    }
    if (!fits) KILN_HPP_FAIL(mismatch(about, detail::dtype<T>, N, kElement));
    if (!is_packed) {
      KILN_HPP_FAIL(
          Error(KILN_FAILED_PRECONDITION, "field '" + name +
                                              "': the numbers of an element are apart; see it as "
                                              "numbers along " +
                                              std::to_string(N + kElement) + " axes"));
    }
    for (std::size_t i = 0; i < N; ++i) {
      made.shape_[i] = made.view_.shape[i];
      made.strides_[i] = made.view_.strides[i];
      made.first_[i] = i < about.ndim ? about.first[i] : 0;
    }
    made.world_ = raw_;
    made.name_ = about.name;
    return made;
  }

  /* As numbers, or as elements. */
  template <typename T>
  static bool has_elements(const kiln_field& about) {
    detail::check_element<T>();
    if (!detail::fits(about.dtype, detail::dtype<T>)) return false;
    if (detail::element_ndim<T> == 0) return true;
    bool fits = about.element_ndim == detail::element_ndim<T>;
    for (std::size_t i = 0; fits && i < detail::element_ndim<T>; ++i) {
      fits = about.element_shape[i] == static_cast<std::uint64_t>(detail::traits<T>::shape[i]);
    }
    return fits;
  }
  template <typename T>
  static bool is_element(const kiln_field& about, std::size_t indices) {
    return indices == about.ndim && detail::element_ndim<T> == about.element_ndim &&
           has_elements<T>(about);
  }
  static Error mismatch(const kiln_field& about, kiln_dtype dtype, std::size_t axes,
                        std::size_t element_axes) {
    const auto text = [](kiln_dtype of, std::size_t outer, std::size_t inner) {
      return detail::name_of(of) + " along " + std::to_string(outer) + " axes, with elements of " +
             std::to_string(inner) + " axes";
    };
    std::string shape;
    for (std::uint32_t i = 0; i < about.element_ndim; ++i) {
      shape += (i > 0 ? ", " : " (") + std::to_string(about.element_shape[i]);
    }
    return Error(KILN_INVALID_ARGUMENT, "field '" + std::string(about.name) + "' is " +
                                            text(about.dtype, about.ndim, about.element_ndim) +
                                            (shape.empty() ? "" : shape + ")") +
                                            "; the call asks for " +
                                            text(dtype, axes, element_axes));
  }

  detail::Shared<detail::ModuleHandle> module_;
  kiln_world* raw_ = nullptr;
};

template <typename... Args>
Result<void> Kernel::operator()(World& world, Args&&... args) const {
  return launch(world.raw(), nullptr, std::forward<Args>(args)...);
}

template <typename R, typename... Args>
Result<R> Kernel::call(World& world, Args&&... args) const {
  return call_on<R>(world.raw(), std::forward<Args>(args)...);
}

inline Result<void> Kernel::launch_slots(World* world, std::uint64_t* slots,
                                         std::uint64_t* results) const {
  KILN_HPP_TRY(kiln_launch_slots(raw_, world == nullptr ? nullptr : world->raw(), slots, results,
                                 options_.raw()));
  return Result<void>();
}

inline Result<void> Graph::run(World& world, std::initializer_list<NamedArg> args) const {
  return run_on(world.raw(), args);
}

}  // namespace KILN_HPP_NAMESPACE
}  // namespace kiln

#undef KILN_HPP_TRY
#undef KILN_HPP_FAIL
#undef KILN_HPP_NAMESPACE

#endif  // KILN_KILN_HPP_
