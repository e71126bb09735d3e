// A CUDA device: its context, its memory, and the order of its work.
#ifndef KILN_RUNTIME_CUDA_CUDA_DEVICE_H_
#define KILN_RUNTIME_CUDA_CUDA_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda_abi.h"
#include "runtime/device.h"
#include "runtime/fork_lock.h"

namespace kiln {

class CudaTree;

// Works in the device's primary context, which other CUDA libraries of the process share: their
// addresses are ours. All work goes to the legacy default stream, as theirs does by default, so
// that the order between them is that of the program.
class CudaDevice final : public Device {
 public:
  // The first device that the driver lists (CUDA_VISIBLE_DEVICES orders them); made once.
  // FailedPrecondition says why there is none.
  static const Result<CudaDevice*>& Get();

  const cuda::Driver& driver() const { return driver_; }
  uint32_t multiprocessors() const { return multiprocessors_; }
  const std::string& name() const { return name_; }

  // Before each use of the driver: makes the context the calling thread's. FailedPrecondition in a
  // process that was forked after the context was made: CUDA does not work there.
  Result<> Enter();
  // KilnCudaReports for kernels that neither print nor check: long loops look at its flag.
  cuda::Address idle_reports() const { return idle_reports_; }
  // Of trees with sparse levels: gives one a number for the notice (KilnCudaNotice) that its
  // kernels fill in, and returns the notice's address.
  Result<cuda::Address> RememberTree(const CudaTree* tree, uint64_t* id);
  void ForgetTree(uint64_t id);
  // The tapes of threads (KilnCudaTapes) for the next launch. Launches share them: they come one
  // after the other. Their memory is ThreadTape::GivenLimit, or else a part of the device's.
  Result<cuda::Address> ClearTapes();
  // What a notice says, once.
  Result<> TakeNotice();
  // Keeps the first failure of what cannot return it, for Synchronize.
  void Keep(const Result<>& done);
  // Notes a launch, for the errors of Synchronize.
  void NoteLaunch(const std::shared_ptr<const std::string>& kernel);
  // `code` as an error of `what`, with the launches that may have caused it.
  Error ErrorOf(cuda::Code code, const std::string& what);

  // --- Device. The driver does not say which kernel failed: an error names those launched since
  // the last synchronisation.
  Target target() const override { return Target::Cuda(arch_); }
  Result<std::shared_ptr<const LoadedKernel>> LoadBytes(
      std::string_view payload, KernelInfo info,
      const std::vector<std::string>& directories) override;
  Result<std::unique_ptr<Buffer>> Allocate(uint64_t bytes) override;
  Result<std::unique_ptr<Buffer>> Borrow(uint8_t* address, uint64_t bytes,
                                         bool has_mirror) override;
  Result<MadeTree> MakeTree(TreeShape shape, TreeOptions options) override;
  void CopyIn(uint8_t* to, const void* from, uint64_t bytes) override;
  void CopyOut(void* to, const uint8_t* from, uint64_t bytes) override;
  void Fill(uint8_t* at, const void* value, uint32_t value_bytes, uint64_t count) override;
  Result<> Synchronize() override;
  Event Record() override;
  Result<> ReleaseTo(uint64_t stream) override;
  Result<> WaitFor(uint64_t stream) override;

 private:
  CudaDevice(const cuda::Driver& driver, cuda::DeviceNumber number, cuda::Context context);
  static Result<CudaDevice*> Make();
  // Has `after` wait for what is in `before`.
  Result<> Order(cuda::Stream before, cuda::Stream after);

  const cuda::Driver& driver_;
  const cuda::Context context_;
  const uint32_t generation_ = ForkGeneration::Get();  // of the process that made the context
  uint32_t arch_ = 0;                                  // 90 for sm_90
  uint32_t multiprocessors_ = 1;
  std::string name_;
  cuda::Address idle_reports_ = 0;
  std::mutex mutex_;  // of the members below
  // The last launches since the last synchronisation.
  std::vector<std::shared_ptr<const std::string>> launched_;
  uint64_t num_launched_ = 0;
  Result<> kept_;
  // In the host's memory, which the device writes; null before the first tree.
  std::atomic<KilnCudaNotice*> notice_{nullptr};
  cuda::Address notice_address_ = 0;
  std::map<uint64_t, const CudaTree*> trees_;
  uint64_t last_tree_ = 0;
  cuda::Address tapes_ = 0;
  uint64_t tape_bytes_ = 0;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_CUDA_DEVICE_H_
