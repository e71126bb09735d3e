// Fixed costs of a launch, without Python: medians over batches.
#include <algorithm>
#include <cstdio>

#include "runtime/cpu/thread_pool.h"
#include "runtime/test_artifact.h"

namespace kiln {
namespace {

double Microseconds(const LoadedKernel& kernel, const uint64_t* arguments, int threads) {
  std::vector<double> batches;
  uint64_t result[8];
  for (int b = 0; b < 101; ++b) {
    int64_t start = NowNanoseconds();
    for (int i = 0; i < 200; ++i) kernel.Launch(arguments, result, {nullptr, threads});
    batches.push_back((NowNanoseconds() - start) / 200e3);
  }
  std::sort(batches.begin(), batches.end());
  return batches[batches.size() / 2];
}

void Report(const char* name, const KernelInfo& info, int64_t size, int threads) {
  auto kernel = LoadedKernel::FromBytes(TestKernelBytes(), info);
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s\n", kernel.error().text.c_str());
    return;
  }
  std::vector<int32_t> y(std::max<int64_t>(size, 1));
  uint64_t arguments[2] = {reinterpret_cast<uint64_t>(y.data()), static_cast<uint64_t>(size)};
  std::printf("%-32s %d threads %9.3f us\n", name, threads,
              Microseconds(**kernel, arguments, threads));
}

}  // namespace
}  // namespace kiln

int main() {
  using namespace kiln;  // NOLINT
  KernelInfo serial = TestInfo();
  AddSerial(&serial, "add_one");
  Report("serial", serial, 0, 2);
  for (int64_t size : {100, 1000, 4000, 10000, 30000, 100000, 1000000}) {
    KernelInfo range = TestInfo();
    AddRange(&range, "count_up", 0, 1, "count_up_bounds");
    char name[64];
    std::snprintf(name, sizeof name, "range of %lld", static_cast<long long>(size));
    Report(name, range, size, 1);
    Report(name, range, size, 2);
  }
  // The cost of sharing alone: an empty loop on several threads.
  ThreadPool& pool = ThreadPool::Get();
  volatile uint32_t failed = 0;
  KilnContext ctx = {};
  ctx.failed = &failed;
  KilnTask nothing = [](const KilnContext*, int64_t, int64_t, int32_t) {};
  std::vector<double> batches;
  for (int b = 0; b < 101; ++b) {
    int64_t start = NowNanoseconds(), iterations, nanoseconds;
    for (int i = 0; i < 200; ++i) {
      pool.TryRun(ctx, {nothing, 0, 64, 4, 2}, &iterations, &nanoseconds);
    }
    batches.push_back((NowNanoseconds() - start) / 200e3);
  }
  std::sort(batches.begin(), batches.end());
  std::printf("%-32s 2 threads %9.3f us\n", "hand-over of nothing", batches[50]);
}
