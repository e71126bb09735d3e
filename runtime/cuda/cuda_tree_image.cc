// The part of CudaTree that writes what the device knows of a new tree.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_tree.h"
#include "runtime/device_lib/cuda_tree.h"

namespace kiln {
namespace {

uint64_t KindOf(const SNodeFacts& kind) {
  if (kind.cells == CellsAre::kBehindPointer) return KILN_CUDA_POINTER;
  return kind.cells == CellsAre::kInChunks ? KILN_CUDA_DYNAMIC : KILN_CUDA_BITMASKED;
}

}  // namespace

// Writes what the device knows of the tree into the mirror of a new buffer, which is all zeros.
class CudaTree::Image {
 public:
  Image(CudaTree* tree, uint64_t at) : tree_(*tree), next_(at) {}

  // The device's address of `count` new Ts.
  template <typename T>
  T* New(uint64_t count, uint64_t align = 64) {
    next_ = (next_ + align - 1) / align * align;
    auto* at = reinterpret_cast<T*>(tree_.buffer_->data() + next_);
    next_ += count * sizeof(T);  // NOLINT(bugprone-sizeof-expression)
    KILN_CHECK(next_ <= tree_.buffer_->size()) << "the image of a tree is too large";
    return at;
  }
  template <typename T>
  T& Host(T* device) {
    return *reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(device) - tree_.buffer_->data() +
                                 tree_.buffer_->host());
  }

  const KilnCudaLevel* Levels(const std::vector<NodeLayout::Level>& levels) {
    auto* made = New<KilnCudaLevel>(levels.size(), 8);
    for (size_t i = 0; i < levels.size(); ++i) {
      Host(made + i) = {levels[i].axis, levels[i].extent, levels[i].multiplier};
    }
    return made;
  }

  // From the cells of `above` to the containers of `node`.
  KilnCudaPath Path(int above, int node) {
    const TreeShape& shape = tree_.shape_;
    std::vector<int> way;
    for (int n = shape[node].parent; n != above && n > 0; n = shape[n].parent) {
      way.insert(way.begin(), n);
    }
    auto* steps = New<KilnCudaStep>(way.size(), 8);
    KilnCudaPath path = {steps, way.size(), 1, shape[node].offset};
    for (size_t i = 0; i < way.size(); ++i) {
      const NodeLayout& level = shape[way[i]];
      Host(steps + i) = {level.num_cells, level.cell_bytes, level.offset, Levels(level.levels),
                         level.levels.size()};
      path.count *= level.num_cells;
    }
    return path;
  }

  uint64_t end() const { return (next_ + 255) / 256 * 256; }

 private:
  CudaTree& tree_;
  uint64_t next_;
};

uint64_t CudaTree::ImageBytes() const {
  constexpr uint64_t kAligning = 64;                       // of one piece, at most
  uint64_t bytes = sizeof(KilnCudaTree) + 64 * kAligning;  // ample for those that are made once
  for (const NodeLayout& node : shape_.nodes) {
    bytes += sizeof(void*);  // in the table of nodes
    if (!node.kind->is_sparse) continue;
    bytes += sizeof(KilnCudaNode) + 2 * StandInBytes(node.cell_bytes) + 4 * kAligning;
    // Its own levels, and the steps of two paths.
    bytes += node.levels.size() * sizeof(KilnCudaLevel);
    for (int n = node.parent; n > 0; n = shape_[n].parent) {
      bytes += 2 * (sizeof(KilnCudaStep) + shape_[n].levels.size() * sizeof(KilnCudaLevel));
    }
  }
  return bytes;
}

// Goes through parents first, whatever their numbers.
CudaTree::Above CudaTree::OrderNodes() {
  Above above{std::vector<int>(shape_.size(), 0), std::vector<int>(shape_.size(), 0)};
  std::vector<int> open = {0};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    const bool sparse = shape_[n].kind->is_sparse;
    if (sparse) order_.push_back(n);
    for (size_t c = shape_[n].children.size(); c-- > 0;) {
      const int child = shape_[n].children[c];
      above.sparse[child] = sparse ? n : above.sparse[n];
      above.holder[child] = shape_[n].kind->keeps_memory() ? n : above.holder[n];
      open.push_back(child);
    }
  }
  return above;
}

void CudaTree::WriteNode(Image& image, int n, const Above& above) {
  const NodeLayout& layout = shape_[n];
  const int parent = above.sparse[n], holder = above.holder[n];
  KilnCudaNode& node = image.Host(sparse_[n]);
  image.Host(table_ + n) = &sparse_[n]->shared;
  node.shared.ambient = image.New<uint8_t>(StandInBytes(layout.cell_bytes));
  node.shared.dump = image.New<uint8_t>(StandInBytes(layout.cell_bytes));
  node.tree = tree_;
  node.parent = parent == 0 ? nullptr : sparse_[parent];
  node.holder = holder == 0 ? nullptr : sparse_[holder];
  node.number = n;
  node.kind = KindOf(*layout.kind);
  node.cells = layout.num_cells;
  node.cell_bytes = layout.cell_bytes;
  node.mask_offset = layout.mask_offset;
  node.memory_cells = 1;
  if (node.kind == KILN_CUDA_DYNAMIC) {
    node.memory_cells = std::min<uint64_t>(layout.num_cells, layout.chunk_cells);
    const uint64_t chunks = (node.cells + node.memory_cells - 1) / node.memory_cells;
    if (chunks > 1) node.chunks = chunks;
    node.directories.bytes = node.chunks * sizeof(uint8_t*);
  }
  if (layout.kind->keeps_memory()) node.memory.bytes = node.memory_cells * node.cell_bytes;
  node.path = image.Path(parent, n);
  node.held = image.Path(holder, n);
  node.levels = image.Levels(layout.levels);
  node.num_levels = layout.levels.size();
}

Result<> CudaTree::WriteImage(uint64_t head) {
  const Above above = OrderNodes();
  Image image(this, head);
  tree_ = image.New<KilnCudaTree>(1);
  auto* nodes = image.New<KilnCudaNode>(order_.size());
  table_ = image.New<KilnNode*>(shape_.size());
  sparse_.resize(shape_.size());
  for (size_t i = 0; i < order_.size(); ++i) sparse_[order_[i]] = nodes + i;
  for (const int n : order_) WriteNode(image, n, above);
  arena_ = image.end();
  KilnCudaTree& tree = image.Host(tree_);
  tree.next = buffer_->data() + arena_;
  tree.end = buffer_->data() + bytes();
  tree.root = buffer_->data();
  Result<cuda::TreeNotices::Place> known = device_->trees().Remember(this, growing_ != nullptr);
  if (!known.ok()) return known.error();
  id_ = known->id;
  asks_ = known->asks;
  tree.notice = reinterpret_cast<KilnCudaNotice*>(known->notice);
  tree.id = id_;
  tree.nodes = nodes;
  tree.num_nodes = order_.size();
  tree.asks = reinterpret_cast<uint32_t*>(asks_);
  tree.mark = NextMark();
  return {};
}

}  // namespace kiln
