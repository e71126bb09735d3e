/* What artifacts and the runtime share: the context that every task receives and
 * the table of functions that generated code may call. Plain C, included by the
 * runtime, by the device library (natively and as bitcode) and mirrored by the
 * compiler's codegen. Any change of layout or meaning changes kRuntimeAbi
 * (runtime/abi_digest.py hashes this file), hence every key: an artifact only
 * runs under the ABI that it was made for.
 */
#ifndef KILN_RUNTIME_ABI_H_
#define KILN_RUNTIME_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct KilnContext;

/* Functions of the runtime. Order is the ABI. */
typedef struct KilnRuntime {
  /* One print: node id and the values as 8-byte slots, in operand order,
   * tensors flattened. Thread-safe; whole lines are never interleaved. */
  void (*print)(const struct KilnContext* ctx, uint32_t node, uint32_t count,
                const uint64_t* values);
  /* A failed assert or check: the first one of a launch wins; returns. The task
   * then ends its current chunk. */
  void (*fail)(const struct KilnContext* ctx, uint32_t node, uint32_t count,
               const uint64_t* values);
} KilnRuntime;

/* State of one launch; read-only to tasks but for what it points to. */
typedef struct KilnContext {
  const uint64_t* arguments; /* lang/argument_layout.h */
  uint64_t* results;
  uint8_t* temporaries; /* zeroed before the first task, 64-byte aligned */
  const KilnRuntime* runtime;
  /* Random state, one 64-byte line per thread index: 4 x u32 xorshift128. */
  uint32_t (*random_states)[16];
  /* Non-zero once something failed: long loops look at it now and then. */
  volatile uint32_t* failed;
  void* launch; /* the runtime's own */
} KilnContext;

typedef void (*KilnTask)(const KilnContext* ctx, int64_t begin, int64_t end, int32_t thread);
typedef void (*KilnBounds)(const KilnContext* ctx, int64_t out[2]);

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_ABI_H_ */
