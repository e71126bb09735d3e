#include "runtime/cpu/host_executor.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/loaded_kernel.h"
#include "runtime/test_artifact.h"
#include "runtime/tree/test_tree.h"

namespace kiln {
namespace {

using Body = void (*)(void* self, int64_t begin, int64_t end);

// An application that makes threads for each loop.
struct Application {
  int threads = 3;
  std::atomic<int> loops{0};

  static int Concurrency(void* self) { return static_cast<Application*>(self)->threads; }
  static void ParallelFor(void* self, int64_t count, Body body, void* body_self) {
    auto* app = static_cast<Application*>(self);
    ++app->loops;
    std::vector<std::thread> threads;
    threads.reserve(app->threads);
    for (int64_t t = 0; t < app->threads; ++t) {
      threads.emplace_back(body, body_self, count * t / app->threads,
                           count * (t + 1) / app->threads);
    }
    for (std::thread& thread : threads) thread.join();
  }
  HostExecutor executor{{this, &Concurrency, &ParallelFor}};
};

// One that keeps to no order and no count: runs the first half twice, the rest not at all.
void Careless(void*, int64_t count, Body body, void* body_self) {
  body(body_self, 0, count / 2);
  body(body_self, -5, count / 2);
}

int Four(void*) { return 4; }

void CountUp(const KilnContext* ctx, int64_t begin, int64_t end, int32_t) {
  auto* y = reinterpret_cast<int32_t*>(ctx->arguments[0]);
  for (int64_t i = begin; i < end; ++i) y[i] += 1;
}

struct Loop {
  std::vector<int32_t> y;
  uint64_t arguments[1];
  volatile uint32_t failed = 0;
  KilnContext ctx = {};
  int64_t iterations = 0, nanoseconds = 0;

