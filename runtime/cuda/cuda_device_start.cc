// The part of CudaDevice that finds, chooses and starts devices.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/first_use.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda_abi.h"

namespace kiln {
namespace {

// The first with threads that make progress of their own (sm_75: Turing).
constexpr uint32_t kOldestArch = 75;

std::string Capability(uint32_t arch) {
  return std::to_string(arch / 10) + "." + std::to_string(arch % 10);
}

std::string WithCapability(const std::string& name, uint32_t arch) {
  return name + " has compute capability " + Capability(arch);
}

// Fails if there is none.
Result<> CountDevices(const cuda::Driver& driver, int* count) {
  const cuda::Code code = driver.DeviceGetCount(count);
  if (code == cuda::kSuccess && *count > 0) return {};
  return driver.ErrorOf(code == cuda::kSuccess ? cuda::kNoDevice : code, "no CUDA device");
}

// The devices by their numbers.
std::map<int32_t, CudaDevice*>& Made() {
  static FirstUse<std::map<int32_t, CudaDevice*>> made;
  return made.Get();
}
std::mutex making;  // of Made
std::atomic<CudaDevice*> in_use{nullptr};

}  // namespace

Result<CudaDevice*> CudaDevice::Get(int32_t number) {
  const std::lock_guard<std::mutex> lock(making);
  std::map<int32_t, CudaDevice*>& made = Made();
  if (const auto known = made.find(number); known != made.end()) return known->second;
  // In a forked child the driver would only say that it does not work.
  if (!made.empty()) {
    if (Result<> usable = made.begin()->second->CheckProcess(); !usable.ok()) return usable.error();
  }
  Result<CudaDevice*> device = Make(number);
  if (device.ok()) made[number] = *device;
  return device;
}

Result<CudaDevice*> CudaDevice::Use(int32_t number) {
  // Before the driver is asked for another device, which would fail with an error of its own.
  if (const CudaDevice* const known = InUse(); known != nullptr) {
    if (Result<> usable = known->CheckProcess(); !usable.ok()) return usable.error();
  }
  Result<CudaDevice*> device = Get(number);
  if (!device.ok()) return device;
  if (Result<> usable = (*device)->CheckProcess(); !usable.ok()) return usable.error();
  CudaDevice* const before = in_use.exchange(*device);
  // The next launches are on this one.
  if (before != nullptr && before != *device && before->Enter().ok()) before->FreeIdle();
  return device;
}

Result<CudaDevice*> CudaDevice::Get() {
  CudaDevice* device = InUse();
  if (device != nullptr) return device;
  Result<CudaDevice*> first = Get(0);
  if (!first.ok()) return first;
  // Another thread may have chosen one meanwhile.
  return in_use.compare_exchange_strong(device, *first) ? *first : device;
}

CudaDevice* CudaDevice::InUse() { return in_use.load(std::memory_order_acquire); }

int32_t CudaDevice::Count() {
  const Result<const cuda::Driver*>& found = cuda::TheDriver();
  int count = 0;
  return found.ok() && (*found)->DeviceGetCount(&count) == cuda::kSuccess ? count : 0;
}

Result<> CudaDevice::IsThere() {
  const Result<const cuda::Driver*>& found = cuda::TheDriver();
  if (!found.ok()) return found.error();
  if (InUse() != nullptr) return {};  // in a forked child, too, whose calls of the driver fail
  const cuda::Driver& driver = **found;
  int count = 0;
  if (Result<> counted = CountDevices(driver, &count); !counted.ok()) return counted;
  const int version = driver.Version();
  const bool is_new = version >= cuda::kOldestDriver;
  std::string devices;
  for (int number = 0; number < count; ++number) {
    cuda::DeviceNumber device;
    int major = 0, minor = 0;
    char name[256] = {};
    if (driver.DeviceGet(&device, number) != cuda::kSuccess) continue;
    driver.DeviceGetAttribute(&major, cuda::kComputeCapabilityMajor, device);
    driver.DeviceGetAttribute(&minor, cuda::kComputeCapabilityMinor, device);
    const auto arch = static_cast<uint32_t>(major * 10 + minor);
    if (is_new && arch >= kOldestArch) return {};
    driver.DeviceGetName(name, sizeof name - 1, device);
    devices += (devices.empty() ? "" : ", ") + WithCapability(name, arch);
  }
  return Error{ErrorCode::kFailedPrecondition,
               devices + ", and the driver has " + cuda::VersionText(version) +
                   "; kernels run on compute capability " + Capability(kOldestArch) +
                   " and later, with a driver of " + cuda::VersionText(cuda::kOldestDriver) +
                   " (R520) or later"};
}

Result<CudaDevice*> CudaDevice::Make(int32_t number) {
  const Result<const cuda::Driver*>& found = cuda::TheDriver();
  if (!found.ok()) return found.error();
  const cuda::Driver& driver = **found;
  ForkGeneration::Watch();
  int count = 0;
  if (Result<> counted = CountDevices(driver, &count); !counted.ok()) return counted.error();
  if (number < 0 || number >= count) {
    return Error{ErrorCode::kFailedPrecondition,
                 "there is no CUDA device " + std::to_string(number) + ": the driver lists " +
                     std::to_string(count) +
                     " (CUDA_VISIBLE_DEVICES chooses among those of the "
                     "machine)"};
  }
  cuda::DeviceNumber handle;
  cuda::Context context;
  cuda::Code code = driver.DeviceGet(&handle, number);
  if (code == cuda::kSuccess) code = driver.PrimaryContextRetain(&context, handle);
  if (code != cuda::kSuccess) return driver.ErrorOf(code, "the CUDA device does not start");
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, number, handle, context));
  if (device->arch_ < kOldestArch) {
    return Error{ErrorCode::kFailedPrecondition, WithCapability(device->name_, device->arch_) +
                                                     "; kernels run on " + Capability(kOldestArch) +
                                                     " and later"};
  }
  if (Result<> entered = device->Enter(); !entered.ok()) return entered.error();
  code = driver.MemAlloc(&device->idle_reports_, sizeof(KilnCudaReports));
  if (code == cuda::kSuccess) {
    code = driver.Set8(device->idle_reports_, 0, sizeof(KilnCudaReports), nullptr);
  }
  if (code != cuda::kSuccess) return driver.ErrorOf(code, "the CUDA device does not start");
  return device.release();
}

CudaDevice::CudaDevice(const cuda::Driver& driver, int32_t number, cuda::DeviceNumber device,
                       cuda::Context context)
    : driver_(driver), number_(number), context_(context), trees_(driver), tapes_(driver) {
  const auto attribute = [&](int which) {
    int value = 0;
    driver_.DeviceGetAttribute(&value, which, device);
    return static_cast<uint32_t>(std::max(value, 0));
  };
  arch_ = attribute(cuda::kComputeCapabilityMajor) * 10 + attribute(cuda::kComputeCapabilityMinor);
  multiprocessors_ = std::max(attribute(cuda::kMultiprocessorCount), 1u);
  threads_of_multiprocessor_ = std::max(attribute(cuda::kThreadsOfMultiprocessor), 1024u);
  runs_cooperative_launches_ = attribute(cuda::kCooperativeLaunch) != 0;
  has_virtual_memory_ = attribute(cuda::kVirtualMemory) != 0;
  char name[256] = {};
  driver_.DeviceGetName(name, sizeof name - 1, device);
  name_ = name;
}

}  // namespace kiln
