#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "common/base/first_use.h"
#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/cuda_tree.h"
#include "runtime/cuda/mirrored_buffer.h"
#include "runtime/cuda_abi.h"
#include "runtime/thread_tape.h"

namespace kiln {
namespace {

using cuda::Address;

// The first with threads that make progress of their own (sm_75: Turing).
constexpr uint32_t kOldestArch = 75;

std::string Capability(uint32_t arch) {
  return std::to_string(arch / 10) + "." + std::to_string(arch % 10);
}

std::string WithCapability(const std::string& name, uint32_t arch) {
  return name + " has compute capability " + Capability(arch);
}

// Fails if there is none.
Result<> CountDevices(const cuda::Driver& driver, int* count) {
  const cuda::Code code = driver.DeviceGetCount(count);
  if (code == cuda::kSuccess && *count > 0) return {};
  return driver.ErrorOf(code == cuda::kSuccess ? cuda::kNoDevice : code, "no CUDA device");
}

// So many launches are named when the device fails.
constexpr size_t kNamedLaunches = 8;

// Scratch memory comes in powers of two, from the least on, between margins.
constexpr uint64_t kLeastScratch = uint64_t{1} << 16, kScratchMargin = 256;
// Of idle memory. Few blocks: they are searched one by one.
constexpr uint64_t kMostIdleBytes = uint64_t{256} << 20;
constexpr size_t kMostIdle = 1024;

uint64_t ScratchSize(uint64_t bytes) {
  uint64_t size = kLeastScratch;
  while (size < bytes + 2 * kScratchMargin) size *= 2;
  return size;
}

// Another thread's work of ours, or another library, may have made another context current.
thread_local cuda::Context current_context = nullptr;

// What the thread has chosen, for each device that it has chosen one of.
struct ChosenStream {
  const CudaDevice* device;
  cuda::Stream stream;
};
thread_local std::vector<ChosenStream> chosen_streams;

// 1 is CUDA's other name of the legacy default stream.
cuda::Stream StreamOf(uint64_t handle) {
  return handle == 1 ? nullptr : reinterpret_cast<cuda::Stream>(handle);
}

// The devices by their numbers.
std::map<int32_t, CudaDevice*>& Made() {
  static FirstUse<std::map<int32_t, CudaDevice*>> made;
  return made.Get();
}
std::mutex making;  // of Made
std::atomic<CudaDevice*> in_use{nullptr};

}  // namespace

Result<CudaDevice*> CudaDevice::Get(int32_t number) {
  const std::lock_guard<std::mutex> lock(making);
  std::map<int32_t, CudaDevice*>& made = Made();
  if (const auto known = made.find(number); known != made.end()) return known->second;
  // In a forked child the driver would only say that it does not work.
  if (!made.empty()) {
    if (Result<> usable = made.begin()->second->CheckProcess(); !usable.ok()) return usable.error();
  }
  Result<CudaDevice*> device = Make(number);
  if (device.ok()) made[number] = *device;
  return device;
}

Result<CudaDevice*> CudaDevice::Use(int32_t number) {
  // Before the driver is asked for another device, which would fail with an error of its own.
  if (const CudaDevice* const known = InUse(); known != nullptr) {
    if (Result<> usable = known->CheckProcess(); !usable.ok()) return usable.error();
  }
  Result<CudaDevice*> device = Get(number);
  if (!device.ok()) return device;
  if (Result<> usable = (*device)->CheckProcess(); !usable.ok()) return usable.error();
  CudaDevice* const before = in_use.exchange(*device);
  // The next launches are on this one.
  if (before != nullptr && before != *device && before->Enter().ok()) before->FreeIdle();
  return device;
}

Result<CudaDevice*> CudaDevice::Get() {
  CudaDevice* device = InUse();
  if (device != nullptr) return device;
  Result<CudaDevice*> first = Get(0);
  if (!first.ok()) return first;
  // Another thread may have chosen one meanwhile.
  return in_use.compare_exchange_strong(device, *first) ? *first : device;
}

CudaDevice* CudaDevice::InUse() { return in_use.load(std::memory_order_acquire); }

int32_t CudaDevice::Count() {
  const Result<const cuda::Driver*>& found = cuda::TheDriver();
  int count = 0;
  return found.ok() && (*found)->DeviceGetCount(&count) == cuda::kSuccess ? count : 0;
}

Result<> CudaDevice::IsThere() {
  const Result<const cuda::Driver*>& found = cuda::TheDriver();
  if (!found.ok()) return found.error();
  if (InUse() != nullptr) return {};  // in a forked child, too, whose calls of the driver fail
  const cuda::Driver& driver = **found;
  int count = 0;
  if (Result<> counted = CountDevices(driver, &count); !counted.ok()) return counted;
  const int version = driver.Version();
  const bool is_new = version >= cuda::kOldestDriver;
  std::string devices;
  for (int number = 0; number < count; ++number) {
    cuda::DeviceNumber device;
    int major = 0, minor = 0;
    char name[256] = {};
    if (driver.DeviceGet(&device, number) != cuda::kSuccess) continue;
    driver.DeviceGetAttribute(&major, cuda::kComputeCapabilityMajor, device);
    driver.DeviceGetAttribute(&minor, cuda::kComputeCapabilityMinor, device);
    const auto arch = static_cast<uint32_t>(major * 10 + minor);
    if (is_new && arch >= kOldestArch) return {};
    driver.DeviceGetName(name, sizeof name - 1, device);
    devices += (devices.empty() ? "" : ", ") + WithCapability(name, arch);
  }
  return Error{ErrorCode::kFailedPrecondition,
               devices + ", and the driver has " + cuda::VersionText(version) +
                   "; kernels run on compute capability " + Capability(kOldestArch) +
                   " and later, with a driver of " + cuda::VersionText(cuda::kOldestDriver) +
                   " (R520) or later"};
}

Result<CudaDevice*> CudaDevice::Make(int32_t number) {
  const Result<const cuda::Driver*>& found = cuda::TheDriver();
  if (!found.ok()) return found.error();
  const cuda::Driver& driver = **found;
  ForkGeneration::Watch();
  int count = 0;
  if (Result<> counted = CountDevices(driver, &count); !counted.ok()) return counted.error();
  if (number < 0 || number >= count) {
    return Error{ErrorCode::kFailedPrecondition,
                 "there is no CUDA device " + std::to_string(number) + ": the driver lists " +
                     std::to_string(count) +
                     " (CUDA_VISIBLE_DEVICES chooses among those of the "
                     "machine)"};
  }
  cuda::DeviceNumber handle;
  cuda::Context context;
  cuda::Code code = driver.DeviceGet(&handle, number);
  if (code == cuda::kSuccess) code = driver.PrimaryContextRetain(&context, handle);
  if (code != cuda::kSuccess) return driver.ErrorOf(code, "the CUDA device does not start");
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, number, handle, context));
  if (device->arch_ < kOldestArch) {
    return Error{ErrorCode::kFailedPrecondition, WithCapability(device->name_, device->arch_) +
                                                     "; kernels run on " + Capability(kOldestArch) +
                                                     " and later"};
  }
  if (Result<> entered = device->Enter(); !entered.ok()) return entered.error();
  code = driver.MemAlloc(&device->idle_reports_, sizeof(KilnCudaReports));
  if (code == cuda::kSuccess) {
    code = driver.Set8(device->idle_reports_, 0, sizeof(KilnCudaReports), nullptr);
  }
  if (code != cuda::kSuccess) return driver.ErrorOf(code, "the CUDA device does not start");
  return device.release();
}

