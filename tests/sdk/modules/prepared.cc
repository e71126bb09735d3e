// Counts the allocations and locks of prepared launches: there are none.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kiln/kiln.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0}, locks{0};

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// In place of the C library's, for the whole process.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  if (counting) ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  if (counting) ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  if (counting) ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (counting) ++allocations;
  return __libc_memalign(alignment, size);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const next = Next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  if (counting) ++locks;
  return next(mutex);
}
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  kiln_context* context;
  kiln_module* module;
  kiln_world* world;
  if (kiln_context_new(nullptr, &context) != KILN_OK ||
      kiln_module_open(context, argv[1], nullptr, &module) != KILN_OK ||
      kiln_world_new(module, nullptr, &world) != KILN_OK ||
      kiln_context_prepare(context) != KILN_OK || kiln_world_prepare(world) != KILN_OK) {
    std::fprintf(stderr, "%s\n", kiln_error());
    return 1;
  }
  const kiln_kernel* fill = kiln_module_kernel(module, "fill");
  const kiln_kernel* scatter = kiln_module_kernel(module, "scatter");
  const kiln_kernel* total = kiln_module_kernel(module, "total");
  const kiln_kernel* add = kiln_module_kernel(module, "add");
  std::vector<int32_t> numbers(1 << 20);
  const auto length = static_cast<int64_t>(numbers.size());
  const kiln_array array = kiln_array_of(numbers.data(), KILN_I32, 1, &length);
  const kiln_arg value = kiln_float(2.0), args[] = {kiln_array_arg(&array), kiln_int(1)};
  const kiln_kernel* sum_of = kiln_module_kernel(module, "sum_of");
  const kiln_kernel* speak = kiln_module_kernel(module, "speak");
  uint64_t sum;
  for (int round = 0; round < 200; ++round) {
    // The first launches of a thread may allocate what the later ones use.
    if (round == 20) counting = true;
    const bool ok = kiln_launch(fill, world, &value, 1, nullptr, nullptr) == KILN_OK &&
                    kiln_launch(scatter, world, nullptr, 0, nullptr, nullptr) == KILN_OK &&
                    kiln_launch(total, world, nullptr, 0, &sum, nullptr) == KILN_OK &&
                    kiln_launch(sum_of, nullptr, args, 1, &sum, nullptr) == KILN_OK &&
                    kiln_launch(add, nullptr, args, 2, nullptr, nullptr) == KILN_OK;
    if (!ok) return 1;
  }
  counting = false;
  std::printf("%d allocations, %d locks\n", allocations.load(), locks.load());
  // A print takes a lock and a world memory, which shows that the counters count.
  kiln_launch_options options{};
  options.size = sizeof options;
  options.print = [](void*, const char*, size_t) {};
  const kiln_arg number = kiln_int(3);
  counting = true;
  const kiln_status spoke = kiln_launch(speak, nullptr, &number, 1, nullptr, &options);
  const kiln_status made = kiln_world_new(module, nullptr, &world);
  counting = false;
  if (spoke != KILN_OK || made != KILN_OK || allocations == 0 || locks == 0) return 1;
  return 0;
}
