// A loaded artifact, ready to launch.
#ifndef KILN_RUNTIME_LOADED_KERNEL_H_
#define KILN_RUNTIME_LOADED_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/abi.h"
#include "runtime/grain.h"
#include "runtime/kernel_info.h"
#include "runtime/private_copies.h"
#include "runtime/result.h"

namespace kiln {

class Device;
class ElementList;
class Executor;
class LaunchGraph;

// The digest of runtime/abi.h that Target.runtime_abi and entries must state.
uint64_t RuntimeAbi();

// Receivers of a launch's prints, failed asserts and errors. Called from any thread, one call at a
// time per launch.
struct LaunchHooks {
  std::function<void(uint32_t node, const uint64_t* values, uint32_t count)> print;
  std::function<void(uint32_t node, const uint64_t* values, uint32_t count)> fail;
  // An error of the runtime, in the user's terms: kernels with trees may run out of memory. The
  // launch ends early; data written until then stay.
  std::function<void(std::string_view text)> error;
  // The launch's flag, which the caller resets to 0 before the launch. Storing 1 ends the launch
  // within about 100 ms: Launch returns false without calling a hook, and data written until then
  // stay. A signal handler may store it. Null: the launch has a flag of its own.
  volatile uint32_t* failed = nullptr;
  // The kernel's name in a device's errors; null, also within: that of the artifact.
  const NamesInErrors* names = nullptr;
  // The device has all of the launch's work, and the host is about to wait for it.
  std::function<void()> awaits;
};

struct LaunchOptions {
  const LaunchHooks* hooks = nullptr;
  int max_threads = 0;           // 0: as many as the executor suggests
  Executor* executor = nullptr;  // null: the process's pool
  // What the launch's random numbers follow from; none: NextLaunchRandom().
  std::optional<uint64_t> random;
};

// The code of a kernel on a device other than the CPU. Thread-safe.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
  // As LoadedKernel::Launch.
  virtual bool Launch(const uint64_t* arguments, uint64_t* results,
                      const LaunchOptions& options) const = 0;
  // As LoadedKernel::AddTo.
  virtual Result<> AddTo(LaunchGraph* graph, const uint64_t* arguments) const = 0;
};

// The copies that the last launch of a task has used, for the next. Thread-safe.
class SpareCopies {
 public:
  ~SpareCopies() { delete copies_.load(); }
  // Null: there are none, or another launch has them.
  std::unique_ptr<PrivateCopies> Take() {
    return std::unique_ptr<PrivateCopies>(copies_.exchange(nullptr));
  }
  void Keep(std::unique_ptr<PrivateCopies> copies) { delete copies_.exchange(copies.release()); }

 private:
  std::atomic<PrivateCopies*> copies_{nullptr};
};

// Immutable once loaded; launches from several threads are safe.
class LoadedKernel {
 public:
  // Loads the shared object at `path`, a file named by its digest that is never reused for other
  // content. FailedPrecondition if the ABI or the target does not fit this process; Unavailable
  // if the directory cannot be mapped executable (the caller then uses FromBytes); DataLoss if it
  // is not a kernel.
  static Result<std::shared_ptr<const LoadedKernel>> FromFile(const std::string& path,
                                                              KernelInfo info);
  // Loads from memory; `directories` as in OpenLibraryBytes (runtime/library.h).
  static Result<std::shared_ptr<const LoadedKernel>> FromBytes(
      std::string_view payload, KernelInfo info, const std::vector<std::string>& directories = {});
  // Takes functions that are in memory already: `find` returns that of a symbol, null if there is
  // none. `owner` keeps them there. The same errors, but the caller has checked the ABI: of
  // exported modules, which outlive builds, it is another number than info.runtime_abi.
  static Result<std::shared_ptr<const LoadedKernel>> FromFunctions(
      std::shared_ptr<const void> owner, KernelInfo info,
      const std::function<void*(const std::string& symbol)>& find);

  // Of another device than the CPU.
  static std::shared_ptr<const LoadedKernel> OnDevice(Device* device,
                                                      std::unique_ptr<const DeviceCode> code,
                                                      KernelInfo info);

  const KernelInfo& info() const { return info_; }
  // Whether launches are those of another device than the CPU: its addresses are not the host's.
  bool is_on_device() const { return device_code_ != nullptr; }
  // That device; null: the CPU.
  Device* device() const { return device_; }

  // Runs all tasks in order and returns when they are done. `arguments` has info().arguments.size()
  // slots, `results` info().results.size(). Returns false if a check failed (after calling the hook
  // `fail`), the runtime did (`error`), or another thread or a signal handler set the hooks'
  // `failed`. Serial kernels, loops too small to share, and loops for which the executor has no
  // threads run on the caller, without locks.
  bool Launch(const uint64_t* arguments, uint64_t* results,
              const LaunchOptions& options = {}) const;

  // Adds a launch to a graph of the kernel's device, for LaunchGraph::Add. Requires: is_on_device.
  Result<> AddTo(LaunchGraph* graph, const uint64_t* arguments) const {
    return device_code_->AddTo(graph, arguments);
  }