CudaDevice::CudaDevice(const cuda::Driver& driver, int32_t number, cuda::DeviceNumber device,
                       cuda::Context context)
    : driver_(driver), number_(number), context_(context) {
  const auto attribute = [&](int which) {
    int value = 0;
    driver_.DeviceGetAttribute(&value, which, device);
    return static_cast<uint32_t>(std::max(value, 0));
  };
  arch_ = attribute(cuda::kComputeCapabilityMajor) * 10 + attribute(cuda::kComputeCapabilityMinor);
  multiprocessors_ = std::max(attribute(cuda::kMultiprocessorCount), 1u);
  threads_of_multiprocessor_ = std::max(attribute(cuda::kThreadsOfMultiprocessor), 1024u);
  runs_cooperative_launches_ = attribute(cuda::kCooperativeLaunch) != 0;
  has_virtual_memory_ = attribute(cuda::kVirtualMemory) != 0;
  char name[256] = {};
  driver_.DeviceGetName(name, sizeof name - 1, device);
  name_ = name;
}

Result<> CudaDevice::DeepenStack() {
  // The part of the device's memory for stacks, if the program names no size, and what pays at
  // most.
  constexpr uint64_t kPart = 32, kMost = uint64_t{16} << 10, kLeast = uint64_t{1} << 10;
  uint64_t bytes = most_stack_;
  if (bytes == 0) {
    const uint64_t threads = uint64_t{multiprocessors_} * threads_of_multiprocessor_;
    bytes = std::clamp(memory_bytes() / kPart / threads, kLeast, kMost) / kLeast * kLeast;
  }
  const std::lock_guard<std::mutex> lock(stack_mutex_);
  if (bytes == stack_) return {};
  if (Result<> entered = Enter(); !entered.ok()) return entered.error();
  const cuda::Code code = driver_.SetLimit(cuda::kLimitOfStack, bytes);
  if (code != cuda::kSuccess) {
    return ErrorOf(code, "no stacks of " + std::to_string(bytes) +
                             " bytes for functions that call themselves (cuda_stack_limit)");
  }
  stack_ = bytes;
  return {};
}

