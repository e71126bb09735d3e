#include "client_cpp/devices.h"

#include <cstdlib>
#include <mutex>
#include <string>

#include "client_cpp/runtime_status.h"
#include "client_cpp/spawn.h"
#include "common/home/programs.h"
#include "runtime/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda_abi_digest.h"
#include "runtime/loaded_kernel.h"

namespace kiln {
namespace {

absl::StatusOr<Device*> Found(const Result<CudaDevice*>& device) {
  if (!device.ok()) return ToStatus(device.error());
  return *device;
}

}  // namespace

void ChooseCudaDriver() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* given = std::getenv("KILN_CUDA_DRIVER");
    if (given == nullptr || *given == '\0') return;
    std::string path = given;
    if (path == "emulator") path = ProgramIn(FindBinDir(), "libcuda-emulator.so");
    cuda::UseDriver(path);
  });
}

absl::StatusOr<Device*> DeviceFor(Target::Device kind) {
  if (kind != Target::Device::kCuda) return &CpuDevice();
  ChooseCudaDriver();
  return Found(CudaDevice::Get());
}

absl::Status CheckCudaDevice() {
  ChooseCudaDriver();
  return ToStatus(CudaDevice::IsThere());
}

int32_t CountCudaDevices() {
  ChooseCudaDriver();
  return CudaDevice::Count();
}

absl::StatusOr<Device*> UseCudaDevice(int32_t number) {
  ChooseCudaDriver();
  return Found(CudaDevice::Use(number));
}

Device* CudaDeviceInUse() { return CudaDevice::InUse(); }

uint64_t AbiFor(Target::Device kind) {
  return kind == Target::Device::kCuda ? kCudaAbi : RuntimeAbi();
}

}  // namespace kiln
