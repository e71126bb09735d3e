#include "runtime/private_copies.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/parallel_for.h"

namespace kiln {
namespace {

// A thread merges so much at a time: a multiple of all numbers' sizes.
constexpr uint64_t kBlock = 16 * 1024;
// Blocks of so many numbers are looked at together.
constexpr size_t kGroup = 16;

uint64_t BytesOf(const ScatterInfo& scatter, const uint64_t* arguments) {
  const uint64_t extent = scatter.extent_slot == 0 ? 1 : arguments[scatter.extent_slot];
  uint64_t bytes;
  // Too many for memory, and so for a copy.
  return __builtin_mul_overflow(scatter.bytes, extent, &bytes) ? ~uint64_t{0} : bytes;
}

// What a thread has not added to stays as it is, since others may write it meanwhile.
template <typename Number>
void AddTouched(Number* to, Number* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (from[i] != 0) to[i] += from[i];
  }
}

template <typename Number>
void AddBytes(uint8_t* field, uint8_t* copy, uint64_t bytes) {
  auto* to = reinterpret_cast<Number*>(field);
  auto* from = reinterpret_cast<Number*>(copy);
  const size_t count = bytes / sizeof(Number);
  size_t i = 0;
  // A group without additions costs no writes, and one of additions alone has no branches.
  for (; i + kGroup <= count; i += kGroup) {
    size_t touched = 0;
    for (size_t k = i; k < i + kGroup; ++k) touched += from[k] != 0;
    if (touched == 0) continue;
    if (touched == kGroup) {
      for (size_t k = i; k < i + kGroup; ++k) to[k] += from[k];
    } else {
      AddTouched(to + i, from + i, kGroup);
    }
    std::memset(static_cast<void*>(from + i), 0, kGroup * sizeof(Number));
  }
  AddTouched(to + i, from + i, count - i);
  std::memset(static_cast<void*>(from + i), 0, (count - i) * sizeof(Number));
}

void Add(ScatterInfo::Number number, uint8_t* field, uint8_t* copy, uint64_t bytes) {
  using Number = ScatterInfo::Number;
  switch (number) {
    case Number::kI8:
      return AddBytes<uint8_t>(field, copy, bytes);
    case Number::kI16:
      return AddBytes<uint16_t>(field, copy, bytes);
    case Number::kI32:
      return AddBytes<uint32_t>(field, copy, bytes);
    case Number::kI64:
      return AddBytes<uint64_t>(field, copy, bytes);
    case Number::kF32:
      return AddBytes<float>(field, copy, bytes);
    case Number::kF64:
      return AddBytes<double>(field, copy, bytes);
    case Number::kNone:
      return;
  }
}

}  // namespace

uint64_t BytesOf(const std::vector<ScatterInfo>& scatters, const uint64_t* arguments) {
  uint64_t bytes = 0;
  for (const ScatterInfo& scatter : scatters) {
    if (__builtin_add_overflow(bytes, BytesOf(scatter, arguments), &bytes)) return ~uint64_t{0};
  }
  return bytes;
}

std::unique_ptr<PrivateCopies> PrivateCopies::Make(const std::vector<ScatterInfo>& scatters,
                                                   const uint64_t* arguments, size_t slots,
                                                   int count) {
  std::unique_ptr<PrivateCopies> made(new PrivateCopies(scatters));
  for (int i = 0; i < count; ++i) {
    auto copy = std::make_unique<Copy>();
    copy->arguments.resize(slots);
    for (const ScatterInfo& scatter : scatters) {
      auto memory = RootBuffer::Allocate(BytesOf(scatter, arguments));
      if (!memory.ok()) return nullptr;
      copy->memory.push_back(*std::move(memory));
    }
    made->copies_.push_back(std::move(copy));
  }
  return made;
}

bool PrivateCopies::Suit(const uint64_t* arguments, int count) const {
  if (copies_.size() < static_cast<size_t>(count)) return false;
  for (size_t s = 0; s < scatters_.size(); ++s) {
    if (BytesIn(s) != BytesOf(scatters_[s], arguments)) return false;
  }
  return true;
}

void PrivateCopies::Start(const KilnContext& context) {
  arguments_ = context.arguments;
  for (const std::unique_ptr<Copy>& copy : copies_) {
    std::copy_n(context.arguments, copy->arguments.size(), copy->arguments.begin());
    for (size_t s = 0; s < scatters_.size(); ++s) {
      copy->arguments[scatters_[s].slot] = reinterpret_cast<uint64_t>(copy->memory[s]->data());
    }
    copy->context = context;
    copy->context.arguments = copy->arguments.data();
    copy->context.alone = 1;
    copy->used = false;
  }
}

PrivateCopies::Copy& PrivateCopies::Take() {
  // A thread is likely to get the copy whose memory is in its caches.
  thread_local size_t last = 0;
  // Ends, since there is a copy that no thread holds. The load keeps threads from taking each
  // other's cache line by exchanges in vain. Acquire, with GiveBack's release: what the thread
  // before has added is in the copy.
  for (size_t i = last;; ++i) {
    Copy& copy = *copies_[i % copies_.size()];
    if (copy.taken.load(std::memory_order_relaxed)) continue;
    if (copy.taken.exchange(true, std::memory_order_acquire)) continue;
    last = i % copies_.size();
    copy.used = true;
    return copy;
  }
}

void PrivateCopies::Merge(Executor* executor, int threads) {
  struct Block {
    size_t scatter;
    uint64_t begin, bytes;
  };
  std::vector<Block> blocks;
  for (size_t s = 0; s < scatters_.size(); ++s) {
    for (uint64_t at = 0; at < BytesIn(s); at += kBlock) {
      blocks.push_back({s, at, std::min(kBlock, BytesIn(s) - at)});
    }
  }
  const auto merge = [&](int64_t i) {
    const Block& block = blocks[i];
    const ScatterInfo& scatter = scatters_[block.scatter];
    auto* field = reinterpret_cast<uint8_t*>(arguments_[scatter.slot]) + block.begin;
    for (const std::unique_ptr<Copy>& copy : copies_) {
      if (!copy->used) continue;
      Add(scatter.number, field, copy->memory[block.scatter]->data() + block.begin, block.bytes);
    }
  };
  // A few blocks are merged before another thread would have begun.
  constexpr size_t kFew = 8;
  ParallelFor(executor, static_cast<int64_t>(blocks.size()), blocks.size() <= kFew ? 1 : threads,
              merge);
}

}  // namespace kiln