Result<> CudaDevice::LoadTreeKernel() {
  std::call_once(tree_kernel_loads_, [this] {
    Result<cuda::TreeKernel> loaded = cuda::LoadTreeKernel(this);
    if (loaded.ok()) tree_kernel_ = *loaded;
    if (!loaded.ok()) tree_kernel_loaded_ = loaded.error();
  });
  return tree_kernel_loaded_;
}

Result<> CudaDevice::CheckProcess() const {
  if (generation_ == ForkGeneration::Get()) return {};
  return Error{ErrorCode::kFailedPrecondition,
               "this process was forked from one that uses CUDA, where CUDA does not work: start "
               "processes with multiprocessing's 'spawn', or fork before ti.init()"};
}

Result<> CudaDevice::EnterForLaunch() {
  return current_context == context_ ? CheckProcess() : Enter();
}

Result<> CudaDevice::Enter() {
  if (Result<> usable = CheckProcess(); !usable.ok()) return usable;
  cuda::Context current = nullptr;
  if (current_context == context_ && driver_.ContextGetCurrent(&current) == cuda::kSuccess &&
      current == context_) {
    return {};
  }
  const cuda::Code code = driver_.ContextSetCurrent(context_);
  if (code != cuda::kSuccess) return driver_.ErrorOf(code, "no CUDA context");
  current_context = context_;
  return {};
}

void CudaDevice::NoteLaunch(const NamesInErrors& kernels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (launched_.size() < kNamedLaunches) {
    launched_.push_back(kernels);
  } else {
    launched_[num_launched_ % kNamedLaunches] = kernels;
  }
  ++num_launched_;
}

