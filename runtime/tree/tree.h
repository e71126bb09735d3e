// The data of one SNode tree with sparse levels: its root container, the cells below it, and the
// lists that struct-fors run over.
//
// Writers (kernels or Locate) activate cells, without locks. A deactivated cell becomes unreachable
// at once. Its memory is reusable from the next Collect on (by the launch's gc task, or by the
// caller of Deactivate). Memory returns to the system when the tree is destroyed.
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
#include "runtime/result.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

struct TreeState;  // tree_node.h

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

class Tree final : public TreeData {
 public:
  // ResourceExhausted names the size if budget or system refuse the root container.
  static Result<std::unique_ptr<Tree>> Make(TreeShape shape, TreeOptions options);
  // Requires that nothing uses the tree any more.
  ~Tree() override;

  // --- TreeData
  const TreeShape& shape() const override;
  // The first of a tree's two argument slots; an array of the nodes is the second.
  uint8_t* root() const override;
  KilnNode* node(int node) const override;
  Result<uint8_t*> Locate(int node, const int64_t* at, CellAccess access) override;
  void DeactivateAll(int node) override;
  void Collect() override;
  void ForEachRun(int node, const std::function<void(const CellRun&)>& visit,
                  HostAccess access = HostAccess::kWrite) override;
  uint64_t CountActive(int node) override;
  TreeStats Stats() const override;
  NodeStats Stats(int node) const override;

  // For sparse nodes; for others, whether their cell exists.
  Result<bool> IsActive(int node, const int64_t* at);
  // Pointer: removes the cell with all below it. Bitmasked: clears its bit; its data stays.
  // Dynamic: removes all cells of the container. Does nothing for other nodes and inactive cells.
  Result<> Deactivate(int node, const int64_t* at);
  // Collects the retired cells of one node. The cost is proportional to their number.
  void Collect(int node, int max_threads = 0);

  // Dynamic nodes: the number of cells in the container that holds `at`. Append returns the number
  // of the cell that it takes, -1 if the container is full.
  Result<int32_t> Length(int node, const int64_t* at);
  Result<int32_t> Append(int node, const int64_t* at, uint8_t** cell);

  // The list of a sparse node's active cells, or of the slices of its containers, row-major from
  // the outermost level inwards. Built by up to `max_threads` threads (0: any number), or the last
  // list again if nothing changed. Null if the system has no memory for it.
  std::shared_ptr<const ElementList> List(int node, bool slices, int max_threads = 0);

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
