// The calls of the driver's interface. Each takes the driver's lock, so they run one at a time.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/support/fake_cuda/device_memory.h"
#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/driver_state.h"

namespace {

using kiln::fake_cuda::current;
using kiln::fake_cuda::DeviceMemory;
using kiln::fake_cuda::Done;
using kiln::fake_cuda::DriverCall;
using kiln::fake_cuda::DriverState;
using kiln::fake_cuda::Enqueue;
using kiln::fake_cuda::KernelLaunch;
using kiln::fake_cuda::kInit;
using kiln::fake_cuda::kNothing;
using kiln::fake_cuda::Stream;

double NowInMilliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

CUresult Allocate(DriverCall& call, CUdeviceptr* address, size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = call.state.Allocate(bytes, DriverCall::context());
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CopyIn(DriverCall& call, CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  uint8_t* target = call.state.memory.Find(to, bytes);
  if (target == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  call.state.memory.NoteWrite(target, bytes);
  if (call.state.memory.IsHost(from, bytes)) {  // pinned: read when the copy runs
    return Enqueue(call, stream, [=] { std::memmove(target, from, bytes); }, false);
  }
  const auto* begin = static_cast<const uint8_t*>(from);
  auto staged = std::make_shared<std::vector<uint8_t>>(begin, begin + bytes);
  return Enqueue(call, stream, [=] { std::memcpy(target, staged->data(), bytes); }, false);
}

CUresult CopyOut(DriverCall& call, void* to, CUdeviceptr from, size_t bytes, CUstream stream,
                 bool wait) {
  const uint8_t* source = call.state.memory.Find(from, bytes);
  if (source == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  wait = wait || !call.state.memory.IsHost(to, bytes);
  return Enqueue(call, stream, [=] { std::memmove(to, source, bytes); }, wait);
}

CUresult CopyWithin(DriverCall& call, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                    CUstream stream) {
  uint8_t* target = call.state.memory.Find(to, bytes);
  const uint8_t* source = call.state.memory.Find(from, bytes);
  if (target == nullptr || source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  call.state.memory.NoteWrite(target, bytes);
  return Enqueue(call, stream, [=] { std::memmove(target, source, bytes); }, false);
}

template <typename T>
CUresult Fill(DriverCall& call, CUdeviceptr at, T value, size_t count, CUstream stream) {
  uint8_t* target = call.state.memory.Find(at, count * sizeof(T));
  if (target == nullptr || at % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  call.state.memory.NoteWrite(target, count * sizeof(T));
  const bool zero = value == 0 && !call.state.memory.IsHost(target, count * sizeof(T));
  return Enqueue(
      call, stream,
      [=] {
        if (zero) return kiln::fake_cuda::DeviceMemory::Clear(target, count * sizeof(T));
        std::fill_n(reinterpret_cast<T*>(target), count, value);
      },
      false);
}

bool AreSteps(uint64_t a, uint64_t b) { return (a | b) % DeviceMemory::kStep == 0; }

bool IsDeviceMemory(const DriverCall& call, const CUmemAllocationProp* kind) {
  return static_cast<int>(kind->type) == 1 && static_cast<int>(kind->location.type) == 1 &&
         call.Has(kind->location.id) && static_cast<int>(kind->requestedHandleTypes) == 0;
}

CUresult Checked(const char* name, const std::string& wrong) {
  return wrong.empty() ? CUDA_SUCCESS : DriverState::Refuse(name, wrong);
}

CUresult Register(DriverCall& call, void* at, size_t bytes) {
  if (at == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  call.state.memory.AddHost(at, bytes);
  return CUDA_SUCCESS;
}

CUresult AllocateHost(DriverCall& call, void** at, size_t bytes) {
  if (at == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *at = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *at == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : Register(call, *at, bytes);
}

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

KILN_CALL cuMemGetInfo_v2(size_t* free, size_t* total) {
  KILN_BEGIN("cuMemGetInfo_v2");
  *total = call.state.memory.capacity();
  *free = *total - call.state.memory.used();
  return CUDA_SUCCESS;
}

KILN_CALL cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  KILN_BEGIN("cuMemAlloc_v2");
  return Allocate(call, address, bytes);
}

KILN_CALL cuMemFree_v2(CUdeviceptr address) {
  KILN_BEGIN("cuMemFree_v2");
  call.state.RunAll();
  if (!call.ok() || address == 0) return call.Finish();
  return call.state.memory.Free(address) ? call.Finish() : CUDA_ERROR_INVALID_VALUE;
}

KILN_CALL cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  KILN_BEGIN("cuMemAllocAsync");
  if (call.state.StreamOf(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Allocate(call, address, bytes);
}

KILN_CALL cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  KILN_BEGIN("cuMemFreeAsync");
  if (call.state.memory.Find(address, 1) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  DriverState* state = &call.state;
  return Enqueue(call, stream, [=] { state->memory.Free(address); }, false);
}

KILN_CALL cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  KILN_BEGIN("cuDeviceGetDefaultMemPool", kInit);
  *pool = reinterpret_cast<CUmemoryPool>(&call.state.memory);
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

KILN_CALL cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) {
  KILN_BEGIN("cuMemPoolSetAttribute", kInit);
  return CUDA_SUCCESS;
}

KILN_CALL cuMemPoolTrimTo(CUmemoryPool, size_t) {
  KILN_BEGIN("cuMemPoolTrimTo", kInit);
  return CUDA_SUCCESS;
}

KILN_CALL cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* kind,
                                        CUmemAllocationGranularity_flags) {
  KILN_BEGIN("cuMemGetAllocationGranularity", kInit);
  *bytes = DeviceMemory::kStep;
  return IsDeviceMemory(call, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

KILN_CALL cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment,
                              CUdeviceptr wanted, unsigned long long flags) {
  KILN_BEGIN("cuMemAddressReserve");
  if (!AreSteps(bytes, alignment) || bytes == 0 || flags != 0) {
    return DriverState::Refuse("cuMemAddressReserve", "sizes are multiples of 2 MiB");
  }
  if (call.state.settings.no_virtual_memory || wanted != 0 || alignment > DeviceMemory::kStep) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *address = call.state.memory.Reserve(bytes);
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

KILN_CALL cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  KILN_BEGIN("cuMemAddressFree");
  return Checked("cuMemAddressFree", call.state.memory.Unreserve(address, bytes));
}

KILN_CALL cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                      const CUmemAllocationProp* kind, unsigned long long flags) {
  KILN_BEGIN("cuMemCreate");
  if (!AreSteps(bytes, 0) || bytes == 0 || flags != 0 || !IsDeviceMemory(call, kind)) {
    return DriverState::Refuse("cuMemCreate", "it makes multiples of 2 MiB on a device");
  }
  uint64_t made = 0;
  const CUresult result = call.state.CreateMemory(bytes, &made);
  *handle = made;
  return result;
}

KILN_CALL cuMemRelease(CUmemGenericAllocationHandle handle) {
  KILN_BEGIN("cuMemRelease");
  return Checked("cuMemRelease", call.state.memory.Release(handle));
}

KILN_CALL cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                   unsigned long long flags) {
  KILN_BEGIN("cuMemMap");
  if (!AreSteps(at, bytes) || offset != 0 || flags != 0) {
    return DriverState::Refuse("cuMemMap", "it maps whole memory at multiples of 2 MiB");
  }
  return Checked("cuMemMap", call.state.memory.Map(at, bytes, handle));
}

// A device does not wait here either, and work on the memory would fail later or not at all.
KILN_CALL cuMemUnmap(CUdeviceptr at, size_t bytes) {
  KILN_BEGIN("cuMemUnmap");
  if (call.state.streams.HasWorkOf(DriverCall::context())) {
    return DriverState::Refuse("cuMemUnmap", "work that may use the memory has not run");
  }
  return Checked("cuMemUnmap", call.state.memory.Unmap(at, bytes));
}

KILN_CALL cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc* access,
                         size_t count) {
  KILN_BEGIN("cuMemSetAccess");
  if (count != 1 || static_cast<int>(access->location.type) != 1 ||
      !call.Has(access->location.id) || static_cast<int>(access->flags) != 3) {
    return DriverState::Refuse("cuMemSetAccess", "one device reads and writes");
  }
  const CUcontext owner = call.state.contexts[access->location.id].get();
  return Checked("cuMemSetAccess", call.state.memory.SetAccess(at, bytes, owner));
}

KILN_CALL cuMemAllocHost_v2(void** at, size_t bytes) {
  KILN_BEGIN("cuMemAllocHost_v2");
  return AllocateHost(call, at, bytes);
}

KILN_CALL cuMemHostAlloc(void** at, size_t bytes, unsigned) {
  KILN_BEGIN("cuMemHostAlloc");
  return AllocateHost(call, at, bytes);
}

KILN_CALL cuMemFreeHost(void* at) {
  KILN_BEGIN("cuMemFreeHost");
  call.state.RunAll();
  if (!call.state.memory.RemoveHost(at)) return CUDA_ERROR_INVALID_VALUE;
  std::free(at);
  return call.Finish();
}

KILN_CALL cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* at, unsigned flags) {
  KILN_BEGIN("cuMemHostGetDevicePointer_v2");
  if (flags != 0 || !call.state.memory.IsHost(at, 1)) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(at);
  return CUDA_SUCCESS;
}

KILN_CALL cuMemHostRegister_v2(void* at, size_t bytes, unsigned) {
  KILN_BEGIN("cuMemHostRegister_v2");
  if (call.state.memory.IsHost(at, 1)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  return Register(call, at, bytes);
}

KILN_CALL cuMemHostUnregister(void* at) {
  KILN_BEGIN("cuMemHostUnregister");
  call.state.RunAll();
  return call.state.memory.RemoveHost(at) ? call.Finish() : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

KILN_CALL cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  KILN_BEGIN("cuMemcpyHtoD_v2");
  return CopyIn(call, to, from, bytes, nullptr);
}

KILN_CALL cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  KILN_BEGIN("cuMemcpyDtoH_v2");
  return CopyOut(call, to, from, bytes, nullptr, /*wait=*/true);
}

KILN_CALL cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  KILN_BEGIN("cuMemcpyDtoD_v2");
  return CopyWithin(call, to, from, bytes, nullptr);
}

KILN_CALL cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  KILN_BEGIN("cuMemcpyHtoDAsync_v2");
  return CopyIn(call, to, from, bytes, stream);
}

KILN_CALL cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  KILN_BEGIN("cuMemcpyDtoHAsync_v2");
  return CopyOut(call, to, from, bytes, stream, /*wait=*/false);
}

