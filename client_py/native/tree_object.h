// A tree of SNodes for Python: its layout and, once allocated, its memory.
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
#include "runtime/tree/tree_data.h"

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

  // For trees with sparse levels, `names` are the nodes' names in messages, and `budget` (may be
  // null) limits their memory.
  void Allocate(std::vector<std::string> names, std::shared_ptr<MemoryBudget> budget);
  // Frees the memory immediately, which is safe because every access first checks `alive`.
  void Destroy() { DestroyMemory(memory_.get()); }

  const TreeLayout& layout() const { return layout_; }
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  bool alive() const { return memory_->alive; }
  bool has_sparse() const { return has_sparse_; }
  // The tree, if it has sparse levels and is alive; otherwise null.
  TreeData* tree() const { return tree_.lock().get(); }
  uint8_t* root() const { return root_; }  // the root's cell, for the host
  // The same for kernels.
  uint64_t device_root() const {
    return reinterpret_cast<uint64_t>(memory_->buffer != nullptr ? memory_->buffer->data() : root_);
  }
  uint64_t bytes() const;  // in use: the root container and all cells

 private:
  TreeLayout layout_;
  const bool has_sparse_;
  uint8_t* root_ = nullptr;
  std::shared_ptr<Memory> memory_;
  std::weak_ptr<TreeData> tree_;  // `memory_` owns it
};

// The part of a tree that a unit has.
struct ReachedPart {
  std::shared_ptr<TreeObject> tree;
  uint64_t root_offset = 0;     // of the part's root cell in the tree's
  std::vector<uint32_t> nodes;  // of the tree, by node of the part
};

// The trees of a unit with these storages (dense ones and ndarrays have none), in the unit's order,
// after the pruning of KernelBuilder::Finish.
std::vector<ReachedPart> ReachedParts(const std::vector<const FieldStorage*>& storages);

// The data of a unit's tree that a launch needs. Addresses stay valid as long as the object exists.
struct BoundTree {
  std::shared_ptr<TreeObject> tree;
  uint64_t root = 0;             // the address of the part's root cell
  std::vector<KilnNode*> nodes;  // by node of the part
  std::shared_ptr<Buffer> copy;  // of `nodes`, in a device's memory; null: kernels use the host's
};

// The same parts, with their addresses.
std::vector<BoundTree> BindTrees(const std::vector<const FieldStorage*>& storages);

void BindTree(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_TREE_OBJECT_H_
