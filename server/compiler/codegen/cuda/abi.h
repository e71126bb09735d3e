// Where code for CUDA finds the fields of runtime/cuda_abi.h's structs.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CUDA_ABI_H_
#define KILN_SERVER_COMPILER_CODEGEN_CUDA_ABI_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/cuda_abi.h"

namespace kiln::cuda_abi {

// KilnCudaLaunch: pointers, numbers of 64 bits, then the slots.
inline constexpr int64_t kResults = offsetof(KilnCudaLaunch, results);
inline constexpr int64_t kTemporaries = offsetof(KilnCudaLaunch, temporaries);
inline constexpr int64_t kReports = offsetof(KilnCudaLaunch, reports);
inline constexpr int64_t kTapes = offsetof(KilnCudaLaunch, tapes);
inline constexpr int64_t kRandom = offsetof(KilnCudaLaunch, random);
inline constexpr int64_t kTask = offsetof(KilnCudaLaunch, task);
inline constexpr int64_t kArguments = sizeof(KilnCudaLaunch);
static_assert(offsetof(KilnCudaLaunch, arguments) == kArguments);
static_assert(std::is_same_v<decltype(KilnCudaLaunch::random), uint64_t>);
static_assert(std::is_same_v<decltype(KilnCudaLaunch::task), uint64_t>);

// The failed flag is the first field of the reports.
static_assert(offsetof(KilnCudaReports, failed) == 0);
static_assert(std::is_same_v<decltype(KilnCudaReports::failed), uint32_t>);

// KilnCudaNode, of which a KilnNode is the first member: its lists of cells and of slices.
static_assert(offsetof(KilnCudaNode, shared) == 0);
inline constexpr int64_t kLists = offsetof(KilnCudaNode, lists);
inline constexpr int64_t kListBytes = sizeof(KilnCudaList);
inline constexpr int64_t kListElements = offsetof(KilnCudaList, elements);
inline constexpr int64_t kListCount = offsetof(KilnCudaList, count);
static_assert(std::is_same_v<decltype(KilnCudaList::count), uint64_t>);

}  // namespace kiln::cuda_abi

#endif  // KILN_SERVER_COMPILER_CODEGEN_CUDA_ABI_H_
