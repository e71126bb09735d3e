#include "runtime/loaded_kernel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <tuple>

#include "gtest/gtest.h"
#include "runtime/cpu/glibc.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/random.h"
#include "runtime/test_artifact.h"
#include "runtime/tree/test_tree.h"

namespace kiln {
namespace {

std::shared_ptr<const LoadedKernel> Load(const KernelInfo& info) {
  auto kernel = LoadedKernel::FromBytes(TestKernelBytes(), info);
  EXPECT_TRUE(kernel.ok()) << kernel.error().text;
  return *kernel;
}

TEST(LoadedKernelTest, SerialTaskFromFileAndFromBytes) {
  KernelInfo info = TestInfo();
  AddSerial(&info, "add_one");
  auto from_file = LoadedKernel::FromFile(kTestKernelPath, info);
  ASSERT_TRUE(from_file.ok()) << from_file.error().text;
  for (const auto& kernel : {*from_file, Load(info)}) {
    uint64_t argument = 41, result = 0;
    EXPECT_TRUE(kernel->Launch(&argument, &result));
    EXPECT_EQ(result, 42u);
  }
}

TEST(LoadedKernelTest, ManyLoadsFromBytesStayApart) {
  KernelInfo info = TestInfo();
  AddSerial(&info, "add_one");
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;
  kernels.reserve(40);
  for (int i = 0; i < 40; ++i) kernels.push_back(Load(info));
  kernels.erase(kernels.begin(), kernels.begin() + 20);
  for (const auto& kernel : kernels) {
    uint64_t argument = 1, result = 0;
    EXPECT_TRUE(kernel->Launch(&argument, &result));
    EXPECT_EQ(result, 2u);
  }
}

TEST(LoadedKernelTest, RefusesUnsuitableArtifacts) {
  KernelInfo info = TestInfo();
  AddSerial(&info, "add_one");
  KernelInfo other_abi = info, other_target = info, no_symbol = info;
  other_abi.runtime_abi = RuntimeAbi() + 1;
  other_target.target = Target::Cuda(90);
  no_symbol.tasks[0].symbol = "absent";
  std::string bytes = TestKernelBytes();
  EXPECT_EQ(LoadedKernel::FromBytes(bytes, other_abi).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(LoadedKernel::FromBytes(bytes, other_target).error().code,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(LoadedKernel::FromBytes(bytes, KernelInfo()).error().code,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(LoadedKernel::FromBytes(bytes, no_symbol).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(LoadedKernel::FromBytes("no ELF", info).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(LoadedKernel::FromFile("/nowhere/x.so", info).error().code, ErrorCode::kUnavailable);
}

TEST(LoadedKernelTest, NamesTheLibraryThatThisMachineLacks) {
  KernelInfo info = TestInfo();
  info.needs = {{"libm.so.6", "GLIBC_2.2.5"}, {"libmvec.so.1", "GLIBC_2.999"}};
  const auto loaded = LoadedKernel::FromBytes(TestKernelBytes(), info);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(loaded.error().text,
            "needs libmvec.so.1 of glibc 2.999, this machine has 2." + std::to_string(HostGlibc()));
}

// Every iteration runs once, for all sizes, estimates and numbers of threads, with and without
// partial results.
class EveryIterationTest : public testing::TestWithParam<std::tuple<uint32_t, bool>> {};

TEST_P(EveryIterationTest, RunsOnce) {
  const auto [cost, partials] = GetParam();
  KernelInfo info = TestInfo();
  TaskInfo* task = AddRange(&info, "count_up", 0, cost, "count_up_bounds");
  if (partials) {
    task->finish_symbol = "nothing";
    task->partial_bytes = 8;
  }
  auto kernel = Load(info);
  for (int64_t size : {0, 1, 2, 3, 63, 64, 1000, 100003}) {
    std::vector<int32_t> y(size + 1);
    uint64_t arguments[2] = {reinterpret_cast<uint64_t>(y.data()), static_cast<uint64_t>(size)};
    int launches = 0;
    for (int threads : {0, 1, 2, 3, 8}) {
      for (int i = 0; i < 20; ++i, ++launches)
        kernel->Launch(arguments, nullptr, {nullptr, threads});
    }
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(y[i], launches) << i << " of " << size;
    EXPECT_EQ(y[size], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Costs, EveryIterationTest,
                         testing::Combine(testing::Values(0u, 1u, 1000u, 1000000u),
                                          testing::Bool()));

// An iteration that takes longer than a chunk should is a chunk, not none.
TEST(LoadedKernelTest, LoopsOfVeryLongIterationsEnd) {
  constexpr int64_t kIterations = 128;
  KernelInfo info = TestInfo();
  TaskInfo* task = AddRange(&info, "count_up_slowly_at_first", kIterations, 1'000'000);
  task->finish_symbol = "nothing";
  task->partial_bytes = 8;
  auto kernel = Load(info);
  std::vector<int32_t> y(kIterations);
  uint64_t argument = reinterpret_cast<uint64_t>(y.data());
  kernel->Launch(&argument, nullptr, {nullptr, /*max_threads=*/2});
  EXPECT_EQ(y, std::vector<int32_t>(kIterations, 1));
}

TEST(LoadedKernelTest, TemporariesStartAtZeroAndCarryAcrossTasks) {
  for (uint32_t bytes : {8u, 1024u, 1u << 20}) {
    KernelInfo info = TestInfo();
    info.temporary_bytes = bytes;
    AddRange(&info, "sum", 100000, 1);
    AddSerial(&info, "sum_out");
    auto kernel = Load(info);
    for (int i = 0; i < 3; ++i) {
      uint64_t result = 0;
      kernel->Launch(nullptr, &result);
      EXPECT_EQ(result, 4999950000u);
    }
  }
}

TEST(LoadedKernelTest, PrintsArriveOneAtATime) {
  KernelInfo info = TestInfo();
  AddRange(&info, "print_each", 1000, 100000);
  auto kernel = Load(info);
  std::set<uint64_t> seen;
  LaunchHooks hooks;
  hooks.print = [&](uint32_t node, const uint64_t* values, uint32_t count) {
    EXPECT_EQ(node, 7u);
    EXPECT_EQ(count, 1u);
    seen.insert(values[0]);
  };
  EXPECT_TRUE(kernel->Launch(nullptr, nullptr, {&hooks, 4}));
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(LoadedKernelTest, FirstFailureWinsAndEndsTheLaunch) {
  KernelInfo info = TestInfo();
  AddRange(&info, "fail_from", 100000, 100);
  AddSerial(&info, "add_one");
  auto kernel = Load(info);
  uint64_t argument = 500, result = 0;
  int failures = 0;
  LaunchHooks hooks;
  hooks.fail = [&](uint32_t node, const uint64_t* values, uint32_t) {
    EXPECT_EQ(node, 9u);
    EXPECT_GE(values[0], 500u);
    ++failures;
  };
  EXPECT_FALSE(kernel->Launch(&argument, &result, {&hooks}));
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(result, 0u) << "a task after the failed one ran";
  argument = 1 << 20;
  EXPECT_TRUE(kernel->Launch(&argument, &result, {&hooks}));
}

// Loops of a minute, whatever the compiler's guess, alone and shared, with atomics and in pieces:
// another thread ends them soon after they have begun.
TEST(LoadedKernelTest, AFlagEndsTheLaunch) {
  constexpr int64_t kIterations = 1'000'000;
  const auto expect_end = [](const KernelInfo& info, int threads) {
    auto kernel = Load(info);
    volatile uint32_t flag = 0;
    int64_t begun = 0;
    uint64_t argument = reinterpret_cast<uint64_t>(&begun), result = 0;
    LaunchHooks hooks;
    hooks.failed = &flag;
    hooks.fail = [](uint32_t, const uint64_t*, uint32_t) { ADD_FAILURE(); };
    std::thread ender([&] {
      while (__atomic_load_n(&begun, __ATOMIC_RELAXED) == 0) usleep(1000);
      usleep(100000);
      __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    });
    EXPECT_FALSE(kernel->Launch(&argument, &result, {&hooks, threads}));
    ender.join();
    EXPECT_LT(begun, kIterations / 2);
    EXPECT_EQ(result, 0u) << "a task after the one that ended ran";
  };
  for (const int threads : {1, 2}) {
    for (const uint32_t cost : {1000u, 60'000u, 4'000'000u}) {
      KernelInfo info = TestInfo();
      AddRange(&info, "linger", kIterations, cost);
      AddSerial(&info, "seven");
      TaskInfo& task = info.tasks[0];
      expect_end(info, threads);
      task.alone_symbol = "linger";
      expect_end(info, threads);
      task.alone_symbol.clear();
      task.finish_symbol = "nothing";
      task.partial_bytes = 8;
      expect_end(info, threads);
    }
  }
}

TEST(LoadedKernelTest, LaunchInsideAHook) {
  KernelInfo inner_info = TestInfo();
  inner_info.temporary_bytes = 1 << 20;
  AddRange(&inner_info, "sum", 100000, 1);
  AddSerial(&inner_info, "sum_out");
  auto inner = Load(inner_info);
  KernelInfo info = TestInfo();
  info.temporary_bytes = 1 << 20;
  AddRange(&info, "print_each", 50, 1000000);
  auto outer = Load(info);
  int good = 0;
  LaunchHooks hooks;
  hooks.print = [&](uint32_t, const uint64_t*, uint32_t) {
    uint64_t result = 0;
    inner->Launch(nullptr, &result);
    good += result == 4999950000u;
  };
  EXPECT_TRUE(outer->Launch(nullptr, nullptr, {&hooks}));
  EXPECT_EQ(good, 50);
}

TEST(LoadedKernelTest, SeedsRepeat) {
  KernelInfo info = TestInfo();
  info.draws = true;
  AddSerial(&info, "draw");
  auto kernel = Load(info);
  auto draw = [&] {
    uint64_t result = 0;
    kernel->Launch(nullptr, &result);
    return result;
  };
  SetRandomSeed(1);
  uint64_t first = draw(), second = draw();
  EXPECT_NE(first, second);
  SetRandomSeed(2);
  EXPECT_NE(draw(), first);
  SetRandomSeed(1);
  EXPECT_EQ(draw(), first);
  EXPECT_EQ(draw(), second);
}

// Each thread has its own sequence of numbers, which launches of other threads do not change.
TEST(LoadedKernelTest, ThreadsCountTheirOwnDraws) {
  KernelInfo info = TestInfo();
  info.draws = true;
  AddSerial(&info, "draw");
  auto kernel = Load(info);
  auto draw = [&] {
    uint64_t result = 0;
    kernel->Launch(nullptr, &result);
    return result;
  };
  std::set<uint64_t> all;
  std::vector<std::vector<uint64_t>> rounds;
  for (int round = 0; round < 2; ++round) {
    SetRandomSeed(5);
    std::vector<uint64_t> numbers = {draw()};
    std::thread([&] { numbers.insert(numbers.end(), {draw(), draw()}); }).join();
    numbers.push_back(draw());
    rounds.push_back(numbers);
    all.insert(numbers.begin(), numbers.end());
  }
  EXPECT_EQ(rounds[0], rounds[1]);
  EXPECT_EQ(all.size(), 4u);
}

// Results are equal to the bit, whichever thread runs which part.
TEST(LoadedKernelTest, PartialResultsDoNotDependOnThreads) {
  for (const uint64_t grain : {1, 100, 1 << 20}) {
    KernelInfo info = TestInfo();
    info.temporary_bytes = 8;
    TaskInfo* task = AddRange(&info, "add_up", 1'000'003, 1);
    task->finish_symbol = "add_up_finish";
    task->partial_bytes = 8;
    task->grain = grain;
    AddSerial(&info, "sum_out");
    auto kernel = Load(info);
    std::set<uint64_t> results;
    for (int i = 0; i < 60; ++i) {
      uint64_t result = 0;
      EXPECT_TRUE(kernel->Launch(nullptr, &result, {nullptr, 1 + i % 5}));
      results.insert(result);
    }
    EXPECT_EQ(results.size(), 1u) << grain;
  }
}

// Nor on the executor. Launches with a random number given draw it.
TEST(LoadedKernelTest, LaunchesOnAPool) {
  KernelInfo info = TestInfo();
  info.temporary_bytes = 8;
  TaskInfo* task = AddRange(&info, "add_up", 1'000'003, 1);
  task->finish_symbol = "add_up_finish";
  task->partial_bytes = 8;
  AddSerial(&info, "sum_out");
  auto kernel = Load(info);
  uint64_t expected = 0;
  kernel->Launch(nullptr, &expected);
  ThreadPool pool(3);
  for (int i = 0; i < 60; ++i) {
    uint64_t result = 0;
    EXPECT_TRUE(kernel->Launch(nullptr, &result, {nullptr, i % 5, &pool}));
    EXPECT_EQ(result, expected);
  }
  // At most: a loop is not shared while other programs take the cores.
  EXPECT_LE(pool.started(), 2);
}

void AddTwo(const KilnContext* c, int64_t, int64_t, int32_t) {
  c->results[0] = c->arguments[0] + 2;
}

TEST(LoadedKernelTest, TakesFunctionsFromElsewhere) {
  KernelInfo info = TestInfo();
  info.runtime_abi = 0;  // the caller's to check
  AddSerial(&info, "add_two");
  const auto find = [](const std::string& symbol) {
    return symbol == "add_two" ? reinterpret_cast<void*>(&AddTwo) : nullptr;
  };
  auto owner = std::make_shared<int>();
  auto kernel = LoadedKernel::FromFunctions(owner, info, find);
  ASSERT_TRUE(kernel.ok()) << kernel.error().text;
  EXPECT_EQ(owner.use_count(), 2);
  const uint64_t argument = 40;
  uint64_t result = 0;
  EXPECT_TRUE((*kernel)->Launch(&argument, &result));
  EXPECT_EQ(result, 42u);
  *kernel = nullptr;
  EXPECT_EQ(owner.use_count(), 1);

  KernelInfo absent = info;
  AddSerial(&absent, "absent");
  EXPECT_EQ(LoadedKernel::FromFunctions(owner, absent, find).error().code, ErrorCode::kDataLoss);
  KernelInfo other_target = info;
  other_target.target = Target();
  EXPECT_EQ(LoadedKernel::FromFunctions(owner, other_target, find).error().code,
            ErrorCode::kFailedPrecondition);
  KernelInfo newer = info;
  newer.needs = {{"libmvec.so.1", "GLIBC_2.99"}};
  EXPECT_EQ(LoadedKernel::FromFunctions(owner, newer, find).error().code,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(LoadedKernelTest, DrawsTheGivenNumber) {
  KernelInfo info = TestInfo();
  info.draws = true;
  AddSerial(&info, "draw");
  auto kernel = Load(info);
  uint64_t result = 0;
  LaunchOptions options;
  options.random = 42;
  kernel->Launch(nullptr, &result, options);
  EXPECT_EQ(result, 42u);
}

TEST(LoadedKernelTest, RefusesAMissingFinish) {
  KernelInfo info = TestInfo();
  AddRange(&info, "add_up", 10, 1)->finish_symbol = "absent";
  EXPECT_EQ(LoadedKernel::FromBytes(TestKernelBytes(), info).error().code, ErrorCode::kDataLoss);
}

TEST(LoadedKernelTest, ForkedChildLaunches) {
  KernelInfo info = TestInfo();
  info.temporary_bytes = 8;
  AddRange(&info, "sum", 10000000, 1);
  AddSerial(&info, "sum_out");
  auto kernel = Load(info);
  uint64_t before = 0;
  kernel->Launch(nullptr, &before);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    uint64_t result = 0;
    for (int i = 0; i < 10; ++i) kernel->Launch(nullptr, &result);
    _exit(result == before ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  uint64_t after = 0;
  kernel->Launch(nullptr, &after);
  EXPECT_EQ(after, before);
}

TEST(LoadedKernelTest, SeveralThreadsLaunch) {
  KernelInfo info = TestInfo();
  info.temporary_bytes = 8;
  AddRange(&info, "sum", 20000, 1);
  AddSerial(&info, "sum_out");
  auto kernel = Load(info);
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        uint64_t result = 0;
        kernel->Launch(nullptr, &result, {nullptr, 1 + i % 4});
        wrong += result != 199990000u;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Plain and atomic runs of the same task from several threads lose no update.
TEST(LoadedKernelTest, AtomicsAloneAndTogether) {
  KernelInfo info = TestInfo();
  AddRange(&info, "bump", 20'000, 1)->alone_symbol = "bump_alone";
  info.arguments.emplace_back();
  auto kernel = Load(info);
  int64_t count = 0;
  const uint64_t argument = reinterpret_cast<uint64_t>(&count);
  constexpr int kThreads = 4, kLaunches = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kLaunches; ++i) kernel->Launch(&argument, nullptr, {nullptr, t % 2 + 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, int64_t{20'000} * kThreads * kLaunches);
}

// The measurement of the first launch, in cold memory, must be corrected by later ones.
TEST(LoadedKernelTest, ASlowStartDoesNotDecide) {
  KernelInfo info = TestInfo();
  AddRange(&info, "contended", 6'400, 1000)->alone_symbol = "contended_alone";
  info.arguments.emplace_back();
  auto kernel = Load(info);
  int64_t calls_alone = 0;
  const uint64_t argument = reinterpret_cast<uint64_t>(&calls_alone);
  // How many launches that takes depends on the machine: a retry waits until it is cheap.
  constexpr int kLaunches = 20'000, kInARow = 20;
  int in_a_row = 0;
  for (int i = 0; i < kLaunches && in_a_row < kInARow; ++i) {
    const int64_t before = calls_alone;
    kernel->Launch(&argument, nullptr, {nullptr, 2});
    in_a_row = calls_alone > before ? in_a_row + 1 : 0;
  }
  EXPECT_EQ(in_a_row, kInARow);
}

// What the first iterations of the first launch have shown decides about its others.
TEST(LoadedKernelTest, TheFirstLaunchGoesOnWithTheFasterVariant) {
  constexpr int64_t kIterations = 6'400;
  for (const bool alone_is_slow : {false, true}) {
    KernelInfo info = TestInfo();
    auto* task = AddRange(&info, alone_is_slow ? "counted" : "counted_not", kIterations, 1000);
    task->alone_symbol = alone_is_slow ? "counted_not" : "counted";
    info.arguments.emplace_back();
    auto kernel = Load(info);
    int64_t counted = 0;
    const uint64_t argument = reinterpret_cast<uint64_t>(&counted);
    kernel->Launch(&argument, nullptr, {nullptr, 2});
    EXPECT_GT(counted, kIterations * 9 / 10) << alone_is_slow;
  }
}

// With a task that is as slow for one thread as with atomics, copies for two threads win.
TEST(LoadedKernelTest, ThreadsAddToCopiesOfTheirOwn) {
  if (ThreadPool::Get().concurrency() < 2) GTEST_SKIP() << "needs two threads";
  constexpr int64_t kIterations = 2'000;
  KernelInfo info = TestInfo();
  TaskInfo* task = AddRange(&info, "counted", kIterations, 1000);
  task->alone_symbol = "counted";
  task->scatters = {{0, sizeof(int64_t), 0, ScatterInfo::Number::kI64}};
  info.arguments.emplace_back();
  auto kernel = Load(info);
  int64_t counted = 0;
  const uint64_t argument = reinterpret_cast<uint64_t>(&counted);
  constexpr int kLaunches = 50;
  for (int i = 0; i < kLaunches; ++i) kernel->Launch(&argument, nullptr, {nullptr, 2});
  EXPECT_EQ(counted, kIterations * kLaunches);
}

TEST(LoadedKernelTest, RefusesScattersToNoArgument) {
  KernelInfo info = TestInfo();
  AddRange(&info, "bump", 10, 1)->scatters = {{1, 8, 0, ScatterInfo::Number::kI64}};
  info.arguments.emplace_back();
  EXPECT_EQ(LoadedKernel::FromBytes(TestKernelBytes(), info).error().code, ErrorCode::kDataLoss);
}

TEST(LoadedKernelTest, RefusesAMissingAloneTask) {
  KernelInfo info = TestInfo();
  AddRange(&info, "bump", 10, 1)->alone_symbol = "absent";
  EXPECT_EQ(LoadedKernel::FromBytes(TestKernelBytes(), info).error().code, ErrorCode::kDataLoss);
}

// A pointer SNode of i32, and the arguments of kernels on it.
struct PointerTree {
  explicit PointerTree(uint64_t cells, std::shared_ptr<MemoryBudget> budget = nullptr) {
    TestTree t;
    pointer = t.Add(proto::SNODE_POINTER, 0, {{0, cells}});
    place = t.Place(pointer);
    tree = t.Make(std::move(budget), {"", "grid"});
    nodes[1] = tree->node(pointer);
    arguments[0] = reinterpret_cast<uint64_t>(tree->root());
    arguments[1] = reinterpret_cast<uint64_t>(nodes);
  }
  int pointer, place;
  std::unique_ptr<Tree> tree;
  KilnNode* nodes[2] = {};
  uint64_t arguments[2];
};

TEST(LoadedKernelTest, StructTasksIterateActiveCells) {
  PointerTree data(50'000);
  KernelInfo info = TreeInfo();
  AddRange(&info, "activate_cells", 50'000, 10);
  AddRange(&info, "deactivate_odd_cells", 50'000, 10);
  AddTreeTask(&info, TaskKind::kGc);
  AddTreeTask(&info, TaskKind::kListgen);
  AddTreeTask(&info, TaskKind::kStruct, "bump_cells");
  AddTreeTask(&info, TaskKind::kListgen);
  AddTreeTask(&info, TaskKind::kStruct, "bump_cells");
  auto kernel = Load(info);
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_TRUE(kernel->Launch(data.arguments, nullptr));
    for (int64_t i = 0; i < 50'000; ++i) {
      ASSERT_EQ(ReadI32(*data.tree, data.place, {i}), i % 2 == 0 ? i + 2000 : 0);
    }
  }
  EXPECT_EQ(data.tree->Stats().lists_made, 3u);
  EXPECT_EQ(data.tree->Stats().lists_kept, 3u);
  EXPECT_EQ(data.tree->Stats(data.pointer).cells_collected, 75'000u);
}

TEST(LoadedKernelTest, LaunchesOnSeveralThreadsShareATree) {
  PointerTree data(5000);
  KernelInfo info = TreeInfo();
  AddRange(&info, "activate_cells", 5000, 10);
  AddTreeTask(&info, TaskKind::kListgen);
  auto activate = Load(info);
  info = TreeInfo();
  AddTreeTask(&info, TaskKind::kListgen);
  AddTreeTask(&info, TaskKind::kStruct, "nothing");
  auto loop = Load(info);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE((t == 0 ? activate : loop)->Launch(data.arguments, nullptr));
        if (t == 0) data.tree->DeactivateAll(data.pointer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LoadedKernelTest, ExhaustedMemoryFailsOnlyTheLaunch) {
  PointerTree data(50'000, std::make_shared<MemoryBudget>(500'000));
  KernelInfo info = TreeInfo();
  AddRange(&info, "activate_cells", 50'000, 10);
  AddTreeTask(&info, TaskKind::kListgen);
  AddTreeTask(&info, TaskKind::kStruct, "bump_cells");
  auto kernel = Load(info);
  LaunchHooks hooks;
  std::vector<std::string> errors;
  hooks.error = [&](std::string_view text) { errors.emplace_back(text); };
  EXPECT_FALSE(kernel->Launch(data.arguments, nullptr, {&hooks}));
  EXPECT_FALSE(kernel->Launch(data.arguments, nullptr));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("cell of SNode 'grid' (pointer)"), std::string::npos) << errors[0];
  const uint64_t active = data.tree->CountActive(data.pointer);
  EXPECT_EQ(active, 100'000u / 8);
  data.tree->ForEachRun(data.pointer, [&](const CellRun& run) {
    EXPECT_EQ(*reinterpret_cast<int32_t*>(run.cell), run.at[0]);
  });
}

TEST(LoadedKernelTest, RefusesTasksOfUnknownTrees) {
  KernelInfo info = TreeInfo();
  AddTreeTask(&info, TaskKind::kListgen)->tree = 1;
  EXPECT_EQ(LoadedKernel::FromBytes(TestKernelBytes(), info).error().code, ErrorCode::kDataLoss);
  info = TestInfo();
  AddTreeTask(&info, static_cast<TaskKind>(4));
  EXPECT_EQ(LoadedKernel::FromBytes(TestKernelBytes(), info).error().code,
            ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace kiln
