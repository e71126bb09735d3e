// The part of CUDA's driver interface that the fake has, in declarations of our own: types and
// numbers are those of NVIDIA's cuda.h, which declarations_test.sh compares where a toolkit has
// one.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_CUDA_API_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_CUDA_API_H_

#ifdef KILN_FAKE_CUDA_TOOLKIT  // compiles the driver against the toolkit's declarations
#include <cuda.h>
#define KILN_RESULT_NUMBER(name, number, text) static_assert(name == (number));
#else
#include <cstddef>
#include <cstdint>

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using CUmemAllocationGranularity_flags = int;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using cuuint64_t = uint64_t;
using CUdevice_attribute = int;
using CUfunction_attribute = int;
using CUlimit = int;
using CUpointer_attribute = int;
using CUmemPool_attribute = int;
using CUjit_option = int;
using CUdriverProcAddressQueryResult = int;
using CUkernelNodeAttrID = int;
struct CUuuid {
  char bytes[16];
};
struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
};
struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
struct CUmemLocation {
  int type, id;
};
struct CUmemAllocationProp {
  int type, requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};
union CUkernelNodeAttrValue {
  char pad[64];
  int cooperative;
};
#define KILN_RESULT_NUMBER(name, number, text) name = (number),
enum CUresult : int {
#endif

// (name, number, text)
#define KILN_CUDA_RESULTS(X)                                                                       \
  X(CUDA_SUCCESS, 0, "no error")                                                                   \
  X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                               \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                  \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                         \
  X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                               \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                      \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")                               \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                                     \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for execution on the device") \
  X(CUDA_ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed")                                   \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222,                                                       \
    "the provided PTX was compiled with an unsupported toolchain.")                                \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                                     \
  X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                           \
  X(CUDA_ERROR_NOT_READY, 600, "device not ready")                                                 \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")                   \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")            \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712,                                                \
    "part or all of the requested memory range is already mapped")                                 \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713,                                                    \
    "pointer does not correspond to a registered memory region")                                   \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address")                                      \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")                                   \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "too many blocks in cooperative launch")         \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")

KILN_CUDA_RESULTS(KILN_RESULT_NUMBER)

#ifndef KILN_FAKE_CUDA_TOOLKIT
}
;
#endif
#undef KILN_RESULT_NUMBER

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_CUDA_API_H_
