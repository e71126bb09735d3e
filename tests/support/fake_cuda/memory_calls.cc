// The driver's calls for memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/device_memory.h"
#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/driver_state.h"

namespace {

using kiln::fake_cuda::DeviceMemory;
using kiln::fake_cuda::DriverCall;
using kiln::fake_cuda::DriverState;
using kiln::fake_cuda::Enqueue;
using kiln::fake_cuda::kInit;

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

}  // namespace

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

namespace kiln::fake_cuda {

std::vector<NamedCall> MemoryCalls() {
  return {KILN_NAMED(cuMemGetInfo_v2),
          KILN_NAMED(cuMemAlloc_v2),
          KILN_NAMED(cuMemFree_v2),
          KILN_NAMED(cuMemAllocAsync),
          KILN_NAMED(cuMemFreeAsync),
          KILN_NAMED(cuDeviceGetDefaultMemPool),
          KILN_NAMED(cuMemPoolSetAttribute),
          KILN_NAMED(cuMemPoolTrimTo),
          KILN_NAMED(cuMemGetAllocationGranularity),
          KILN_NAMED(cuMemAddressReserve),
          KILN_NAMED(cuMemAddressFree),
          KILN_NAMED(cuMemCreate),
          KILN_NAMED(cuMemRelease),
          KILN_NAMED(cuMemMap),
          KILN_NAMED(cuMemUnmap),
          KILN_NAMED(cuMemSetAccess),
          KILN_NAMED(cuMemAllocHost_v2),
          KILN_NAMED(cuMemHostAlloc),
          KILN_NAMED(cuMemFreeHost),
          KILN_NAMED(cuMemHostGetDevicePointer_v2),
          KILN_NAMED(cuMemHostRegister_v2),
          KILN_NAMED(cuMemHostUnregister),
          KILN_NAMED(cuMemcpyHtoD_v2),
          KILN_NAMED(cuMemcpyDtoH_v2),
          KILN_NAMED(cuMemcpyDtoD_v2),
          KILN_NAMED(cuMemcpyHtoDAsync_v2),
          KILN_NAMED(cuMemcpyDtoHAsync_v2),
          KILN_NAMED(cuMemcpyDtoDAsync_v2),
          KILN_NAMED(cuMemsetD8_v2),
          KILN_NAMED(cuMemsetD16_v2),
          KILN_NAMED(cuMemsetD32_v2),
          KILN_NAMED(cuMemsetD8Async),
          KILN_NAMED(cuMemsetD16Async),
          KILN_NAMED(cuMemsetD32Async),
          KILN_NAMED(cuPointerGetAttribute)};
}

}  // namespace kiln::fake_cuda
