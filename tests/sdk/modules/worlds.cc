// A thousand worlds of one module, run by several threads; also on the threads of another library.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "kiln/kiln.h"

namespace {

constexpr int kWorlds = 1000, kThreads = 4;

#define CHECK(call)                                          \
  do {                                                       \
    if ((call) != KILN_OK) {                                 \
      std::fprintf(stderr, "%s: %s\n", #call, kiln_error()); \
      return false;                                          \
    }                                                        \
  } while (0)

std::atomic<int> parallel_loops{0};

int Concurrency(void*) { return tbb::this_task_arena::max_concurrency(); }

void ParallelFor(void*, int64_t count, void (*body)(void*, int64_t, int64_t), void* self) {
  ++parallel_loops;
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, count),
                    [&](const auto& range) { body(self, range.begin(), range.end()); });
}

// World w is filled with w; its total follows from that.
bool RunWorlds(kiln_module* module, int first) {
  const kiln_kernel* fill = kiln_module_kernel(module, "fill");
  const kiln_kernel* total = kiln_module_kernel(module, "total");
  const kiln_kernel* burn = kiln_module_kernel(module, "burn");
  std::vector<kiln_world*> worlds;
  for (int w = first; w < kWorlds; w += kThreads) {
    kiln_world* world;
    CHECK(kiln_world_new(module, nullptr, &world));
    worlds.push_back(world);
  }
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < worlds.size(); ++i) {
      const int w = first + static_cast<int>(i) * kThreads;
      const kiln_arg value = kiln_float(w), count = kiln_int(w % 7 + 1);
      uint64_t sum, burnt;
      CHECK(kiln_launch(fill, worlds[i], &value, 1, nullptr, nullptr));
      CHECK(kiln_launch(total, worlds[i], nullptr, 0, &sum, nullptr));
      CHECK(kiln_launch(burn, worlds[i], &count, 1, &burnt, nullptr));
      const double expected = 32.0 * 496 * (w + 1);  // 496: the sum of 0 to 31
      if (kiln_slot_float(KILN_F64, sum) != expected) {
        std::fprintf(stderr, "world %d has %g, not %g\n", w, kiln_slot_float(KILN_F64, sum),
                     expected);
        return false;
      }
      const int active = w % 7 + 1;  // each adds its number in each round
      const int64_t wanted = 1000 * active + (round + 1) * active * (active - 1) / 2;
      if (kiln_slot_int(KILN_I32, burnt) != wanted) {
        std::fprintf(stderr, "world %d burnt %d\n", w,
                     static_cast<int>(kiln_slot_int(KILN_I32, burnt)));
        return false;
      }
    }
  }
  for (kiln_world* world : worlds) CHECK(kiln_world_free(world));
  return true;
}

// A loop that is worth sharing, on the executor's threads.
bool RunLarge(kiln_module* module) {
  std::vector<int32_t> numbers(1 << 22, 1);
  const auto length = static_cast<int64_t>(numbers.size());
  const kiln_array array = kiln_array_of(numbers.data(), KILN_I32, 1, &length);
  const kiln_arg args[] = {kiln_array_arg(&array), kiln_int(2)};
  for (int i = 0; i < 3; ++i) {
    CHECK(kiln_launch(kiln_module_kernel(module, "add"), nullptr, args, 2, nullptr, nullptr));
  }
  for (const int32_t number : numbers) {
    if (number != 7) return false;
  }
  return true;
}

bool Run(const char* path, const kiln_executor* executor) {
  kiln_context_options options{};
  options.size = sizeof options;
  options.executor = executor;
  kiln_context* context;
  kiln_module* module;
  CHECK(kiln_context_new(&options, &context));
  CHECK(kiln_module_open(context, path, nullptr, &module));
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (!RunWorlds(module, t)) failed = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed || !RunLarge(module)) return false;
  CHECK(kiln_module_free(module));
  CHECK(kiln_context_free(context));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !Run(argv[1], nullptr)) return 1;
  kiln_executor executor{};
  executor.size = sizeof executor;
  executor.concurrency = &Concurrency;
  executor.parallel_for = &ParallelFor;
  if (!Run(argv[1], &executor)) return 1;
  std::printf("%d worlds, %s loops of the program's threads\n", kWorlds,
              parallel_loops > 0 ? "some" : "no");
  return 0;
}