KILN_CALL cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  KILN_BEGIN("cuMemcpyDtoDAsync_v2");
  return CopyWithin(call, to, from, bytes, stream);
}

KILN_CALL cuMemsetD8_v2(CUdeviceptr at, unsigned char value, size_t count) {
  KILN_BEGIN("cuMemsetD8_v2");
  return Fill<uint8_t>(call, at, value, count, nullptr);
}

KILN_CALL cuMemsetD16_v2(CUdeviceptr at, unsigned short value, size_t count) {
  KILN_BEGIN("cuMemsetD16_v2");
  return Fill<uint16_t>(call, at, value, count, nullptr);
}

KILN_CALL cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count) {
  KILN_BEGIN("cuMemsetD32_v2");
  return Fill<uint32_t>(call, at, value, count, nullptr);
}

KILN_CALL cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t count, CUstream stream) {
  KILN_BEGIN("cuMemsetD8Async");
  return Fill<uint8_t>(call, at, value, count, stream);
}

KILN_CALL cuMemsetD16Async(CUdeviceptr at, unsigned short value, size_t count, CUstream stream) {
  KILN_BEGIN("cuMemsetD16Async");
  return Fill<uint16_t>(call, at, value, count, stream);
}

KILN_CALL cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream stream) {
  KILN_BEGIN("cuMemsetD32Async");
  return Fill<uint32_t>(call, at, value, count, stream);
}

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

