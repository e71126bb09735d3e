#include "runtime/device_lib/cuda.h"

#include "runtime/device_lib/cuda_memory.h"

// Clang's names of PTX instructions. LLVM 19 has no code for ordered atomics on CUDA: fences are
// these, and what they order are volatile accesses.
void kiln_cuda_fail(KilnCudaReports* reports, uint32_t node, uint32_t count,
                    const uint64_t* values) {
  if (__nvvm_atom_cas_gen_i(reinterpret_cast<int*>(&reports->failed), 0, 1) != 0) return;
  if (count > KILN_CUDA_MAX_FAILURE_VALUES) count = KILN_CUDA_MAX_FAILURE_VALUES;
  reports->node = node;
  reports->count = count;
  for (uint32_t i = 0; i < count; ++i) reports->values[i] = values[i];
  __nvvm_membar_sys();
  *const_cast<volatile uint32_t*>(&reports->ready) = 1;
}

void kiln_cuda_print(KilnCudaReports* reports, uint32_t node, uint32_t count,
                     const uint64_t* values, uint32_t task, uint64_t iteration) {
  const uint64_t bytes = sizeof(KilnCudaPrint) + count * sizeof(uint64_t);
  const uint64_t at = static_cast<uint64_t>(__nvvm_atom_add_gen_ll(
      reinterpret_cast<long long*>(&reports->print_bytes), static_cast<long long>(bytes)));
  if (at + bytes > reports->print_capacity) return;  // only counted: the host says so
  auto* const record = reinterpret_cast<KilnCudaPrint*>(reports->prints + at);
  record->node = node;
  record->count = count;
  record->task = task;
  record->iteration = iteration;
  for (uint32_t i = 0; i < count; ++i) record->values[i] = values[i];
  __nvvm_membar_sys();
  *const_cast<volatile uint32_t*>(&record->size) = static_cast<uint32_t>(bytes);
}

// A block is twice as large as the one below it: short tapes take little memory, long ones few
// blocks. Empty ones stay with their thread.
__attribute__((noinline)) static KilnCudaTapeBlock* NewBlock(KilnCudaTapes* tapes, uint64_t thread,
                                                             uint64_t bytes) {
  constexpr uint64_t kFirst = 256;
  for (KilnCudaTapeBlock** link = &tapes->tapes[thread].spare; *link != nullptr;
       link = &(*link)->below) {
    KilnCudaTapeBlock* const block = *link;
    if (block->bytes < bytes) continue;
    *link = block->below;
    return block;
  }
  const KilnCudaTapeBlock* const below = tapes->tapes[thread].top;
  uint64_t wanted = below == nullptr ? kFirst : 2 * below->bytes;
  if (wanted < bytes) wanted = bytes;
  for (;; wanted = bytes) {
    uint64_t at;
    if (TakeBytes(&tapes->next, tapes->bytes, sizeof(KilnCudaTapeBlock) + wanted, &at)) {
      auto* block = reinterpret_cast<KilnCudaTapeBlock*>(tapes->memory + at);
      block->bytes = wanted;
      block->used = 0;
      return block;
    }
    if (wanted == bytes) return nullptr;
  }
}

uint8_t* kiln_cuda_tape_push(KilnCudaTapes* tapes, uint64_t thread, uint64_t bytes) {
  KilnCudaTapeBlock* block = tapes->tapes[thread].top;
  if (block == nullptr || block->bytes - block->used < bytes) {
    KilnCudaTapeBlock* const made = NewBlock(tapes, thread, bytes);
    if (made == nullptr) return nullptr;
    made->below = block;
    tapes->tapes[thread].top = block = made;
  }
  uint8_t* const pushed = reinterpret_cast<uint8_t*>(block + 1) + block->used;
  block->used += bytes;
  return pushed;
}

uint8_t* kiln_cuda_tape_top(KilnCudaTapes* tapes, uint64_t thread, uint64_t bytes) {
  KilnCudaTapeBlock* const block = tapes->tapes[thread].top;
  return reinterpret_cast<uint8_t*>(block + 1) + block->used - bytes;
}

void kiln_cuda_tape_pop(KilnCudaTapes* tapes, uint64_t thread, uint64_t bytes) {
  auto& tape = tapes->tapes[thread];
  KilnCudaTapeBlock* const block = tape.top;
  block->used -= bytes;
  if (block->used > 0 || block->below == nullptr) return;
  tape.top = block->below;
  block->below = tape.spare;
  tape.spare = block;
}
