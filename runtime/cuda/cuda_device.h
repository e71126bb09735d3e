// A CUDA device: its context, its memory, and the order of its work.
#ifndef KILN_RUNTIME_CUDA_CUDA_DEVICE_H_
#define KILN_RUNTIME_CUDA_CUDA_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/idle_memory.h"
#include "runtime/cuda/recent_launches.h"
#include "runtime/cuda/tapes.h"
#include "runtime/cuda/tree_notices.h"
#include "runtime/cuda/tree_work.h"
#include "runtime/device.h"
#include "runtime/fork_lock.h"

namespace kiln {

// Works in the device's primary context, which other CUDA libraries of the process share: their
// addresses are ours. Work goes to the legacy default stream, as theirs does by default, so that
// the order between them is that of the program. Threads may choose other streams for their
// launches (UseStream). All work has one order nevertheless, that of its turns.
class CudaDevice final : public Device {
 public:
  // A device by its number in the driver's list (CUDA_VISIBLE_DEVICES orders it); made by the first
  // call that succeeds. FailedPrecondition says why there is none.
  static Result<CudaDevice*> Get(int32_t number);
  // The same, and makes it the one in use.
  static Result<CudaDevice*> Use(int32_t number);
  // The device in use: that of the last Use, or else the first one, which then is in use.
  static Result<CudaDevice*> Get();
  // Null: there is none yet.
  static CudaDevice* InUse();
  // How many devices the driver lists; 0 without a driver. Starts none.
  static int32_t Count();
  // Whether the machine has a driver and a device on which kernels run: what is missing, or too old
  // and how new it has to be. Starts none.
  [[gnu::cold]] static Result<> IsThere();

  const cuda::Driver& driver() const { return driver_; }
  cuda::Context context() const { return context_; }
  uint32_t multiprocessors() const { return multiprocessors_; }
  // The most blocks of a task (saturating_grid_dim); 0: as many as pay.
  uint32_t most_blocks() const { return most_blocks_.load(std::memory_order_relaxed); }
  bool runs_cooperative_launches() const { return runs_cooperative_launches_; }
  // Whether memory can be mapped to reserved addresses (growing_memory.h).
  bool has_virtual_memory() const { return has_virtual_memory_; }
  // Loads the kernel that works on trees, unless it is there.
  Result<> LoadTreeKernel();
  // Requires: LoadTreeKernel has succeeded.
  const cuda::TreeKernel& tree_kernel() const { return tree_kernel_; }
  const std::string& name() const { return name_; }

  // The right to give the driver work, in a stream that comes after all work of earlier turns.
  // While it exists, other threads wait for theirs. Without streams of programs' own it costs
  // nothing: then all work is in the legacy stream, which orders it.
  class Turn {
   public:
    cuda::Stream stream() const { return stream_; }

   private:
    friend class CudaDevice;
    std::unique_lock<std::mutex> lock_;
    cuda::Stream stream_ = nullptr;
  };
  // In the legacy stream, in which copies and fills are. Requires: the thread has no turn.
  Result<> TakeTurn(Turn* turn) {
    return uses_streams_.load(std::memory_order_relaxed) ? TakeTurnIn(nullptr, turn) : Result<>();
  }
  // In the calling thread's stream, for launches.
  Result<> TakeLaunchTurn(Turn* turn) {
    return uses_streams_.load(std::memory_order_relaxed) ? TakeTurnIn(StreamOfThread(), turn)
                                                         : Result<>();
  }

  // Before each use of the driver: makes the context the calling thread's, unless it is.
  // FailedPrecondition in a process that was forked after the context was made: CUDA does not work
  // there.
  Result<> Enter();
  // The same without a call of the driver if the context was the thread's before. Another library
  // may have made another one current since: a launch then fails with a code for which IsStray
  // holds, having done nothing, and can be tried again after Enter.
  Result<> EnterForLaunch();
  static bool IsStray(cuda::Code code) {
    return code == cuda::kInvalidContext || code == cuda::kInvalidHandle;
  }
  // KilnCudaReports for kernels that neither print nor check: long loops look at its flag.
  cuda::Address idle_reports() const { return idle_reports_; }
  // The trees with sparse levels. Before each launch that uses them: trees().Grow().
  cuda::TreeNotices& trees() { return trees_; }
  // The tapes of threads, for launches of gradients.
  cuda::Tapes& tapes() { return tapes_; }
  // What a notice of trees says, once, with the launches that may have caused it.
  Result<> TakeNotice() { return trees_.Take(launches_); }
  // `bytes` of the device's memory, with anything in it, for `what`, of which `asked` bytes are
  // needed. Frees idle memory if there is not enough. ResourceExhausted names the size.
  Result<cuda::Address> AllocateMemory(uint64_t bytes, uint64_t asked, const std::string& what);
  // Idle memory of exactly so many bytes, with anything in it; 0: there is none.
  cuda::Address TakeIdle(uint64_t bytes) { return idle_.Take(bytes); }
  // Keeps what AllocateMemory gave for TakeIdle. Turns order its next use after the work that has
  // used it, so no work of other libraries may use it.
  void ReturnMemory(cuda::Address memory, uint64_t bytes);
  // The error of a device without so much memory.
  [[gnu::cold]] Error NoMemory(uint64_t asked, const std::string& what);
  // Frees all idle memory. False: there was none.
  bool FreeIdle();
  // Bytes of the device's memory that nothing uses, idle memory included.
  uint64_t FreeBytes();
  // Keeps the first failure of what cannot return it, for Synchronize.
  void Keep(const Result<>& done);
  // Notes a launch of these kernels, for the errors of Synchronize.
  void NoteLaunch(const NamesInErrors& kernels) { launches_.Note(kernels); }
  // `code` as an error of `what`, with the launches that may have caused it.
  Error ErrorOf(cuda::Code code, const std::string& what);