 private:
  struct BoundTask {
    KilnTask run = nullptr;
    KilnBounds bounds = nullptr;  // null: constant
    int64_t begin = 0, end = 0;
    bool serial = true;
    int max_threads = 0;  // 0: no limit by the task
    TaskKind kind = TaskKind::kSerial;
    // For tasks of trees: the argument slot with the tree's nodes, and the node's number. Else -1.
    int tree_slot = -1;
    uint32_t node = 0;
    bool slices = false;
    int64_t iterations = 0;  // struct tasks: per element of the list
    // `run` with plain reads and writes instead of atomics; null if there is none.
    KilnTask alone = nullptr;
    // For tasks with partial results, whose `run` and `alone` process pieces one by one: the code
    // of one piece, and the code that combines the pieces' results. Else null.
    KilnTask piece = nullptr, piece_alone = nullptr, finish = nullptr;
    uint32_t partial_bytes = 0;  // of one piece
    int64_t grain = 1;           // the least number of iterations per piece
    mutable Cost cost;           // of `run`
    mutable Cost alone_cost;     // of `alone`
    // The elapsed time of `run` on all threads; threads that never join count, too.
    mutable Cost together_cost;
    mutable VariantChoice choice;
    // The fields of which threads may have copies of their own; then the elapsed time of `alone` on
    // all threads with copies, that of adding up 1,024 bytes of each, and the copies.
    std::vector<ScatterInfo> scatters;
    size_t slots = 0;  // of arguments
    mutable Cost private_cost, merge_cost;
    mutable VariantChoice private_choice;
    mutable SpareCopies spare;

    // Runs [begin, end), shared among up to `limit` threads if that pays. Threads take multiples of
    // `unit` iterations if there are enough units for all.
    void RunRange(const KilnContext& ctx, int64_t begin, int64_t end, int limit,
                  int64_t unit) const;
    // The same for tasks with partial results, in pieces of multiples of `unit`.
    void RunPieces(const KilnContext& ctx, int64_t end, int limit, int64_t unit) const;
    // The functions below require iterations that may be divided anywhere except within a unit.
    void Run(const KilnContext& ctx, int64_t begin, int64_t end, int limit, int64_t unit) const;
    // The same, or on one thread without atomics, whichever was measured to be faster.
    void RunAtomics(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                    int64_t unit) const;
    void RunEither(bool by_one, const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                   int64_t unit) const;
    // False, having done nothing, if another launch is inside the gate.
    bool RunAlone(const KilnContext& ctx, int64_t begin, int64_t end, int64_t unit) const;
    // The expected nanoseconds with private copies; infinite: they would be too large.
    double EstimatePrivate(const KilnContext& ctx, int64_t iterations, int threads) const;
    // With private copies. False, having done nothing, if another launch is inside the gate, or no
    // threads or no memory are free.
    bool RunPrivately(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                      int64_t unit) const;
    // The same within the gate, with these copies, of which `fresh` ones have never been used.
    bool RunOnCopies(const KilnContext& ctx, int64_t begin, int64_t end, int threads, int64_t unit,
                     bool fresh, PrivateCopies* copies) const;
    // Whether to run with private copies now, where the better one of the other variants takes
    // `other` nanoseconds.
    bool PrefersCopies(const KilnContext& ctx, int64_t iterations, int threads, double other) const;
    // Measures a few iterations of each variant; returns the first one that is left.
    int64_t TryVariants(const KilnContext& ctx, int64_t begin, int64_t end, int64_t unit) const;
    // With `run`: shared, or on the caller.
    void RunShared(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                   int64_t unit) const;
    // False, having done nothing, if sharing does not pay or no threads are free.
    bool Share(const KilnContext& ctx, int64_t begin, int64_t end, int threads, int64_t unit) const;
  };

  // Listgen, struct-for over a list, gc. `list` is the result of the last listgen task.
  static void RunOnTree(const BoundTask& task, KilnContext* ctx, int max_threads,
                        std::shared_ptr<const ElementList>* list);

  using Find = std::function<void*(const std::string& symbol)>;

  explicit LoadedKernel(std::shared_ptr<const void> owner) : owner_(std::move(owner)) {}
  static Result<std::shared_ptr<const LoadedKernel>> Bind(std::shared_ptr<const void> owner,
                                                          KernelInfo info, const Find& find);
  static Result<std::shared_ptr<const LoadedKernel>> BindLibrary(std::shared_ptr<void> library,
                                                                 KernelInfo info);
  // The entry points (KilnTask) of tasks with partial results.
  static void RunPiece(const KilnContext* ctx, int64_t begin, int64_t end, int32_t);
  static void RunPieceAlone(const KilnContext* ctx, int64_t begin, int64_t end, int32_t);
  static Result<> BindTask(const Find& find, const KernelInfo& info, const TaskInfo& task,
                           BoundTask* bound);
  // The entry point of tasks with private copies.
  static void RunOnCopy(const KilnContext* ctx, int64_t begin, int64_t end, int32_t);
  static Result<> BindScatters(const KernelInfo& info, const TaskInfo& task, BoundTask* bound);
  static Result<> BindFinish(const Find& find, const TaskInfo& task, BoundTask* bound);

  KernelInfo info_;
  std::vector<BoundTask> tasks_;
  std::shared_ptr<const void> owner_;              // keeps the code mapped
  Device* device_ = nullptr;                       // null: the CPU
  std::unique_ptr<const DeviceCode> device_code_;  // likewise
};

}  // namespace kiln

#endif  // KILN_RUNTIME_LOADED_KERNEL_H_
