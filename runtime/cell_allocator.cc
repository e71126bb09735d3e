#include "runtime/cell_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/base/first_use.h"
#include "runtime/cpu/thread_pool.h"

namespace kiln {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kLastMapping = uint64_t{64} << 20;
// What a shard allocates at once: from a page to a large page, so that each thread first touches
// its own pages.
constexpr uint64_t kFirstSpan = kPage;
constexpr uint64_t kLastSpan = kHugePage;
// Cells of at least this size are mostly used in parts: they get no large pages, and clearing
// returns memory.
constexpr uint64_t kLargeCell = uint64_t{256} << 10;

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Large cells are whole pages, so that Release can return them. From 512 bytes on, a cell starts on
// a cache line, which costs at most an eighth. Smaller ones are packed, aligned for any element.
uint64_t StrideOf(uint64_t bytes) {
  if (bytes >= kLargeCell) return RoundUp(bytes, kPage);
  return RoundUp(std::max<uint64_t>(bytes, 8), bytes >= 512 ? 64 : 8);
}

}  // namespace

int ShardCount() {
  static FirstUse<int> count;
  return count.Get([] {
    int shards = 4;
    // Twice the threads, because shards are assigned by counting, and some threads come and go.
    while (shards < 2 * DefaultThreads() && shards < 64) shards *= 2;
    return shards;
  });
}

int ShardOfThread(int shards) {
  static std::atomic<int> threads{0};
  thread_local const int number = threads.fetch_add(1, std::memory_order_relaxed);
  return number & (shards - 1);
}

// ---- CellArena

CellArena::~CellArena() {
  for (const Mapping& mapping : mappings_) {
    if (from_) {
      from_.release(from_.self, mapping.start, mapping.size);
    } else {
      munmap(mapping.start, mapping.size);
    }
  }
  if (budget_ != nullptr) budget_->Return(bytes());
}

bool CellArena::Map(uint64_t bytes, bool touched, Region* region) {
  // One page more than needed: see the end of the region.
  uint64_t size = std::max(next_size_, RoundUp(bytes + kPage, kPage));
  if (from_) {
    uint8_t* memory = from_.Zeroed(size, kPage);
    if (memory == nullptr) return false;
    mappings_.push_back({memory, size});
    next_size_ = std::min(next_size_ * 2, kLastMapping);
    *region = {memory, memory + size - kPage};
    return true;
  }
  const bool huge = touched && size >= 2 * kHugePage;
  if (huge) size = RoundUp(size, kHugePage) + kHugePage;
  // NORESERVE: the mapping grows in steps that a tree may never use, and must not count against the
  // system's limit before it is touched.
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return false;
  auto* memory = static_cast<uint8_t*>(start);
  mappings_.push_back({memory, size});
  next_size_ = std::min(next_size_ * 2, kLastMapping);
  // The last page stays unused: vector loads of the last cell end in it.
  region->end = memory + size - kPage;
  region->next = memory;
  if (huge) {
    region->next =
        reinterpret_cast<uint8_t*>(RoundUp(reinterpret_cast<uintptr_t>(memory), kHugePage));
    madvise(region->next, region->end - region->next, MADV_HUGEPAGE);
  }
  return true;
}

uint8_t* CellArena::Carve(uint64_t bytes, uint64_t unit, bool touched, uint64_t* got) {
  // Less than requested if the budget is nearly exhausted.
  bytes = std::max(bytes / unit, uint64_t{1}) * unit;
  while (budget_ != nullptr && !budget_->Take(bytes)) {
    if (bytes == unit) return nullptr;
    bytes = bytes / unit / 2 * unit;
  }
  ForkLockGuard guard(lock_);
  Region& region = touched ? touched_ : sparse_;
  // Every span begins on a cache line of its own, so two threads' spans share none.
  const uint64_t taken = RoundUp(bytes, 64);
  // What is left of the old mapping is lost: less than a span, never touched, so it costs addresses
  // only.
  if (taken > static_cast<uint64_t>(region.end - region.next) && !Map(taken, touched, &region)) {
    if (budget_ != nullptr) budget_->Return(bytes);
    return nullptr;
  }
  uint8_t* start = region.next;
  region.next += taken;
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  *got = bytes;
  return start;
}

// ---- CellAllocator

CellAllocator::CellAllocator(CellArena* arena, uint64_t bytes)
    : arena_(arena),
      bytes_(bytes),
      stride_(StrideOf(bytes)),
      shard_count_(ShardCount()),
      shards_(new Shard[shard_count_]),
      next_span_(kFirstSpan) {}

CellAllocator::~CellAllocator() {
  for (int s = 0; s < shard_count_; ++s) delete shards_[s].used;
}

