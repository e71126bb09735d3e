// Which library is opened as CUDA's driver.
#ifndef KILN_RUNTIME_CUDA_DRIVER_PATH_H_
#define KILN_RUNTIME_CUDA_DRIVER_PATH_H_

#include <string>

namespace kiln::cuda {

// As UseDriver (driver.h), at any time: false, having done nothing, if the process has opened
// another driver. Thread-safe.
bool TryUseDriver(const std::string& path);

}  // namespace kiln::cuda

#endif  // KILN_RUNTIME_CUDA_DRIVER_PATH_H_
