// Memory of the cells of one tree: an arena of mapped memory, and per SNode an allocator of
// cells of one size.
//
// Cells handed out are zero. Memory stays with its SNode until the
// arena goes: who holds the address of a cell that was collected meanwhile reads and writes
// a cell of the same SNode, or one not in use.
//
// Each allocator keeps its free cells in shards, tried from the calling thread's own on, so
// that threads hardly ever meet and none waits for another.
//
// Thread safety: all functions. fork: fork_lock.h.
#ifndef KILN_RUNTIME_CELL_ALLOCATOR_H_
#define KILN_RUNTIME_CELL_ALLOCATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cell_bag.h"
#include "runtime/fork_lock.h"
#include "runtime/memory_budget.h"

namespace kiln {

// The calling thread's shard among `shards`, a power of two.
int ShardOfThread(int shards);
// How many shards this process's threads want.
int ShardCount();

class CellArena {
 public:
  // `budget` may be null and must outlive the arena.
  explicit CellArena(MemoryBudget* budget) : budget_(budget) {}
  ~CellArena();
  CellArena(const CellArena&) = delete;
  CellArena& operator=(const CellArena&) = delete;

  // Zeroed, 64-byte aligned, up to `bytes` in multiples of `unit`: how many in *got. Null
  // where budget or system refuse even one unit. `touched`: it will be used from end to end,
  // so that large pages serve.
  uint8_t* Carve(uint64_t bytes, uint64_t unit, bool touched, uint64_t* got);

  // What was carved.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const MemoryBudget* budget() const { return budget_; }

 private:
  struct Mapping {
    uint8_t* start;
    uint64_t size;
  };
  struct Region {  // what is left of the newest mapping
    uint8_t* next = nullptr;
    uint8_t* end = nullptr;
  };
  bool Map(uint64_t bytes, bool touched, Region* region);

  MemoryBudget* budget_;
  std::atomic<uint64_t> bytes_{0};
  ForkLock lock_;
  Region touched_, sparse_;
  uint64_t next_size_ = uint64_t{256} << 10;  // mappings double, so that small trees stay small
  std::vector<Mapping> mappings_;
};

class CellAllocator {
 public:
  // Cells of `bytes`, at multiples of 8 and of 64 where `bytes` is one.
  CellAllocator(CellArena* arena, uint64_t bytes);
  ~CellAllocator();

  // Null where memory ends.
  uint8_t* Take();
  // A cell that nobody wrote to.
  void GiveBack(uint8_t* cell);
  // Used cells, for all threads. They hold no addresses that still count. Small ones are
  // cleared when they are taken, which is when they are wanted in the processor's cache.
  void GiveBack(CellBag&& cells);
  // Before GiveBack, for each cell: large ones go back to the system.
  void Release(uint8_t* cell) const;
  bool returns_memory() const;  // Release does something

  uint64_t stride() const { return stride_; }
  uint64_t taken() const;  // handed out so far, what was given back at once not counted

 private:
  struct alignas(64) Shard {
    ForkLock lock;
    uint8_t* next = nullptr;  // the rest of a span of fresh cells
    uint8_t* end = nullptr;
    CellBlock* used = nullptr;  // not empty
    std::atomic<uint64_t> taken{0};
  };

  // `fresh`: nobody wrote to it since it was mapped.
  static uint8_t* TakeFrom(Shard* shard, uint64_t stride, bool* fresh);
  bool Refill(Shard* shard);
  // From any shard, once nothing else is left.
  uint8_t* TakeFromOthers(bool* fresh);

  CellArena* arena_;
  const uint64_t bytes_, stride_;
  const int shard_count_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<uint64_t> next_span_;
  ForkLock depot_lock_;
  CellBag depot_;
  std::atomic<bool> depot_filled_{false};
};

// Cells that were made inactive and wait for the collection.
class RetiredCells {
 public:
  RetiredCells();

  void Add(uint8_t* cell);
  void Add(CellBag&& cells);
  // All of them; none are left.
  CellBag TakeAll();
  bool empty() const;

 private:
  struct alignas(64) Shard {
    ForkLock lock;
    std::atomic<bool> filled{false};
    CellBag cells;
  };
  template <typename Change>
  void OnShard(const Change& change);

  const int shard_count_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CELL_ALLOCATOR_H_
