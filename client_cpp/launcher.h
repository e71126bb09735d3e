// Packs a kernel's arguments into slots and launches it.
//
//   Launcher launch(made.instance);
//   launch.Set(a, 2.0f).Bind(x_param, x).Bind(y_param, y);
//   launch.OnPrint([&](absl::string_view text) { log.Append(text); });
//   RETURN_IF_ERROR(launch.Run());
//
// Parameters keep their values from run to run until they are set again. One object is for one
// thread at a time; threads may share kernels.
//
// The derivatives of an instance (CompileSettings::gradients, duals) get the same arguments. Bind
// binds the companions of a field by itself:
//
//   launch.Bind(x_param, x).Bind(y_param, y);
//   RETURN_IF_ERROR(launch.RunGradient());  // reads y.grad(), adds to x.grad()
//
// In the body of a Tape, Run also records the launch.
#ifndef KILN_CLIENT_CPP_LAUNCHER_H_
#define KILN_CLIENT_CPP_LAUNCHER_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "client_cpp/field_tree.h"
#include "client_cpp/fields.h"
#include "client_cpp/instance.h"
#include "client_cpp/launch.h"
#include "client_cpp/tape.h"
#include "common/language/ids.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

// The memory of an array's gradient and dual, of the same form as the array; null: none.
struct ArrayCompanions {
  void* grad = nullptr;
  void* dual = nullptr;
};

class Launcher {
 public:
  explicit Launcher(std::shared_ptr<const Instance> instance);
  // A kernel without its texts: what it prints is lost, and failures have no text.
  explicit Launcher(std::shared_ptr<const LoadedKernel> kernel);

  // Receivers of the texts of a launch (LaunchReceivers), which only an Instance has. A tape runs
  // gradients without them.
  using PrintHook = std::function<void(absl::string_view text)>;
  Launcher& OnPrint(PrintHook hook);
  using FailureHook = std::function<void(const LaunchFailure& failure)>;
  Launcher& OnFailure(FailureHook hook);

  // The value parameter `param`, converted to its type. Tensors: one call an element,
  // row-major.
  template <typename T>
  Launcher& Set(ParamId param, T value, uint32_t element = 0) {
    if constexpr (std::is_floating_point_v<T>) {
      return SetSlot(param, element, static_cast<double>(value));
    } else if constexpr (std::is_signed_v<T>) {
      return SetSlot(param, element, static_cast<int64_t>(value));
    } else {
      return SetSlot(param, element, static_cast<uint64_t>(value));
    }
  }
  // The storage parameter `param`; the field must outlive the runs.
  Launcher& Bind(ParamId param, const DenseField& field);
  template <typename T>
  Launcher& Bind(ParamId param, const Field<T>& field) {
    return Bind(param, field.dense());
  }
  // A field in a tree, and its gradient there. Their memory must outlive the runs. Null: it has
  // none; it has no dual in any case.
  Launcher& Bind(ParamId param, const TreeField& field, const TreeField* gradient = nullptr);
  // An array in C order, in memory of the kernel's device; the builder knows it through
  // ArrayStorage.
  Launcher& Bind(ParamId param, const void* data, absl::Span<const uint64_t> shape,
                 ArrayCompanions companions = {});
  // A field as an array, with its companions. The field must outlive the runs.
  Launcher& BindAsArray(ParamId param, const DenseField& field);

  // Tree `tree` of the unit (KernelBuilder::Finish returns which): the address of its root cell,
  // and its nodes in the order of common/unit/argument_layout.h. Both must outlive the runs.
  Launcher& BindTree(uint32_t tree, uint8_t* root, KilnNode* const* nodes);

  // Of fields and trees on a device with memory of its own, the caller hands over what the host has
  // written before each run (Buffer::HandOver).
  //
  // FailedPrecondition if a parameter is missing (also reports the first mistake in Set and Bind),
  // or if the active tape cannot record the launch. Aborted if the launch failed, with the
  // failure's text and first position. `max_threads` 0: one per CPU of this process.
  absl::Status Run(int max_threads = 0);
  // Runs the gradient: adds to the gradients of what the kernel reads, and takes those of what it
  // writes. Fails as Run does; FailedPrecondition if the instance has no gradient, a gradient is
  // not bound or would be missed, or fields and arrays share memory. Tapes do not record it.
  absl::Status RunGradient(int max_threads = 0);
  // Runs the kernel, and computes the duals of what it writes from those of what it reads. Fails as
  // RunGradient does, and in the body of a tape, which cannot record it.
  absl::Status RunWithDuals(int max_threads = 0);

