// NVIDIA's driver: the functions of libcuda.so.1 that Kiln calls, found when a program first asks
// for a CUDA device. Nothing links with CUDA, so the same client runs on machines without it.
#ifndef KILN_RUNTIME_CUDA_DRIVER_H_
#define KILN_RUNTIME_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/result.h"

namespace kiln::cuda {

// The driver's types, as its ABI has them.
using Code = int;  // CUresult
using DeviceNumber = int;
// Of what kernels need, as Driver::Version counts; those with many arguments need the second one
// (KILN_CUDA_FEW_SLOTS).
inline constexpr int kOldestDriver = 11080, kOldestDriverForManySlots = 12010;
// "CUDA 11.8"
std::string VersionText(int version);

using Address = uint64_t;  // CUdeviceptr
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;  // null: the legacy default stream
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphNode = struct GraphNodeTag*;
using GraphExec = struct GraphExecTag*;

// CUDA_KERNEL_NODE_PARAMS_v1, which all drivers have: what cuLaunchKernel takes, but the stream.
struct KernelNode {
  Function function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;  // copied by the call
  void** extra = nullptr;
};
// CUDA_MEMSET_NODE_PARAMS
struct FillNode {
  Address at = 0;
  size_t pitch = 0;  // of rows, unless there is one
  unsigned value = 0, element_bytes = 1;
  size_t width = 0, height = 1;  // in elements, in rows
};

// CUmemAllocationProp: memory of a device, by default without anything special.
struct MemoryKind {
  int type = 1;  // pinned
  int handle_types = 0;
  int location_type = 1;  // a device
  int device = 0;
  void* metadata = nullptr;
  unsigned char flags[8] = {};
};
using MemoryHandle = unsigned long long;  // CUmemGenericAllocationHandle
// CUmemAccessDesc: a device reads and writes.
struct MemoryAccess {
  int location_type = 1;
  int device = 0;
  int flags = 3;
};
// CUresult, as far as Kiln tells its numbers apart.
inline constexpr Code kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200,
                      kInvalidContext = 201, kNoBinaryForGpu = 209, kUnsupportedPtxVersion = 222,
                      kInvalidHandle = 400;
// CUdevice_attribute
inline constexpr int kMultiprocessorCount = 16, kComputeCapabilityMajor = 75,
                     kComputeCapabilityMinor = 76, kCooperativeLaunch = 95;
inline constexpr int kThreadsOfMultiprocessor = 39, kVirtualMemory = 102;
// CUlimit
inline constexpr int kLimitOfStack = 0;
// CUpointer_attribute
inline constexpr int kPointerMemoryType = 2, kPointerDevice = 9;
// CUmemorytype
inline constexpr unsigned kMemoryOfHost = 1;
// Flags of cuEventCreate: kNoTiming: the event has no time.
inline constexpr unsigned kTiming = 0, kNoTiming = 2;
// Flags of cuMemHostAlloc
inline constexpr unsigned kHostPortable = 1, kHostDeviceMap = 2;
// CUkernelNodeAttrID, whose values have so many words.
inline constexpr int kNodeCooperative = 2, kWordsOfAttribute = 16;

// (name in the library, name here, parameters)
#define KILN_CUDA_FUNCTIONS(X)                                                                     \
  X(cuInit, Init, (unsigned flags))                                                                \
  X(cuDriverGetVersion, DriverGetVersion, (int* version))                                          \
  X(cuGetErrorName, GetErrorName, (Code code, const char** name))                                  \
  X(cuGetErrorString, GetErrorString, (Code code, const char** text))                              \
  X(cuDeviceGetCount, DeviceGetCount, (int* count))                                                \
  X(cuDeviceGet, DeviceGet, (DeviceNumber * device, int ordinal))                                  \
  X(cuDeviceGetName, DeviceGetName, (char* name, int size, DeviceNumber device))                   \
  X(cuDeviceGetAttribute, DeviceGetAttribute, (int* value, int attribute, DeviceNumber device))    \
  X(cuDevicePrimaryCtxRetain, PrimaryContextRetain, (Context * context, DeviceNumber device))      \
  X(cuCtxSetCurrent, ContextSetCurrent, (Context context))                                         \
  X(cuCtxGetCurrent, ContextGetCurrent, (Context * context))                                       \
  X(cuCtxSynchronize, ContextSynchronize, ())                                                      \
  X(cuMemAlloc_v2, MemAlloc, (Address * address, size_t bytes))                                    \
  X(cuMemFree_v2, MemFree, (Address address))                                                      \
  X(cuMemGetInfo_v2, MemGetInfo, (size_t* free, size_t* total))                                    \
  X(cuMemGetAllocationGranularity, MemGranularity,                                                 \
    (size_t* bytes, const MemoryKind* kind, int recommended))                                      \
  X(cuMemAddressReserve, AddressReserve,                                                           \
    (Address * address, size_t bytes, size_t alignment, Address wanted, unsigned long long flags)) \
  X(cuMemAddressFree, AddressFree, (Address address, size_t bytes))                                \
  X(cuMemCreate, MemCreate,                                                                        \
    (MemoryHandle * memory, size_t bytes, const MemoryKind* kind, unsigned long long flags))       \
  X(cuMemRelease, MemRelease, (MemoryHandle memory))                                               \
  X(cuMemMap, MemMap,                                                                              \
    (Address at, size_t bytes, size_t offset, MemoryHandle memory, unsigned long long flags))      \
  X(cuMemUnmap, MemUnmap, (Address at, size_t bytes))                                              \
  X(cuMemSetAccess, MemSetAccess,                                                                  \
    (Address at, size_t bytes, const MemoryAccess* access, size_t count))                          \
  X(cuMemHostAlloc, HostAlloc, (void** at, size_t bytes, unsigned flags))                          \
  X(cuMemFreeHost, HostFree, (void* at))                                                           \
  X(cuMemHostGetDevicePointer_v2, HostGetDevicePointer,                                            \
    (Address * address, void* at, unsigned flags))                                                 \
  X(cuMemcpyHtoD_v2, CopyIn, (Address to, const void* from, size_t bytes))                         \
  X(cuMemcpyDtoH_v2, CopyOut, (void* to, Address from, size_t bytes))                              \
  X(cuMemcpyDtoDAsync_v2, CopyWithin, (Address to, Address from, size_t bytes, Stream stream))     \
  X(cuMemsetD8Async, Set8, (Address at, unsigned char value, size_t count, Stream stream))         \
  X(cuMemsetD16Async, Set16, (Address at, unsigned short value, size_t count, Stream stream))      \
  X(cuMemsetD32Async, Set32, (Address at, unsigned value, size_t count, Stream stream))            \
  X(cuPointerGetAttribute, PointerGetAttribute, (void* value, int attribute, Address address))     \
  X(cuEventCreate, EventCreate, (Event * event, unsigned flags))                                   \
  X(cuEventDestroy_v2, EventDestroy, (Event event))                                                \
  X(cuEventRecord, EventRecord, (Event event, Stream stream))                                      \
  X(cuEventSynchronize, EventSynchronize, (Event event))                                           \
  X(cuEventElapsedTime, EventElapsedTime, (float* milliseconds, Event from, Event to))             \
  X(cuStreamGetCtx, StreamGetContext, (Stream stream, Context * context))                          \
  X(cuStreamWaitEvent, StreamWaitEvent, (Stream stream, Event event, unsigned flags))              \
  X(cuCtxSetLimit, SetLimit, (int limit, size_t value))                                            \
  X(cuModuleLoadData, ModuleLoadData, (Module * module, const void* image))                        \
  X(cuModuleUnload, ModuleUnload, (Module module))                                                 \
  X(cuModuleGetFunction, ModuleGetFunction,                                                        \
    (Function * function, Module module, const char* name))                                        \
  X(cuGraphCreate, GraphCreate, (Graph * graph, unsigned flags))                                   \
  X(cuGraphDestroy, GraphDestroy, (Graph graph))                                                   \
  X(cuGraphAddKernelNode, GraphAddKernel,                                                          \
    (GraphNode * node, Graph graph, const GraphNode* after, size_t num_after,                      \
     const KernelNode* parameters))                                                                \
  X(cuGraphAddMemsetNode, GraphAddFill,                                                            \
    (GraphNode * node, Graph graph, const GraphNode* after, size_t num_after,                      \
     const FillNode* parameters, Context context))                                                 \
  X(cuGraphKernelNodeSetAttribute, GraphKernelSetAttribute,                                        \
    (GraphNode node, int attribute, const void* value))                                            \
  X(cuGraphInstantiateWithFlags, GraphInstantiate,                                                 \
    (GraphExec * exec, Graph graph, unsigned long long flags))                                     \
  X(cuGraphExecKernelNodeSetParams, GraphExecSetKernel,                                            \
    (GraphExec exec, GraphNode node, const KernelNode* parameters))                                \
  X(cuGraphExecDestroy, GraphExecDestroy, (GraphExec exec))                                        \
  X(cuGraphLaunch, GraphLaunch, (GraphExec exec, Stream stream))                                   \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, Occupancy,                                        \
    (int* blocks, Function function, int threads, size_t shared_bytes))                            \
  X(cuLaunchCooperativeKernel, LaunchCooperative,                                                  \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,       \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters)) \
  X(cuLaunchKernel, LaunchKernel,                                                                  \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,       \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters,  \
     void** extra))

// Thread-safe, as the driver is. Lives as long as the process.
struct Driver {
#define KILN_DECLARE(symbol, name, parameters) Code(*name) parameters = nullptr;
  KILN_CUDA_FUNCTIONS(KILN_DECLARE)
#undef KILN_DECLARE

  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory", with `what` was done before it.
  Error ErrorOf(Code code, const std::string& what) const;
  // The newest CUDA that the driver supports: 12010 is CUDA 12.1.
  int Version() const;
};

// Has TheDriver open the library at `path` instead of the system's. False, having done nothing, if
// the process has opened another one. Thread-safe. (The runtime reads no environment: the client
// reads KILN_CUDA_DRIVER.)
bool UseDriver(const std::string& path);

// The driver, opened by the first call. FailedPrecondition says what is missing: the library, one
// of its functions, or a device that it can use.
const Result<const Driver*>& TheDriver();

}  // namespace kiln::cuda

#endif  // KILN_RUNTIME_CUDA_DRIVER_H_
