// The driver's calls for modules, their functions and launches.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/driver_state.h"

namespace {

using kiln::fake_cuda::DriverCall;
using kiln::fake_cuda::DriverState;
using kiln::fake_cuda::Enqueue;
using kiln::fake_cuda::KernelLaunch;

CUresult Launch(DriverCall& call, CUstream stream, CUfunction function, const uint32_t (&blocks)[3],
                const uint32_t (&threads)[3], unsigned shared, bool cooperative, void** parameters,
                void** extra) {
  KernelLaunch launch;
  const CUresult made = kiln::fake_cuda::MakeLaunch(function, blocks, threads, shared, cooperative,
                                                    parameters, extra, &launch);
  if (made != CUDA_SUCCESS) return made;
  DriverState* state = &call.state;
  return Enqueue(call, stream, [state, launch] { launch.Run(state); }, false);
}

}  // namespace

KILN_CALL cuModuleLoadData(CUmodule* module, const void* image) {
  KILN_BEGIN("cuModuleLoadData");
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return call.state.Load(static_cast<const char*>(image), DriverCall::context(), module);
}

KILN_CALL cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  KILN_BEGIN("cuModuleLoadDataEx");
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return call.state.Load(static_cast<const char*>(image), DriverCall::context(), module);
}

KILN_CALL cuModuleUnload(CUmodule module) {
  KILN_BEGIN("cuModuleUnload");
  if (call.state.modules.count(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  call.state.RunAll();
  call.state.Unload(module);
  return call.Finish();
}

KILN_CALL cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  KILN_BEGIN("cuModuleGetFunction");
  if (call.state.modules.count(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (const kiln::fake_cuda::Function& known : module->program.functions) {
    if (!known.entry || known.name != name) continue;
    module->functions.push_back(
        std::make_unique<CUfunc_st>(CUfunc_st{module, &known, kiln::fake_cuda::kMostShared}));
    *function = module->functions.back().get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

KILN_CALL cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                               const char* name) {
  KILN_BEGIN("cuModuleGetGlobal_v2");
  if (call.state.modules.count(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  for (const kiln::fake_cuda::Global& known : module->program.globals) {
    if (known.name != name) continue;
    if (address != nullptr) *address = known.address;
    if (bytes != nullptr) *bytes = known.bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

KILN_CALL cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  KILN_BEGIN("cuFuncGetAttribute");
  const kiln::fake_cuda::Function& known = *function->function;
  switch (static_cast<int>(attribute)) {
    case 0:
      *value = known.most_threads != 0 ? static_cast<int>(known.most_threads)
                                       : kiln::fake_cuda::kMostThreads;
      break;
    case 1:
      *value = static_cast<int>(function->module->program.shared_bytes);
      break;
    case 3:
      *value = static_cast<int>(known.local_bytes);
      break;
    case 4:
      *value = known.registers;
      break;
    case 5:
    case 6:
      *value = call.state.ArchOf(function->module->context->device);
      break;
    case 8:
      *value = function->most_dynamic_shared;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

KILN_CALL cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  KILN_BEGIN("cuFuncSetAttribute");
  if (static_cast<int>(attribute) != 8) return CUDA_SUCCESS;
  if (value < 0 || value > kiln::fake_cuda::kMostOptedShared) return CUDA_ERROR_INVALID_VALUE;
  function->most_dynamic_shared = value;
  return CUDA_SUCCESS;
}

KILN_CALL cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size,
                                                      size_t) {
  KILN_BEGIN("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = std::min(32, 2048 / block_size);
  return CUDA_SUCCESS;
}

KILN_CALL cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         CUstream stream, void** parameters, void** extra) {
  KILN_BEGIN("cuLaunchKernel");
  return Launch(call, stream, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                shared, /*cooperative=*/false, parameters, extra);
}

KILN_CALL cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared, CUstream stream,
                                    void** parameters) {
  KILN_BEGIN("cuLaunchCooperativeKernel");
  return Launch(call, stream, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                shared, /*cooperative=*/true, parameters, nullptr);
}

namespace kiln::fake_cuda {

std::vector<NamedCall> KernelCalls() {
  return {KILN_NAMED(cuModuleLoadData),     KILN_NAMED(cuModuleLoadDataEx),
          KILN_NAMED(cuModuleUnload),       KILN_NAMED(cuModuleGetFunction),
          KILN_NAMED(cuModuleGetGlobal_v2), KILN_NAMED(cuFuncGetAttribute),
          KILN_NAMED(cuFuncSetAttribute),   KILN_NAMED(cuOccupancyMaxActiveBlocksPerMultiprocessor),
          KILN_NAMED(cuLaunchKernel),       KILN_NAMED(cuLaunchCooperativeKernel)};
}

}  // namespace kiln::fake_cuda
