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

/* What generated code knows of a sparse SNode at run time. The rest, its shape and where
 * things lie, are constants of the code. */
typedef struct KilnNode {
  uint8_t* ambient; /* a cell of zeroes: what reads of inactive cells see */
  uint8_t* dump;    /* a cell for what is written where nothing may be activated */
  /* Set to non-zero by whoever makes a cell active or inactive: lists are stale. */
  uint32_t changed;
  uint32_t padding;
  void* state; /* the runtime's own */
} KilnNode;

#define KILN_MAX_AXES 12

/* One piece of work of a struct-for, on the list that a listgen task makes for a node.
 * Two kinds of lists:
 *   of cells   one element per active cell. `cell` is the cell, `at` its index along each
 *              physical axis, counted in cells of this node. begin and count are unset.
 *   of slices  one element per part of a container that has active cells: cells begin ...
 *              begin + count - 1, row-major. `cell` is the container; for dynamic nodes the
 *              chunk's first cell, and begin is that cell's number in the container. `at` is
 *              the index of the container's cell 0. Bitmasked: begin is a multiple of 32. */
typedef struct KilnElement {
  uint8_t* cell;
  int32_t begin, count;
  int32_t at[KILN_MAX_AXES];
} KilnElement;

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
  /* The cell that *slot of a pointer SNode leads to, zeroed and made now if there is none.
   * Never null: where memory ends, the launch fails and the node's dump is answered. */
  uint8_t* (*activate)(const struct KilnContext* ctx, KilnNode* node, uint8_t** slot);
  /* The same for chunk `chunk` of a dynamic SNode's container. */
  uint8_t* (*activate_chunk)(const struct KilnContext* ctx, KilnNode* node, uint8_t* container,
                             uint64_t chunk);
  /* Makes a cell inactive (of a dynamic SNode all cells, whatever `cell` is); its memory,
   * with what hangs on it, is used again from the launch's gc task on. */
  void (*deactivate)(const struct KilnContext* ctx, KilnNode* node, uint8_t* container,
                     uint64_t cell);
  /* Gradients: the calling thread's tape, a stack of bytes, of which each launch starts its own.
   * So many new ones, a multiple of 8; null if there is no room: the task then fails. The last
   * ones. Removes the last ones. */
  uint8_t* (*tape_push)(const struct KilnContext* ctx, uint64_t bytes);
  uint8_t* (*tape_top)(const struct KilnContext* ctx, uint64_t bytes);
  void (*tape_pop)(const struct KilnContext* ctx, uint64_t bytes);
  /* The processor's caches do not keep so many bytes until they are read: a loop that stores as
   * many or more may do so past the caches. */
  uint64_t stream_from;
} KilnRuntime;

/* State of one launch; read-only to tasks but for what it points to. */
typedef struct KilnContext {
  const uint64_t* arguments; /* common/unit/argument_layout.h */
  uint64_t* results;
  uint8_t* temporaries; /* zeroed before the first task, 64-byte aligned */
  const KilnRuntime* runtime;
  uint64_t random; /* of this launch: what its random numbers follow from */
  /* Non-zero once something failed: long loops look at it now and then. */
  volatile uint32_t* failed;
  void* launch;                /* the runtime's own */
  const KilnElement* elements; /* struct tasks: the list */
  uint8_t* partials;           /* tasks with partial results: those of all pieces, in order */
  uint64_t alone;              /* non-zero: nobody runs atomics beside this task */
} KilnContext;

/* Iterations begin ... end - 1. A task with partial results (Task.finish_symbol) runs piece by
 * piece: these iterations are all of piece number `piece`, whose results the task leaves in
 * `partials`. The finish takes pieces in place of iterations, in order. Others ignore `piece`. */
typedef void (*KilnTask)(const KilnContext* ctx, int64_t begin, int64_t end, int32_t piece);
typedef void (*KilnBounds)(const KilnContext* ctx, int64_t out[2]);

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_ABI_H_ */