std::string CudaDevice::InLaunched() const {
  if (num_launched_ == 0) return "";
  std::vector<std::string> names;
  for (const NamesInErrors& kernels : launched_) {
    for (const std::string& name : *kernels) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return names.size() == 1 && num_launched_ <= kNamedLaunches
             ? ", in kernel " + list
             : ", in a kernel launched since the last ti.sync(); the last ones are " + list;
}

Error CudaDevice::ErrorOf(cuda::Code code, const std::string& what) {
  Error error = driver_.ErrorOf(code, what);
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string where = InLaunched();
  error.text += where;
  if (!where.empty()) error.text += " (debug=True checks indices)";
  return error;
}

Result<> CudaDevice::Synchronize() {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Code code = driver_.ContextSynchronize();
  if (code != cuda::kSuccess) return ErrorOf(code, "the CUDA device failed");
  if (Result<> noticed = TakeNotice(); !noticed.ok()) return noticed;
  const std::lock_guard<std::mutex> lock(mutex_);
  launched_.clear();
  num_launched_ = 0;
  return std::exchange(kept_, Result<>());
}

void CudaDevice::Keep(const Result<>& done) {
  if (done.ok()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.ok()) kept_ = done;
}

Result<std::shared_ptr<const LoadedKernel>> CudaDevice::LoadBytes(
    std::string_view payload, KernelInfo info, const std::vector<std::string>& /*directories*/) {
  return LoadCudaKernel(this, payload, std::move(info));
}

uint64_t CudaDevice::FreeBytes() {
  size_t free = 0, total = 0;
  if (Enter().ok()) driver_.MemGetInfo(&free, &total);
  const std::lock_guard<std::mutex> lock(mutex_);
  return free + idle_bytes_;
}

std::unique_ptr<LaunchGraph> CudaDevice::MakeGraph() { return std::make_unique<CudaGraph>(this); }

uint64_t CudaDevice::memory_bytes() {
  size_t free = 0, total = 0;
  if (Enter().ok()) driver_.MemGetInfo(&free, &total);
  return total;
}

Result<std::unique_ptr<Buffer>> CudaDevice::Allocate(uint64_t bytes) {
  Result<std::unique_ptr<MirroredBuffer>> buffer = MirroredBuffer::Allocate(this, bytes);
  if (!buffer.ok()) return buffer.error();
  return std::unique_ptr<Buffer>(*std::move(buffer));
}

Result<std::unique_ptr<Buffer>> CudaDevice::Borrow(uint8_t* address, uint64_t bytes,
                                                   bool has_mirror) {
  if (Result<> entered = Enter(); !entered.ok()) return entered.error();
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, why};
  };
  // An array without elements may have no address.
  if (bytes > 0) {
    const auto at = reinterpret_cast<Address>(address);
    unsigned kind = 0;
    int number_of_it = 0;
    if (driver_.PointerGetAttribute(&kind, cuda::kPointerMemoryType, at) != cuda::kSuccess) {
      return refuse("its address is not in the memory of a CUDA device");
    }
    // Pinned memory of the host belongs to no device, and all use it.
    if (kind != cuda::kMemoryOfHost &&
        driver_.PointerGetAttribute(&number_of_it, cuda::kPointerDevice, at) == cuda::kSuccess &&
        number_of_it != number()) {
      return refuse("it is on CUDA device " + std::to_string(number_of_it) +
                    ", the program's kernels run on device " + std::to_string(number()));
    }
  }
  Result<std::unique_ptr<MirroredBuffer>> buffer =
      MirroredBuffer::Borrow(this, address, bytes, has_mirror);
  if (!buffer.ok()) return buffer.error();
  return std::unique_ptr<Buffer>(*std::move(buffer));
}

Result<Address> CudaDevice::AllocateMemory(uint64_t bytes, uint64_t asked,
                                           const std::string& what) {
  if (Result<> entered = Enter(); !entered.ok()) return entered.error();
  Address memory = 0;
  cuda::Code code = driver_.MemAlloc(&memory, bytes);
  if (code == cuda::kOutOfMemory && FreeIdle()) code = driver_.MemAlloc(&memory, bytes);
  if (code == cuda::kSuccess) return memory;
  if (code != cuda::kOutOfMemory) return ErrorOf(code, "no memory for " + what);
  return NoMemory(asked, what);
}

Error CudaDevice::NoMemory(uint64_t asked, const std::string& what) {
  size_t free = 0, total = 0;
  driver_.MemGetInfo(&free, &total);
  const uint64_t of_trees = TreeBytes() >> 20;
  // Most of it may be unused.
  const std::string held = of_trees == 0
                               ? ""
                               : "; trees with sparse SNodes hold " + std::to_string(of_trees) +
                                     " (ti.init(device_memory_GB=...) sets the most of each)";
  return {ErrorCode::kResourceExhausted,
          "cannot allocate " + std::to_string(asked) + " bytes (" + std::to_string(asked >> 20) +
              " MiB) for " + what + " on " + name_ + ", of whose " + std::to_string(total >> 20) +
              " MiB " + std::to_string(free >> 20) + " are free" + held};
}

Result<uint8_t*> CudaDevice::TakeScratch(uint64_t bytes) {
  const uint64_t size = ScratchSize(bytes);
  const auto usable = [](Address memory) {
    return reinterpret_cast<uint8_t*>(memory + kScratchMargin);
  };
  if (const Address idle = TakeIdle(size); idle != 0) return usable(idle);
  Turn turn;
  if (Result<> taken = TakeTurn(&turn); !taken.ok()) return taken.error();
  Result<Address> memory = AllocateMemory(size, bytes, "arrays of the host");
  if (!memory.ok()) return memory.error();
  // Atomic operations on narrow elements read the whole words that the first and last are in.
  const cuda::Code code = driver_.Set8(*memory, 0, size, turn.stream());
  if (code == cuda::kSuccess) return usable(*memory);
  driver_.MemFree(*memory);
  return ErrorOf(code, "no memory for arrays of the host");
}

void CudaDevice::ReturnScratch(uint8_t* memory, uint64_t bytes) {
  ReturnMemory(reinterpret_cast<Address>(memory) - kScratchMargin, ScratchSize(bytes));
}

