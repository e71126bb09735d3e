#include "runtime/cuda/cuda_kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/artifact/cuda_payload.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/grid.h"
#include "runtime/cuda/tree_work.h"
#include "runtime/cuda_abi.h"
#include "runtime/cuda_abi_digest.h"
#include "runtime/device_lib/cuda_tree.h"
#include "runtime/random.h"

namespace kiln {
namespace {

using cuda::Address;

constexpr uint64_t kPrintBytes = uint64_t{1} << 20;

// Memory of the host that the device writes during a launch: reports, then the results.
class Scratch {
 public:
  static Result<std::unique_ptr<Scratch>> Make(CudaDevice* device, uint64_t print_bytes,
                                               uint64_t num_results) {
    auto scratch = std::make_unique<Scratch>(device);
    scratch->results_at_ = sizeof(KilnCudaReports) + print_bytes;
    const uint64_t bytes = scratch->results_at_ + num_results * sizeof(uint64_t);
    const cuda::Driver& driver = device->driver();
    cuda::Code code =
        driver.HostAlloc(&scratch->memory_, bytes, cuda::kHostPortable | cuda::kHostDeviceMap);
    if (code == cuda::kSuccess) {
      code = driver.HostGetDevicePointer(&scratch->address_, scratch->memory_, 0);
    }
    if (code != cuda::kSuccess) return device->ErrorOf(code, "no memory for a launch's results");
    std::memset(scratch->memory_, 0, bytes);
    scratch->reports().print_capacity = print_bytes;
    return scratch;
  }
  explicit Scratch(CudaDevice* device) : device_(device) {}
  ~Scratch() {
    if (memory_ != nullptr && device_->Enter().ok()) device_->driver().HostFree(memory_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  KilnCudaReports& reports() { return *static_cast<KilnCudaReports*>(memory_); }
  uint64_t* results() {
    return reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(memory_) + results_at_);
  }
  Address reports_address() const { return address_; }
  Address results_address() const { return address_ + results_at_; }

 private:
  CudaDevice* device_;
  void* memory_ = nullptr;
  Address address_ = 0;
  uint64_t results_at_ = 0;
};

// The nodes of a tree with sparse levels.
bool IsNodes(const ArgumentSlot& slot) {
  return slot.kind == ArgumentSlot::Kind::kTree && slot.element == 1;
}

class CudaKernel final : public DeviceCode {
 public:
  CudaKernel(CudaDevice* device, const KernelInfo& info, cuda::Module module)
      : device_(device),
        info_(info),
        own_names_(std::make_shared<const std::vector<std::string>>(1, info.name)),
        uses_trees_(std::any_of(info.arguments.begin(), info.arguments.end(), IsNodes)),
        module_(module) {}
  ~CudaKernel() override;

  Result<> Bind();
  bool Launch(const uint64_t* arguments, uint64_t* results,
              const LaunchOptions& options) const override;
  Result<> AddTo(LaunchGraph* graph, const uint64_t* arguments) const override;

 private:
  struct BoundTask {
    cuda::Function function = nullptr;
    Grid grid;
    // Work of the runtime's own on a node of the tree whose nodes are in a slot; -1: none.
    int tree_slot = -1;
    uint32_t node = 0, work = 0;
  };

  // Whether the host waits for launches: their results or reports are for it.
  bool IsAwaited() const { return !info_.results.empty() || info_.has_effects || info_.can_fail; }
  Result<BoundTask> BindTask(const TaskInfo& task) const;
  uint64_t Resident(cuda::Function function, uint32_t threads) const;
  Result<BoundTask> BindWork(const TaskInfo& task) const;
  Result<std::unique_ptr<Scratch>> TakeScratch() const;
  Result<> Start(KilnCudaLaunch* launch, const NamesInErrors& names) const;
  Result<> Enqueue(KilnCudaLaunch* launch, const NamesInErrors& names, cuda::Stream stream) const;
  // Hands the reports of a launch to the hooks. False if a check failed.
  static bool Deliver(KilnCudaReports* reports, const LaunchHooks* hooks);