  // A launcher that keeps the kernel's arguments as they are now, and takes no others; or those of
  // its gradient. Fails as Run or RunGradient does. Tapes do not record its runs, and the memory of
  // the arguments must outlive them.
  absl::StatusOr<std::unique_ptr<Launcher>> Fixed();
  absl::StatusOr<std::unique_ptr<Launcher>> FixedGradient();
  const std::shared_ptr<const LoadedKernel>& kernel() const { return kernel_; }
  // In the order of the kernel's slots.
  const uint64_t* arguments() const { return arguments_.data(); }

  // Result `index` of the last run; T is the type of that result.
  template <typename T>
  T result(int index = 0) const {
    T value;
    std::memcpy(&value, &results_[index], sizeof value);
    return value;
  }

 private:
  // Memory of a derivative's parameter.
  struct BoundMemory {
    ParamId param;
    MemoryRange range;
    bool is_companion;
  };

  const DerivativeParams& derivative() const;
  bool is_forward() const { return derivative().mode == proto::AUTODIFF_FORWARD; }

  // OK if the launch has all its arguments, and those of a derivative do not overlap.
  absl::Status CheckArguments();
  absl::Status CheckApart();
  absl::Status CheckRecordable();
  // Of a gradient: tells the tape which memory it clears, and which it hands over.
  void NoteGradientsOn(Tape* tape);
  absl::Status Launch(int max_threads);
  static absl::Status CheckDerivative(const Launcher* derivative, const char* what);
  // OK if nothing is in missed_.
  absl::Status CheckMissed() const;
  static absl::Status RunDerivative(Launcher* derivative, const char* what, int max_threads);

  template <typename T>
  Launcher& SetSlot(ParamId param, uint32_t element, T value);
  // The index of a slot; -1, with an error noted, if the kernel has no such slot.
  int Find(ParamId param, ArgumentSlot::Kind kind, uint32_t element);
  int Missing(uint32_t number, ArgumentSlot::Kind kind, uint32_t element);
  Launcher& Put(int slot, uint64_t value);
  void Unset(ParamId param);
  void PutField(ParamId param, const DenseField& field);
  void PutTreeField(ParamId param, const TreeField& field);
  void PutArray(ParamId param, const void* data, absl::Span<const uint64_t> shape);
  void PutAsArray(ParamId param, const DenseField& field);
  void PutExtents(ParamId param, const void* data, absl::Span<const uint64_t> shape);
  // Of a derivative: notes what the parameter is bound to.
  void NoteMemory(ParamId param, MemoryRange range);
  // `param` is bound to memory that has a gradient (in forward mode a dual), or has none. Returns
  // the parameter to bind that to, if the kernel is a derivative and takes it.
  absl::optional<ParamId> TakeCompanion(ParamId param, bool exists);
  // Calls `set` for the launchers of the derivatives.
  Launcher& ForDerivatives(absl::FunctionRef<void(Launcher&)> set);

  std::shared_ptr<const LoadedKernel> kernel_;
  std::shared_ptr<const Instance> instance_;  // may be null
  LaunchReceivers receivers_;
  IdVector<ParamId, int> first_slot_;  // -1: no slots
  int first_tree_slot_ = 0;            // the trees' come last
  std::vector<uint64_t> arguments_;
  std::vector<bool> is_set_;
  std::vector<uint64_t> results_;
  size_t missing_;
  absl::Status error_;

  // Derivatives. Null if the instance has none.
  std::unique_ptr<Launcher> gradient_, with_duals_;
  // Parameters bound to memory with a gradient (in forward mode a dual) that the kernel does not
  // take.
  std::vector<ParamId> missed_;
  // Of a derivative.
  std::vector<BoundMemory> memory_;
  bool is_apart_ = false;     // CheckApart has passed since the last change of memory_
  uint64_t recorded_in_ = 0;  // the recording that has memory_
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_LAUNCHER_H_