Address CudaDevice::TakeIdle(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = idle_.size(); i-- > 0;) {
    const auto [size, memory] = idle_[i];
    if (size != bytes) continue;
    idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(i));
    idle_bytes_ -= size;
    return memory;
  }
  return 0;
}

void CudaDevice::ReturnMemory(Address memory, uint64_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.push_back({bytes, memory});
  idle_bytes_ += bytes;
  const bool is_full = idle_bytes_ > kMostIdleBytes || idle_.size() > kMostIdle;
  lock.unlock();
  // All at once: each call of the driver waits for the device.
  if (is_full && Enter().ok()) FreeIdle();
}

bool CudaDevice::FreeIdle() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::vector<Idle> freed = std::move(idle_);
  idle_.clear();
  idle_bytes_ = 0;
  lock.unlock();
  for (const Idle& idle : freed) driver_.MemFree(idle.memory);
  return !freed.empty();
}

Result<> CudaDevice::Order(cuda::Stream before, cuda::Stream after) {
  cuda::Event event = nullptr;
  cuda::Code code = driver_.EventCreate(&event, cuda::kNoTiming);
  if (code == cuda::kSuccess) {
    code = driver_.EventRecord(event, before);
    if (code == cuda::kSuccess) code = driver_.StreamWaitEvent(after, event, 0);
    driver_.EventDestroy(event);  // the driver keeps it until it was reached
  }
  if (code != cuda::kSuccess) return ErrorOf(code, "CUDA streams cannot be ordered");
  return {};
}

cuda::Stream CudaDevice::StreamOfThread() const {
  for (const ChosenStream& chosen : chosen_streams) {
    if (chosen.device == this) return chosen.stream;
  }
  return nullptr;
}

Result<> CudaDevice::TakeTurnIn(cuda::Stream stream, Turn* turn) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  turn->lock_ = std::unique_lock<std::mutex>(turns_);
  if (last_stream_ != stream) {
    if (Result<> ordered = Order(last_stream_, stream); !ordered.ok()) return ordered;
    last_stream_ = stream;
  }
  turn->stream_ = stream;
  return {};
}

// The stream of the last turn must be alive at the next one, so it ends with the choice.
Result<> CudaDevice::UseStream(uint64_t handle) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Stream stream = StreamOf(handle);
  if (stream != nullptr) {
    cuda::Context context = nullptr;
    const cuda::Code code = driver_.StreamGetContext(stream, &context);
    if (code != cuda::kSuccess) {
      return driver_.ErrorOf(code, std::to_string(handle) + " is the handle of no CUDA stream");
    }
    if (context != context_) {
      return Error{ErrorCode::kInvalidArgument, "the CUDA stream " + std::to_string(handle) +
                                                    " belongs to another context or device than " +
                                                    name_ + ", device " + std::to_string(number_) +
                                                    ", on which kernels run"};
    }
    uses_streams_.store(true, std::memory_order_relaxed);
  }
  Turn turn;
  if (Result<> taken = TakeTurn(&turn); !taken.ok()) return taken;
  for (ChosenStream& chosen : chosen_streams) {
    if (chosen.device != this) continue;
    chosen.stream = stream;
    return {};
  }
  chosen_streams.push_back({this, stream});
  return {};
}

Result<> CudaDevice::ReleaseTo(uint64_t handle) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Stream stream = StreamOf(handle);
  Turn turn;
  if (Result<> taken = TakeLaunchTurn(&turn); !taken.ok()) return taken;
  return stream == turn.stream() ? Result<>() : Order(turn.stream(), stream);
}

Result<> CudaDevice::WaitFor(uint64_t handle) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Stream stream = StreamOf(handle);
  Turn turn;
  if (Result<> taken = TakeLaunchTurn(&turn); !taken.ok()) return taken;
  return stream == turn.stream() ? Result<>() : Order(stream, turn.stream());
}

void CudaDevice::CopyIn(uint8_t* to, const void* from, uint64_t bytes) {
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered);
  Turn turn;
  if (Result<> taken = TakeTurn(&turn); !taken.ok()) return Keep(taken);
  const cuda::Code code = driver_.CopyIn(reinterpret_cast<Address>(to), from, bytes);
  if (code != cuda::kSuccess) Keep(ErrorOf(code, "a copy to the CUDA device failed"));
}

