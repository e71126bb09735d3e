// An artifact, mapped and ready to launch.
#ifndef KILN_RUNTIME_LOADED_KERNEL_H_
#define KILN_RUNTIME_LOADED_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/artifact.pb.h"
#include "runtime/abi.h"

namespace kiln {

class ElementList;

// Digest of runtime/abi.h: what Target.runtime_abi and entries must state.
uint64_t RuntimeAbi();

// Where a launch's prints, failed asserts and errors go. Called from any thread, one
// call at a time per launch.
struct LaunchHooks {
  std::function<void(uint32_t node, const uint64_t* values, uint32_t count)> print;
  std::function<void(uint32_t node, const uint64_t* values, uint32_t count)> fail;
  // What the runtime could not do, in the user's words: kernels with trees may run out of
  // memory. The launch ends early; all that was written until then stays.
  std::function<void(absl::string_view text)> error;
};

// Immutable once loaded; launches from several threads are safe.
class LoadedKernel {
 public:
  // Loads the shared object at `path`, a file named by its digest that is never
  // reused for other content. FailedPrecondition when the ABI or the CPU level
  // does not fit this process; Unavailable when the directory cannot be mapped
  // executable (the caller then uses FromBytes); DataLoss when it is no kernel.
  static absl::StatusOr<std::shared_ptr<const LoadedKernel>> FromFile(
      const std::string& path, const proto::ArtifactInfo& info);
  // Loads from memory, by way of an anonymous file.
  static absl::StatusOr<std::shared_ptr<const LoadedKernel>> FromBytes(
      absl::string_view payload, const proto::ArtifactInfo& info);
  ~LoadedKernel();

  const proto::ArtifactInfo& info() const { return info_; }

  // Runs all tasks in order on the process's thread pool and returns when done.
  // `arguments` has info().arguments_size() slots, `results` results_size().
  // `max_threads` 0: as many as this process has CPUs. Returns false when a check
  // failed (the hook `fail` was told) or the runtime did (`error` was). Serial kernels, loops too
  // small to share and launches that find the pool taken run on the caller, without locks.
  bool Launch(const uint64_t* arguments, uint64_t* results, const LaunchHooks* hooks = nullptr,
              int max_threads = 0) const;

 private:
  // Nanoseconds an iteration takes, in 1/64: the compiler's estimate, then what launches
  // measured. Loops with inner loops cannot be told by looking. Thread-safe.
  struct Cost {
    std::atomic<uint32_t> value{0};
    std::atomic<bool> measured{false};
    // The next measurement counts alone: what is known is of a few iterations, or old.
    std::atomic<bool> rough{true};

    double Estimate(int64_t iterations) const;  // nanoseconds
    void Measure(int64_t nanoseconds, int64_t iterations);
    // Runs a few of the iterations to measure them, once; where to go on from.
    int64_t Try(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end, int64_t unit);
    void RunMeasured(KilnTask run, const KilnContext& ctx, int64_t begin, int64_t end);
  };

  // When the way of a task with atomics that seems slower is tried once more: what was measured
  // of it met cold memory or a busy machine, perhaps. That is when the other way has taken
  // `patience` times as long as trying takes, which doubles each time. Thread-safe; what races
  // lose is a hint.
  struct Choice {
    std::atomic<double> spent{0};  // nanoseconds, since the last time
    std::atomic<uint32_t> patience{1};

    // Estimates of this launch in the way that seems better, and of trying the other.
    bool TimeForOther(double chosen, double trying);
  };

  struct BoundTask {
    KilnTask run = nullptr;
    KilnBounds bounds = nullptr;  // null: constant
    int64_t begin = 0, end = 0;
    bool serial = true;
    int max_threads = 0;  // 0: no limit of the task's own
    proto::TaskKind kind = proto::TASK_SERIAL;
    // Tasks of trees: the argument slot with the tree's nodes, and which of them. Else -1.
    int tree_slot = -1;
    uint32_t node = 0;
    bool slices = false;
    int64_t iterations = 0;  // struct tasks: per element of the list
    // `run` with plain reads and writes for atomics; null: it has none.
    KilnTask alone = nullptr;
    // Of tasks with partial results, where `run` and `alone` go through pieces one by one: the
    // code of a piece, and the code that takes in what pieces left. Else null.
    KilnTask piece = nullptr, piece_alone = nullptr, finish = nullptr;
    uint32_t partial_bytes = 0;  // of one piece
    int64_t grain = 1;           // iterations of a piece, at least
    mutable Cost cost;           // of `run`
    mutable Cost alone_cost;     // of `alone`
    // Of `run` by all threads, as time passes: threads that do not come count, too.
    mutable Cost together_cost;
    mutable Choice choice;

    // Runs [begin, end), shared among up to `limit` threads if it is worth it. Threads take
    // multiples of `unit` iterations, where there are enough of those for all.
    void RunRange(const KilnContext& ctx, int64_t begin, int64_t end, int limit,
                  int64_t unit) const;
    // The same for tasks with partial results, in pieces of multiples of `unit`.
    void RunPieces(const KilnContext& ctx, int64_t end, int limit, int64_t unit) const;
    // What follows is for iterations that may be divided anywhere but within a unit.
    void Run(const KilnContext& ctx, int64_t begin, int64_t end, int limit, int64_t unit) const;
    // The same, or one thread alone without atomics: what was measured to be faster.
    void RunAtomics(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                    int64_t unit) const;
    void RunEither(bool by_one, const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                   int64_t unit) const;
    // False, with nothing done: another launch is inside the gate.
    bool RunAlone(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                  int64_t unit) const;
    // By `run`: shared, or on the caller.
    void RunShared(const KilnContext& ctx, int64_t begin, int64_t end, int threads,
                   int64_t unit) const;
    // False, with nothing done: not worth it, or the pool is taken.
    bool Share(const KilnContext& ctx, int64_t begin, int64_t end, int threads, int64_t unit) const;
  };

  // Listgen, struct-for over a list, gc. `list` is what the last listgen task made.
  static void RunOnTree(const BoundTask& task, KilnContext* ctx, int max_threads,
                        std::shared_ptr<const ElementList>* list);

  explicit LoadedKernel(void* handle) : handle_(handle) {}
  static absl::StatusOr<std::shared_ptr<const LoadedKernel>> Bind(void* handle,
                                                                  const proto::ArtifactInfo& info);
  // KilnTasks for tasks with partial results.
  static void RunPiece(const KilnContext* ctx, int64_t begin, int64_t end, int32_t);
  static void RunPieceAlone(const KilnContext* ctx, int64_t begin, int64_t end, int32_t);
  static absl::Status BindFinish(void* handle, const proto::Task& task, BoundTask* bound);

  proto::ArtifactInfo info_;
  uint32_t temporary_bytes_ = 0;
  bool draws_ = false;
  std::vector<BoundTask> tasks_;
  void* handle_;  // of dlopen; owned
};

}  // namespace kiln

#endif  // KILN_RUNTIME_LOADED_KERNEL_H_
