// A kernel while it is traced: its C++ function runs once, and each operation on values of the
// kernel calls this class, which builds the kernel's message (client_cpp/kernel_builder.h).
//
// Only the standard library's headers: programs that contain kernels parse little. The first
// mistake ends the trace: what follows makes nothing, and Finish returns it with the program's file
// and line.
//
// Thread safety: one trace for one thread; several threads may trace at once.
#ifndef KILN_CLIENT_CPP_DSL_TRACE_H_
#define KILN_CLIENT_CPP_DSL_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/unit/node_number.h"
#include "runtime/scalar.h"

namespace kiln {
class DenseField;
}

namespace kiln::dsl {

// A scalar, or a vector or matrix of scalars.
struct ValueType {
  SlotScalar scalar = SlotScalar::kNone;
  uint32_t rows = 0;     // 0: a scalar
  uint32_t columns = 0;  // 0: a vector, or a scalar
};

// Where the program says something.
struct Place {
  const char* file;
  int line;
};

// Why a kernel was not made, or a launch did not end. `code` is one of absl::StatusCode.
struct Failure {
  int code = 0;  // 0: none
  std::string text;
};

class Trace {
 public:
  // The trace of the calling thread. Ends the program if there is none: values of kernels are used
  // only in the function that a Kernel was made of.
  static Trace& Current();

  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Of what is made from now on.
  void SetPlace(Place place);

  // --- Parameters. The program's fields become parameters when the kernel first uses them.
  ParamId AddValue(ValueType type);
  ParamId AddArray(ValueType element, int axes);
  ParamId UseField(const std::shared_ptr<DenseField>& field);

  // --- Values. Ops have the names of proto/op.proto. All return a node of no value after a
  // mistake.
  NodeNumber Float(double value, SlotScalar scalar);
  NodeNumber Integer(int64_t value, SlotScalar scalar);
  NodeNumber Param(ParamId param);
  NodeNumber Unary(const char* op, NodeNumber x, ValueType result);
  NodeNumber Binary(const char* op, NodeNumber a, NodeNumber b, ValueType result);
  NodeNumber Select(NodeNumber condition, NodeNumber a, NodeNumber b, ValueType result);
  NodeNumber Cast(NodeNumber x, ValueType to);
  NodeNumber Tensor(const std::vector<NodeNumber>& elements, ValueType type);
  NodeNumber Extract(NodeNumber tensor, const std::vector<NodeNumber>& indices);
  NodeNumber Random(SlotScalar scalar);
  NodeNumber Shape(ParamId storage, int axis);

  // --- Memory
  NodeNumber Local(NodeNumber init, ValueType type);
  NodeNumber Global(ParamId storage, const std::vector<NodeNumber>& indices);
  NodeNumber Element(NodeNumber address, const std::vector<NodeNumber>& indices);
  NodeNumber Load(NodeNumber address);
  void Store(NodeNumber address, NodeNumber value);
  NodeNumber Atomic(const char* op, NodeNumber address, NodeNumber value);

  // --- Control. Each Begin is closed by End.
  NodeNumber BeginRange(const std::vector<NodeNumber>& bounds, bool serial);  // b0, e0, b1, e1, …
  NodeNumber BeginOver(ParamId storage);
  NodeNumber LoopIndex(NodeNumber loop, int axis);
  void BeginWhile();
  void BeginIf(NodeNumber condition);
  NodeNumber BeginChoose(NodeNumber condition);
  void Yield(NodeNumber value);
  void Else();
  void End();
  void Break();
  void Continue();
  void Return(const std::vector<NodeNumber>& values, const std::vector<ValueType>& types);

  // `format` has a {} for each value.
  void Print(const std::string& format, const std::vector<NodeNumber>& values);
  void Assert(NodeNumber condition, const std::string& format,
              const std::vector<NodeNumber>& values);

 private:
  friend class Program;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  Trace* outer_;  // the thread's before this one
};

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_TRACE_H_