void CudaDevice::CopyOut(void* to, const uint8_t* from, uint64_t bytes) {
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered);
  Turn turn;
  if (Result<> taken = TakeTurn(&turn); !taken.ok()) return Keep(taken);
  const cuda::Code code = driver_.CopyOut(to, reinterpret_cast<Address>(from), bytes);
  if (code != cuda::kSuccess) Keep(ErrorOf(code, "a copy from the CUDA device failed"));
}

void CudaDevice::Fill(uint8_t* at, const void* value, uint32_t value_bytes, uint64_t count) {
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered);
  Turn turn;
  if (Result<> taken = TakeTurn(&turn); !taken.ok()) return Keep(taken);
  const auto address = reinterpret_cast<Address>(at);
  const auto word = [value](auto made) {
    std::memcpy(&made, value, sizeof made);
    return made;
  };
  cuda::Code code = cuda::kSuccess;
  if (value_bytes == 1) {
    code = driver_.Set8(address, word(uint8_t{}), count, turn.stream());
  } else if (value_bytes == 2) {
    code = driver_.Set16(address, word(uint16_t{}), count, turn.stream());
  } else if (value_bytes == 4) {
    code = driver_.Set32(address, word(uint32_t{}), count, turn.stream());
  } else if (const uint64_t both = word(uint64_t{}); both == 0) {
    code = driver_.Set8(address, 0, count * 8, turn.stream());
  } else {
    // The driver has no fill of eight bytes: the host makes them.
    const std::vector<uint64_t> words(count, both);
    code = driver_.CopyIn(address, words.data(), count * 8);
  }
  if (code != cuda::kSuccess) Keep(ErrorOf(code, "a fill on the CUDA device failed"));
}

Result<Device::MadeTree> CudaDevice::MakeTree(TreeShape shape, TreeOptions options) {
  Result<std::unique_ptr<CudaTree>> made = CudaTree::Make(this, std::move(shape), options);
  if (!made.ok()) return made.error();
  std::shared_ptr<CudaTree> tree = *std::move(made);
  return MadeTree{tree, tree->buffer()};
}

Result<CudaDevice::TreeNotice> CudaDevice::RememberTree(const CudaTree* tree, bool grows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notice_ == nullptr) {
    void* memory = nullptr;
    cuda::Code code = driver_.HostAlloc(&memory, sizeof(KilnCudaNotice),
                                        cuda::kHostPortable | cuda::kHostDeviceMap);
    if (code == cuda::kSuccess) code = driver_.HostGetDevicePointer(&notice_address_, memory, 0);
    if (code != cuda::kSuccess) return driver_.ErrorOf(code, "no memory for reports of SNodes");
    std::memset(memory, 0, sizeof(KilnCudaNotice));
    notice_ = static_cast<KilnCudaNotice*>(memory);
  }
  int asks = -1;
  if (grows) {
    std::array<bool, KILN_CUDA_GROWING> taken = {};
    for (const auto& [id, known] : trees_) {
      if (known.asks >= 0) taken[known.asks] = true;
    }
    const auto free = std::find(taken.begin(), taken.end(), false);
    if (free != taken.end()) asks = static_cast<int>(free - taken.begin());
    if (asks >= 0) __atomic_store_n(&notice_.load()->asks[asks], 0u, __ATOMIC_RELAXED);
  }
  trees_[++last_tree_] = {tree, asks};
  const Address at = notice_address_ + offsetof(KilnCudaNotice, asks) + asks * sizeof(uint32_t);
  return TreeNotice{last_tree_, notice_address_, asks < 0 ? 0 : at};
}

uint64_t CudaDevice::TreeBytes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [id, known] : trees_) bytes += known.tree->bytes();
  return bytes;
}

void CudaDevice::ForgetTree(uint64_t id) {
  const std::lock_guard<std::mutex> growing(growing_);
  const std::lock_guard<std::mutex> lock(mutex_);
  trees_.erase(id);
}

void CudaDevice::GrowTreesThatAsk() {
  const std::lock_guard<std::mutex> growing(growing_);
  std::vector<std::pair<const CudaTree*, uint64_t>> asking;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    KilnCudaNotice* const notice = notice_;
    // First, since a tree that asks meanwhile sets it again.
    __atomic_store_n(&notice->asked, 0u, __ATOMIC_SEQ_CST);
    for (const auto& [id, known] : trees_) {
      if (known.asks < 0) continue;
      const uint64_t mib = __atomic_exchange_n(&notice->asks[known.asks], 0u, __ATOMIC_SEQ_CST);
      if (mib != 0) asking.emplace_back(known.tree, mib << 20);
    }
  }
  for (const auto& [tree, bytes] : asking) tree->Grow(bytes);
}

