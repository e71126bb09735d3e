// The calls of the driver's interface for the driver itself, devices and contexts. All calls take
// the driver's lock, so they run one at a time.
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/driver_state.h"

namespace {

using kiln::fake_cuda::current;
using kiln::fake_cuda::DriverCall;
using kiln::fake_cuda::DriverState;
using kiln::fake_cuda::kInit;
using kiln::fake_cuda::kNothing;
using kiln::fake_cuda::NamedCall;
using kiln::fake_cuda::Stream;

int Attribute(int attribute, int arch) {
  switch (attribute) {
    case 102:  // virtual memory
      return DriverState::Get().settings.no_virtual_memory ? 0 : 1;
    case 1:  // threads of a block
    case 2:
    case 3:
      return kiln::fake_cuda::kMostThreads;
    case 4:
      return 64;
    case 5:  // blocks of a grid
      return 2147483647;
    case 6:
    case 7:
      return 65535;
    case 8:  // shared memory of a block
      return kiln::fake_cuda::kMostShared;
    case 9:  // constant memory
      return 65536;
    case 10:
      return kiln::fake_cuda::kLanes;
    case 12:  // registers of a block
    case 82:
      return 65536;
    case 13:  // clock in kHz
      return 1000000;
    case 16:
      return kiln::fake_cuda::kMultiprocessors;
    case 31:   // concurrent kernels
    case 19:   // maps host memory
    case 41:   // unified addressing
    case 115:  // memory pools
    case 90:   // stream priorities
      return 1;
    case 39:  // threads of a multiprocessor
      return 2048;
    case 95:  // cooperative launches
      return 1;
    case 75:
      return arch / 10;
    case 76:
      return arch % 10;
    case 81:  // shared memory of a multiprocessor
      return 228 << 10;
    case 97:
      return kiln::fake_cuda::kMostOptedShared;
    case 106:  // blocks of a multiprocessor
      return 32;
    default:
      return 0;
  }
}

}  // namespace

