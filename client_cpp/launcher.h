// Packs a kernel's arguments into slots and launches it.
//
//   Launcher launch(made.instance);
//   launch.Set(a, 2.0f).Bind(x_param, x).Bind(y_param, y);
//   launch.OnPrint([&](absl::string_view text) { log.Append(text); });
//   RETURN_IF_ERROR(launch.Run());
//
// Parameters keep their values from run to run until they are set again. One object is for one
// thread at a time; threads may share kernels.
#ifndef KILN_CLIENT_CPP_LAUNCHER_H_
#define KILN_CLIENT_CPP_LAUNCHER_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client_cpp/fields.h"
#include "client_cpp/instance.h"
#include "client_cpp/kernel_facts.h"
#include "common/language/ids.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

// Writes a number as scalar `type` to the start of a zeroed slot.
uint64_t SlotOf(proto::Scalar type, double value);
uint64_t SlotOf(proto::Scalar type, int64_t value);
uint64_t SlotOf(proto::Scalar type, uint64_t value);

// Why a launch failed.
struct LaunchFailure {
  // The text of an assert, or a sentence about another check or the runtime's error.
  std::string text;
  // Of the check, innermost call first; empty if the kernel has no positions.
  std::vector<SourcePosition> positions;
  NodeNumber node;               // of the check; none: the runtime's error
  std::vector<uint64_t> values;  // the slots that the check reports
};

class Launcher {
 public:
  explicit Launcher(std::shared_ptr<const Instance> instance);
  // A kernel without its texts: what it prints is lost, and failures have no text.
  explicit Launcher(std::shared_ptr<const LoadedKernel> kernel);

  // Hooks for the texts of a launch, which only an Instance has. A launch calls them from any of
  // its threads, one call at a time.
  //
  // `hook` receives the text of each print and warning, with its line end. Without a hook, the text
  // goes to standard output.
  using PrintHook = std::function<void(absl::string_view text)>;
  Launcher& OnPrint(PrintHook hook);
  // `hook` receives the first failure of a launch before Run returns it as a status.
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
  // An array in C order; the builder knows it through ArrayStorage.
  Launcher& Bind(ParamId param, const void* data, absl::Span<const uint64_t> shape);

  // Tree `tree` of the unit (KernelBuilder::Finish returns which): the address of its root cell,
  // and its nodes in the order of common/unit/argument_layout.h. Both must outlive the runs.
  Launcher& BindTree(uint32_t tree, uint8_t* root, KilnNode* const* nodes);

  // FailedPrecondition if a parameter is missing (also reports the first mistake in Set and Bind),
  // Aborted if the launch failed, with the failure's text and first position. `max_threads` 0: one
  // per CPU of this process.
  absl::Status Run(int max_threads = 0);

  // Result `index` of the last run; T is the type of that result.
  template <typename T>
  T result(int index = 0) const {
    T value;
    std::memcpy(&value, &results_[index], sizeof value);
    return value;
  }

 private:
  class Texts;

  absl::Status CheckArguments() const;
  template <typename T>
  Launcher& SetSlot(ParamId param, uint32_t element, T value);
  // The index of a slot; -1, with an error noted, if the kernel has no such slot.
  int Find(ParamId param, ArgumentSlot::Kind kind, uint32_t element);
  int Missing(uint32_t number, ArgumentSlot::Kind kind, uint32_t element);
  Launcher& Put(int slot, uint64_t value);

  std::shared_ptr<const LoadedKernel> kernel_;
  std::shared_ptr<const Instance> instance_;  // may be null
  PrintHook print_hook_;
  FailureHook failure_hook_;
  IdVector<ParamId, int> first_slot_;  // -1: no slots
  int first_tree_slot_ = 0;            // the trees' come last
  std::vector<uint64_t> arguments_;
  std::vector<bool> is_set_;
  std::vector<uint64_t> results_;
  size_t missing_;
  absl::Status error_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_LAUNCHER_H_