Result<Address> CudaDevice::ClearTapes(cuda::Stream stream) {
  constexpr uint64_t kPartOfMemory = 32, kLeast = uint64_t{64} << 20;
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t wanted = ThreadTape::GivenLimit();
  if (wanted == 0 && tape_bytes_ == 0) {
    size_t free = 0, total = 0;
    driver_.MemGetInfo(&free, &total);
    wanted = std::max<uint64_t>(total / kPartOfMemory, kLeast);
  }
  if (wanted != 0 && wanted != tape_bytes_) {
    if (tapes_ != 0) driver_.MemFree(tapes_);  // waits for the kernels that use them
    tapes_ = tape_bytes_ = 0;
    const cuda::Code code = driver_.MemAlloc(&tapes_, sizeof(KilnCudaTapes) + wanted);
    if (code != cuda::kSuccess) {
      return driver_.ErrorOf(code, "no " + std::to_string(wanted >> 20) +
                                       " MiB for the tapes of a gradient (ti.init(ad_tape_GB=...)"
                                       " sets another number)");
    }
    tape_bytes_ = wanted;
    // By fills, since a copy would be in another stream.
    const Address bytes = tapes_ + offsetof(KilnCudaTapes, bytes);
    driver_.Set32(bytes, static_cast<unsigned>(wanted), 1, stream);
    driver_.Set32(bytes + 4, static_cast<unsigned>(wanted >> 32), 1, stream);
  }
  constexpr uint64_t kCleared = offsetof(KilnCudaTapes, next);
  const cuda::Code code =
      driver_.Set8(tapes_ + kCleared, 0, offsetof(KilnCudaTapes, memory) - kCleared, stream);
  if (code != cuda::kSuccess) return driver_.ErrorOf(code, "clearing tapes failed");
  return tapes_;
}

Result<> CudaDevice::TakeNotice() {
  KilnCudaNotice* const notice = notice_.load(std::memory_order_acquire);
  // One load for launches without a failure.
  if (notice == nullptr || __atomic_load_n(&notice->ready, __ATOMIC_ACQUIRE) == 0) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto tree = trees_.find(notice->tree);
  // A tree that is gone took its failure along.
  const std::string text =
      tree == trees_.end() ? "" : tree->second.tree->Refusal(notice->node, InLaunched());
  __atomic_store_n(&notice->ready, 0u, __ATOMIC_RELAXED);
  __atomic_store_n(&notice->failed, 0u, __ATOMIC_RELEASE);
  if (text.empty()) return {};
  return Error{ErrorCode::kResourceExhausted, text};
}

Device::Event CudaDevice::Record() {
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered), Event();
  cuda::Event event = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_events_.empty()) {
      event = idle_events_.back();
      idle_events_.pop_back();
    }
  }
  Turn turn;
  if (Result<> taken = TakeLaunchTurn(&turn); !taken.ok()) return Keep(taken), Event();
  cuda::Code code = cuda::kSuccess;
  if (event == nullptr) code = driver_.EventCreate(&event, cuda::kTiming);
  if (code == cuda::kSuccess) code = driver_.EventRecord(event, turn.stream());
  if (code != cuda::kSuccess) return Keep(ErrorOf(code, "no time of the CUDA device")), Event();
  return {0, event};
}

void CudaDevice::Release(Event event) {
  if (event.handle == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_events_.push_back(static_cast<cuda::Event>(event.handle));
}

double CudaDevice::Seconds(Event from, Event to) {
  if (from.handle == nullptr || to.handle == nullptr) return 0;
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered), 0;
  float milliseconds = 0;
  cuda::Code code = driver_.EventSynchronize(static_cast<cuda::Event>(to.handle));
  if (code == cuda::kSuccess) {
    code = driver_.EventElapsedTime(&milliseconds, static_cast<cuda::Event>(from.handle),
                                    static_cast<cuda::Event>(to.handle));
  }
  if (code != cuda::kSuccess) Keep(ErrorOf(code, "no time of the CUDA device"));
  return milliseconds * 1e-3;
}

}  // namespace kiln
