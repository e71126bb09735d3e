// Access to single elements and cells from outside of kernels.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/tree/containers.h"
#include "runtime/tree/tree_node.h"

namespace kiln {
namespace {

// One level of the path from the root to a cell.
struct Level {
  int node;
  uint64_t cell;  // in its container
};

// The path to the cell of one node, outermost level first.
class Way {
 public:
  // OutOfRange for indices beyond the node.
  static Result<Way> To(const TreeState& tree, int node, const int64_t* at) {
    Way way;
    std::array<uint64_t, kMaxIndices> rest = {};
    uint32_t axes = 0;
    // Filled from the back, because the walk to the root meets the innermost level first.
    way.begin_ = kMaxTreeDepth + 1;
    for (int n = node; n > 0; n = tree.shape[n].parent) {
      uint64_t cell = 0;
      for (const NodeLayout::Level& level : tree.shape[n].levels) {
        // The first level of an axis on the way up sees the whole index; each level takes its digit
        // and leaves the rest to the levels above.
        if ((axes >> level.axis & 1) == 0) {
          axes |= uint32_t{1} << level.axis;
          if (at[level.axis] < 0) return way.Beyond(tree, node, level.axis, at);
          rest[level.axis] = static_cast<uint64_t>(at[level.axis]);
        }
        cell += rest[level.axis] % level.extent * level.multiplier;
        rest[level.axis] /= level.extent;
      }
      way.levels_[--way.begin_] = {n, cell};
    }
    for (uint32_t axis = 0; axis < kMaxIndices; ++axis) {
      // A remainder above the outermost level means an index beyond the extent. No extents are
      // multiplied, so nothing can overflow.
      if (rest[axis] != 0) return way.Beyond(tree, node, axis, at);
    }
    return way;
  }

  const Level* begin() const { return levels_.data() + begin_; }
  const Level* end() const { return levels_.data() + levels_.size(); }

 private:
  [[gnu::cold]] static Error Beyond(const TreeState& tree, int node, uint32_t axis,
                                    const int64_t* at) {
    return {ErrorCode::kOutOfRange,
            "index " + std::to_string(at[axis]) + " along axis " + std::to_string(axis) +
                " of SNode " + tree.Name(node) + ", which has " +
                std::to_string(tree.shape.AxisExtent(node, axis)) + " cells there"};
  }

  std::array<Level, kMaxTreeDepth + 1> levels_;
  int begin_;
};

// The cell at the end of the levels; null if memory is exhausted or, for kFind, if a cell on the
// way is inactive.
Result<uint8_t*> Walk(TreeState& tree, const Level* begin, const Level* end, CellAccess access) {
  uint8_t* cell = tree.root->data();
  for (const Level* level = begin; level != end; ++level) {
    const NodeLayout& layout = tree.shape[level->node];
    uint8_t* container = cell + layout.offset;
    SparseNode* sparse = tree.sparse[level->node].get();
    if (sparse == nullptr) {
      // The cells of a word are its bits.
      cell = container + (layout.kind->is_word() ? 0 : level->cell * layout.cell_bytes);
      continue;
    }
    cell = WithKind(*sparse,
                    [&](auto kind) { return kind.Find(*sparse, container, level->cell, access); });
    if (cell != nullptr) continue;
    if (access == CellAccess::kWrite) {
      return Error{ErrorCode::kResourceExhausted, tree.Refusal(*sparse)};
    }
    return nullptr;
  }
  return cell;
}

}  // namespace

Result<uint8_t*> Tree::Locate(int node, const int64_t* at, CellAccess access) {
  const Result<Way> way = Way::To(*state_, node, at);
  if (!way.ok()) return way.error();
  return Walk(*state_, way->begin(), way->end(), access);
}

// Like kernels, this walk reads through cells whose bit was cleared: the cells below them count.
Result<bool> Tree::IsActive(int node, const int64_t* at) {
  const Result<Way> way = Way::To(*state_, node, at);
  if (!way.ok()) return way.error();
  const SparseNode* sparse = state_->sparse[node].get();
  if (sparse == nullptr) {
    const Result<uint8_t*> found = Walk(*state_, way->begin(), way->end(), CellAccess::kFind);
    if (!found.ok()) return found.error();
    return *found != nullptr;
  }
  const Level* last = way->end() - 1;
  // kRead, not kFind: below an inactive ancestor the walk continues in its ambient cell, where
  // nothing is active.
  const Result<uint8_t*> cell = Walk(*state_, way->begin(), last, CellAccess::kRead);
  if (!cell.ok()) return cell.error();
  return WithKind(*sparse, [&](auto kind) {
    return kind.IsActive(*sparse, *cell + sparse->layout.offset, last->cell);
  });
}

Result<> Tree::Deactivate(int node, const int64_t* at) {
  SparseNode* sparse = state_->sparse[node].get();
  const Result<Way> way = Way::To(*state_, node, at);
  if (!way.ok()) return way.error();
  if (sparse == nullptr) return {};
  const Level* last = way->end() - 1;
  const Result<uint8_t*> cell = Walk(*state_, way->begin(), last, CellAccess::kRead);
  if (!cell.ok()) return cell.error();
  // In an ambient cell this finds nothing to deactivate, so it writes nothing to the shared zeros.
  Deactivate(&sparse->shared, *cell + sparse->layout.offset, last->cell);
  return {};
}

namespace {

// The path to the container of the cells; ignores the index along the list's own axis.
Result<Way> ToContainer(const TreeState& tree, int node, const int64_t* at) {
  if (!tree.shape[node].kind->is_list) {
    return Error{ErrorCode::kInvalidArgument, "SNode " + tree.Name(node) + " is not dynamic"};
  }
  std::array<int64_t, kMaxIndices> first;
  std::copy_n(at, kMaxIndices, first.begin());
  // If the axis also exists above the list, its index selects the container and is kept.
  const NodeLayout::Level& own = tree.shape[node].levels[0];
  if (tree.shape.AxisExtent(tree.shape[node].parent, own.axis) == 1) first[own.axis] = 0;
  return Way::To(tree, node, first.data());
}

}  // namespace

Result<int32_t> Tree::Length(int node, const int64_t* at) {
  const Result<Way> way = ToContainer(*state_, node, at);
  if (!way.ok()) return way.error();
  const Result<uint8_t*> cell = Walk(*state_, way->begin(), way->end() - 1, CellAccess::kRead);
  if (!cell.ok()) return cell.error();
  const SparseNode& sparse = *state_->sparse[node];
  return static_cast<int32_t>(DynamicCells::Length(sparse, *cell + sparse.layout.offset));
}

Result<int32_t> Tree::Append(int node, const int64_t* at, uint8_t** cell) {
  const Result<Way> way = ToContainer(*state_, node, at);
  if (!way.ok()) return way.error();
  const Result<uint8_t*> parent = Walk(*state_, way->begin(), way->end() - 1, CellAccess::kWrite);
  if (!parent.ok()) return parent.error();
  SparseNode& sparse = *state_->sparse[node];
  const int32_t number = DynamicCells::Append(sparse, *parent + sparse.layout.offset, cell);
  if (number >= 0 && *cell == nullptr) {
    return Error{ErrorCode::kResourceExhausted, state_->Refusal(sparse)};
  }
  return number;
}

}  // namespace kiln