  CudaDevice* const device_;
  const KernelInfo info_;
  const NamesInErrors own_names_;  // one, for launches that have none
  const bool uses_trees_;
  const cuda::Module module_;
  std::vector<BoundTask> tasks_;
  mutable std::mutex mutex_;  // of the members below
  // Of all launches, which the stream keeps apart.
  Address temporaries_ = 0;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

CudaKernel::~CudaKernel() {
  if (!device_->Enter().ok()) return;  // a forked child's memory is the parent's
  if (temporaries_ != 0) device_->driver().MemFree(temporaries_);
  device_->driver().ModuleUnload(module_);
}

Result<CudaKernel::BoundTask> CudaKernel::BindTask(const TaskInfo& task) const {
  BoundTask bound;
  if (task.joined) {
    bound.grid = Grid::Nothing();
    return bound;
  }
  if (task.kind == TaskKind::kListgen || task.kind == TaskKind::kGc) return BindWork(task);
  if (task.kind != TaskKind::kSerial && task.kind != TaskKind::kRange &&
      task.kind != TaskKind::kStruct) {
    return Error{ErrorCode::kUnimplemented,
                 "task kind " + std::to_string(static_cast<int>(task.kind)) + " on CUDA"};
  }
  const cuda::Code code =
      device_->driver().ModuleGetFunction(&bound.function, module_, task.symbol.c_str());
  if (code != cuda::kSuccess) {
    return Error{ErrorCode::kDataLoss, "the artifact has no '" + task.symbol + "'"};
  }
  if (task.kind == TaskKind::kSerial) return bound;
  for (const uint32_t slot : task.length_slots) {
    if (slot >= info_.arguments.size()) {
      return Error{ErrorCode::kDataLoss, "the artifact has no argument " + std::to_string(slot)};
    }
  }
  bound.grid = Grid(task, info_, Resident(bound.function, Grid::ThreadsOf(task)));
  return bound;
}

// How many blocks of so many threads run at once. The driver knows what the function needs, also
// where it has compiled it itself.
uint64_t CudaKernel::Resident(cuda::Function function, uint32_t threads) const {
  constexpr int kBlocksPerMultiprocessor = 16;  // where the driver does not say
  int blocks = 0;
  const cuda::Code code =
      device_->driver().Occupancy(&blocks, function, static_cast<int>(threads), 0);
  if (code != cuda::kSuccess || blocks <= 0) blocks = kBlocksPerMultiprocessor;
  return uint64_t{device_->multiprocessors()} * static_cast<uint64_t>(blocks);
}

Result<CudaKernel::BoundTask> CudaKernel::BindWork(const TaskInfo& task) const {
  BoundTask bound;
  bound.node = task.node;
  bound.work = task.kind == TaskKind::kGc ? KILN_CUDA_COLLECT
               : task.slices              ? KILN_CUDA_LIST_SLICES
                                          : KILN_CUDA_LIST_CELLS;
  for (size_t i = 0; i < info_.arguments.size(); ++i) {
    const ArgumentSlot& slot = info_.arguments[i];
    if (IsNodes(slot) && slot.param == task.tree) {
      bound.tree_slot = static_cast<int>(i);
    }
  }
  if (bound.tree_slot < 0) {
    return Error{ErrorCode::kDataLoss, "the artifact has no tree " + std::to_string(task.tree)};
  }
  if (Result<> loaded = device_->LoadTreeKernel(); !loaded.ok()) return loaded.error();
  return bound;
}

Result<> CudaKernel::Bind() {
  if (std::any_of(info_.tasks.begin(), info_.tasks.end(),
                  [](const TaskInfo& task) { return task.recurses; })) {
    if (Result<> deepened = device_->DeepenStack(); !deepened.ok()) return deepened;
  }
  for (const TaskInfo& task : info_.tasks) {
    Result<BoundTask> bound = BindTask(task);
    if (!bound.ok()) return bound.error();
    tasks_.push_back(*bound);
  }
  if (info_.temporary_bytes == 0) return {};
  const cuda::Code code = device_->driver().MemAlloc(&temporaries_, info_.temporary_bytes);
  if (code == cuda::kSuccess) return {};
  return device_->ErrorOf(code, "no memory for a kernel's temporaries");
}

Result<std::unique_ptr<Scratch>> CudaKernel::TakeScratch() const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(idle_.back());
      idle_.pop_back();
      return scratch;
    }
  }
  return Scratch::Make(device_, info_.has_effects ? kPrintBytes : 0, info_.results.size());
}

Result<> CudaKernel::Enqueue(KilnCudaLaunch* launch, const NamesInErrors& names,
                             cuda::Stream stream) const {
  void* parameters[] = {launch};
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const BoundTask& task = tasks_[i];
    const unsigned blocks = task.grid.Blocks(launch->arguments, device_->most_blocks());
    if (blocks == 0) continue;
    launch->task = i;  // the driver copies the parameters of each launch
    const auto start = [&] {
      return task.tree_slot >= 0 ? cuda::StartTreeWork(*device_, launch->arguments[task.tree_slot],
                                                       task.node, task.work, stream)
                                 : device_->driver().LaunchKernel(
                                       task.function, blocks, 1, 1, task.grid.threads(), 1, 1,
                                       /*shared_bytes=*/0, stream, parameters, nullptr);
    };
    cuda::Code code = start();
    if (CudaDevice::IsStray(code)) {
      if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
      code = start();
    }
    if (code != cuda::kSuccess) {
      return device_->ErrorOf(code, "the launch of kernel `" + names->front() + "` failed");
    }
  }
  return {};
}

