// The code of a kernel on a CUDA device.
#ifndef KILN_RUNTIME_CUDA_CUDA_KERNEL_H_
#define KILN_RUNTIME_CUDA_CUDA_KERNEL_H_

#include <memory>
#include <string_view>

#include "runtime/kernel_info.h"
#include "runtime/loaded_kernel.h"
#include "runtime/result.h"

namespace kiln {

class CudaDevice;

// Loads the payload of an entry (common/artifact/cuda_payload.h): its cubin, or, where the driver
// has no use for it, its PTX. `device` outlives the kernel. FailedPrecondition if the code is not
// for the device, or for another ABI; DataLoss if it is no such payload.
//
// A launch returns before its work is done, except that a kernel with results, prints or checks is
// waited for. Its addresses are those of the device.
Result<std::shared_ptr<const LoadedKernel>> LoadCudaKernel(CudaDevice* device,
                                                           std::string_view payload,
                                                           KernelInfo info);

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_CUDA_KERNEL_H_