KILN_CALL cuStreamCreate(CUstream* stream, unsigned flags) {
  KILN_BEGIN("cuStreamCreate");
  Stream* made = call.state.streams.Create(flags == 1 ? Stream::kNonBlocking : Stream::kBlocking,
                                           DriverCall::context());
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

KILN_CALL cuStreamDestroy_v2(CUstream stream) {
  KILN_BEGIN("cuStreamDestroy_v2");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr || reinterpret_cast<uintptr_t>(stream) <= 2) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  call.state.streams.Destroy(known);
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

KILN_CALL cuStreamSynchronize(CUstream stream) {
  KILN_BEGIN("cuStreamSynchronize");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // The legacy stream's work includes that of the blocking streams before it.
  if (known->kind == Stream::kLegacy && known->queue.empty()) {
    call.state.streams.RunUntil(call.state.streams.Add(known, [] {}));
  }
  call.state.streams.RunUntilEmpty(known);
  return call.Finish();
}

KILN_CALL cuStreamQuery(CUstream stream) {
  KILN_BEGIN("cuStreamQuery");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (known->queue.empty()) return CUDA_SUCCESS;
  call.state.streams.RunOne();  // who asks again and again gets to the end
  return call.ok() && call.Finish() != CUDA_SUCCESS ? call.Finish() : CUDA_ERROR_NOT_READY;
}

KILN_CALL cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  KILN_BEGIN("cuStreamWaitEvent");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr || call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  call.state.streams.Add(known, [] {}, event->recorded);
  return CUDA_SUCCESS;
}

