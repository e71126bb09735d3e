// Memory of the cells of one tree: an arena of mapped memory, and per SNode an allocator of cells
// of one size.
//
// Allocated cells are zero. Memory stays with its SNode until the arena is destroyed. A thread that
// still holds the address of a collected cell therefore reads and writes a cell of the same SNode,
// or an unused one.
//
// Each allocator keeps its free cells in shards. A thread tries its own shard first, so threads
// rarely contend and none waits for another.
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
#include "runtime/host_memory.h"
#include "runtime/memory_budget.h"

namespace kiln {

// The calling thread's shard among `shards`, a power of two.
int ShardOfThread(int shards);
// The number of shards that suits this process's threads.
int ShardCount();

class CellArena {
 public:
  // `budget` may be null and must outlive the arena. `from`: the application's memory.
  explicit CellArena(MemoryBudget* budget, const HostMemory& from = {})
      : budget_(budget), from_(from) {}
  ~CellArena();
  CellArena(const CellArena&) = delete;
  CellArena& operator=(const CellArena&) = delete;

  // Zeroed, 64-byte aligned memory of up to `bytes`, in multiples of `unit`; sets *got to its size.
  // Null if budget or system refuse even one unit. `touched`: the caller will use all of it, so
  // large pages help.
  uint8_t* Carve(uint64_t bytes, uint64_t unit, bool touched, uint64_t* got);

  // Bytes handed out.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const MemoryBudget* budget() const { return budget_; }
  // Whether pages can be returned to the system, to read as zeros.
  bool is_of_system() const { return !from_; }

 private:
  struct Mapping {
    uint8_t* start;
    uint64_t size;
  };
  struct Region {  // the rest of the newest mapping
    uint8_t* next = nullptr;
    uint8_t* end = nullptr;
  };
  bool Map(uint64_t bytes, bool touched, Region* region);

  MemoryBudget* budget_;
  const HostMemory from_;
  std::atomic<uint64_t> bytes_{0};
  ForkLock lock_;
  Region touched_, sparse_;
  uint64_t next_size_ = uint64_t{256} << 10;  // doubles, so that small trees stay small
  std::vector<Mapping> mappings_;
};

class CellAllocator {
 public:
  // Cells of `bytes`, aligned to 8 bytes, or to 64 if `bytes` is a multiple of 64.
  CellAllocator(CellArena* arena, uint64_t bytes);
  ~CellAllocator();

  // A zeroed cell; null if memory is exhausted.
  uint8_t* Take();
  // Returns a cell that was never written.
  void GiveBack(uint8_t* cell);
  // Frees used cells, for all threads. They must hold no live addresses. Small cells are cleared
  // when they are allocated again, since they are then needed in the processor's cache anyway.
  void GiveBack(CellBag&& cells);
  // Call for each cell before GiveBack: returns the memory of large cells to the system.
  void Release(uint8_t* cell) const;
  bool returns_memory() const;  // whether Release does anything

  uint64_t stride() const { return stride_; }
  uint64_t taken() const;  // cells handed out so far, except those given back unused

 private:
  struct alignas(64) Shard {
    ForkLock lock;
    uint8_t* next = nullptr;  // the rest of a span of fresh cells
    uint8_t* end = nullptr;
    CellBlock* used = nullptr;  // not empty
    std::atomic<uint64_t> taken{0};
  };

  // `fresh`: not written since it was mapped.
  static uint8_t* TakeFrom(Shard* shard, uint64_t stride, bool* fresh);
  bool Refill(Shard* shard);
  // Takes cells from any shard, when all else is exhausted.
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

// Deactivated cells that wait for the collection.
class RetiredCells {
 public:
  RetiredCells();

  void Add(uint8_t* cell);
  void Add(CellBag&& cells);
  // Takes all of them.
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
