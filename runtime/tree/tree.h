// The data of one SNode tree with sparse levels: its root container, the cells below it, and the
// lists that struct-fors run over.
//
// Writers (kernels or Locate) activate cells, without locks. A deactivated cell becomes unreachable
// at once, and its memory is reusable from the next Collect on (by the launch's gc task, or by the
// caller of Deactivate). Memory returns to the system when the tree is destroyed.
//
// Indices (`at`) are physical: one entry per physical axis up to kMaxIndices, counted in cells of
// the node that they address. Entries of axes that the node does not have are ignored. Nodes are
// numbered as in the shape.
//
// Thread safety: all functions may be called from any thread, also while kernels run on the tree.
// Addresses stay mapped as long as the tree lives; the memory of a collected cell may be reused for
// others. A forked child continues with its own copy.
#ifndef KILN_RUNTIME_TREE_TREE_H_
#define KILN_RUNTIME_TREE_TREE_H_

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

namespace kiln {

class Executor;
struct TreeState;  // tree_node.h

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

// An immutable list; see KilnElement for the two kinds.
class ElementList {
 public:
  virtual ~ElementList() = default;
  const KilnElement* data() const { return data_; }
  int64_t size() const { return size_; }

 protected:
  KilnElement* data_ = nullptr;
  int64_t size_ = 0;
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

class Tree {
 public:
  // ResourceExhausted names the size if budget or system refuse the root container.
  static Result<std::unique_ptr<Tree>> Make(TreeShape shape, TreeOptions options);
  // Requires that nothing uses the tree any more.
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const TreeShape& shape() const;
  // The root's cell: the first of a tree's two argument slots.
  uint8_t* root() const;
  // The array for the second slot; null for nodes that are not sparse. Lives as long as the tree.
  KilnNode* node(int node) const;

  // The cell of `node` at `at`; for a place, its value; for a place in a word of bits, the word.
  // OutOfRange names the axis of an index beyond the node; ResourceExhausted names the SNode if
  // memory is exhausted.
  Result<uint8_t*> Locate(int node, const int64_t* at, CellAccess access);

  // For sparse nodes; for others, whether their cell exists.
  Result<bool> IsActive(int node, const int64_t* at);
  // Pointer: removes the cell with all below it. Bitmasked: clears its bit; its data stays.
  // Dynamic: removes all cells of the container. Does nothing for other nodes and inactive cells.
  Result<> Deactivate(int node, const int64_t* at);
  // Deactivates every active cell of the node and of all nodes below.
  void DeactivateAll(int node);
  // Makes the memory of retired cells, with everything below them, reusable: of one node, or of
  // all. The cost is proportional to the retired cells.
  void Collect(int node, int max_threads = 0);
  void Collect();

  // Dynamic nodes: the number of cells in the container that holds `at`. Append returns the number
  // of the cell that it takes, -1 if the container is full.
  Result<int32_t> Length(int node, const int64_t* at);
  Result<int32_t> Append(int node, const int64_t* at, uint8_t** cell);

  // Calls `visit` for the active cells of `node` (not a place), in the list's order. `visit` may
  // write to cells. Omits cells of dynamic nodes whose memory could not be allocated.
  void ForEachRun(int node, const std::function<void(const CellRun&)>& visit);
  uint64_t CountActive(int node);

  // The list of a sparse node's active cells, or of the slices of its containers, row-major from
  // the outermost level inwards. Built by up to `max_threads` threads (0: any number), or the last
  // list again if nothing changed. Null if the system has no memory for it.
  std::shared_ptr<const ElementList> List(int node, bool slices, int max_threads = 0);

  TreeStats Stats() const;
  NodeStats Stats(int node) const;

  // Implement KilnRuntime's functions for a launch's node: null if memory is exhausted, with the
  // reason in `why`.
  static uint8_t* Activate(KilnNode* node, uint8_t** slot, std::string* why);
  static uint8_t* ActivateChunk(KilnNode* node, uint8_t* container, uint64_t chunk,
                                std::string* why);
  static void Deactivate(KilnNode* node, uint8_t* container, uint64_t cell);
  // The tree and the number of a node.
  static Tree& Of(const KilnNode* node, int* number);

 private:
  explicit Tree(std::unique_ptr<TreeState> state);
  std::unique_ptr<TreeState> state_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_TREE_TREE_H_
