/* What CUDA artifacts and the runtime share: the parameter of a task, and where tasks report. Plain
 * C, included by the runtime, by the device library for CUDA and mirrored by the compiler's
 * codegen. Any change of layout or meaning changes kCudaAbi (runtime/abi_digest.py hashes this file
 * and abi.h), hence every key of a CUDA kernel, and none of a CPU's.
 *
 * A task is the entry `Task.symbol` of the module and has one parameter, a KilnCudaLaunch by value,
 * whose size is 48 bytes and 8 for each slot.
 *   serial task  one block of one thread
 *   range task   any number of blocks of Task.block_dim threads. Thread t of T takes iterations t,
 *                t + T, t + 2T, ... of the loop, or short chunks of them, so any grid is right.
 *                Task.end is the number of iterations if Task.constant_bounds; otherwise the task
 *                computes it itself, and bounds_symbol is empty.
 *   struct task  likewise over the list of Task.node, of cells or of slices (Task.slices), with
 *                Task.iterations iterations for each element. The runtime has made the list.
 */
#ifndef KILN_RUNTIME_CUDA_ABI_H_
#define KILN_RUNTIME_CUDA_ABI_H_

#include <stdint.h>

#include "runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most slots of a launch. The parameters of an entry may take 4,352 bytes with every driver,
 * and 32,764 bytes, which needs PTX 8.1, with those of CUDA 12.1 or later. */
#define KILN_CUDA_FEW_SLOTS 500
#define KILN_CUDA_MAX_SLOTS 4089
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
  uint64_t iteration; /* its place in the loop */
  uint64_t values[];
} KilnCudaPrint;

/* Tapes of threads, for gradients: stacks of blocks of one piece of memory. All but `bytes` is
 * zeroed before the first task. */
#define KILN_CUDA_TAPES 65536 /* the most threads of a task with tapes */

typedef struct KilnCudaTapeBlock {
  struct KilnCudaTapeBlock* below;
  uint64_t bytes, used; /* of what follows */
  uint64_t padding;
} KilnCudaTapeBlock;

typedef struct KilnCudaTapes {
  uint64_t bytes; /* of `memory` */
  uint64_t next;  /* the first of them that no thread has taken */
  struct {
    KilnCudaTapeBlock *top, *spare; /* spare: a chain of empty ones */
  } tapes[KILN_CUDA_TAPES];
  uint8_t memory[];
} KilnCudaTapes;

typedef struct KilnCudaLaunch {
  uint64_t* results;    /* device address, one slot each */
  uint8_t* temporaries; /* device address, zeroed before the first task, 64-byte aligned */
  KilnCudaReports* reports;
  KilnCudaTapes* tapes; /* of kernels that use them */
  uint64_t random;      /* of this launch: what its random numbers follow from */
  uint64_t task;        /* the number of the task among those of the launch */
  uint64_t arguments[]; /* common/unit/argument_layout.h; bases are device addresses */
} KilnCudaLaunch;

/* --- Trees with sparse levels
 * All data of a tree are in one piece of device memory, which begins with the root's cell; pointers
 * are device addresses. A tree's second argument slot is the address of an array of KilnNode*. Each
 * KilnNode is the first member of a KilnCudaNode, and its `state` is unused.
 *
 * Whoever activates a cell takes zeroed memory: of the cells that a collection has freed, or the
 * next bytes of the tree's memory, which nothing has used. Cells become free in collections only,
 * between kernels.
 *
 * A tree may grow: then the addresses behind `end` are its own, too, and the host moves `end`
 * between kernels. A thread that takes memory beyond `mark`, or finds too little, asks for more.
 */
#define KILN_CUDA_SLICE 128   /* the most cells of a slice */
#define KILN_CUDA_RETIRED 256 /* chains of retired cells */
#define KILN_CUDA_LOCKS 1024
#define KILN_CUDA_TREE_BLOCKS 1024 /* the most blocks of the runtime's own kernel */
#define KILN_CUDA_GROWING 256      /* the most trees of a device that grow */

/* Before each cell, chunk or directory: links those that are free or retired. */
typedef struct KilnCudaBlock {
  struct KilnCudaBlock* next;
  uint64_t padding[3];
} KilnCudaBlock;

