#include "runtime/device_lib/tree.h"

// Generated code inlines the path on which the cell is already active; activating one is a call
// into the runtime or, on CUDA, of a function of this library.
#ifdef KILN_CUDA
#include "runtime/device_lib/cuda_tree.h"
#define KILN_ACTIVATE(ctx, node, slot) kiln_cuda_activate(node, slot)
#define KILN_ACTIVATE_CHUNK(ctx, node, container, chunk) \
  kiln_cuda_activate_chunk(node, container, chunk)
#else
#define KILN_ACTIVATE(ctx, node, slot) (ctx)->runtime->activate(ctx, node, slot)
#define KILN_ACTIVATE_CHUNK(ctx, node, container, chunk) \
  (ctx)->runtime->activate_chunk(ctx, node, container, chunk)
#endif

// LLVM 19 forgets the order of atomics on CUDA. None is needed there: cells are zero since before
// the kernel.
#ifdef KILN_CUDA
#define KILN_ACQ_REL __ATOMIC_RELAXED
#else
#define KILN_ACQ_REL __ATOMIC_ACQ_REL
#endif

#ifdef KILN_BITCODE
#define KILN_INLINE __attribute__((always_inline))
// On x86-64 a load through a pointer sees everything written before the pointer was. No other
// ordering is needed, and LLVM may move surrounding accesses.
#define KILN_LOAD __ATOMIC_RELAXED
#else
#define KILN_INLINE
#define KILN_LOAD __ATOMIC_ACQUIRE
#endif

#define KILN_LIKELY(condition) __builtin_expect(!!(condition), 1)

namespace {

template <typename T>
KILN_INLINE T Load(const T* at) {
  return __atomic_load_n(at, KILN_LOAD);
}

KILN_INLINE uint8_t* PointerCell(uint8_t* container, uint64_t cell) {
  return Load(reinterpret_cast<uint8_t**>(container) + cell);
}

KILN_INLINE KilnList* List(uint8_t* container) { return reinterpret_cast<KilnList*>(container); }

// Tests first: threads that write the same value to one cache line would contend for it.
KILN_INLINE void SetChanged(KilnNode* node) {
  if (__atomic_load_n(&node->changed, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&node->changed, 1, __ATOMIC_RELAXED);
  }
}

// The chunk that holds `cell`; null if it has not been allocated.
KILN_INLINE uint8_t* ChunkOf(uint8_t* container, uint64_t cell, uint64_t cells,
                             uint64_t chunk_cells) {
  uint8_t* memory = Load(&List(container)->memory);
  // The comparison folds: both numbers are constants of the layout. One chunk needs no directory.
  if (chunk_cells >= cells || memory == nullptr) return memory;
  return PointerCell(memory, cell / chunk_cells);
}

KILN_INLINE uint64_t InChunk(uint64_t cell, uint64_t cells, uint64_t chunk_cells,
                             uint64_t cell_bytes) {
  return (chunk_cells >= cells ? cell : cell % chunk_cells) * cell_bytes;
}

// The address of a cell, whose chunk is allocated if necessary; the dump if that fails.
KILN_INLINE uint8_t* MakeCell(const KilnContext* ctx, KilnNode* node, uint8_t* container,
                              uint64_t cell, uint64_t cells, uint64_t chunk_cells,
                              uint64_t cell_bytes) {
  uint8_t* chunk = ChunkOf(container, cell, cells, chunk_cells);
  if (!KILN_LIKELY(chunk != nullptr)) {
    const uint64_t number = chunk_cells >= cells ? 0 : cell / chunk_cells;
    chunk = KILN_ACTIVATE_CHUNK(ctx, node, container, number);
    if (chunk == node->dump) return chunk;
  }
  return chunk + InChunk(cell, cells, chunk_cells, cell_bytes);
}

// Lengths above `cells` come from appends that found the container full and have not undone their
// increment yet. Not a subtraction: a deactivation may have come between.
void TakeBack(uint32_t* length, uint32_t to) {
  uint32_t now = Load(length);
  while (now > to && !__atomic_compare_exchange_n(length, &now, to, /*weak=*/true, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED)) {
  }
}

}  // namespace

