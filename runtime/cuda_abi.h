/* What CUDA artifacts and the runtime share: the parameter of a task, and where tasks report. Plain
 * C, included by the runtime, by the device library for CUDA and mirrored by the compiler's
 * codegen. Any change of layout or meaning changes kCudaAbi (runtime/abi_digest.py hashes this file
 * and abi.h), hence every key of a CUDA kernel, and none of a CPU's.
 *
 * A task is the entry `Task.symbol` of the module and has one parameter, a KilnCudaLaunch by value,
 * whose size is 40 bytes and 8 for each slot.
 *   serial task  one block of one thread
 *   range task   any number of blocks of Task.block_dim threads. Thread t of T takes iterations t,
 *                t + T, t + 2T, ... of the loop, so that any grid is right. Task.end is the number
 *                of iterations if Task.constant_bounds; otherwise the task computes it itself, and
 *                bounds_symbol is empty.
 */
#ifndef KILN_RUNTIME_CUDA_ABI_H_
#define KILN_RUNTIME_CUDA_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_CUDA_MAX_SLOTS 500
#define KILN_CUDA_MAX_FAILURE_VALUES 64

/* In memory that host and device see. */
typedef struct KilnCudaReports {
  uint32_t failed; /* not 0 once an assert or a check has failed. The first thread to set it fills
                    * in the failure, and then sets `ready` with a fence of the system before. */
  uint32_t ready;
  uint32_t node, count;                          /* of the failure */
  uint64_t values[KILN_CUDA_MAX_FAILURE_VALUES]; /* the first ones */
  uint64_t print_bytes;    /* that prints have asked for so far. What does not fit is lost. */
  uint64_t print_capacity; /* bytes of `prints` */
  uint8_t prints[];        /* KilnCudaPrint, one after the other */
} KilnCudaReports;

/* One print. `size` is stored last, after a fence of the system. The host sorts by task and
 * iteration, and prints of one iteration by their places: the order of a loop on one thread. */
typedef struct KilnCudaPrint {
  uint32_t size; /* in bytes, with this header and the values */
  uint32_t node, count, task;
  uint64_t iteration; /* its place in the loop; in functions the number of the thread */
  uint64_t values[];
} KilnCudaPrint;

typedef struct KilnCudaLaunch {
  uint64_t* results;    /* device address, one slot each */
  uint8_t* temporaries; /* device address, zeroed before the first task, 64-byte aligned */
  KilnCudaReports* reports;
  uint64_t random;      /* of this launch: what its random numbers follow from */
  uint64_t task;        /* the number of the task among those of the launch */
  uint64_t arguments[]; /* common/unit/argument_layout.h; bases are device addresses */
} KilnCudaLaunch;

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_CUDA_ABI_H_ */