Result<> CudaKernel::Start(KilnCudaLaunch* launch, const NamesInErrors& names) const {
  device_->NoteLaunch(names);
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeLaunchTurn(&turn); !taken.ok()) return taken;
  if (info_.tapes) {
    Result<Address> tapes = device_->tapes().Clear(turn.stream());
    if (!tapes.ok()) return tapes.error();
    launch->tapes = reinterpret_cast<KilnCudaTapes*>(*tapes);
  }
  if (temporaries_ == 0) return Enqueue(launch, names, turn.stream());
  // Launches of other threads must not come between the clearing and the tasks.
  const std::lock_guard<std::mutex> lock(mutex_);
  launch->temporaries = reinterpret_cast<uint8_t*>(temporaries_);
  const cuda::Code code =
      device_->driver().Set8(temporaries_, 0, info_.temporary_bytes, turn.stream());
  if (code != cuda::kSuccess) return device_->ErrorOf(code, "clearing temporaries failed");
  return Enqueue(launch, names, turn.stream());
}

bool CudaKernel::Deliver(KilnCudaReports* reports, const LaunchHooks* hooks) {
  struct Print {
    uint64_t task, iteration, at;
    uint32_t node, count;
    const uint64_t* values;
  };
  std::vector<Print> prints;
  const uint64_t end = std::min(reports->print_bytes, reports->print_capacity);
  for (uint64_t at = 0; at + sizeof(KilnCudaPrint) <= end;) {
    const auto* record = reinterpret_cast<const KilnCudaPrint*>(reports->prints + at);
    // A record that did not fit was never written; what follows it, neither.
    if (record->size < sizeof *record || record->size > end - at) break;
    prints.push_back(
        {record->task, record->iteration, at, record->node, record->count, record->values});
    at += record->size;
  }
  // As a serial run would print: iteration by iteration, and within one in the order of its prints.
  std::sort(prints.begin(), prints.end(), [](const Print& a, const Print& b) {
    return std::tie(a.task, a.iteration, a.at) < std::tie(b.task, b.iteration, b.at);
  });
  if (hooks != nullptr && hooks->print) {
    for (const Print& print : prints) hooks->print(print.node, print.values, print.count);
  }
  if (reports->print_bytes > reports->print_capacity) {
    std::fprintf(stderr,
                 "kiln: a launch printed %llu bytes on the CUDA device, which keeps %llu: the rest "
                 "is lost\n",
                 static_cast<unsigned long long>(reports->print_bytes),
                 static_cast<unsigned long long>(reports->print_capacity));
  }
  const bool failed = reports->failed != 0;
  if (failed && hooks != nullptr && hooks->fail) {
    const uint32_t count = std::min<uint32_t>(reports->count, KILN_CUDA_MAX_FAILURE_VALUES);
    hooks->fail(reports->node, reports->values, count);
  }
  // As the next launch expects it: records are recognised by their sizes.
  std::memset(reports->prints, 0, end);
  reports->failed = reports->ready = 0;
  reports->print_bytes = 0;
  return !failed;
}

