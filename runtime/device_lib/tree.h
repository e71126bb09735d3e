/* Cells of sparse SNodes: find, activate, append. Generated code inlines these from
 * bitcode, with the numbers that describe the SNode constant; the runtime calls them
 * natively when Python reads and writes fields.
 *
 * Layout of containers: common/layout/layout.h. Activity only grows while a task runs, but for
 * what `deactivate` takes away; a cell found active stays where it is until the launch's
 * gc task. Safe to call from any number of threads at once.
 *
 * `cell` is the cell's number in its container and in range. "read" answers the node's
 * ambient cell where the cell is inactive, "find" its dump; "activate" makes it active.
 */
#ifndef KILN_RUNTIME_DEVICE_LIB_TREE_H_
#define KILN_RUNTIME_DEVICE_LIB_TREE_H_

#include "runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dynamic SNode's container. `memory` leads to its chunk or, where a chunk holds fewer cells than
 * the container may, to an array of pointers to chunks. Null: not allocated yet. */
typedef struct KilnList {
  uint32_t length;
  uint32_t padding;
  uint8_t* memory;
} KilnList;

uint8_t* kiln_pointer_read(const KilnNode* node, uint8_t* container, uint64_t cell);
uint8_t* kiln_pointer_find(const KilnNode* node, uint8_t* container, uint64_t cell);
uint8_t* kiln_pointer_activate(const KilnContext* ctx, KilnNode* node, uint8_t* container,
                               uint64_t cell);
int32_t kiln_pointer_is_active(uint8_t* container, uint64_t cell);

/* `mask`: the container's mask words. The cell itself is always there. */
void kiln_bitmasked_activate(KilnNode* node, uint8_t* mask, uint64_t cell);
int32_t kiln_bitmasked_is_active(uint8_t* mask, uint64_t cell);

/* Dynamic SNodes: `cells` is the most that a container holds, `chunk_cells` what a chunk
 * does, `cell_bytes` the size of a cell. */
uint8_t* kiln_dynamic_read(const KilnNode* node, uint8_t* container, uint64_t cell, uint64_t cells,
                           uint64_t chunk_cells, uint64_t cell_bytes);
uint8_t* kiln_dynamic_find(const KilnNode* node, uint8_t* container, uint64_t cell, uint64_t cells,
                           uint64_t chunk_cells, uint64_t cell_bytes);
/* Raises the length to cell + 1 at least. */
uint8_t* kiln_dynamic_activate(const KilnContext* ctx, KilnNode* node, uint8_t* container,
                               uint64_t cell, uint64_t cells, uint64_t chunk_cells,
                               uint64_t cell_bytes);
int32_t kiln_dynamic_is_active(uint8_t* container, uint64_t cell);
int32_t kiln_dynamic_length(uint8_t* container);
/* Takes the next cell: its number, with its address in *at; -1, with the dump, when the
 * container is full or memory has ended. */
int32_t kiln_dynamic_append(const KilnContext* ctx, KilnNode* node, uint8_t* container,
                            uint64_t cells, uint64_t chunk_cells, uint64_t cell_bytes,
                            uint8_t** at);
/* The same while nobody else appends to the container. */
int32_t kiln_dynamic_append_alone(const KilnContext* ctx, KilnNode* node, uint8_t* container,
                                  uint64_t cells, uint64_t chunk_cells, uint64_t cell_bytes,
                                  uint8_t** at);

#ifdef __cplusplus
}
#endif

#endif /* KILN_RUNTIME_DEVICE_LIB_TREE_H_ */
