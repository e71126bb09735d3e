// A kernel while it is traced: its C++ function runs once, and each operation on values of the
// kernel calls this class, which builds the kernel (compile.h).
//
// The first mistake ends the trace: what follows makes nothing, and Program::Compile returns it
// with the program's file and line.
//
// A kernel may have functions, which are traced when the kernel first calls them.
//
// Thread safety: one trace for one thread; several threads may trace at once.
#ifndef KILN_DSL_TRACE_HPP_
#define KILN_DSL_TRACE_HPP_

#include <kiln/compile.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln::dsl {

using NodeNumber = ::kiln_node;
using ParamId = ::kiln_input;
using ValueType = ::kiln_value_type;  // a scalar, or a vector or matrix of scalars

// Where the program says something.
struct Place {
  const char* file;
  int line;
};

class Trace {
 public:
  // The trace of the calling thread. Ends the program if there is none: values of kernels are used
  // only in the function that a Kernel was made of.
  static Trace& Current() {
    if (Slot() == nullptr) {
      std::fputs("kiln: a value of a kernel is used outside the kernel's function\n", stderr);
      std::abort();
    }
    return *Slot();
  }

  Trace() : trace_(kiln_trace_new()), outer_(Slot()), serial_(NextSerial()), scope_(serial_) {
    if (trace_ == nullptr) std::abort();
    Slot() = this;
  }
  ~Trace() {
    Slot() = outer_;
    kiln_trace_free(trace_);
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  ::kiln_trace* get() const { return trace_; }
  // No other trace of the program has this number.
  std::uint64_t serial() const { return serial_; }
  // The kernel, or that function of it whose body is being traced. Each has values of its own.
  std::uint64_t scope() const { return scope_; }
  bool IsInFunction() const { return scope_ != serial_; }

  // Of what is made from now on.
  void SetPlace(Place place) {
    place_ = place;
    kiln_trace_place(trace_, place.file, place.line);
  }
  Place place() const { return place_; }

  // --- Parameters. The program's fields become parameters when the kernel first uses them.
  ParamId AddValue(ValueType type) { return kiln_trace_value(trace_, type); }
  ParamId AddArray(ValueType element, std::size_t axes) {
    return kiln_trace_array(trace_, element, static_cast<int>(axes));
  }
  ParamId UseField(const ::kiln_dense* field) { return kiln_trace_field(trace_, field); }
  ParamId UseSNode(::kiln_tree* tree, ::kiln_snode snode) {
    return kiln_trace_snode(trace_, tree, snode);
  }

  // --- Values. All return a node of no value after a mistake.
  NodeNumber Float(double value, kiln_dtype scalar) {
    return kiln_trace_float(trace_, value, scalar);
  }
  NodeNumber Integer(std::int64_t value, kiln_dtype scalar) {
    return kiln_trace_int(trace_, value, scalar);
  }
  NodeNumber Param(ParamId param) { return kiln_trace_param(trace_, param); }
  NodeNumber Unary(const char* op, NodeNumber x, ValueType result) {
    return kiln_trace_unary(trace_, op, x, result);
  }
  NodeNumber Binary(const char* op, NodeNumber a, NodeNumber b, ValueType result) {
    return kiln_trace_binary(trace_, op, a, b, result);
  }
  NodeNumber Select(NodeNumber condition, NodeNumber a, NodeNumber b, ValueType result) {
    return kiln_trace_select(trace_, condition, a, b, result);
  }
  NodeNumber Cast(NodeNumber x, ValueType to) { return kiln_trace_cast(trace_, x, to); }
  NodeNumber BitCast(NodeNumber x, ValueType to) { return kiln_trace_bit_cast(trace_, x, to); }
  NodeNumber Tensor(const std::vector<NodeNumber>& elements, ValueType type) {
    return kiln_trace_tensor(trace_, elements.data(), elements.size(), type);
  }
  NodeNumber Extract(NodeNumber tensor, const std::vector<NodeNumber>& indices) {
    return kiln_trace_extract(trace_, tensor, indices.data(), indices.size());
  }
  NodeNumber Random(kiln_dtype scalar) { return kiln_trace_random(trace_, scalar); }
  NodeNumber Shape(ParamId storage, int axis) { return kiln_trace_shape(trace_, storage, axis); }

  // --- Memory
  NodeNumber Local(NodeNumber init, ValueType type) { return kiln_trace_local(trace_, init, type); }
  NodeNumber Global(ParamId storage, const std::vector<NodeNumber>& indices) {
    return kiln_trace_global(trace_, storage, indices.data(), indices.size());
  }
  NodeNumber Element(NodeNumber address, const std::vector<NodeNumber>& indices) {
    return kiln_trace_element(trace_, address, indices.data(), indices.size());
  }
  NodeNumber Join(const std::vector<NodeNumber>& addresses, ValueType type) {
    return kiln_trace_join(trace_, addresses.data(), addresses.size(), type);
  }
  NodeNumber Load(NodeNumber address) { return kiln_trace_load(trace_, address); }
  void Store(NodeNumber address, NodeNumber value) { kiln_trace_store(trace_, address, value); }
  NodeNumber Atomic(const char* op, NodeNumber address, NodeNumber value) {
    return kiln_trace_atomic(trace_, op, address, value);
  }

  // Of cells of SNodes.
  NodeNumber Cells(const char* op, ParamId snode, const std::vector<NodeNumber>& indices) {
    return kiln_trace_cells(trace_, op, snode, indices.data(), indices.size());
  }

  // --- Control. Each Begin is closed by End.
  NodeNumber BeginRange(const std::vector<NodeNumber>& bounds, bool serial) {  // b0, e0, b1, …
    return kiln_trace_begin_range(trace_, bounds.data(), bounds.size() / 2, serial ? 1 : 0);
  }
  NodeNumber BeginOver(ParamId storage) { return kiln_trace_begin_over(trace_, storage); }
  NodeNumber LoopIndex(NodeNumber loop, int axis) {
    return kiln_trace_loop_index(trace_, loop, axis);
  }
  void BeginWhile() { kiln_trace_begin_while(trace_); }
  void BeginIf(NodeNumber condition) { kiln_trace_begin_if(trace_, condition); }
  NodeNumber BeginChoose(NodeNumber condition) {
    return kiln_trace_begin_choose(trace_, condition);
  }
  void Yield(NodeNumber value) { kiln_trace_yield(trace_, value); }
  void Else() { kiln_trace_else(trace_); }
  void End() { kiln_trace_end(trace_); }
  void Break() { kiln_trace_break(trace_); }
  void Continue() { kiln_trace_continue(trace_); }
  void Return(const std::vector<NodeNumber>& values, const std::vector<ValueType>& types) {
    kiln_trace_return(trace_, values.data(), types.data(), values.size());
  }

  // --- Functions
  // The function number `serial` of the program in this kernel. Where the kernel has none yet,
  // traces `body` as it.
  template <typename Body>
  ::kiln_function FunctionNumber(std::uint64_t serial,
                                 const std::vector<::kiln_function_param>& params,
                                 const std::vector<ValueType>& results, const Body& body) {
    const auto known = functions_.find(serial);
    if (known != functions_.end()) return known->second;
    const ::kiln_function made = kiln_trace_begin_function(trace_, params.data(), params.size(),
                                                           results.data(), results.size());
    functions_[serial] = made;  // before its body, which may call it
    const std::uint64_t caller = scope_;
    const std::vector<ValueType> callers_results = std::exchange(results_, results);
    const Place place = place_;
    scope_ = NextSerial();
    body();
    kiln_trace_end_function(trace_);
    scope_ = caller;
    results_ = callers_results;
    SetPlace(place);
    return made;
  }
  // Of the open function.
  const std::vector<ValueType>& results() const { return results_; }
  NodeNumber Reference(ParamId param) { return kiln_trace_reference(trace_, param); }
  NodeNumber Call(::kiln_function function, const std::vector<NodeNumber>& arguments) {
    return kiln_trace_call(trace_, function, arguments.data(), arguments.size());
  }
  // Of a call with several.
  NodeNumber Result(NodeNumber call, std::uint32_t index) {
    return kiln_trace_result(trace_, call, index);
  }

  // `format` has a {} for each value.
  void Print(const std::string& format, const std::vector<NodeNumber>& values) {
    kiln_trace_print(trace_, format.c_str(), values.data(), values.size());
  }
  void Assert(NodeNumber condition, const std::string& format,
              const std::vector<NodeNumber>& values) {
    kiln_trace_assert(trace_, condition, format.c_str(), values.data(), values.size());
  }

  // A number that nothing else in the program has.
  static std::uint64_t NextSerial() {
    static std::uint64_t last = 0;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  }

 private:
  static Trace*& Slot() {
    static thread_local Trace* current = nullptr;
    return current;
  }

  ::kiln_trace* trace_;
  Trace* outer_;  // the thread's before this one
  std::uint64_t serial_, scope_;
  std::map<std::uint64_t, ::kiln_function> functions_;
  std::vector<ValueType> results_;
  Place place_ = {"", 0};
};

namespace detail {

// Arrays, fields and SNodes, of which the latter two become parameters of a kernel when it first
// uses them. Keeps what it names.
class Source {
 public:
  explicit Source(ParamId array) : param_(array) {}
  explicit Source(std::shared_ptr<::kiln_dense> field) : field_(std::move(field)) {}
  Source(std::shared_ptr<::kiln_tree> tree, ::kiln_snode snode)
      : tree_(std::move(tree)), snode_(snode) {}

  ParamId Use() const {
    if (field_ != nullptr) return Trace::Current().UseField(field_.get());
    return tree_ != nullptr ? Trace::Current().UseSNode(tree_.get(), snode_) : param_;
  }

 private:
  ParamId param_ = {};
  std::shared_ptr<::kiln_dense> field_;
  std::shared_ptr<::kiln_tree> tree_;
  ::kiln_snode snode_ = {};
};

}  // namespace detail

}  // namespace kiln::dsl

#endif  // KILN_DSL_TRACE_HPP_