bool CudaKernel::Launch(const uint64_t* arguments, uint64_t* results,
                        const LaunchOptions& options) const {
  const auto fail = [&](const Error& error) {
    if (options.hooks != nullptr && options.hooks->error) options.hooks->error(error.text);
    return false;
  };
  // Only what launches tasks, and nothing else, can be tried again.
  const bool only_launches = temporaries_ == 0 && !info_.tapes && !IsAwaited();
  if (Result<> entered = only_launches ? device_->EnterForLaunch() : device_->Enter();
      !entered.ok()) {
    return fail(entered.error());
  }
  if (uses_trees_) device_->trees().Grow();
  std::unique_ptr<Scratch> scratch;
  if (IsAwaited()) {
    Result<std::unique_ptr<Scratch>> taken = TakeScratch();
    if (!taken.ok()) return fail(taken.error());
    scratch = *std::move(taken);
  }
  const size_t num_slots = info_.arguments.size(), num_results = info_.results.size();
  // The driver copies the parameters before it returns.
  alignas(KilnCudaLaunch)
      uint8_t bytes[sizeof(KilnCudaLaunch) + KILN_CUDA_MAX_SLOTS * sizeof(uint64_t)];
  auto* const launch = reinterpret_cast<KilnCudaLaunch*>(bytes);
  *launch = {};
  if (scratch != nullptr) {
    // A kernel that ends without a return statement leaves them as they are.
    if (num_results > 0) std::memcpy(scratch->results(), results, num_results * sizeof *results);
    launch->results = reinterpret_cast<uint64_t*>(scratch->results_address());
    launch->reports = reinterpret_cast<KilnCudaReports*>(scratch->reports_address());
  } else {
    launch->reports = reinterpret_cast<KilnCudaReports*>(device_->idle_reports());
  }
  if (info_.draws) launch->random = options.random ? *options.random : NextLaunchRandom();
  if (num_slots > 0) std::memcpy(launch->arguments, arguments, num_slots * sizeof *arguments);
  const NamesInErrors* names = options.hooks != nullptr ? options.hooks->names : nullptr;
  if (names == nullptr || *names == nullptr) names = &own_names_;
  if (Result<> started = Start(launch, *names); !started.ok()) return fail(started.error());
  if (scratch == nullptr) {
    // The failure of an earlier launch, mostly.
    const Result<> noticed = device_->TakeNotice();
    return noticed.ok() || fail(noticed.error());
  }
  if (options.hooks != nullptr && options.hooks->awaits) options.hooks->awaits();
  if (Result<> done = device_->Synchronize(); !done.ok()) return fail(done.error());
  if (num_results > 0) std::memcpy(results, scratch->results(), num_results * sizeof *results);
  const bool ok = Deliver(&scratch->reports(), options.hooks);
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(scratch));
  return ok;
}

Result<> CudaKernel::AddTo(LaunchGraph* to, const uint64_t* arguments) const {
  if (IsAwaited() || info_.tapes) {
    return Error{ErrorCode::kUnimplemented,
                 "the host waits for launches of kernel `" + info_.name + "`"};
  }
  auto* const graph = static_cast<CudaGraph*>(to);
  if (uses_trees_) graph->NoteTrees();
  KilnCudaLaunch* const launch = graph->AddLaunch(arguments, info_.arguments.size(), info_.draws);
  launch->reports = reinterpret_cast<KilnCudaReports*>(device_->idle_reports());
  if (info_.temporary_bytes > 0) {
    Result<Address> temporaries = graph->AddTemporaries(info_.temporary_bytes);
    if (!temporaries.ok()) return temporaries.error();
    launch->temporaries = reinterpret_cast<uint8_t*>(*temporaries);
  }
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const BoundTask& task = tasks_[i];
    if (task.grid.Blocks(arguments, device_->most_blocks()) == 0) continue;
    const Result<> added = task.tree_slot >= 0
                               ? graph->AddTreeWork(arguments[task.tree_slot], task.node, task.work)
                               : graph->AddTask(task.function, &task.grid, i);
    if (!added.ok()) return added;
  }
  return {};
}

