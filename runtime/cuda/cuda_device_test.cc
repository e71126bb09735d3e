#include "runtime/cuda/cuda_device.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "common/artifact/cuda_payload.h"
#include "runtime/cuda/mirrored_buffer.h"
#include "runtime/cuda_abi_digest.h"
#include "runtime/loaded_kernel.h"
#include "runtime/random.h"

namespace kiln {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// That of testdata/fake_driver.c.
struct FakeDriver {
  int32_t fail_allocation, fail_launch, refuse_cubins;
  int64_t launches, copies_in, copies_out, fills, waits, live, stack;
  uint64_t bytes_in, bytes_out;
  uint32_t last_blocks, last_threads;
  uint64_t last_recorded, last_waiting;
  int64_t graphs, changed_nodes;
  uint64_t last_launched, orders;
  int64_t switches;
  int32_t last_device, fail_change;
};

constexpr uint64_t kPage = 65536;

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() {
    static const std::string path =
        std::string(std::getenv("TEST_SRCDIR")) + "/kiln/runtime/cuda/testdata/fake_driver.so";
    static const bool chosen = (cuda::UseDriver(path), true);
    EXPECT_TRUE(chosen);
    const Result<CudaDevice*> found = CudaDevice::Get();
    if (!found.ok()) ADD_FAILURE() << found.error().text;
    device_ = *found;
    driver_ = static_cast<FakeDriver*>(dlsym(dlopen(path.c_str(), RTLD_NOW), "fake_driver"));
    device_->FreeIdle();  // of other tests
    const int64_t live = driver_->live;
    *driver_ = {};
    driver_->live = live;
  }

  static KernelInfo Info(std::vector<TaskInfo> tasks) {
    KernelInfo info;
    info.name = "step";
    info.target = Target::Cuda(90);
    info.runtime_abi = kCudaAbi;
    info.tasks = std::move(tasks);
    info.arguments.resize(2);
    return info;
  }
  static TaskInfo Range(const char* symbol, int64_t end) {
    TaskInfo task;
    task.kind = TaskKind::kRange;
    task.symbol = symbol;
    task.constant_bounds = end >= 0;
    task.end = end;
    task.block_dim = 128;
    return task;
  }
  static TaskInfo Serial(const char* symbol) {
    TaskInfo task;
    task.kind = TaskKind::kSerial;
    task.symbol = symbol;
    return task;
  }
  Result<std::shared_ptr<const LoadedKernel>> Load(const KernelInfo& info) {
    return device_->LoadBytes(PackCudaPayload("cubin", "ptx"), info, {});
  }
  std::unique_ptr<Buffer> Allocate(uint64_t bytes) {
    Result<std::unique_ptr<Buffer>> buffer = device_->Allocate(bytes);
    EXPECT_TRUE(buffer.ok());
    return *std::move(buffer);
  }
  static int32_t* Ints(Buffer& buffer) { return reinterpret_cast<int32_t*>(buffer.host()); }

  CudaDevice* device_;
  FakeDriver* driver_;
};

TEST_F(CudaDeviceTest, IsDescribed) {
  EXPECT_EQ(device_->target(), Target::Cuda(90));
  EXPECT_EQ(device_->name(), "Fake");
  EXPECT_EQ(device_->multiprocessors(), 4u);
}

TEST_F(CudaDeviceTest, AWarmLaunchIsOneCall) {
  auto kernel = *Load(Info({Range("add_one", 1000)}));
  EXPECT_TRUE(kernel->is_on_device());
  auto buffer = Allocate(4000);
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 1000};
  ASSERT_TRUE(buffer->HandOver().ok());
  *driver_ = {};
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  ASSERT_TRUE(buffer->HandOver().ok());
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->launches, 2);
  EXPECT_EQ(driver_->copies_in + driver_->copies_out + driver_->fills + driver_->waits, 0);
  EXPECT_EQ(driver_->last_blocks, 8u);
  EXPECT_EQ(driver_->last_threads, 128u);
  ASSERT_TRUE(buffer->Touch(0, 4000, HostAccess::kRead).ok());
  EXPECT_THAT(std::vector<int32_t>(Ints(*buffer), Ints(*buffer) + 1000), Each(2));
}

TEST_F(CudaDeviceTest, AnotherDeviceHasItsOwn) {
  EXPECT_EQ(CudaDevice::Count(), 2);
  EXPECT_EQ(*CudaDevice::Get(), device_);
  CudaDevice* const other = *CudaDevice::Use(1);
  EXPECT_EQ(*CudaDevice::Get(), other);
  EXPECT_EQ(CudaDevice::InUse(), other);
  EXPECT_EQ(*CudaDevice::Use(0), device_);
  EXPECT_EQ(other->target(), Target::Cuda(80));
  EXPECT_THAT(CudaDevice::Get(2).error().text, HasSubstr("there is no CUDA device 2"));

  KernelInfo info = Info({Range("add_one", 1000)});
  auto kernel = *Load(info);
  info.target = Target::Cuda(80);
  auto others = *other->LoadBytes(PackCudaPayload("cubin", "ptx"), info, {});
  EXPECT_EQ(kernel->device(), device_);
  EXPECT_EQ(others->device(), other);
  auto buffer = Allocate(4000);
  std::unique_ptr<Buffer> others_buffer = *other->Allocate(4000);
  EXPECT_EQ(others_buffer->device(), other);
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 1000};
  const uint64_t others_slots[] = {reinterpret_cast<uint64_t>(others_buffer->data()), 1000};
  ASSERT_TRUE(buffer->HandOver().ok() && others_buffer->HandOver().ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(kernel->Launch(slots, nullptr));
    EXPECT_EQ(driver_->last_device, 0);
    *driver_ = {};
    ASSERT_TRUE(others->Launch(others_slots, nullptr));
    ASSERT_TRUE(others->Launch(others_slots, nullptr));
    EXPECT_EQ(driver_->last_device, 1);
    EXPECT_EQ(driver_->switches, 1);
  }
  ASSERT_TRUE(buffer->Touch(0, 4000, HostAccess::kRead).ok());
  ASSERT_TRUE(others_buffer->Touch(0, 4000, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*buffer)[0], 2);
  EXPECT_EQ(Ints(*others_buffer)[0], 4);
}

