/* Memory of sparse SNodes on CUDA devices: what kernels inline (tree.cc) calls these to make cells
 * active and inactive. runtime/cuda_abi.h has the structs.
 *
 * Safe to call from any number of threads. A thread waits only for one that fills the same slot or
 * one whose address has the same lock, which is a matter of a few instructions; devices from sm_70
 * on run it even if both are of one warp.
 */
#ifndef KILN_RUNTIME_DEVICE_LIB_CUDA_TREE_H_
#define KILN_RUNTIME_DEVICE_LIB_CUDA_TREE_H_

#include "runtime/cuda_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The cell that *slot of a pointer SNode leads to, which is made if necessary. Never null: without
 * memory the tree's notice is filled in, and the dump answered. */
uint8_t* kiln_cuda_activate(KilnNode* node, uint8_t** slot);
/* The same for a chunk of a dynamic SNode's container. */
uint8_t* kiln_cuda_activate_chunk(KilnNode* node, uint8_t* container, uint64_t chunk);
/* Makes a cell inactive; of a dynamic SNode all cells. The memory waits for a collection. */
void kiln_cuda_deactivate(KilnNode* node, uint8_t* container, uint64_t cell);

/* What a pool's piece of so many bytes takes of a tree's memory, with the block before it. */
static inline uint64_t kiln_cuda_block_bytes(uint64_t bytes) {
  return sizeof(KilnCudaBlock) + (bytes + 31) / 32 * 32;
}

/* What the kernel of the runtime's own, kiln_cuda_tree (cuda_tree_kernels.cc), does with a node. */
enum KilnCudaTreeWork {
  KILN_CUDA_LIST_CELLS,     /* brings the node's list of cells up to date */
  KILN_CUDA_LIST_SLICES,    /* the one of slices */
  KILN_CUDA_COLLECT,        /* makes retired memory of the node and those below usable again */
  KILN_CUDA_DEACTIVATE_ALL, /* makes all cells of the node inactive */
};

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_DEVICE_LIB_CUDA_TREE_H_ */
