// What the host does with the data of a tree with sparse levels, whichever device they are on: Tree
// (tree.h) has them in the host's memory, CudaTree (runtime/cuda/cuda_tree.h) in a CUDA device's.
//
// Indices (`at`) are physical: one entry per physical axis up to kMaxIndices, counted in cells of
// the node that they address. Entries of axes that the node does not have are ignored. Nodes are
// numbered as in the shape.
#ifndef KILN_RUNTIME_TREE_TREE_DATA_H_
#define KILN_RUNTIME_TREE_TREE_DATA_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/layout/tree_shape.h"
#include "runtime/abi.h"
#include "runtime/host_memory.h"
#include "runtime/memory_budget.h"
#include "runtime/result.h"
#include "runtime/storage.h"

namespace kiln {

class Executor;

struct TreeOptions {
  // The nodes' names in messages; nodes without a name appear by number and kind.
  std::vector<std::string> names;
  // The limit on root and cells; null: no limit.
  std::shared_ptr<MemoryBudget> budget;
  // Runs the loops over the tree's cells, also those of launches. Outlives the tree. Null: the
  // process's pool.
  Executor* executor = nullptr;
  HostMemory memory;  // of root and cells; none: the system's
};

enum class CellAccess {
  kRead,   // inactive: the ambient cell (zeros, read-only)
  kFind,   // inactive: null
  kWrite,  // activates inactive cells
};

// Neighbouring cells of one node: `cell`, `cell` + cell_bytes, ... Their indices are `at`, except
// that the node's last axis counts up from at[axis].
struct CellRun {
  uint8_t* cell;
  uint64_t count;
  const int32_t* at;  // kMaxIndices entries
};

// Counts since the tree was created.
struct NodeStats {
  uint64_t cells_made = 0;       // pointer cells, chunks of dynamic SNodes
  uint64_t cells_collected = 0;  // of these, reusable
  uint64_t cells_peak = 0;       // the most that were made and not collected at one time
};
struct TreeStats {
  uint64_t root_bytes = 0;
  uint64_t cell_bytes = 0;  // taken for cells, in use or not
  uint64_t list_bytes = 0;
  uint64_t lists_made = 0, lists_kept = 0;  // kept: no change since the last one
  uint64_t collections = 0;
};

// The memory of a stand-in for a cell (KilnNode.ambient and dump): a cache line more than the cell,
// because vector loads of its last element must not read the next one.
constexpr uint64_t StandInBytes(uint64_t cell_bytes) { return (cell_bytes + 127) / 64 * 64; }

// InvalidArgument if a sparse container has more cells than 32 bits can number.
Result<> CheckContainers(const TreeShape& shape);

class TreeData {
 public:
  virtual ~TreeData() = default;
  TreeData(const TreeData&) = delete;
  TreeData& operator=(const TreeData&) = delete;

  virtual const TreeShape& shape() const = 0;
  // The root's cell, for the host.
  virtual uint8_t* root() const = 0;
  // For kernels; null for nodes that are not sparse. Lives as long as the tree.
  virtual KilnNode* node(int node) const = 0;

  // The cell of `node` at `at`; for a place, its value; for a place in a word of bits, the word.
  // OutOfRange names the axis of an index beyond the node; ResourceExhausted names the SNode if
  // memory is exhausted.
  virtual Result<uint8_t*> Locate(int node, const int64_t* at, CellAccess access) = 0;

  // Deactivates every active cell of the node and of all nodes below.
  virtual void DeactivateAll(int node) = 0;
  // Makes the memory of retired cells, with everything below them, reusable.
  virtual void Collect() = 0;

  // Calls `visit` for the active cells of `node` (not a place), in the list's order. `visit` may
  // write to cells, if `access` says so. Omits cells of dynamic nodes whose memory could not be
  // allocated.
  virtual void ForEachRun(int node, const std::function<void(const CellRun&)>& visit,
                          HostAccess access) = 0;
  virtual uint64_t CountActive(int node) = 0;

  virtual TreeStats Stats() const = 0;
  virtual NodeStats Stats(int node) const = 0;

 protected:
  TreeData() = default;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_TREE_TREE_DATA_H_