  // --- Device. The driver does not say which kernel failed: an error names those launched since
  // the last synchronisation.
  Target target() const override { return Target::Cuda(arch_); }
  int32_t number() const override { return number_; }
  uint64_t memory_bytes() override;
  void LimitBlocks(uint32_t most) override { most_blocks_ = most; }
  void LimitStack(uint64_t bytes) override { most_stack_ = bytes; }
  Result<> CheckProcess() const override;
  // Gives each thread the stack for functions that call themselves. The device has that memory for
  // all threads that it runs at once.
  Result<> DeepenStack();
  Result<std::shared_ptr<const LoadedKernel>> LoadBytes(
      std::string_view payload, KernelInfo info,
      const std::vector<std::string>& directories) override;
  std::unique_ptr<LaunchGraph> MakeGraph() override;
  Result<std::unique_ptr<Buffer>> Allocate(uint64_t bytes) override;
  Result<std::unique_ptr<Buffer>> Borrow(uint8_t* address, uint64_t bytes,
                                         bool has_mirror) override;
  Result<uint8_t*> TakeScratch(uint64_t bytes) override;
  void ReturnScratch(uint8_t* memory, uint64_t bytes) override;
  Result<MadeTree> MakeTree(TreeShape shape, TreeOptions options) override;
  void CopyIn(uint8_t* to, const void* from, uint64_t bytes) override;
  void CopyOut(void* to, const uint8_t* from, uint64_t bytes) override;
  void Fill(uint8_t* at, const void* value, uint32_t value_bytes, uint64_t count) override;
  Result<> Synchronize() override;
  Event Record() override;
  void Release(Event event) override;
  double Seconds(Event from, Event to) override;
  Result<> ReleaseTo(uint64_t stream) override;
  Result<> WaitFor(uint64_t stream) override;
  Result<> UseStream(uint64_t stream) override;
  uint64_t stream() const override { return reinterpret_cast<uint64_t>(StreamOfThread()); }

 private:
  [[gnu::cold]] CudaDevice(const cuda::Driver& driver, int32_t number, cuda::DeviceNumber device,
                           cuda::Context context);
  [[gnu::cold]] static Result<CudaDevice*> Make(int32_t number);
  // Has `after` wait for what is in `before`.
  Result<> Order(cuda::Stream before, cuda::Stream after);
  cuda::Stream StreamOfThread() const;
  Result<> TakeTurnIn(cuda::Stream stream, Turn* turn);

  const cuda::Driver& driver_;
  const int32_t number_;
  const cuda::Context context_;
  const uint32_t generation_ = ForkGeneration::Get();  // of the process that made the context
  uint32_t arch_ = 0;                                  // 90 for sm_90
  uint32_t multiprocessors_ = 1, threads_of_multiprocessor_ = 1024;
  bool runs_cooperative_launches_ = false, has_virtual_memory_ = false;
  std::once_flag tree_kernel_loads_;
  Result<> tree_kernel_loaded_;
  cuda::TreeKernel tree_kernel_;
  std::atomic<uint32_t> most_blocks_{0};
  std::atomic<uint64_t> most_stack_{0};  // as LimitStack sets it
  std::mutex stack_mutex_;
  uint64_t stack_ = 0;  // as DeepenStack has set it; 0: the driver's default
  std::string name_;
  cuda::Address idle_reports_ = 0;
  std::atomic<bool> uses_streams_{false};  // whether a thread has ever chosen one
  std::mutex turns_;                       // held by the turn, also of the member below
  cuda::Stream last_stream_ = nullptr;     // that of the last turn
  cuda::RecentLaunches launches_;
  cuda::IdleMemory idle_;
  cuda::TreeNotices trees_;
  cuda::Tapes tapes_;
  std::mutex mutex_;                      // of the members below
  std::vector<cuda::Event> idle_events_;  // with times
  Result<> kept_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_CUDA_DEVICE_H_
