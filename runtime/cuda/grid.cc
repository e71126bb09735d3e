#include "runtime/cuda/grid.h"

#include <algorithm>

#include "runtime/cuda_abi.h"
#include "runtime/scalar.h"

namespace kiln {
namespace {

constexpr uint32_t kDefaultThreads = 128;
constexpr uint64_t kMostBlocks = 0x7fffffff;  // of a launch

uint64_t Quotient(uint64_t count, uint64_t by) { return count / by + (count % by != 0); }

}  // namespace

uint32_t Grid::ThreadsOf(const TaskInfo& task) {
  const uint32_t threads =
      std::clamp(task.block_dim == 0 ? kDefaultThreads : task.block_dim, 1u, 1024u);
  return task.max_threads > 0 ? std::min(threads, task.max_threads) : threads;
}

Grid::Grid(const TaskInfo& task, const KernelInfo& kernel, uint64_t resident)
    : threads_(ThreadsOf(task)),
      at_once_(uint64_t{threads_} * std::max(task.items_per_thread, 1u)) {
  // Blocks beyond those that run at once have something to do if there are enough iterations, which
  // the host may not know.
  blocks_ = resident;
  const bool is_known = task.constant_bounds || task.length_factor > 0;
  if (is_known && task.kind != TaskKind::kStruct) {
    blocks_ = task.waves == 0 ? kMostBlocks : std::min(resident * task.waves, kMostBlocks);
  }
  // A struct task's end is the most that its list may make of it.
  if (task.constant_bounds || task.kind == TaskKind::kStruct) {
    // As unsigned, the difference of any two numbers is right.
    const uint64_t count = task.end > task.begin
                               ? static_cast<uint64_t>(task.end) - static_cast<uint64_t>(task.begin)
                               : 0;
    blocks_ = std::min(blocks_, Quotient(count, at_once_));
  }
  if (task.max_threads > 0) {
    blocks_ = std::min<uint64_t>(blocks_, std::max(task.max_threads / threads_, 1u));
  }
  if (kernel.tapes) blocks_ = std::min<uint64_t>(blocks_, KILN_CUDA_TAPES / threads_);
  if (task.constant_bounds || task.kind == TaskKind::kStruct) return;
  factor_ = task.length_factor;
  for (const uint32_t slot : task.length_slots) {
    const ArgumentSlot& argument = kernel.arguments[slot];
    const bool is_value = argument.kind == ArgumentSlot::Kind::kValue;
    slots_.push_back({slot, is_value && ScalarSizeInBits(SlotScalar(argument.scalar)) == 32});
  }
}

uint64_t Grid::BlocksFor(const uint64_t* arguments) const {
  // The length is a guess where the loop's bounds are more than arguments: one block is the least.
  uint64_t length = factor_;
  for (const Slot& slot : slots_) {
    const int64_t value = slot.is_i32 ? static_cast<int32_t>(arguments[slot.number])
                                      : static_cast<int64_t>(arguments[slot.number]);
    if (value <= 0) return 1;
    if (__builtin_mul_overflow(length, static_cast<uint64_t>(value), &length)) return blocks_;
  }
  return std::clamp<uint64_t>(Quotient(length, at_once_), 1, blocks_);
}

}  // namespace kiln
