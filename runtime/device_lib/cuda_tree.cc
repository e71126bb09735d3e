#include "runtime/device_lib/cuda_tree.h"

#include "runtime/device_lib/cuda_memory.h"
#include "runtime/device_lib/tree.h"

namespace {

uint8_t* Take(KilnCudaTree* tree, KilnCudaPool* pool) {
  // Free pieces are only taken while kernels run: the head cannot come back between the load and
  // the exchange.
  KilnCudaBlock* block = Load(&pool->free);
  while (block != nullptr && !Exchange(&pool->free, &block, Load(&block->next))) {
  }
  if (block == nullptr) {
    const uint64_t bytes = kiln_cuda_block_bytes(pool->bytes);
    uint64_t at;
    if (!TakeBytes(reinterpret_cast<uint64_t*>(&tree->next), reinterpret_cast<uint64_t>(tree->end),
                   bytes, &at)) {
      NoteMissing(tree, bytes);
      return nullptr;
    }
    NoteTaken(tree, at + bytes);
    block = reinterpret_cast<KilnCudaBlock*>(at);
  }
  Add(&pool->made, uint64_t{1});
  return reinterpret_cast<uint8_t*>(block + 1);
}

// What *slot leads to, a piece of `pool`, which is taken if *slot is null; null without memory.
// Threads that want to fill one slot take turns, so that no piece is made in vain.
uint8_t* Fill(KilnCudaTree* tree, KilnCudaPool* pool, uint8_t** slot) {
  const uint64_t hash = (reinterpret_cast<uint64_t>(slot) >> 3) * 0x9e3779b97f4a7c15u;
  uint32_t* const lock = &tree->locks[hash >> 32 & (KILN_CUDA_LOCKS - 1)];
  for (;;) {
    uint8_t* found = Load(slot);
    if (found != nullptr) return found;
    uint32_t open = 0;
    if (Exchange(lock, &open, 1u)) {
      __nvvm_membar_gl();
      found = Load(slot);
      if (found == nullptr) {
        found = Take(tree, pool);
        if (found != nullptr) Store(slot, found);
      }
      __nvvm_membar_gl();
      Store(lock, 0u);
      return found;
    }
    Wait();
  }
}

bool IsInDump(const KilnCudaNode* parent, const void* address) {
  if (parent == nullptr) return false;
  const auto* at = static_cast<const uint8_t*>(address);
  return at >= parent->shared.dump && at < parent->shared.dump + parent->cell_bytes;
}

}  // namespace

extern "C" {

__attribute__((noinline)) uint8_t* kiln_cuda_activate(KilnNode* shared, uint8_t** slot) {
  auto* const node = reinterpret_cast<KilnCudaNode*>(shared);
  // A cell that hangs on the dump would be in no list.
  if (IsInDump(node->parent, static_cast<const void*>(slot))) return shared->dump;
  uint8_t* cell = Fill(node->tree, &node->memory, slot);
  if (cell == nullptr) {
    Refuse(node->tree, node->number);
    return shared->dump;
  }
  SetChanged(shared);
  return cell;
}

__attribute__((noinline)) uint8_t* kiln_cuda_activate_chunk(KilnNode* shared, uint8_t* container,
                                                            uint64_t chunk) {
  auto* const node = reinterpret_cast<KilnCudaNode*>(shared);
  if (IsInDump(node->parent, container)) return shared->dump;
  uint8_t** slot = &reinterpret_cast<KilnList*>(container)->memory;
  uint8_t* made = nullptr;
  if (node->chunks > 0) {
    uint8_t* directory = Fill(node->tree, &node->directories, slot);
    slot = directory == nullptr ? nullptr : reinterpret_cast<uint8_t**>(directory) + chunk;
  }
  if (slot != nullptr) made = Fill(node->tree, &node->memory, slot);
  if (made == nullptr) {
    Refuse(node->tree, node->number);
    return shared->dump;
  }
  SetChanged(shared);
  return made;
}

__attribute__((noinline)) void kiln_cuda_deactivate(KilnNode* shared, uint8_t* container,
                                                    uint64_t cell) {
  if (MakeInactive(reinterpret_cast<KilnCudaNode*>(shared), container, cell)) SetChanged(shared);
}

}  // extern "C"
