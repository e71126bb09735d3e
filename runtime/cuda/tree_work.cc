#include "runtime/cuda/tree_work.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/tree_ptx.h"
#include "runtime/cuda_abi.h"

namespace kiln::cuda {
namespace {

Function work_function = nullptr;

Result<> Load(CudaDevice* device) {
  if (Result<> entered = device->Enter(); !entered.ok()) return entered;
  const Driver& driver = device->driver();
  Module module = nullptr;
  // Never unloaded: the driver ends before static destructors run.
  Code code = driver.ModuleLoadData(&module, kTreePtx);
  if (code == kSuccess) code = driver.ModuleGetFunction(&work_function, module, "kiln_cuda_tree");
  if (code != kSuccess) {
    return driver.ErrorOf(code, "the CUDA driver does not load the code for sparse SNodes");
  }
  return {};
}

}  // namespace

Result<> LoadTreeWork(CudaDevice* device) {
  static const auto* const loaded = new Result<>(Load(device));
  return *loaded;
}

Code StartTreeWork(const Driver& driver, Address nodes, uint32_t node, uint32_t work) {
  void* parameters[] = {&nodes, &node, &work};
  return driver.LaunchKernel(work_function, 1, 1, 1, KILN_CUDA_RETIRED, 1, 1, /*shared_bytes=*/0,
                             /*stream=*/nullptr, parameters, nullptr);
}

}  // namespace kiln::cuda