// The cubin if the driver takes it, else the PTX, which the driver compiles.
Result<cuda::Module> LoadModule(CudaDevice* device, const CudaPayload& payload) {
  const cuda::Driver& driver = device->driver();
  cuda::Module module = nullptr;
  cuda::Code code = cuda::kNoBinaryForGpu;
  if (!payload.cubin.empty()) {
    // Copied, because the driver expects it aligned.
    const std::vector<uint64_t> image = [&] {
      std::vector<uint64_t> words((payload.cubin.size() + 7) / 8);
      std::memcpy(words.data(), payload.cubin.data(), payload.cubin.size());
      return words;
    }();
    code = driver.ModuleLoadData(&module, image.data());
  }
  if (code == cuda::kNoBinaryForGpu || code == cuda::kInvalidImage) {
    std::string ptx;
    if (std::string wrong = CudaPtxText(payload, &ptx); !wrong.empty()) {
      return Error{ErrorCode::kDataLoss, std::move(wrong)};
    }
    code = driver.ModuleLoadData(&module, ptx.c_str());
  }
  if (code == cuda::kUnsupportedPtxVersion) {
    return Error{ErrorCode::kFailedPrecondition,
                 "the CUDA driver, which has " + cuda::VersionText(driver.Version()) +
                     ", is too old for the kernel's code: it needs " +
                     cuda::VersionText(cuda::kOldestDriver) + " (R520)"};
  }
  if (code != cuda::kSuccess) {
    return driver.ErrorOf(code, "the CUDA driver does not load the kernel's code");
  }
  return module;
}

}  // namespace

Result<std::shared_ptr<const LoadedKernel>> LoadCudaKernel(CudaDevice* device,
                                                           std::string_view payload,
                                                           KernelInfo info) {
  if (!device->target().Runs(info.target)) {
    return Error{ErrorCode::kFailedPrecondition,
                 "made for " + (info.target.empty() ? "no known target" : info.target.text()) +
                     ", the device is " + device->target().text()};
  }
  if (info.runtime_abi != kCudaAbi) {
    return Error{ErrorCode::kFailedPrecondition, "made for another CUDA ABI of Kiln's runtime"};
  }
  if (info.arguments.size() > KILN_CUDA_MAX_SLOTS) {
    return Error{ErrorCode::kUnimplemented,
                 "kernel `" + info.name + "` takes " + std::to_string(info.arguments.size()) +
                     " argument slots; on CUDA at most " + std::to_string(KILN_CUDA_MAX_SLOTS) +
                     " are possible"};
  }
  if (Result<> entered = device->Enter(); !entered.ok()) return entered.error();
  if (info.arguments.size() > KILN_CUDA_FEW_SLOTS) {
    const int version = device->driver().Version();
    if (version < cuda::kOldestDriverForManySlots) {
      return Error{ErrorCode::kFailedPrecondition,
                   "kernel `" + info.name + "` takes " + std::to_string(info.arguments.size()) +
                       " argument slots; the CUDA driver, which has " + cuda::VersionText(version) +
                       ", takes " + std::to_string(KILN_CUDA_FEW_SLOTS) + ": more need " +
                       cuda::VersionText(cuda::kOldestDriverForManySlots)};
    }
  }
  CudaPayload parts;
  if (std::string wrong = UnpackCudaPayload(payload, &parts); !wrong.empty()) {
    return Error{ErrorCode::kDataLoss, std::move(wrong)};
  }
  Result<cuda::Module> module = LoadModule(device, parts);
  if (!module.ok()) return module.error();
  auto kernel = std::make_unique<CudaKernel>(device, info, *module);
  if (Result<> bound = kernel->Bind(); !bound.ok()) return bound.error();
  return LoadedKernel::OnDevice(device, std::move(kernel), std::move(info));
}

}  // namespace kiln