/* Memory in pieces of one size. */
typedef struct KilnCudaPool {
  uint64_t bytes;      /* of a piece; 0: the node has none */
  KilnCudaBlock* free; /* zeroed. Tasks only take, so a compare-and-exchange is enough. */
  uint64_t made, returned;
  uint64_t peak; /* the most that were made and not returned, before the last collection */
  KilnCudaBlock* retired[KILN_CUDA_RETIRED]; /* unreachable; still read by threads that hold them */
} KilnCudaPool;

typedef struct KilnCudaLevel {
  uint64_t axis, extent, multiplier; /* common/layout/tree_shape.h */
} KilnCudaLevel;

/* From a cell down to one of the containers in it, by cells that are always there. */
typedef struct KilnCudaStep {
  uint64_t cells, cell_bytes, offset;
  const KilnCudaLevel* levels;
  uint64_t num_levels;
} KilnCudaStep;
typedef struct KilnCudaPath {
  const KilnCudaStep* steps; /* outermost first */
  uint64_t num_steps;
  uint64_t count;  /* of containers */
  uint64_t offset; /* of the container in the last step's cell */
} KilnCudaPath;

typedef struct KilnCudaList {
  KilnElement* elements;
  uint64_t count, capacity;
  uint64_t stamp; /* the sum of the versions when it was made, plus 1; 0: never */
} KilnCudaList;

enum { KILN_CUDA_POINTER, KILN_CUDA_BITMASKED, KILN_CUDA_DYNAMIC };

struct KilnCudaTree;

typedef struct KilnCudaNode {
  KilnNode shared;
  struct KilnCudaTree* tree;
  struct KilnCudaNode* parent; /* the nearest sparse node above; null: the root */
  struct KilnCudaNode* holder; /* the nearest node above whose cells have memory of their own */
  uint64_t number, kind;
  uint64_t cells, cell_bytes, mask_offset; /* of a container */
  uint64_t memory_cells;                   /* in one piece of memory */
  uint64_t chunks;                         /* of a directory; 0: no directory */
  KilnCudaPath path;                       /* from the parent's cells */
  KilnCudaPath held;                       /* from the holder's cells */
  const KilnCudaLevel* levels;
  uint64_t num_levels;
  uint64_t version;      /* how often lists found `changed` set */
  KilnCudaList lists[2]; /* of cells, of slices */
  KilnCudaPool memory, directories;
} KilnCudaNode;

/* In a notice, beside a node's number: the memory was for a list of the node's cells. */
#define KILN_CUDA_LIST ((uint64_t)1 << 32)

/* In memory that host and device see: the first cell for which there was no memory, and the trees
 * that ask for more. */
typedef struct KilnCudaNotice {
  uint32_t failed, ready;           /* as in KilnCudaReports */
  uint64_t tree, node;              /* the node's number, with KILN_CUDA_LIST or without */
  uint32_t asked;                   /* not 0 once a tree has asked, after its number below */
  uint32_t asks[KILN_CUDA_GROWING]; /* MiB that a tree needs; 0: it has not asked */
} KilnCudaNotice;

/* Behind all addresses. _FAILED: something has found too little memory, too. */
#define KILN_CUDA_FAILED (~(uint64_t)1)
#define KILN_CUDA_ASKED (~(uint64_t)0)

typedef struct KilnCudaTree {
  uint8_t *next, *end; /* of the memory that nothing has used */
  uint8_t* root;
  KilnCudaNotice* notice;
  uint64_t id;         /* for the notice */
  KilnCudaNode* nodes; /* the sparse ones, parents first */
  uint64_t num_nodes;
  uint32_t locks[KILN_CUDA_LOCKS]; /* of slots, by their addresses */
  /* Since CUDA ABI 2 of modules. */
  uint64_t mark;  /* an address; KILN_CUDA_ASKED or _FAILED until the host has answered */
  uint32_t* asks; /* of the notice; null: the tree does not grow */
  /* Of the runtime's own kernel: its barriers, and what its blocks have counted. */
  uint32_t arrived, generation;
  uint64_t sums[KILN_CUDA_TREE_BLOCKS];
} KilnCudaTree;

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_CUDA_ABI_H_ */