  explicit Loop(int64_t size) : y(size) {
    arguments[0] = reinterpret_cast<uint64_t>(y.data());
    ctx.arguments = arguments;
    ctx.failed = &failed;
  }
  bool Run(HostExecutor& executor, int64_t chunk, int threads) {
    return executor.TryRun(ctx, {&CountUp, 0, static_cast<int64_t>(y.size()), chunk, threads},
                           &iterations, &nanoseconds);
  }
};

TEST(HostExecutorTest, EveryIterationOnce) {
  Application app;
  for (const int64_t size : {1, 7, 5000, 100'000}) {
    for (const int64_t chunk : {1, 64, 1'000'000}) {
      for (const int threads : {2, 3, 8}) {
        Loop loop(size);
        ASSERT_TRUE(loop.Run(app.executor, chunk, threads));
        EXPECT_EQ(loop.y, std::vector<int32_t>(size, 1)) << size << " " << chunk << " " << threads;
        EXPECT_EQ(loop.iterations, size);
        EXPECT_GT(loop.nanoseconds, 0);
      }
    }
  }
}

TEST(HostExecutorTest, CarelessApplicationsGetRightResults) {
  HostExecutor executor({nullptr, &Four, &Careless});
  for (const int threads : {2, 4}) {
    Loop loop(10'000);
    ASSERT_TRUE(loop.Run(executor, 64, threads));
    EXPECT_EQ(loop.y, std::vector<int32_t>(10'000, 1));
  }
}

TEST(HostExecutorTest, FailureEndsEarly) {
  Application app;
  Loop loop(10'000);
  loop.failed = 1;
  EXPECT_TRUE(loop.Run(app.executor, 1, 3));
  EXPECT_EQ(loop.y, std::vector<int32_t>(10'000, 0));
}

TEST(HostExecutorTest, DoesNotWaitWhilePaused) {
  Application app;
  Loop loop(100);
  {
    const HostExecutor::Pause pause;
    EXPECT_FALSE(loop.Run(app.executor, 1, 3));
  }
  EXPECT_TRUE(loop.Run(app.executor, 1, 3));
}

std::shared_ptr<const LoadedKernel> Load(const KernelInfo& info) {
  auto kernel = LoadedKernel::FromBytes(TestKernelBytes(), info);
  EXPECT_TRUE(kernel.ok()) << kernel.error().text;
  return *kernel;
}

std::shared_ptr<const LoadedKernel> LoadReduction() {
  KernelInfo info = TestInfo();
  info.temporary_bytes = 8;
  TaskInfo* task = AddRange(&info, "add_up", 1'000'003, 1);
  task->finish_symbol = "add_up_finish";
  task->partial_bytes = 8;
  AddSerial(&info, "sum_out");
  return Load(info);
}

// Also from several threads, and on threads of the application's own loops.
TEST(HostExecutorTest, ReductionsHaveTheBitsOfThePool) {
  const auto kernel = LoadReduction();
  uint64_t expected = 0;
  kernel->Launch(nullptr, &expected);
  Application app;
  struct State {
    const LoadedKernel& kernel;
    Application& app;
    uint64_t expected;
    std::atomic<int> wrong{0};
  } state{*kernel, app, expected};
  Application::ParallelFor(
      &app, 30,
      [](void* self, int64_t begin, int64_t end) {
        auto* state = static_cast<State*>(self);
        for (int64_t i = begin; i < end; ++i) {
          uint64_t result = 0;
          state->kernel.Launch(nullptr, &result,
                               {nullptr, static_cast<int>(i % 4), &state->app.executor});
          state->wrong += result != state->expected;
        }
      },
      &state);
  EXPECT_EQ(state.wrong, 0);
  EXPECT_GT(app.loops, 10);
}

// The hook's launch must not wait for threads that wait for the hook.
TEST(HostExecutorTest, HooksLaunch) {
  KernelInfo info = TestInfo();
  AddRange(&info, "print_each", 64, 1'000'000);
  const auto outer = Load(info);
  const auto inner = LoadReduction();
  Application app;
  uint64_t expected = 0;
  inner->Launch(nullptr, &expected);
  int prints = 0, wrong = 0;
  LaunchHooks hooks;
  hooks.print = [&](uint32_t, const uint64_t*, uint32_t) {
    uint64_t result = 0;
    inner->Launch(nullptr, &result, {nullptr, 0, &app.executor});
    wrong += result != expected;
    ++prints;
  };
  EXPECT_TRUE(outer->Launch(nullptr, nullptr, {&hooks, 0, &app.executor}));
  EXPECT_EQ(prints, 64);
  EXPECT_EQ(wrong, 0);
}

TEST(HostExecutorTest, ListsOfTrees) {
  constexpr int64_t kCells = 300'000;
  Application app;
  TestTree t;
  const int pointer = t.Add(proto::SNODE_POINTER, 0, {{0, kCells}});
  const int place = t.Place(pointer);
  const auto on_app = t.Make(nullptr, {}, &app.executor);
  const auto on_pool = t.Make();
  for (int64_t i = 0; i < kCells; i += 3) {
    At at = {i};
    WriteI32(*on_app, place, at, 1);
    WriteI32(*on_pool, place, at, 1);
  }
  EXPECT_EQ(Indices(*on_app->List(pointer, false), 1), Indices(*on_pool->List(pointer, false), 1));
  EXPECT_GT(app.loops, 0);
  EXPECT_EQ(on_app->List(pointer, false), on_app->List(pointer, false));  // kept
  on_app->DeactivateAll(pointer);
  on_app->Collect();
  EXPECT_EQ(on_app->List(pointer, false)->size(), 0);
}

// While it waits for the loop of a list, the application's thread makes a list of the same tree.
struct Nested {
  Tree* tree = nullptr;
  int node = 0;
  int depth = 0;
  int64_t elements = -1;

  static void ParallelFor(void* self, int64_t count, Body body, void* body_self) {
    auto* nested = static_cast<Nested*>(self);
    if (nested->depth++ == 0) nested->elements = nested->tree->List(nested->node, false)->size();
    body(body_self, 0, count);
  }
  HostExecutor executor{{this, &Four, &ParallelFor}};
};

TEST(HostExecutorTest, ThreadsThatMakeAListMayMakeAnother) {
  constexpr int64_t kCells = 200'000;
  Nested nested;
  TestTree t;
  nested.node = t.Add(proto::SNODE_POINTER, 0, {{0, kCells}});
  const int place = t.Place(nested.node);
  const auto tree = t.Make(nullptr, {}, &nested.executor);
  nested.tree = tree.get();
  for (int64_t i = 0; i < kCells; i += 2) WriteI32(*tree, place, At{i}, 1);
  EXPECT_EQ(tree->List(nested.node, false)->size(), kCells / 2);
  EXPECT_EQ(nested.elements, kCells / 2);
}

}  // namespace
}  // namespace kiln