TEST_F(CudaDeviceTest, AStreamIsOfOneDevice) {
  CudaDevice* const other = *CudaDevice::Get(1);
  ASSERT_TRUE(device_->UseStream(7).ok());
  EXPECT_EQ(other->stream(), 0u);
  ASSERT_TRUE(other->UseStream(9).ok());
  EXPECT_EQ(device_->stream(), 7u);
  EXPECT_EQ(other->stream(), 9u);
  ASSERT_TRUE(device_->UseStream(0).ok() && other->UseStream(0).ok());
  EXPECT_EQ(device_->stream() + other->stream(), 0u);
}

// A graph of launches with the same arguments, in order.
Result<std::unique_ptr<LaunchGraph>> GraphOf(
    CudaDevice* device, const std::vector<std::shared_ptr<const LoadedKernel>>& kernels,
    const uint64_t* slots) {
  std::unique_ptr<LaunchGraph> graph = device->MakeGraph();
  for (const auto& kernel : kernels) {
    if (Result<> added = graph->Add(kernel, slots, kernel->info().name); !added.ok())
      return added.error();
  }
  if (Result<> finished = graph->Finish(); !finished.ok()) return finished.error();
  return graph;
}

TEST_F(CudaDeviceTest, AGraphIsOneCall) {
  auto kernel = *Load(Info({Range("add_one", 1000)}));
  auto buffer = Allocate(4000);
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 1000};
  ASSERT_TRUE(buffer->HandOver().ok());
  auto graph = *GraphOf(device_, {kernel, kernel, kernel}, slots);
  kernel.reset();  // the graph keeps it
  EXPECT_EQ(driver_->launches, 0);
  ASSERT_TRUE(graph->Launch().ok());
  ASSERT_TRUE(graph->Launch().ok());
  EXPECT_EQ(driver_->graphs, 2);
  EXPECT_EQ(driver_->changed_nodes + driver_->waits, 0);
  ASSERT_TRUE(buffer->Touch(0, 4000, HostAccess::kRead).ok());
  EXPECT_THAT(std::vector<int32_t>(Ints(*buffer), Ints(*buffer) + 1000), Each(6));
  ASSERT_TRUE((*GraphOf(device_, {}, slots))->Launch().ok());
}

// Only the nodes whose arguments are others, with a grid for them; the last ones stay.
TEST_F(CudaDeviceTest, AGraphStartsWithOtherArguments) {
  TaskInfo counted = Range("add_one", -1);
  counted.length_factor = 1;
  counted.length_slots = {1};
  KernelInfo info = Info({counted});
  info.arguments[1].kind = ArgumentSlot::Kind::kExtent;
  auto kernel = *Load(info);
  auto first = Allocate(4000), second = Allocate(4000);
  const auto slots_of = [](const Buffer& buffer, uint64_t count) {
    return std::array<uint64_t, 2>{reinterpret_cast<uint64_t>(buffer.data()), count};
  };
  const std::array<uint64_t, 2> some = slots_of(*first, 10), more = slots_of(*second, 1000);
  ASSERT_TRUE(first->HandOver().ok() && second->HandOver().ok());
  auto graph = *GraphOf(device_, {kernel, kernel}, some.data());
  const auto start = [&](const auto& one, const auto& other) {
    const uint64_t slots[] = {one[0], one[1], other[0], other[1]};
    EXPECT_TRUE(graph->Launch(slots).ok());
    const int64_t changed = driver_->changed_nodes;
    driver_->changed_nodes = 0;
    return changed;
  };
  EXPECT_EQ(start(some, some), 0);
  EXPECT_EQ(driver_->last_blocks, 1u);
  EXPECT_EQ(start(some, more), 1);
  EXPECT_EQ(driver_->last_blocks, 8u);
  EXPECT_EQ(start(some, more), 0);
  ASSERT_TRUE(graph->Launch().ok());
  EXPECT_EQ(start(more, some), 2);
  EXPECT_EQ(driver_->graphs, 5);
  // A start after a failed one leaves no node as it was.
  driver_->fail_change = 2;
  const uint64_t slots[] = {some[0], 20, some[0], 20};
  EXPECT_THAT(graph->Launch(slots).error().text,
              HasSubstr("the CUDA driver does not change a captured graph: "));
  EXPECT_EQ(driver_->graphs, 5);
  driver_->changed_nodes = 0;
  ASSERT_TRUE(graph->Launch(slots).ok());
  EXPECT_EQ(driver_->changed_nodes, 1);
  ASSERT_TRUE(first->Touch(0, 4000, HostAccess::kRead).ok());
  ASSERT_TRUE(second->Touch(0, 4000, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*first)[9], 8);
  EXPECT_EQ(Ints(*first)[19], 2);
  EXPECT_EQ(Ints(*first)[20], 0);
  EXPECT_EQ(Ints(*second)[999], 4);
}

