// The devices on which this process can run kernels.
#ifndef KILN_CLIENT_CPP_DEVICES_H_
#define KILN_CLIENT_CPP_DEVICES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/artifact/target.h"
#include "runtime/device.h"

namespace kiln {

// The device that runs code of this kind: the CPU, or the CUDA device in use: the first one, unless
// UseCudaDevice has chosen another. FailedPrecondition says why there is no CUDA device; the first
// call for one takes some 0.3 s. Thread-safe.
//
// KILN_CUDA_DRIVER names another driver than the system's: a path, or "emulator", which is built by
// `./kiln build emulator`.
absl::StatusOr<Device*> DeviceFor(Target::Device kind);

// Whether the machine has a CUDA device that DeviceFor could give; FailedPrecondition says what is
// missing or too old. Starts none. Thread-safe.
absl::Status CheckCudaDevice();

// Has the process use the driver of KILN_CUDA_DRIVER, as the two functions do.
void ChooseCudaDriver();

// How many CUDA devices the machine's driver lists; 0 without one. Starts none. Thread-safe.
int32_t CountCudaDevices();

// Makes the CUDA device of this number the one in use. CUDA_VISIBLE_DEVICES orders the devices, as
// for all CUDA programs. What was made on another device stays there, and can be used as before.
// FailedPrecondition if there is no such device. Thread-safe.
absl::StatusOr<Device*> UseCudaDevice(int32_t number);

// The CUDA device in use; null: there was none yet. Thread-safe.
Device* CudaDeviceInUse();

// The digest that Target.runtime_abi states of code of this kind.
uint64_t AbiFor(Target::Device kind);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DEVICES_H_
