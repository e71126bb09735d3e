// A tree of SNodes as Python has it: its layout and, once allocated, its memory.
#ifndef KILN_CLIENT_PY_NATIVE_TREE_OBJECT_H_
#define KILN_CLIENT_PY_NATIVE_TREE_OBJECT_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client_py/native/storage_object.h"
#include "common/layout/layout.h"
#include "common/layout/prune_trees.h"
#include "runtime/tree/tree.h"

namespace kiln {

class TreeObject {
 public:
  // (kind, bits, is_signed, scale, exponent_bits), as in proto QuantType; kind 0: none.
  using QuantTuple = std::tuple<int, uint32_t, bool, double, uint32_t>;
  // (kind, [(axis, extent)…], parent, scalar, chunk_size, virtual_to_physical, index_offset,
  //  bits of the word, quantised type, exponent as in proto SNode)
  using NodeTuple =
      std::tuple<int, std::vector<std::pair<uint32_t, uint64_t>>, int, int, uint32_t,
                 std::vector<int>, std::vector<int64_t>, uint32_t, QuantTuple, uint32_t>;

  explicit TreeObject(const std::vector<NodeTuple>& nodes);

  // Of trees with sparse levels `names` says what messages call the nodes, and `budget`
  // (may be null) what they may take.
  void Allocate(std::vector<std::string> names, std::shared_ptr<MemoryBudget> budget);
  // Memory goes back at once: every access checks `alive` first.
  void Destroy() { DestroyMemory(memory_.get()); }

  const TreeLayout& layout() const { return layout_; }
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  bool alive() const { return memory_->alive; }
  bool has_sparse() const { return has_sparse_; }
  // Of trees with sparse levels that are alive; null for all others.
  Tree* tree() const { return tree_.lock().get(); }
  uint8_t* root() const { return root_; }  // the root's cell
  uint64_t bytes() const;                  // in use: the root container and all cells

 private:
  TreeLayout layout_;
  bool has_sparse_ = false;
  uint8_t* root_ = nullptr;
  std::shared_ptr<Memory> memory_;
  std::weak_ptr<Tree> tree_;  // `memory_` owns it
};

// What a launch needs of one tree of a unit. Addresses stay good as long as the object.
struct BoundTree {
  std::shared_ptr<TreeObject> tree;
  uint64_t root = 0;             // the address of the part's root cell
  std::vector<KilnNode*> nodes;  // by node of the part
};

// The trees of a unit with these storages (dense ones and ndarrays have none), in its
// order: what the kernel builder's Finish leaves of them.
std::vector<BoundTree> BindTrees(const std::vector<const FieldStorage*>& storages);

void BindTree(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_TREE_OBJECT_H_