// Events order the streams at each change, and only there.
TEST_F(CudaDeviceTest, LaunchesInAStreamKeepTheOrder) {
  auto kernel = *Load(Info({Serial("add_one")}));
  auto buffer = Allocate(4);
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 1};
  ASSERT_TRUE(buffer->HandOver().ok());
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->orders, 0u);
  ASSERT_TRUE(device_->UseStream(7).ok());
  EXPECT_EQ(device_->stream(), 7u);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(kernel->Launch(slots, nullptr));
    EXPECT_EQ(driver_->last_launched, 7u);
    EXPECT_EQ(driver_->orders, 1u);
  }
  EXPECT_EQ(driver_->last_recorded, 0u);
  EXPECT_EQ(driver_->last_waiting, 7u);
  auto graph = *GraphOf(device_, {kernel}, slots);
  ASSERT_TRUE(graph->Launch().ok());
  EXPECT_EQ(driver_->last_launched, 7u);
  ASSERT_TRUE(device_->WaitFor(7).ok());
  ASSERT_TRUE(device_->ReleaseTo(7).ok());
  EXPECT_EQ(driver_->orders, 1u);
  ASSERT_TRUE(device_->WaitFor(9).ok());
  EXPECT_EQ(driver_->last_recorded, 9u);
  EXPECT_EQ(driver_->last_waiting, 7u);
  ASSERT_TRUE(device_->ReleaseTo(1).ok());  // the legacy stream
  EXPECT_EQ(driver_->last_recorded, 7u);
  EXPECT_EQ(driver_->last_waiting, 0u);
  EXPECT_EQ(driver_->orders, 3u);
  // Another thread's launches are in its own stream.
  std::thread([&] {
    EXPECT_EQ(device_->stream(), 0u);
    ASSERT_TRUE(kernel->Launch(slots, nullptr));
  }).join();
  EXPECT_EQ(driver_->last_launched, 0u);
  EXPECT_EQ(driver_->orders, 4u);
  // What the host reads is in the legacy stream.
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->orders, 5u);
  ASSERT_TRUE(buffer->Touch(0, 4, HostAccess::kRead).ok());
  EXPECT_EQ(driver_->last_waiting, 0u);
  EXPECT_EQ(driver_->orders, 6u);
  EXPECT_EQ(Ints(*buffer)[0], 7);
  // The stream may end after the thread's choice.
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  ASSERT_TRUE(device_->UseStream(0).ok());
  EXPECT_EQ(driver_->last_recorded, 7u);
  EXPECT_EQ(driver_->last_waiting, 0u);
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->last_launched, 0u);
}

TEST_F(CudaDeviceTest, RefusesStreamsOfOthers) {
  const Result<> foreign = device_->UseStream(100), none = device_->UseStream(123456);
  ASSERT_FALSE(foreign.ok() || none.ok());
  EXPECT_EQ(
      foreign.error().text,
      "the CUDA stream 100 belongs to another context or device than Fake, device 0, on which "
      "kernels run");
  EXPECT_THAT(none.error().text, HasSubstr("123456 is the handle of no CUDA stream: "));
  EXPECT_EQ(device_->stream(), 0u);
}

// As launches one by one with the same seed do.
TEST_F(CudaDeviceTest, EachStartOfAGraphDrawsOtherNumbers) {
  KernelInfo info = Info({Serial("draw"), Serial("add_one")});
  info.draws = true;
  auto kernel = *Load(info);
  auto buffer = Allocate(8);
  const auto drawn = [&] {
    EXPECT_TRUE(buffer->Touch(0, 8, HostAccess::kRead).ok());
    const uint64_t number = *reinterpret_cast<uint64_t*>(buffer->host());
    EXPECT_TRUE(buffer->HandOver().ok());
    return number;
  };
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 0};
  SetRandomSeed(7);
  std::vector<uint64_t> wanted;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(kernel->Launch(slots, nullptr));
    wanted.push_back(drawn());
  }
  EXPECT_NE(wanted[0], wanted[1]);
  auto graph = *GraphOf(device_, {kernel, kernel}, slots);
  SetRandomSeed(7);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(graph->Launch().ok());
    EXPECT_EQ(drawn(), wanted[2 * i + 1]);
  }
  EXPECT_EQ(driver_->changed_nodes, 2 * 2 * 2);
}

TEST_F(CudaDeviceTest, AGraphHasTemporariesOfItsOwn) {
  KernelInfo info = Info({Range("sum", 10), Serial("keep")});
  info.temporary_bytes = 8;
  auto kernel = *Load(info);
  auto buffer = Allocate(40);
  ASSERT_TRUE(buffer->Touch(0, 40, HostAccess::kWrite).ok());
  Ints(*buffer)[1] = 5;
  ASSERT_TRUE(buffer->HandOver().ok());
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 10};
  const int64_t live = driver_->live;
  auto graph = *GraphOf(device_, {kernel}, slots);
  EXPECT_EQ(driver_->live, live + 1);
  for (const int32_t sum : {5, 10}) {  // with the sum before
    ASSERT_TRUE(graph->Launch().ok());
    ASSERT_TRUE(buffer->Touch(0, 4, HostAccess::kRead).ok());
    EXPECT_EQ(Ints(*buffer)[0], sum);
    ASSERT_TRUE(buffer->HandOver().ok());
  }
  graph.reset();
  EXPECT_EQ(driver_->live, live);
}