extern "C" {

KILN_INLINE uint8_t* kiln_pointer_read(const KilnNode* node, uint8_t* container, uint64_t cell) {
  uint8_t* found = PointerCell(container, cell);
  return found != nullptr ? found : node->ambient;
}

KILN_INLINE uint8_t* kiln_pointer_find(const KilnNode* node, uint8_t* container, uint64_t cell) {
  uint8_t* found = PointerCell(container, cell);
  return found != nullptr ? found : node->dump;
}

KILN_INLINE uint8_t* kiln_pointer_activate(const KilnContext* ctx, KilnNode* node,
                                           uint8_t* container, uint64_t cell) {
  uint8_t* found = PointerCell(container, cell);
  if (KILN_LIKELY(found != nullptr)) return found;
  return KILN_ACTIVATE(ctx, node, reinterpret_cast<uint8_t**>(container) + cell);
}

KILN_INLINE int32_t kiln_pointer_is_active(uint8_t* container, uint64_t cell) {
  return PointerCell(container, cell) != nullptr;
}

KILN_INLINE void kiln_bitmasked_activate(KilnNode* node, uint8_t* mask, uint64_t cell) {
  uint32_t* word = reinterpret_cast<uint32_t*>(mask) + cell / 32;
  const uint32_t bit = uint32_t{1} << (cell % 32);
  if (KILN_LIKELY((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) != 0)) return;
  if ((__atomic_fetch_or(word, bit, KILN_ACQ_REL) & bit) == 0) SetChanged(node);
}

KILN_INLINE int32_t kiln_bitmasked_is_active(uint8_t* mask, uint64_t cell) {
  const uint32_t* word = reinterpret_cast<const uint32_t*>(mask) + cell / 32;
  return static_cast<int32_t>(__atomic_load_n(word, __ATOMIC_RELAXED) >> (cell % 32) & 1);
}

// Cells beyond the length are zero if their chunk exists, like the ambient cell.
KILN_INLINE uint8_t* kiln_dynamic_read(const KilnNode* node, uint8_t* container, uint64_t cell,
                                       uint64_t cells, uint64_t chunk_cells, uint64_t cell_bytes) {
  uint8_t* chunk = ChunkOf(container, cell, cells, chunk_cells);
  return chunk == nullptr ? node->ambient : chunk + InChunk(cell, cells, chunk_cells, cell_bytes);
}

KILN_INLINE uint8_t* kiln_dynamic_find(const KilnNode* node, uint8_t* container, uint64_t cell,
                                       uint64_t cells, uint64_t chunk_cells, uint64_t cell_bytes) {
  // Memory beyond the length may exist (a reused chunk, an append in flight); it is no active cell.
  if (cell >= Load(&List(container)->length)) return node->dump;
  uint8_t* chunk = ChunkOf(container, cell, cells, chunk_cells);
  return chunk == nullptr ? node->dump : chunk + InChunk(cell, cells, chunk_cells, cell_bytes);
}

KILN_INLINE uint8_t* kiln_dynamic_activate(const KilnContext* ctx, KilnNode* node,
                                           uint8_t* container, uint64_t cell, uint64_t cells,
                                           uint64_t chunk_cells, uint64_t cell_bytes) {
  // Memory before length: a thread that sees the length finds the chunk.
  uint8_t* at = MakeCell(ctx, node, container, cell, cells, chunk_cells, cell_bytes);
  uint32_t* length = &List(container)->length;
  uint32_t now = Load(length);
  if (KILN_LIKELY(cell < now) || at == node->dump) return at;
  const uint32_t wanted = static_cast<uint32_t>(cell) + 1;
  while (now < wanted && !__atomic_compare_exchange_n(length, &now, wanted, /*weak=*/true,
                                                      KILN_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  SetChanged(node);
  return at;
}

KILN_INLINE int32_t kiln_dynamic_is_active(uint8_t* container, uint64_t cell) {
  return cell < Load(&List(container)->length);
}

KILN_INLINE int32_t kiln_dynamic_length(uint8_t* container) {
  return static_cast<int32_t>(Load(&List(container)->length));
}

KILN_INLINE int32_t kiln_dynamic_append_alone(const KilnContext* ctx, KilnNode* node,
                                              uint8_t* container, uint64_t cells,
                                              uint64_t chunk_cells, uint64_t cell_bytes,
                                              uint8_t** at) {
  uint32_t* length = &List(container)->length;
  // No atomics: the gate admits one thread (atomics_gate.h). A test and a store are enough.
  const uint32_t cell = Load(length);
  *at = node->dump;
  if (cell >= cells) return -1;
  uint8_t* made = MakeCell(ctx, node, container, cell, cells, chunk_cells, cell_bytes);
  if (made == node->dump) return -1;
  __atomic_store_n(length, cell + 1, __ATOMIC_RELAXED);
  SetChanged(node);
  *at = made;
  return static_cast<int32_t>(cell);
}

KILN_INLINE int32_t kiln_dynamic_append(const KilnContext* ctx, KilnNode* node, uint8_t* container,
                                        uint64_t cells, uint64_t chunk_cells, uint64_t cell_bytes,
                                        uint8_t** at) {
  uint32_t* length = &List(container)->length;
  *at = node->dump;
  // Looks before it adds: a full list that many threads append to would otherwise bounce its
  // length.
  if (Load(length) >= cells) return -1;
  const uint32_t cell = __atomic_fetch_add(length, 1, KILN_ACQ_REL);
  if (cell >= cells) {
    // Every thread that overshot lowers it to the same number, so the order does not matter.
    TakeBack(length, static_cast<uint32_t>(cells));
    return -1;
  }
  SetChanged(node);
  uint8_t* made = MakeCell(ctx, node, container, cell, cells, chunk_cells, cell_bytes);
  if (made == node->dump) {
    TakeBack(length, cell);
    return -1;
  }
  *at = made;
  return static_cast<int32_t>(cell);
}

}  // extern "C"
