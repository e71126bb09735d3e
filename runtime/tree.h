// The data of one SNode tree with sparse levels: its root container, the cells that hang
// on it, and the lists that struct-fors run over.
//
// Cells are made by whoever writes to them, kernels or Locate, without locks; what is made
// inactive is out of reach at once, and its memory is used again from the next Collect on
// (the gc task of the launch, or the caller of Deactivate). Memory goes back to the system
// when the tree is destroyed.
//
// Indices (`at`) are physical, one entry per physical axis up to kMaxIndices, counted in
// cells of the node that they address; entries of axes that the node does not have are not
// looked at. Nodes are numbered as in the layout.
//
// Thread safety: all functions may be called from any thread, also while kernels run on
// the tree. Addresses stay mapped as long as the tree lives; what they hold after the cell was
// collected belongs to others. A forked child goes on with a copy of its own.
#ifndef KILN_RUNTIME_TREE_H_
#define KILN_RUNTIME_TREE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "lang/layout.h"
#include "runtime/abi.h"
#include "runtime/memory_budget.h"

namespace kiln {

struct TreeState;  // tree_node.h

struct TreeOptions {
  // What messages call the nodes; nodes without a name are called by number and kind.
  std::vector<std::string> names;
  // What root and cells may take; null: whatever the system gives.
  std::shared_ptr<MemoryBudget> budget;
};

enum class CellAccess {
  kRead,   // the ambient cell (zeroes, not to be written to) where nothing is active
  kFind,   // null where nothing is active
  kWrite,  // makes active what is not
};

// Neighbouring cells of one node: `cell`, `cell` + cell_bytes, ..., whose indices are `at`
// but for the node's last axis, which counts up from at[axis].
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

// Since the tree was made.
struct NodeStats {
  uint64_t cells_made = 0;       // pointer cells, chunks of dynamic SNodes
  uint64_t cells_collected = 0;  // of these, ready for use again
  uint64_t cells_peak = 0;       // the most that were made and not collected at one time
};
struct TreeStats {
  uint64_t root_bytes = 0;
  uint64_t cell_bytes = 0;  // taken for cells, in use or not
  uint64_t list_bytes = 0;
  uint64_t lists_made = 0, lists_kept = 0;  // kept: nothing had changed
  uint64_t collections = 0;
};

class Tree {
 public:
  // ResourceExhausted, naming the size, where budget or system refuse the root container.
  static absl::StatusOr<std::unique_ptr<Tree>> Make(TreeLayout layout, TreeOptions options);
  // Nothing may run on the tree any more.
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const TreeLayout& layout() const;
  // The root's cell: the first of a tree's two argument slots.
  uint8_t* root() const;
  // What the array in the second slot points to; null for nodes that are neither pointer,
  // bitmasked nor dynamic. Lives as long as the tree.
  KilnNode* node(int node) const;

  // The cell of `node` at `at`; of a place, its value; of a place in a word of bits, the
  // word. OutOfRange, naming the axis, for indices beyond the node; ResourceExhausted,
  // naming the SNode, where memory ends.
  absl::StatusOr<uint8_t*> Locate(int node, const int64_t* at, CellAccess access);

  // Of pointer, bitmasked and dynamic nodes; for others, whether their cell is there.
  absl::StatusOr<bool> IsActive(int node, const int64_t* at);
  // Pointer: the cell with all below it goes. Bitmasked: its bit is cleared, its data stays.
  // Dynamic: all cells of the container go. Others, and what is not active: nothing.
  absl::Status Deactivate(int node, const int64_t* at);
  // Every active cell of the node and of all nodes below.
  void DeactivateAll(int node);
  // Makes the memory of retired cells, with all that hangs on them, usable again: of one
  // node, or of all. Cost grows with what was retired.
  void Collect(int node, int max_threads = 0);
  void Collect();

  // Dynamic nodes: cells in the container that holds `at`. Append answers the number of
  // the cell that it takes, -1 where the container is full.
  absl::StatusOr<int32_t> Length(int node, const int64_t* at);
  absl::StatusOr<int32_t> Append(int node, const int64_t* at, uint8_t** cell);

  // Calls `visit` for the active cells of `node` (any but places), in the order of the list.
  // Cells may be written to. Those of dynamic nodes that memory has ended for are left out.
  void ForEachRun(int node, absl::FunctionRef<void(const CellRun&)> visit);
  uint64_t CountActive(int node);

  // The active cells of a sparse node or the slices of its containers, from the outermost
  // level's row-major order inwards; made by up to `max_threads` threads (0: any number),
  // or the last one again when nothing changed. Null where the system has no memory for it.
  std::shared_ptr<const ElementList> List(int node, bool slices, int max_threads = 0);

  TreeStats Stats() const;
  NodeStats Stats(int node) const;

  // What KilnRuntime's functions do with a launch's node: null where memory ends, with the
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

#endif  // KILN_RUNTIME_TREE_H_