TEST_F(CudaDeviceTest, GraphsRefuseWhatTheHostWaitsFor) {
  const uint64_t slots[2] = {};
  for (const char* what : {"results", "prints", "checks", "tapes"}) {
    KernelInfo info = Info({Serial("add_one")});
    if (*what == 'r') info.results = {4};
    info.has_effects = *what == 'p';
    info.can_fail = *what == 'c';
    info.tapes = *what == 't';
    const auto made = GraphOf(device_, {*Load(info)}, slots);
    ASSERT_FALSE(made.ok()) << what;
    EXPECT_EQ(made.error().code, ErrorCode::kUnimplemented);
    EXPECT_THAT(made.error().text, HasSubstr("kernel `step`"));
  }
}

TEST_F(CudaDeviceTest, FailuresOfAGraphNameItsKernels) {
  KernelInfo one = Info({Serial("add_one")}), other = one;
  other.name = "paint";
  const uint64_t slots[2] = {};
  auto graph = *GraphOf(device_, {*Load(one), *Load(other), *Load(one)}, slots);
  driver_->fail_launch = 700;
  const Result<> failed = graph->Launch();
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().text, HasSubstr("the CUDA driver does not launch a graph: "));
  EXPECT_THAT(failed.error().text, HasSubstr("the last ones are `step`, `paint` ("));
  EXPECT_THAT(device_->Synchronize().error().text, HasSubstr("`step`, `paint`"));
  driver_->fail_launch = 0;
  EXPECT_TRUE(device_->Synchronize().ok());
}

TEST_F(CudaDeviceTest, MemoryIsZeroedOnBothSides) {
  auto kernel = *Load(Info({Range("add_one", -1)}));
  auto buffer = Allocate(400);
  EXPECT_NE(buffer->host(), buffer->data());
  EXPECT_EQ(Ints(*buffer)[99], 0);
  ASSERT_TRUE(buffer->HandOver().ok());
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 100};
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->last_blocks, 4u * 16);  // its length is the device's to find out
  ASSERT_TRUE(buffer->Touch(0, 400, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*buffer)[99], 1);
}