uint8_t* CellAllocator::TakeFrom(Shard* shard, uint64_t stride, bool* fresh) {
  uint8_t* cell;
  CellBlock* used = shard->used;
  // Used cells go first: their pages are mapped and perhaps cached, fresh ones cost a page fault.
  *fresh = used == nullptr;
  if (used != nullptr) {
    cell = used->cells[used->begin];
    if (used->begin + 1 < used->end) {
      ++used->begin;
    } else {
      shard->used = nullptr;
      delete used;
    }
  } else if (shard->next != shard->end) {
    cell = shard->next;
    shard->next += stride;
  } else {
    return nullptr;
  }
  // Atomic only for `taken()`, which reads without the lock. The lock orders the writers.
  shard->taken.store(shard->taken.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return cell;
}

bool CellAllocator::Refill(Shard* shard) {
  // The flag spares a lock per refill. A bag that arrives now is found by the next refill.
  if (depot_filled_.load(std::memory_order_relaxed)) {
    ForkLockGuard guard(depot_lock_);
    shard->used = depot_.TakeBlock();
    if (shard->used != nullptr) return true;
    depot_filled_.store(false, std::memory_order_relaxed);
  }
  uint64_t span = next_span_.load(std::memory_order_relaxed);
  // Doubling per allocator: an SNode of few cells takes few pages, a busy one whole large pages.
  // Threads that race here double once, which is no loss.
  if (span < kLastSpan) next_span_.store(span * 2, std::memory_order_relaxed);
  const bool large = stride_ >= kLargeCell;
  if (large) span = stride_;  // one at a time: reserves no budget ahead
  uint64_t got;
  uint8_t* start = arena_->Carve(span, stride_, /*touched=*/!large, &got);
  if (start == nullptr) return false;
  shard->end = start + got;
  shard->next = start;
  return true;
}

uint8_t* CellAllocator::TakeFromOthers(bool* fresh) {
  for (int s = 0; s < shard_count_; ++s) {
    // Waits, unlike Take: memory is exhausted, and a cell that another thread holds back is worth
    // waiting.
    ForkLockGuard guard(shards_[s].lock);
    if (uint8_t* cell = TakeFrom(&shards_[s], stride_, fresh)) return cell;
  }
  return nullptr;
}

uint8_t* CellAllocator::Take() {
  for (int s = ShardOfThread(shard_count_);; s = (s + 1) & (shard_count_ - 1)) {
    Shard& shard = shards_[s];
    // Another thread has this shard. The next one serves as well, so no thread ever waits here.
    if (!shard.lock.TryLock()) continue;
    bool fresh;
    uint8_t* cell = TakeFrom(&shard, stride_, &fresh);
    if (cell == nullptr && Refill(&shard)) cell = TakeFrom(&shard, stride_, &fresh);
    shard.lock.Unlock();
    if (cell == nullptr) cell = TakeFromOthers(&fresh);
    // Outside of the lock. Fresh pages are zero, and Release has cleared large cells.
    if (cell != nullptr && !fresh && stride_ < kLargeCell) std::memset(cell, 0, bytes_);
    return cell;
  }
}

void CellAllocator::GiveBack(uint8_t* cell) {
  for (int s = ShardOfThread(shard_count_);; s = (s + 1) & (shard_count_ - 1)) {
    Shard& shard = shards_[s];
    if (!shard.lock.TryLock()) continue;
    shard.taken.store(shard.taken.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    // Back to the place it was taken from, usually by this thread a moment ago. Otherwise to the
    // depot.
    if (shard.used != nullptr && shard.used->begin > 0) {
      shard.used->cells[--shard.used->begin] = cell;
      cell = nullptr;
    }
    shard.lock.Unlock();
    if (cell == nullptr) return;
    CellBag bag;
    bag.Add(cell);
    return GiveBack(std::move(bag));
  }
}

void CellAllocator::GiveBack(CellBag&& cells) {
  ForkLockGuard guard(depot_lock_);
  depot_.Add(std::move(cells));
  depot_filled_.store(true, std::memory_order_relaxed);
}

bool CellAllocator::returns_memory() const { return stride_ >= kLargeCell; }

void CellAllocator::Release(uint8_t* cell) const {
  if (!returns_memory()) return;
  // The pages read as zero afterwards, as Take requires. Locked memory refuses, and the
  // application's may be a file's; then clear it by hand.
  if (!arena_->is_of_system() || madvise(cell, stride_, MADV_DONTNEED) != 0) {
    std::memset(cell, 0, bytes_);
  }
}

uint64_t CellAllocator::taken() const {
  uint64_t sum = 0;
  for (int s = 0; s < shard_count_; ++s) sum += shards_[s].taken.load(std::memory_order_relaxed);
  return sum;
}

// ---- RetiredCells

RetiredCells::RetiredCells() : shard_count_(ShardCount()), shards_(new Shard[shard_count_]) {}

template <typename Change>
void RetiredCells::OnShard(const Change& change) {
  for (int s = ShardOfThread(shard_count_);; s = (s + 1) & (shard_count_ - 1)) {
    Shard& shard = shards_[s];
    if (!shard.lock.TryLock()) continue;
    change(&shard.cells);
    shard.filled.store(true, std::memory_order_relaxed);
    shard.lock.Unlock();
    return;
  }
}

void RetiredCells::Add(uint8_t* cell) {
  OnShard([cell](CellBag* bag) { bag->Add(cell); });
}

void RetiredCells::Add(CellBag&& cells) {
  if (cells.empty()) return;
  OnShard([&cells](CellBag* bag) { bag->Add(std::move(cells)); });
}

CellBag RetiredCells::TakeAll() {
  CellBag all;
  for (int s = 0; s < shard_count_; ++s) {
    ForkLockGuard guard(shards_[s].lock);
    all.Add(std::move(shards_[s].cells));
    shards_[s].filled.store(false, std::memory_order_relaxed);
  }
  return all;
}

bool RetiredCells::empty() const {
  for (int s = 0; s < shard_count_; ++s) {
    if (shards_[s].filled.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

}  // namespace kiln
