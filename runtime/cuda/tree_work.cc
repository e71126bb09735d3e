#include "runtime/cuda/tree_work.h"

#include <algorithm>
#include <string>

#include "common/artifact/cuda_payload.h"
#include "common/base/check.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/tree_ptx.h"
#include "runtime/cuda_abi.h"

namespace kiln::cuda {
namespace {

// More would rarely have something to do, and all wait at each barrier.
constexpr int kBlocksPerMultiprocessor = 2;

}  // namespace

Result<TreeKernel> LoadTreeKernel(CudaDevice* device) {
  if (Result<> entered = device->Enter(); !entered.ok()) return entered.error();
  const Driver& driver = device->driver();
  CudaPayload payload;
  payload.ptx = {kTreePtx, kTreePtxSize};
  payload.ptx_plain_bytes = kTreePtxPlainSize;
  std::string ptx;
  const std::string wrong = CudaPtxText(payload, &ptx);
  KILN_CHECK(wrong.empty()) << "the code for sparse SNodes: " << wrong;
  Module module = nullptr;
  TreeKernel kernel;
  kernel.threads = KILN_CUDA_RETIRED;
  // Never unloaded: the driver ends before static destructors run.
  Code code = driver.ModuleLoadData(&module, ptx.c_str());
  if (code == kSuccess) code = driver.ModuleGetFunction(&kernel.function, module, "kiln_cuda_tree");
  if (code == kSuccess)
    code = driver.ModuleGetFunction(&kernel.grow, module, "kiln_cuda_tree_grow");
  if (code != kSuccess) {
    return driver.ErrorOf(code, "the CUDA driver does not load the code for sparse SNodes");
  }
  // Blocks wait for each other: without cooperative launches, which run all of them at once, there
  // is one.
  int resident = 0;
  if (device->runs_cooperative_launches() &&
      driver.Occupancy(&resident, kernel.function, KILN_CUDA_RETIRED, 0) == kSuccess &&
      resident > 0) {
    const unsigned blocks = device->multiprocessors() *
                            static_cast<unsigned>(std::min(resident, kBlocksPerMultiprocessor));
    kernel.blocks = std::min<unsigned>(blocks, KILN_CUDA_TREE_BLOCKS);
    kernel.is_cooperative = kernel.blocks > 1;
  }
  return kernel;
}

Code StartTreeWork(const CudaDevice& device, Address nodes, uint32_t node, uint32_t work,
                   Stream stream) {
  void* parameters[] = {&nodes, &node, &work};
  const Driver& driver = device.driver();
  const TreeKernel& kernel = device.tree_kernel();
  if (kernel.is_cooperative) {
    return driver.LaunchCooperative(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1,
                                    /*shared_bytes=*/0, stream, parameters);
  }
  return driver.LaunchKernel(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1,
                             /*shared_bytes=*/0, stream, parameters, nullptr);
}

Code StartTreeGrowth(const CudaDevice& device, Address tree, Address end, Address mark,
                     Stream stream) {
  void* parameters[] = {&tree, &end, &mark};
  return device.driver().LaunchKernel(device.tree_kernel().grow, 1, 1, 1, 1, 1, 1,
                                      /*shared_bytes=*/0, stream, parameters, nullptr);
}

}  // namespace kiln::cuda
