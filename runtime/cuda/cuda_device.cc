#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/cuda_tree.h"
#include "runtime/cuda/mirrored_buffer.h"

namespace kiln {
namespace {

using cuda::Address;

// Scratch memory comes in powers of two, from the least on, between margins.
constexpr uint64_t kLeastScratch = uint64_t{1} << 16, kScratchMargin = 256;

uint64_t ScratchSize(uint64_t bytes) {
  uint64_t size = kLeastScratch;
  while (size < bytes + 2 * kScratchMargin) size *= 2;
  return size;
}

// Another thread's work of ours, or another library, may have made another context current.
thread_local cuda::Context current_context = nullptr;

}  // namespace

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

Error CudaDevice::ErrorOf(cuda::Code code, const std::string& what) {
  Error error = driver_.ErrorOf(code, what);
  const std::string where = launches_.Text();
  error.text += where;
  if (!where.empty()) error.text += " (debug=True checks indices)";
  return error;
}

Result<> CudaDevice::Synchronize() {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Code code = driver_.ContextSynchronize();
  if (code != cuda::kSuccess) return ErrorOf(code, "the CUDA device failed");
  if (Result<> noticed = TakeNotice(); !noticed.ok()) return noticed;
  launches_.Clear();
  const std::lock_guard<std::mutex> lock(mutex_);
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
  return free + idle_.bytes();
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
  const uint64_t of_trees = trees_.Bytes() >> 20;
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

void CudaDevice::ReturnMemory(Address memory, uint64_t bytes) {
  if (!idle_.Put(memory, bytes) && Enter().ok()) FreeIdle();
}

bool CudaDevice::FreeIdle() {
  const std::vector<Address> freed = idle_.TakeAll();
  for (const Address memory : freed) driver_.MemFree(memory);
  return !freed.empty();
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

}  // namespace kiln
