// Accesses to memory that other threads of a CUDA device use, and what the files of this folder for
// CUDA share about trees. Private to this folder.
//
// LLVM 19 has no code for ordered atomics on CUDA: all are relaxed here, and fences are NVIDIA's.
#ifndef KILN_RUNTIME_DEVICE_LIB_CUDA_MEMORY_H_
#define KILN_RUNTIME_DEVICE_LIB_CUDA_MEMORY_H_

#include "runtime/cuda_abi.h"
#include "runtime/device_lib/tree.h"

namespace {

template <typename T>
inline T Load(const T* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
template <typename T>
inline void Store(T* at, T value) {
  __atomic_store_n(at, value, __ATOMIC_RELAXED);
}
template <typename T>
inline T Swap(T* at, T value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
template <typename T>
inline T Add(T* at, T value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
// Stores `to` where *expected is, which otherwise becomes what is there.
template <typename T>
inline bool Exchange(T* at, T* expected, T to) {
  return __atomic_compare_exchange_n(at, expected, to, /*weak=*/false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

inline void Wait() { __nvvm_nanosleep(32); }

// Takes `bytes` of those from *next to `end`; false if there are fewer. After a request that does
// not fit, *next is beyond `end` and all others fail, until that request stores its own *at again:
// only it began before `end`. A request that subtracted its bytes could free those of another.
inline bool TakeBytes(uint64_t* next, uint64_t end, uint64_t bytes, uint64_t* at) {
  *at = Add(next, bytes);
  if (*at <= end && bytes <= end - *at) return true;
  __atomic_fetch_min(next, *at, __ATOMIC_RELAXED);
  return false;
}

// Asks the host for memory of which `bytes` are needed at least.
inline void Ask(KilnCudaTree* tree, uint64_t bytes) {
  const uint64_t mib = (bytes >> 20) + 1;
  *tree->asks = mib < 0xffffffff ? static_cast<uint32_t>(mib) : 0xffffffffu;
  __nvvm_membar_sys();
  Store(&tree->notice->asked, 1u);
}

// After memory up to `next` was taken: the first thread beyond the mark asks for more.
inline void NoteTaken(KilnCudaTree* tree, uint64_t next) {
  uint64_t mark = Load(&tree->mark);
  while (next > mark) {
    if (Exchange(&tree->mark, &mark, KILN_CUDA_ASKED)) return Ask(tree, 0);
  }
}

// After a request for `bytes` found too little: the first one asks, even if the mark was passed.
inline void NoteMissing(KilnCudaTree* tree, uint64_t bytes) {
  if (tree->asks == nullptr) return;
  uint64_t mark = Load(&tree->mark);
  while (mark != KILN_CUDA_FAILED) {
    if (Exchange(&tree->mark, &mark, KILN_CUDA_FAILED)) return Ask(tree, bytes);
  }
}

// Tells the host for which SNode of the tree there was no memory; only the first notice counts.
// `node`: its number, with KILN_CUDA_LIST if the memory was for a list of its cells.
inline void Refuse(KilnCudaTree* tree, uint64_t node) {
  KilnCudaNotice* const notice = tree->notice;
  uint32_t none = 0;
  if (!Exchange(&notice->failed, &none, 1u)) return;
  notice->tree = tree->id;
  notice->node = node;
  __nvvm_membar_sys();
  Store(&notice->ready, 1u);
}

inline void SetChanged(KilnNode* node) {
  if (Load(&node->changed) == 0) Store(&node->changed, 1u);
}

// `head` is a chain that nothing is taken from meanwhile.
inline void Push(KilnCudaBlock** head, KilnCudaBlock* block) {
  KilnCudaBlock* first = Load(head);
  do {
    Store(&block->next, first);
    __nvvm_membar_gl();
  } while (!Exchange(head, &first, block));
}

inline void Retire(KilnCudaPool* pool, uint8_t* memory) {
  const uint64_t hash = (reinterpret_cast<uint64_t>(memory) >> 5) * 0x9e3779b97f4a7c15u;
  Push(&pool->retired[hash >> 40 & (KILN_CUDA_RETIRED - 1)],
       reinterpret_cast<KilnCudaBlock*>(memory) - 1);
}

// The pool of what a slot of the node's containers leads to.
inline KilnCudaPool* PoolOfSlots(KilnCudaNode* node) {
  return node->chunks > 0 ? &node->directories : &node->memory;
}

// Takes the memory out of a slot; false if there was none.
inline bool Clear(KilnCudaNode* node, uint8_t** slot) {
  if (Load(slot) == nullptr) return false;
  uint8_t* const old = Swap(slot, static_cast<uint8_t*>(nullptr));
  if (old != nullptr) Retire(PoolOfSlots(node), old);
  return old != nullptr;
}

// False if the cell was inactive; of a dynamic node the whole container is meant.
inline bool MakeInactive(KilnCudaNode* node, uint8_t* container, uint64_t cell) {
  if (node->kind == KILN_CUDA_POINTER) {
    return Clear(node, reinterpret_cast<uint8_t**>(container) + cell);
  }
  if (node->kind == KILN_CUDA_BITMASKED) {
    auto* word = reinterpret_cast<uint32_t*>(container + node->mask_offset) + cell / 32;
    const uint32_t bit = uint32_t{1} << (cell % 32);
    if ((Load(word) & bit) == 0) return false;
    return (__atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED) & bit) != 0;
  }
  auto* list = reinterpret_cast<KilnList*>(container);
  const bool any = Load(&list->length) != 0;
  if (any) Store(&list->length, 0u);
  return Clear(node, &list->memory) || any;
}

}  // namespace

#endif  // KILN_RUNTIME_DEVICE_LIB_CUDA_MEMORY_H_
