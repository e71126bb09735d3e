#include "runtime/device_lib/cuda.h"

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