// The fake device runs 64 blocks of 128 threads at once.
TEST_F(CudaDeviceTest, BlocksHaveSomethingToDo) {
  auto buffer = Allocate(400'000);  // kernels add to as many numbers
  const auto blocks = [&](const TaskInfo& task, uint64_t length) {
    KernelInfo info = Info({task});
    info.arguments[1].kind = ArgumentSlot::Kind::kExtent;
    auto kernel = *Load(info);
    const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), length};
    driver_->last_blocks = 0;
    EXPECT_TRUE(kernel->Launch(slots, nullptr));
    return driver_->last_blocks;
  };
  TaskInfo known = Range("add_one", 100'000), unknown = Range("add_one", -1);
  unknown.end = 0;
  EXPECT_EQ(blocks(known, 1), 782u);
  EXPECT_EQ(blocks(unknown, 1), 64u);
  known.items_per_thread = unknown.items_per_thread = 4;
  EXPECT_EQ(blocks(known, 1), 196u);
  unknown.length_factor = 2;
  unknown.length_slots = {1};
  EXPECT_EQ(blocks(unknown, 100), 1u);
  EXPECT_EQ(blocks(unknown, 10'000), 40u);
  EXPECT_EQ(blocks(unknown, 0), 1u);  // it is about the length
  EXPECT_EQ(blocks(unknown, 50'000), 196u);
  known.waves = unknown.waves = 2;
  EXPECT_EQ(blocks(known, 1), 128u);
  EXPECT_EQ(blocks(unknown, 50'000), 128u);
  known.waves = unknown.waves = 1;
  EXPECT_EQ(blocks(known, 1), 64u);
  EXPECT_EQ(blocks(unknown, 50'000), 64u);
  device_->LimitBlocks(3);
  EXPECT_EQ(blocks(unknown, 50'000), 3u);
  device_->LimitBlocks(0);
  known.joined = true;
  EXPECT_EQ(blocks(known, 1), 0u);
  unknown.length_slots = {2};
  EXPECT_THAT(Load(Info({unknown})).error().text, HasSubstr("no argument 2"));
}

TEST_F(CudaDeviceTest, FunctionsThatCallThemselvesHaveStacks) {
  TaskInfo task = Range("add_one", 1);
  driver_->stack = 0;
  ASSERT_TRUE(Load(Info({task})).ok());
  EXPECT_EQ(driver_->stack, 0);
  task.recurses = true;
  device_->LimitStack(4096);
  ASSERT_TRUE(Load(Info({task})).ok());
  EXPECT_EQ(driver_->stack, 4096);
  device_->LimitStack(1 << 20);
  EXPECT_THAT(Load(Info({task})).error().text,
              HasSubstr("no stacks of 1048576 bytes for functions that call themselves"));
  device_->LimitStack(0);
  ASSERT_TRUE(Load(Info({task})).ok());
  EXPECT_GE(driver_->stack, 1024);
  EXPECT_LE(driver_->stack, 16384);
}

// A loop over elements is one copy in each direction, and moves only the pages that it touches.
TEST_F(CudaDeviceTest, PagesAreFetchedAndHandedOverOnce) {
  auto kernel = *Load(Info({Range("add_one", 1)}));
  constexpr uint64_t kBytes = 10 * kPage + 12;
  auto buffer = Allocate(kBytes);
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), kBytes / 4};
  ASSERT_TRUE(buffer->HandOver().ok());
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  for (uint64_t at = 3 * kPage; at < 3 * kPage + 400; at += 4) {
    ASSERT_TRUE(buffer->Touch(at, 4, HostAccess::kWrite).ok());
    EXPECT_EQ(Ints(*buffer)[at / 4], 1);
    Ints(*buffer)[at / 4] = 7;
  }
  EXPECT_EQ(driver_->copies_out, 1);
  EXPECT_EQ(driver_->bytes_out, kPage);
  ASSERT_TRUE(buffer->HandOver().ok());
  EXPECT_EQ(driver_->bytes_in, kPage);
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  ASSERT_TRUE(buffer->Touch(0, kBytes, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*buffer)[3 * kPage / 4], 8);
  EXPECT_EQ(Ints(*buffer)[3 * kPage / 4 + 100], 2);
  EXPECT_EQ(Ints(*buffer)[kBytes / 4 - 1], 2);
}

// What the host overwrites whole is not fetched; the rest of the pages at its ends is.
TEST_F(CudaDeviceTest, OverwritingFetchesOnlyTheEnds) {
  auto kernel = *Load(Info({Range("add_one", 1)}));
  constexpr uint64_t kBytes = 8 * kPage;
  auto buffer = Allocate(kBytes);
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), kBytes / 4};
  ASSERT_TRUE(buffer->HandOver().ok());
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  ASSERT_TRUE(buffer->Touch(4, kBytes - 8, HostAccess::kOverwrite).ok());
  EXPECT_EQ(driver_->bytes_out, 2 * kPage);
  std::fill_n(Ints(*buffer) + 1, kBytes / 4 - 2, 5);
  ASSERT_TRUE(buffer->HandOver().ok());
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  *driver_ = {};
  ASSERT_TRUE(buffer->Touch(0, kBytes, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*buffer)[0], 2);
  EXPECT_EQ(Ints(*buffer)[1], 6);
  EXPECT_EQ(Ints(*buffer)[kBytes / 4 - 2], 6);
  EXPECT_EQ(Ints(*buffer)[kBytes / 4 - 1], 2);
  ASSERT_TRUE(buffer->HandOver().ok());
  *driver_ = {};
  ASSERT_TRUE(buffer->Touch(0, kBytes, HostAccess::kOverwrite).ok());
  EXPECT_EQ(driver_->copies_out, 0);
}

TEST_F(CudaDeviceTest, SharedMemoryIsCopiedAtEachAccess) {
  constexpr uint64_t kBytes = 2 * kPage;
  auto kernel = *Load(Info({Range("add_one", kBytes / 4)}));
  auto buffer = Allocate(kBytes);
  ASSERT_TRUE(buffer->Touch(8, 4, HostAccess::kWrite).ok());
  Ints(*buffer)[2] = 7;
  *driver_ = {};
  ASSERT_TRUE(buffer->Share(0, kBytes).ok());
  EXPECT_EQ(driver_->bytes_in, kPage);  // what was written before
  EXPECT_TRUE(buffer->is_shared());
  // A borrowed buffer over the same memory stands for another library.
  std::unique_ptr<Buffer> other = *device_->Borrow(buffer->data(), kBytes, /*has_mirror=*/true);
  ASSERT_TRUE(other->Touch(8, 4, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*other)[2], 7);
  *driver_ = {};
  ASSERT_TRUE(buffer->Touch(8, 4, HostAccess::kWrite).ok());
  Ints(*buffer)[2] = 8;
  ASSERT_TRUE(buffer->Deliver(8, 4).ok());
  EXPECT_EQ(driver_->bytes_in, 4u);
  EXPECT_EQ(driver_->bytes_out, 4u);
  ASSERT_TRUE(other->Touch(8, 4, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*other)[2], 8);
  // A launch hands nothing over, and needs no access before it to be seen after it.
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), kBytes / 4};
  *driver_ = {};
  ASSERT_TRUE(buffer->HandOver().ok());
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->copies_in, 0);
  ASSERT_TRUE(buffer->Touch(0, kBytes, HostAccess::kRead).ok());
  EXPECT_EQ(Ints(*buffer)[2], 9);
  // An overwrite fetches nothing.
  *driver_ = {};
  ASSERT_TRUE(buffer->Touch(0, kBytes, HostAccess::kOverwrite).ok());
  EXPECT_EQ(driver_->copies_out, 0);
  const int64_t live = driver_->live;
  other.reset();  // frees nothing
  EXPECT_EQ(driver_->live, live);
}

// Pages are those of the bytes that nobody else uses: neither a fetch nor a hand-over of them
// touches the others.
TEST_F(CudaDeviceTest, MemoryMayBeSharedInPart) {
  constexpr uint64_t kBytes = 3 * kPage;
  auto buffer = Allocate(kBytes);
  Ints(*buffer)[0] = 1;
  ASSERT_TRUE(buffer->Touch(0, 4, HostAccess::kWrite).ok());
  *driver_ = {};
  ASSERT_TRUE(buffer->Share(kPage - 8, 16).ok());
  EXPECT_EQ(driver_->bytes_in, kPage);  // what was written before
  ASSERT_TRUE(buffer->Share(kPage + 8, 8).ok());
  ASSERT_TRUE(buffer->Share(100, 4).ok());
  ASSERT_TRUE(buffer->Share(100, 0).ok());
  // A borrowed buffer over the same memory stands for another library.
  std::unique_ptr<Buffer> other = *device_->Borrow(buffer->data(), kBytes, /*has_mirror=*/true);
  const auto of_other = [&](uint64_t at) {
    EXPECT_TRUE(other->Touch(at, 4, HostAccess::kRead).ok());
    return Ints(*other)[at / 4];
  };
  const auto set_other = [&](uint64_t at, int32_t value) {
    Ints(*other)[at / 4] = value;
    EXPECT_TRUE(other->Deliver(at, 4).ok());
  };
  // Both write to the same page, between hand-overs of it.
  ASSERT_TRUE(buffer->Touch(kPage - 16, 8, HostAccess::kWrite).ok());
  set_other(kPage - 8, 5);
  Ints(*buffer)[kPage / 4 - 3] = 6;
  ASSERT_TRUE(buffer->Deliver(kPage - 16, 8).ok());  // shared bytes only: none
  EXPECT_EQ(of_other(kPage - 12), 0);
  *driver_ = {};
  ASSERT_TRUE(buffer->HandOver().ok());
  EXPECT_EQ(driver_->bytes_in, kPage - 8 - 4);
  EXPECT_EQ(of_other(kPage - 12), 6);
  EXPECT_EQ(of_other(kPage - 8), 5);
  // An access may be to both.
  *driver_ = {};
  ASSERT_TRUE(buffer->Touch(kPage - 12, 32, HostAccess::kWrite).ok());
  EXPECT_EQ(driver_->bytes_out, (kPage - 8 - 4) + 24 + (kPage - 16));
  EXPECT_EQ(Ints(*buffer)[kPage / 4 - 2], 5);
  Ints(*buffer)[kPage / 4 - 2] = 7;
  Ints(*buffer)[kPage / 4 + 4] = 8;
  ASSERT_TRUE(buffer->Deliver(kPage - 12, 32).ok());
  EXPECT_EQ(driver_->bytes_in, 24u);
  EXPECT_EQ(of_other(kPage - 8), 7);
  set_other(kPage + 12, 9);
  // The host reads what is shared anew, and the rest from its mirror.
  *driver_ = {};
  ASSERT_TRUE(buffer->Touch(0, kBytes, HostAccess::kRead).ok());
  EXPECT_EQ(driver_->bytes_out, 4 + 24 + kPage);
  EXPECT_EQ(Ints(*buffer)[kPage / 4 + 3], 9);
  EXPECT_EQ(Ints(*buffer)[kPage / 4 + 4], 8);
  ASSERT_TRUE(buffer->HandOver().ok());
  EXPECT_EQ(of_other(kPage + 12), 9);
  EXPECT_EQ(of_other(kPage + 16), 8);
  EXPECT_EQ(of_other(0), 1);
}

TEST_F(CudaDeviceTest, BorrowsOnlyItsOwnMemory) {
  const auto refused = [&](uint64_t address) {
    const auto made = device_->Borrow(reinterpret_cast<uint8_t*>(address), 8, false);
    return made.ok() ? "" : made.error().text;
  };
  EXPECT_THAT(refused(4096), HasSubstr("not in the memory of a CUDA device"));
  EXPECT_THAT(refused(uint64_t{1} << 61), HasSubstr("on CUDA device 1, the program's kernels run"));
  EXPECT_TRUE(device_->Borrow(nullptr, 0, false).ok());
}

TEST_F(CudaDeviceTest, StreamsOfOthersAreOrdered) {
  *driver_ = {};
  ASSERT_TRUE(device_->WaitFor(77).ok());
  EXPECT_EQ(driver_->last_recorded, 77u);
  EXPECT_EQ(driver_->last_waiting, 0u);
  ASSERT_TRUE(device_->ReleaseTo(88).ok());
  EXPECT_EQ(driver_->last_recorded, 0u);
  EXPECT_EQ(driver_->last_waiting, 88u);
}

TEST_F(CudaDeviceTest, ResultsAndTemporaries) {
  KernelInfo info = Info({Range("sum", 100), Serial("give")});
  info.results = {1};
  info.temporary_bytes = 8;
  auto kernel = *Load(info);
  auto buffer = Allocate(400);
  ASSERT_TRUE(buffer->Touch(0, 400, HostAccess::kOverwrite).ok());
  std::iota(Ints(*buffer), Ints(*buffer) + 100, 0);
  ASSERT_TRUE(buffer->HandOver().ok());
  const uint64_t slots[] = {reinterpret_cast<uint64_t>(buffer->data()), 100};
  for (int i = 0; i < 3; ++i) {  // temporaries begin at zero each time
    uint64_t result = 0;
    ASSERT_TRUE(kernel->Launch(slots, &result));
    EXPECT_EQ(result, 4950u);
  }
}

TEST_F(CudaDeviceTest, PrintsComeInTheLoopsOrderAndFailuresAtOnce) {
  KernelInfo info = Info({Range("report", 2)});
  info.has_effects = info.can_fail = true;
  auto kernel = *Load(info);
  for (int i = 0; i < 2; ++i) {
    std::vector<uint64_t> printed, failed;
    LaunchHooks hooks;
    hooks.print = [&](uint32_t node, const uint64_t* values, uint32_t count) {
      EXPECT_EQ(node, 7u);
      printed.insert(printed.end(), values, values + count);
    };
    hooks.fail = [&](uint32_t node, const uint64_t* values, uint32_t count) {
      EXPECT_EQ(node, 9u);
      failed.assign(values, values + count);
    };
    const uint64_t slots[] = {10, 20};
    EXPECT_FALSE(kernel->Launch(slots, nullptr, {&hooks}));
    EXPECT_THAT(printed, ElementsAre(10, 20));
    EXPECT_THAT(failed, ElementsAre(42));
  }
}

TEST_F(CudaDeviceTest, EmptyLoopsAreNotLaunched) {
  auto kernel = *Load(Info({Range("add_one", 0)}));
  const uint64_t slots[] = {0, 0};
  EXPECT_TRUE(kernel->Launch(slots, nullptr));
  EXPECT_EQ(driver_->launches, 0);
}

TEST_F(CudaDeviceTest, OldDriversCompileThePtx) {
  driver_->refuse_cubins = 1;
  EXPECT_TRUE(Load(Info({Range("add_one", 1)})).ok());
  // "ptx" has its size and checksum.
  const std::string payload = PackCudaPayload("cubin", "ptx");
  const auto damaged =
      device_->LoadBytes(payload.substr(0, payload.size() - 4), Info({Range("add_one", 1)}), {});
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, ErrorCode::kDataLoss);
}

TEST_F(CudaDeviceTest, RefusesUnsuitableArtifacts) {
  KernelInfo info = Info({Range("add_one", 1)});
  info.target = Target::Cpu(3);
  EXPECT_THAT(Load(info).error().text, HasSubstr("made for x86-64-v3, the device is sm_90"));
  info = Info({Range("add_one", 1)});
  info.runtime_abi += 1;
  EXPECT_EQ(Load(info).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Load(Info({Range("absent", 1)})).error().code, ErrorCode::kDataLoss);
  TaskInfo listgen;
  listgen.kind = TaskKind::kListgen;
  EXPECT_THAT(Load(Info({listgen})).error().text, HasSubstr("the artifact has no tree 0"));
  info = Info({Range("add_one", 1)});
  info.arguments.resize(KILN_CUDA_MAX_SLOTS + 1);
  EXPECT_THAT(Load(info).error().text, HasSubstr("4090 argument slots; on CUDA at most 4089"));
  EXPECT_EQ(device_->LoadBytes("no payload", Info({}), {}).error().code, ErrorCode::kDataLoss);
}

TEST_F(CudaDeviceTest, ExhaustedMemoryNamesTheSizes) {
  const int64_t live = driver_->live;
  driver_->fail_allocation = 1;
  const auto buffer = device_->Allocate(uint64_t{5} << 20);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(buffer.error().text, HasSubstr("5 MiB) for fields on Fake, of whose 8 MiB 1 are"));
  EXPECT_EQ(driver_->live, live);
}

TEST_F(CudaDeviceTest, AReservedBufferGrows) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const int64_t live = driver_->live;
  {
    const Result<std::unique_ptr<MirroredBuffer>> made =
        MirroredBuffer::Reserve(device_, 80 * kMiB, kMiB);
    ASSERT_TRUE(made.ok());
    MirroredBuffer& buffer = **made;
    const uint8_t* const address = buffer.data();
    EXPECT_EQ(buffer.size(), 80 * kMiB);
    EXPECT_EQ(buffer.committed(), kMiB);
    int32_t* const end = Ints(buffer) + kMiB / 4;
    ASSERT_TRUE(buffer.Touch(kMiB - 400, 400, HostAccess::kWrite).ok());
    end[-1] = 7;
    ASSERT_TRUE(buffer.HandOver().ok());

    *driver_ = {};
    ASSERT_TRUE(buffer.Grow(2 * kMiB + 5).ok());
    EXPECT_EQ(driver_->fills, 1);
    EXPECT_EQ(driver_->waits + driver_->copies_in + driver_->copies_out, 0);
    EXPECT_EQ(buffer.committed(), 3 * kMiB);
    EXPECT_EQ(buffer.data(), address);
    // A kernel on both sides of the old end.
    auto kernel = *Load(Info({Range("add_one", 200)}));
    const uint64_t slots[] = {reinterpret_cast<uint64_t>(address) + kMiB - 400, 200};
    ASSERT_TRUE(kernel->Launch(slots, nullptr));
    ASSERT_TRUE(buffer.Touch(kMiB - 400, 2 * kMiB, HostAccess::kRead).ok());
    EXPECT_THAT(std::vector<int32_t>(end - 100, end - 1), Each(1));
    EXPECT_EQ(end[-1], 8);
    EXPECT_THAT(std::vector<int32_t>(end, end + 100), Each(1));
    EXPECT_THAT(std::vector<int32_t>(end + 100, end + 100000), Each(0));

    driver_->fail_allocation = 1;
    EXPECT_EQ(buffer.Grow(kMiB).error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(buffer.committed(), 3 * kMiB);
    ASSERT_TRUE(buffer.Grow(uint64_t{1} << 40).ok());
    EXPECT_EQ(buffer.committed(), buffer.size());
    ASSERT_TRUE(buffer.Grow(kMiB).ok());
    EXPECT_EQ(buffer.committed(), buffer.size());
    // Pages are handed over in parts of 64 MiB.
    int32_t* const border = Ints(buffer) + 64 * kMiB / 4;
    ASSERT_TRUE(buffer.Touch(64 * kMiB - 8, 16, HostAccess::kWrite).ok());
    std::fill(border - 2, border + 2, 5);
    ASSERT_TRUE(buffer.HandOver().ok());
    const uint64_t other_slots[] = {reinterpret_cast<uint64_t>(address) + 64 * kMiB - 8, 4};
    ASSERT_TRUE(kernel->Launch(other_slots, nullptr));
    ASSERT_TRUE(buffer.Touch(64 * kMiB - 8, 16, HostAccess::kRead).ok());
    EXPECT_THAT(std::vector<int32_t>(border - 2, border + 2), Each(6));
    driver_->live = live + 4;  // cleared above: addresses and three pieces
  }
  EXPECT_EQ(driver_->live, live);
}

TEST_F(CudaDeviceTest, ErrorsNameTheKernelsLaunched) {
  auto kernel = *Load(Info({Range("add_one", 1)}));
  ASSERT_TRUE(device_->Synchronize().ok());
  const uint64_t slots[] = {0, 0};
  ASSERT_TRUE(kernel->Launch(slots, nullptr));
  driver_->fail_launch = 700;
  EXPECT_THAT(device_->Synchronize().error().text,
              HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS, it is a test, in kernel `step`"));
  std::string said;
  LaunchHooks hooks;
  hooks.error = [&](std::string_view text) { said = text; };
  EXPECT_FALSE(kernel->Launch(slots, nullptr, {&hooks}));
  EXPECT_THAT(said, HasSubstr("the launch of kernel `step` failed"));
  // Another kernel with the same code.
  const auto names = std::make_shared<const std::vector<std::string>>(1, "advance");
  hooks.names = &names;
  EXPECT_FALSE(kernel->Launch(slots, nullptr, {&hooks}));
  EXPECT_THAT(said, HasSubstr("the launch of kernel `advance` failed"));
}

TEST_F(CudaDeviceTest, AForkedChildIsTold) {
  auto buffer = Allocate(kPage);
  ASSERT_TRUE(buffer->HandOver().ok());
  const pid_t child = fork();
  if (child == 0) {
    const Result<> touched = buffer->Touch(0, 4, HostAccess::kRead);
    const Result<CudaDevice*> other = CudaDevice::Get(7);  // that is not made yet
    const auto is_told = [](const auto& done) {
      return !done.ok() && done.error().text.find("'spawn'") != std::string::npos;
    };
    _exit(is_told(touched) && is_told(other) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(CudaDeviceTest, MemoryIsGivenBack) {
  const int64_t live = driver_->live;
  {
    KernelInfo info = Info({Range("sum", 1)});
    info.temporary_bytes = 8;
    auto kernel = *Load(info);
    auto buffer = Allocate(1000);
    EXPECT_EQ(driver_->live, live + 2);
  }
  EXPECT_TRUE(device_->FreeIdle());
  EXPECT_EQ(driver_->live, live);
}

// To free memory waits for the device.
TEST_F(CudaDeviceTest, MemoryIsUsedAgain) {
  constexpr uint64_t kBytes = 3 * kPage;
  auto kernel = *Load(Info({Range("add_one", 1)}));
  const int64_t live = driver_->live;
  uint8_t* data = nullptr;
  for (int i = 0; i < 3; ++i) {
    auto buffer = Allocate(kBytes);
    EXPECT_EQ(driver_->live, live + 1);
    if (i > 0) {
      EXPECT_EQ(buffer->data(), data);
    }
    data = buffer->data();
    const uint64_t slots[] = {reinterpret_cast<uint64_t>(data), 1};
    ASSERT_TRUE(buffer->HandOver().ok());
    ASSERT_TRUE(kernel->Launch(slots, nullptr));
    ASSERT_TRUE(buffer->Touch(0, 4, HostAccess::kRead).ok());
    EXPECT_EQ(Ints(*buffer)[0], 1) << "of zeroed memory";
  }
  auto another = Allocate(kBytes + 4096);
  EXPECT_EQ(driver_->live, live + 2);
  // Another library may use this for longer than the buffer.
  ASSERT_TRUE(another->Share(0, 4).ok());
  another.reset();
  EXPECT_EQ(driver_->live, live + 1);
}

TEST_F(CudaDeviceTest, LittleMemoryStaysIdle) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const int64_t live = driver_->live;
  Allocate(300 * kMiB).reset();
  EXPECT_EQ(driver_->live, live);
  auto first = Allocate(200 * kMiB), second = Allocate(100 * kMiB);
  first.reset();
  EXPECT_EQ(driver_->live, live + 2);
  second.reset();
  EXPECT_EQ(driver_->live, live);
  Allocate(kMiB).reset();
  EXPECT_EQ(driver_->live, live + 1);
  driver_->fail_allocation = 1;
  first = Allocate(2 * kMiB);  // at the second try
  EXPECT_EQ(driver_->live, live + 1);
}

}  // namespace
}  // namespace kiln