KILN_CALL cuInit(unsigned flags) {
  DriverCall call("cuInit", kNothing);
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (call.state.settings.no_device || call.state.visible.empty()) return CUDA_ERROR_NO_DEVICE;
  if (call.state.initialized && call.state.process != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  call.state.initialized = true;
  call.state.process = getpid();
  return CUDA_SUCCESS;
}

KILN_CALL cuDriverGetVersion(int* version) {
  const DriverCall call("cuDriverGetVersion", kNothing);
  *version = call.state.settings.driver;
  return CUDA_SUCCESS;
}

KILN_CALL cuGetErrorName(CUresult error, const char** text) {
  switch (static_cast<int>(error)) {
#define KILN_NAME(name, number, message) \
  case number:                           \
    *text = #name;                       \
    return CUDA_SUCCESS;
    KILN_CUDA_RESULTS(KILN_NAME)
#undef KILN_NAME
    default:
      *text = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
}

KILN_CALL cuGetErrorString(CUresult error, const char** text) {
  switch (static_cast<int>(error)) {
#define KILN_TEXT(name, number, message) \
  case number:                           \
    *text = message;                     \
    return CUDA_SUCCESS;
    KILN_CUDA_RESULTS(KILN_TEXT)
#undef KILN_TEXT
    default:
      *text = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
}

KILN_CALL cuDeviceGetCount(int* count) {
  KILN_BEGIN("cuDeviceGetCount", kInit);
  *count = static_cast<int>(call.state.visible.size());
  return CUDA_SUCCESS;
}

KILN_CALL cuDeviceGet(CUdevice* device, int ordinal) {
  KILN_BEGIN("cuDeviceGet", kInit);
  *device = ordinal;
  return call.Has(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

KILN_CALL cuDeviceGetName(char* name, int length, CUdevice device) {
  KILN_BEGIN("cuDeviceGetName", kInit);
  if (!call.Has(device)) return CUDA_ERROR_INVALID_DEVICE;
  const int number = call.state.visible[device];
  const std::string text = number == 0 ? "" : " " + std::to_string(number);
  std::snprintf(name, static_cast<size_t>(length), "Kiln PTX emulator%s", text.c_str());
  return CUDA_SUCCESS;
}

KILN_CALL cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  KILN_BEGIN("cuDeviceGetAttribute", kInit);
  if (!call.Has(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = Attribute(static_cast<int>(attribute), call.state.ArchOf(device));
  return CUDA_SUCCESS;
}

KILN_CALL cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  KILN_BEGIN("cuDeviceTotalMem_v2", kInit);
  *bytes = call.state.memory.capacity();
  return call.Has(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

KILN_CALL cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  KILN_BEGIN("cuDeviceGetUuid_v2", kInit);
  std::memcpy(uuid->bytes, "KilnPtxEmulator", 16);
  return call.Has(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

KILN_CALL cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  KILN_BEGIN("cuDevicePrimaryCtxRetain", kInit);
  if (!call.Has(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = call.state.contexts[device].get();
  return CUDA_SUCCESS;
}

KILN_CALL cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  KILN_BEGIN("cuDevicePrimaryCtxRelease_v2", kInit);
  return call.Has(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

KILN_CALL cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  KILN_BEGIN("cuCtxCreate_v2", kInit);
  if (!call.Has(device)) return CUDA_ERROR_INVALID_DEVICE;
  call.state.contexts.push_back(std::make_unique<CUctx_st>(CUctx_st{device}));
  *context = call.state.contexts.back().get();
  return current.Push(*context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

KILN_CALL cuCtxSetCurrent(CUcontext context) {
  KILN_BEGIN("cuCtxSetCurrent", kInit);
  if (!current.empty()) current.Pop();
  if (context != nullptr) current.Push(context);
  return CUDA_SUCCESS;
}

KILN_CALL cuCtxGetCurrent(CUcontext* context) {
  KILN_BEGIN("cuCtxGetCurrent", kInit);
  *context = current.Top();
  return CUDA_SUCCESS;
}

KILN_CALL cuCtxPushCurrent_v2(CUcontext context) {
  KILN_BEGIN("cuCtxPushCurrent_v2", kInit);
  return current.Push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

KILN_CALL cuCtxPopCurrent_v2(CUcontext* context) {
  KILN_BEGIN("cuCtxPopCurrent_v2");
  if (context != nullptr) *context = current.Top();
  current.Pop();
  return CUDA_SUCCESS;
}

KILN_CALL cuCtxGetDevice(CUdevice* device) {
  KILN_BEGIN("cuCtxGetDevice");
  *device = DriverCall::context()->device;
  return CUDA_SUCCESS;
}

KILN_CALL cuCtxSynchronize() {
  KILN_BEGIN("cuCtxSynchronize");
  call.state.streams.RunAllOf(DriverCall::context());
  return call.Finish();
}

// Stacks have all that programs ask for (ptx_executor.cc).
KILN_CALL cuCtxSetLimit(CUlimit limit, size_t value) {
  KILN_BEGIN("cuCtxSetLimit");
  return static_cast<int>(limit) == 0 && value <= 512 << 10 ? CUDA_SUCCESS
                                                            : CUDA_ERROR_INVALID_VALUE;
}

#undef cuStreamGetCtx
KILN_CALL cuStreamGetCtx(CUstream stream, CUcontext* context) {
  KILN_BEGIN("cuStreamGetCtx");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *context = static_cast<CUcontext>(const_cast<void*>(known->owner));
  return CUDA_SUCCESS;
}

KILN_CALL cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                              CUdriverProcAddressQueryResult* status);

namespace {

std::vector<NamedCall> AllCalls() {
  std::vector<NamedCall> all = {KILN_NAMED(cuInit),
                                KILN_NAMED(cuDriverGetVersion),
                                KILN_NAMED(cuGetErrorName),
                                KILN_NAMED(cuGetErrorString),
                                KILN_NAMED(cuDeviceGetCount),
                                KILN_NAMED(cuDeviceGet),
                                KILN_NAMED(cuDeviceGetName),
                                KILN_NAMED(cuDeviceGetAttribute),
                                KILN_NAMED(cuDeviceTotalMem_v2),
                                KILN_NAMED(cuDeviceGetUuid_v2),
                                KILN_NAMED(cuDevicePrimaryCtxRetain),
                                KILN_NAMED(cuDevicePrimaryCtxRelease_v2),
                                KILN_NAMED(cuCtxCreate_v2),
                                KILN_NAMED(cuCtxSetCurrent),
                                KILN_NAMED(cuCtxGetCurrent),
                                KILN_NAMED(cuCtxPushCurrent_v2),
                                KILN_NAMED(cuCtxPopCurrent_v2),
                                KILN_NAMED(cuCtxGetDevice),
                                KILN_NAMED(cuCtxSynchronize),
                                KILN_NAMED(cuCtxSetLimit),
                                KILN_NAMED(cuGetProcAddress_v2)};
  for (const auto& calls : {kiln::fake_cuda::MemoryCalls(), kiln::fake_cuda::KernelCalls(),
                            kiln::fake_cuda::StreamCalls()}) {
    all.insert(all.end(), calls.begin(), calls.end());
  }
  return all;
}

}  // namespace

KILN_CALL cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                              CUdriverProcAddressQueryResult* status) {
  const DriverCall call("cuGetProcAddress_v2", kNothing);
  static const std::vector<NamedCall> kCalls = AllCalls();

  // Newer versions of a function come first, as in a driver that is asked for the newest one.
  *function = nullptr;
  for (const char* suffix : {"_v2", ""}) {
    const std::string name = std::string(symbol) + suffix;
    for (const auto& known : kCalls) {
      if (*function == nullptr && name == known.name) *function = known.function;
    }
  }
  if (status != nullptr) {
    *status = static_cast<CUdriverProcAddressQueryResult>(*function == nullptr ? 1 : 0);
  }
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
