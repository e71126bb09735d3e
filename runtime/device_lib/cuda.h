/* What CUDA kernels report to the host: functions of the device library that its bitcode for CUDA
 * alone has. */
#ifndef KILN_RUNTIME_DEVICE_LIB_CUDA_H_
#define KILN_RUNTIME_DEVICE_LIB_CUDA_H_

#include <stdint.h>

#include "runtime/cuda_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A failed check: the first one of the launch is kept. */
void kiln_cuda_fail(KilnCudaReports* reports, uint32_t node, uint32_t count,
                    const uint64_t* values);
/* One print, of an iteration of task number `task`. */
void kiln_cuda_print(KilnCudaReports* reports, uint32_t node, uint32_t count,
                     const uint64_t* values, uint32_t task, uint64_t iteration);

/* The tape of a thread: so many new bytes, or null if there is no room; the last ones, which one
 * push made; removes them. */
uint8_t* kiln_cuda_tape_push(KilnCudaTapes* tapes, uint64_t thread, uint64_t bytes);
uint8_t* kiln_cuda_tape_top(KilnCudaTapes* tapes, uint64_t thread, uint64_t bytes);
void kiln_cuda_tape_pop(KilnCudaTapes* tapes, uint64_t thread, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_DEVICE_LIB_CUDA_H_ */