KILN_CALL cuEventCreate(CUevent* event, unsigned) {
  KILN_BEGIN("cuEventCreate");
  *event = new CUevent_st{DriverCall::context(), nullptr};
  call.state.events.insert(*event);
  return CUDA_SUCCESS;
}

KILN_CALL cuEventDestroy_v2(CUevent event) {
  KILN_BEGIN("cuEventDestroy_v2");
  if (call.state.events.erase(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete event;
  return CUDA_SUCCESS;
}

KILN_CALL cuEventRecord(CUevent event, CUstream stream) {
  KILN_BEGIN("cuEventRecord");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr || call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (known->owner != event->context) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<double> time = event->time;
  event->recorded = call.state.streams.Add(known, [=] { *time = NowInMilliseconds(); });
  return CUDA_SUCCESS;
}

KILN_CALL cuEventSynchronize(CUevent event) {
  KILN_BEGIN("cuEventSynchronize");
  if (call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (event->recorded != nullptr) call.state.streams.RunUntil(event->recorded);
  return call.Finish();
}

KILN_CALL cuEventQuery(CUevent event) {
  KILN_BEGIN("cuEventQuery");
  if (call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (event->recorded == nullptr || *event->recorded) return CUDA_SUCCESS;
  call.state.streams.RunOne();
  return call.Finish() != CUDA_SUCCESS ? call.Finish() : CUDA_ERROR_NOT_READY;
}

KILN_CALL cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  KILN_BEGIN("cuEventElapsedTime_v2");
  for (const CUevent event : {start, end}) {
    if (call.state.events.count(event) == 0 || event->recorded == nullptr) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!*event->recorded) return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = static_cast<float>(*end->time - *start->time);
  return CUDA_SUCCESS;
}

#undef cuEventElapsedTime
KILN_CALL cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

KILN_CALL cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  KILN_BEGIN("cuPointerGetAttribute");
  if (call.state.memory.Find(pointer, 1) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const void* owner = call.state.memory.OwnerOf(pointer);
  auto* context = static_cast<CUcontext>(const_cast<void*>(owner));
  if (context == nullptr) context = DriverCall::context();
  const bool host = call.state.memory.IsHost(reinterpret_cast<const void*>(pointer), 1);
  switch (static_cast<int>(attribute)) {
    case 1:
      *static_cast<CUcontext*>(data) = context;
      return CUDA_SUCCESS;
    case 2:  // of the host or the device
      *static_cast<unsigned*>(data) = host ? 1 : 2;
      return CUDA_SUCCESS;
    case 3:
      *static_cast<CUdeviceptr*>(data) = pointer;
      return CUDA_SUCCESS;
    case 8:  // managed
      *static_cast<unsigned*>(data) = 0;
      return CUDA_SUCCESS;
    case 9:  // the device
      *static_cast<int*>(data) = context->device;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

KILN_CALL cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                              CUdriverProcAddressQueryResult* status) {
  const DriverCall call("cuGetProcAddress_v2", kNothing);
  static const struct {
    const char* name;
    void* function;
  } kFunctions[] = {
      {"cuInit", reinterpret_cast<void*>(&cuInit)},
      {"cuDriverGetVersion", reinterpret_cast<void*>(&cuDriverGetVersion)},
      {"cuGetErrorName", reinterpret_cast<void*>(&cuGetErrorName)},
      {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
      {"cuDeviceGetCount", reinterpret_cast<void*>(&cuDeviceGetCount)},
      {"cuDeviceGet", reinterpret_cast<void*>(&cuDeviceGet)},
      {"cuDeviceGetName", reinterpret_cast<void*>(&cuDeviceGetName)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&cuDeviceGetAttribute)},
      {"cuDeviceTotalMem_v2", reinterpret_cast<void*>(&cuDeviceTotalMem_v2)},
      {"cuDeviceGetUuid_v2", reinterpret_cast<void*>(&cuDeviceGetUuid_v2)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&cuDevicePrimaryCtxRetain)},
      {"cuDevicePrimaryCtxRelease_v2", reinterpret_cast<void*>(&cuDevicePrimaryCtxRelease_v2)},
      {"cuCtxCreate_v2", reinterpret_cast<void*>(&cuCtxCreate_v2)},
      {"cuCtxSetCurrent", reinterpret_cast<void*>(&cuCtxSetCurrent)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(&cuCtxGetCurrent)},
      {"cuCtxPushCurrent_v2", reinterpret_cast<void*>(&cuCtxPushCurrent_v2)},
      {"cuCtxPopCurrent_v2", reinterpret_cast<void*>(&cuCtxPopCurrent_v2)},
      {"cuCtxGetDevice", reinterpret_cast<void*>(&cuCtxGetDevice)},
      {"cuCtxSynchronize", reinterpret_cast<void*>(&cuCtxSynchronize)},
      {"cuMemGetInfo_v2", reinterpret_cast<void*>(&cuMemGetInfo_v2)},
      {"cuMemAlloc_v2", reinterpret_cast<void*>(&cuMemAlloc_v2)},
      {"cuMemFree_v2", reinterpret_cast<void*>(&cuMemFree_v2)},
      {"cuMemAllocAsync", reinterpret_cast<void*>(&cuMemAllocAsync)},
      {"cuMemFreeAsync", reinterpret_cast<void*>(&cuMemFreeAsync)},
      {"cuDeviceGetDefaultMemPool", reinterpret_cast<void*>(&cuDeviceGetDefaultMemPool)},
      {"cuMemPoolSetAttribute", reinterpret_cast<void*>(&cuMemPoolSetAttribute)},
      {"cuMemPoolTrimTo", reinterpret_cast<void*>(&cuMemPoolTrimTo)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&cuMemGetAllocationGranularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(&cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(&cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void*>(&cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(&cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&cuMemSetAccess)},
      {"cuMemAllocHost_v2", reinterpret_cast<void*>(&cuMemAllocHost_v2)},
      {"cuMemHostAlloc", reinterpret_cast<void*>(&cuMemHostAlloc)},
      {"cuMemFreeHost", reinterpret_cast<void*>(&cuMemFreeHost)},
      {"cuMemHostGetDevicePointer_v2", reinterpret_cast<void*>(&cuMemHostGetDevicePointer_v2)},
      {"cuMemHostRegister_v2", reinterpret_cast<void*>(&cuMemHostRegister_v2)},
      {"cuMemHostUnregister", reinterpret_cast<void*>(&cuMemHostUnregister)},
      {"cuMemcpyHtoD_v2", reinterpret_cast<void*>(&cuMemcpyHtoD_v2)},
      {"cuMemcpyDtoH_v2", reinterpret_cast<void*>(&cuMemcpyDtoH_v2)},
      {"cuMemcpyDtoD_v2", reinterpret_cast<void*>(&cuMemcpyDtoD_v2)},
      {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void*>(&cuMemcpyHtoDAsync_v2)},
      {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void*>(&cuMemcpyDtoHAsync_v2)},
      {"cuMemcpyDtoDAsync_v2", reinterpret_cast<void*>(&cuMemcpyDtoDAsync_v2)},
      {"cuMemsetD8_v2", reinterpret_cast<void*>(&cuMemsetD8_v2)},
      {"cuMemsetD16_v2", reinterpret_cast<void*>(&cuMemsetD16_v2)},
      {"cuMemsetD32_v2", reinterpret_cast<void*>(&cuMemsetD32_v2)},
      {"cuMemsetD8Async", reinterpret_cast<void*>(&cuMemsetD8Async)},
      {"cuMemsetD16Async", reinterpret_cast<void*>(&cuMemsetD16Async)},
      {"cuMemsetD32Async", reinterpret_cast<void*>(&cuMemsetD32Async)},
      {"cuModuleLoadData", reinterpret_cast<void*>(&cuModuleLoadData)},
      {"cuModuleLoadDataEx", reinterpret_cast<void*>(&cuModuleLoadDataEx)},
      {"cuModuleUnload", reinterpret_cast<void*>(&cuModuleUnload)},
      {"cuModuleGetFunction", reinterpret_cast<void*>(&cuModuleGetFunction)},
      {"cuModuleGetGlobal_v2", reinterpret_cast<void*>(&cuModuleGetGlobal_v2)},
      {"cuCtxSetLimit", reinterpret_cast<void*>(&cuCtxSetLimit)},
      {"cuFuncGetAttribute", reinterpret_cast<void*>(&cuFuncGetAttribute)},
      {"cuFuncSetAttribute", reinterpret_cast<void*>(&cuFuncSetAttribute)},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
       reinterpret_cast<void*>(&cuOccupancyMaxActiveBlocksPerMultiprocessor)},
      {"cuLaunchKernel", reinterpret_cast<void*>(&cuLaunchKernel)},
      {"cuLaunchCooperativeKernel", reinterpret_cast<void*>(&cuLaunchCooperativeKernel)},
      {"cuStreamCreate", reinterpret_cast<void*>(&cuStreamCreate)},
      {"cuStreamDestroy_v2", reinterpret_cast<void*>(&cuStreamDestroy_v2)},
      {"cuStreamSynchronize", reinterpret_cast<void*>(&cuStreamSynchronize)},
      {"cuStreamQuery", reinterpret_cast<void*>(&cuStreamQuery)},
      {"cuStreamWaitEvent", reinterpret_cast<void*>(&cuStreamWaitEvent)},
      {"cuEventCreate", reinterpret_cast<void*>(&cuEventCreate)},
      {"cuEventDestroy_v2", reinterpret_cast<void*>(&cuEventDestroy_v2)},
      {"cuEventRecord", reinterpret_cast<void*>(&cuEventRecord)},
      {"cuEventSynchronize", reinterpret_cast<void*>(&cuEventSynchronize)},
      {"cuEventQuery", reinterpret_cast<void*>(&cuEventQuery)},
      {"cuEventElapsedTime_v2", reinterpret_cast<void*>(&cuEventElapsedTime_v2)},
      {"cuEventElapsedTime", reinterpret_cast<void*>(&cuEventElapsedTime)},
      {"cuPointerGetAttribute", reinterpret_cast<void*>(&cuPointerGetAttribute)},
      {"cuGetProcAddress_v2", reinterpret_cast<void*>(&cuGetProcAddress_v2)}};
  // Newer versions of a function come first, as in a driver that is asked for the newest one.
  *function = nullptr;
  for (const char* suffix : {"_v2", ""}) {
    const std::string name = std::string(symbol) + suffix;
    for (const auto& known : kFunctions) {
      if (*function == nullptr && name == known.name) *function = known.function;
    }
  }
  if (status != nullptr) {
    *status = static_cast<CUdriverProcAddressQueryResult>(*function == nullptr ? 1 : 0);
  }
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
