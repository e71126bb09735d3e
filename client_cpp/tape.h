// Records launches, and runs their gradients in the opposite order.
//
//   auto loss = *Field<double>::Create({}, {}, Companions::kGrad);
//   Tape tape;
//   RETURN_IF_ERROR(tape.Run(loss, [&]() -> absl::Status {
//     RETURN_IF_ERROR(fly.Run());  // Launchers
//     return miss.Run();
//   }));
//   v[0] -= 0.5 * v_grad[0];
//
// A tape sees the launches of its body's own thread. It refuses launches whose gradient may be
// needed but cannot run. These are launches of kernels that use a field with a gradient but were
// made without one (CompileSettings::gradients). So are those of kernels on trees without a
// gradient. A TapePause leaves launches out.
//
// A gradient computes values of its kernel again. Gradients refuses to run if one would read what a
// later launch may have overwritten (client_cpp/access_history.h).
//
// A tape is for one thread at a time, and may be used again: it keeps its memory.
#ifndef KILN_CLIENT_CPP_TAPE_H_
#define KILN_CLIENT_CPP_TAPE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client_cpp/fields.h"
#include "client_cpp/host/scattered_access.h"
#include "client_cpp/instance.h"
#include "runtime/device.h"
#include "runtime/storage.h"

namespace kiln {

struct MemoryRange {
  uint8_t* begin;  // for the host, if it has a mirror or there is no device
  uint64_t bytes;
  Buffer* mirrored = nullptr;  // on a device with memory of its own
  Device* device = nullptr;    // the same without a mirror
};

class Tape {
 public:
  using Body = absl::FunctionRef<absl::Status()>;
  // Of values that gradients need. Kiln may see overwritten values where there are none: it knows
  // ranges of indices.
  enum class Overwritten { kRefused, kIgnored };

  explicit Tape(Overwritten overwritten = Overwritten::kRefused) : overwritten_(overwritten) {}

  // Computes gradients of `loss`: sets it to 0, records `body`, clears the gradients, sets that of
  // `loss` to 1, and runs the gradients of the launches. The gradient of a field or array that no
  // launch uses stays as it is.
  //
  // InvalidArgument if `loss` has several elements, FailedPrecondition if it has no gradient; else
  // as Record and Gradients. If `body` fails, gradients stay as they are.
  absl::Status Run(const DenseField& loss, Body body);
  template <typename T>
  absl::Status Run(const Field<T>& loss, Body body) {
    return Run(loss.dense(), body);
  }

  // The steps of Run, for programs that set gradients themselves.
  //
  // Runs `body`, and records its launches in place of what was recorded before. Their fields and
  // arrays must outlive Gradients. Fails as `body` does, or as the first launch that failed, and
  // then records nothing; FailedPrecondition within the body of another tape.
  absl::Status Record(Body body);
  // Sets the gradients to which the launches of the body are bound to zero, also if they are not
  // recorded because of a TapePause. Fails if a device does.
  absl::Status ClearGradients();
  // Runs the gradients of the recorded launches, the last one first. FailedPrecondition unless
  // something was recorded since the last call, and, with the names of the kernels, if a gradient
  // needs what is overwritten. Else the status of the first gradient that fails, with its kernel's
  // name: gradients then have values in between.
  absl::Status Gradients();

  // In a body: has Gradients call `gradient` at this place, for launches that a TapePause leaves
  // out. Gradients that only `gradient` uses it clears itself.
  void Add(std::function<absl::Status()> gradient);

  // The number of recorded launches and functions.
  size_t size() const { return calls_.size(); }

  // For launchers. The tape whose body this thread runs, and which records (Active) or is paused
  // (Paused); null if there is none.
  static Tape* Active();
  static Tape* Paused();
  // A number for each recording, never 0.
  uint64_t recording() const { return recording_; }
  // Adds a launch: its gradient, and the slots with which that runs.
  void Add(std::shared_ptr<const Instance> gradient, absl::Span<const uint64_t> arguments,
           int max_threads);
  // Adds memory of a gradient that ClearGradients clears.
  void AddMemory(MemoryRange gradient) { gradients_.push_back(gradient); }
  // Adds memory that gradients use, and that the host may write to before they run.
  void AddMirrored(Buffer* buffer) { mirrored_.insert(buffer); }
  // The same of a gradient in a tree, whose active cells are cleared.
  void AddTreeGradient(const std::shared_ptr<const ScatteredAccess>& gradient, size_t components) {
    tree_gradients_[gradient] = components;
  }
  // The nodes of a tree (Launcher::BindTree), for launches on a device that have them at an address
  // of the device. They outlive Gradients.
  void AddNodes(const void* on_device, KilnNode* const* nodes) {
    nodes_[reinterpret_cast<uint64_t>(on_device)] = reinterpret_cast<uint64_t>(nodes);
  }
  // A launch of the body failed, or could not be recorded.
  void Fail(const absl::Status& status);

 private:
  struct Call {
    std::shared_ptr<const Instance> gradient;  // null: a function
    size_t first;                              // argument, or the function
    int max_threads;
  };

  absl::Status CheckOverwritten() const;
  // The slots of a call, with addresses that the host can follow.
  std::vector<uint64_t> HostSlotsOf(const Call& call) const;
  absl::Status HandOver() const;
  absl::Status RunGradient(const Call& call);

  const Overwritten overwritten_;
  std::vector<Call> calls_;
  std::vector<uint64_t> arguments_;  // of all calls
  std::vector<std::function<absl::Status()>> functions_;
  std::vector<MemoryRange> gradients_;
  absl::flat_hash_map<std::shared_ptr<const ScatteredAccess>, size_t> tree_gradients_;
  absl::flat_hash_map<uint64_t, uint64_t> nodes_;  // by address on the device
  absl::flat_hash_set<Buffer*> mirrored_;
  std::vector<uint64_t> results_;  // which nothing reads
  absl::Status status_;            // of the launches
  uint64_t recording_ = 0;
  bool is_recorded_ = false;
};

// While it exists, the tape of this thread records nothing, and the thread may run another one.
class TapePause {
 public:
  TapePause();
  ~TapePause();
  TapePause(const TapePause&) = delete;
  TapePause& operator=(const TapePause&) = delete;

 private:
  const bool was_paused_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_TAPE_H_
