#include "runtime/cuda/cuda_tree.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/tree_work.h"
#include "runtime/device_lib/cuda_tree.h"

namespace kiln {

Result<std::unique_ptr<CudaTree>> CudaTree::Make(CudaDevice* device, TreeShape shape,
                                                 const TreeOptions& options) {
  if (Result<> checked = CheckContainers(shape); !checked.ok()) return checked.error();
  // A tree without sparse nodes has no lists and nothing to collect.
  if (shape.HasSparse()) {
    if (Result<> loaded = device->LoadTreeKernel(); !loaded.ok()) return loaded.error();
  }
  auto tree = std::unique_ptr<CudaTree>(new CudaTree(device, std::move(shape), options));
  if (Result<> allocated = tree->Allocate(options.budget.get()); !allocated.ok()) {
    return allocated.error();
  }
  return tree;
}

CudaTree::CudaTree(CudaDevice* device, TreeShape shape, const TreeOptions& options)
    : device_(device), shape_(std::move(shape)), names_(options.names) {}

CudaTree::~CudaTree() {
  if (id_ != 0) device_->trees().Forget(id_);
}

uint8_t* CudaTree::root() const { return buffer_->host(); }

KilnNode* CudaTree::node(int node) const {
  return sparse_[node] == nullptr ? nullptr : &sparse_[node]->shared;
}

// --- Work of the device

void CudaTree::Work(int node, uint32_t work) const {
  if (Result<> entered = device_->Enter(); !entered.ok()) return device_->Keep(entered);
  if (Result<> done = buffer_->HandOver(); !done.ok()) return device_->Keep(done);
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeTurn(&turn); !taken.ok()) return device_->Keep(taken);
  const cuda::Code code = cuda::StartTreeWork(*device_, reinterpret_cast<cuda::Address>(table_),
                                              static_cast<uint32_t>(node), work, turn.stream());
  if (code != cuda::kSuccess) device_->Keep(device_->ErrorOf(code, "work on sparse SNodes failed"));
}

void CudaTree::DeactivateAll(int node) {
  device_->trees().Grow();  // makes lists
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  // The deepest first: the lists that lead to them still have the cells above.
  for (size_t i = order_.size(); i-- > 0;) {
    int above = order_[i];
    while (above > 0 && above != node) above = shape_[above].parent;
    if (above == node) Work(order_[i], KILN_CUDA_DEACTIVATE_ALL);
  }
}

void CudaTree::Collect() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  // A node's work includes those below.
  for (const int node : order_) {
    bool outermost = true;
    for (int n = shape_[node].parent; n > 0; n = shape_[n].parent) {
      outermost &= sparse_[n] == nullptr;
    }
    if (outermost) Work(node, KILN_CUDA_COLLECT);
  }
}

// --- Counts

uint64_t CudaTree::Arena() const {
  return static_cast<uint64_t>(Read(&tree_->next) - buffer_->data()) - arena_;
}

TreeStats CudaTree::Stats() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  TreeStats stats;
  stats.root_bytes = shape_.root_bytes();
  stats.cell_bytes = Arena();
  for (const int node : order_) {
    for (const KilnCudaList& list : Mirror(sparse_[node], HostAccess::kRead)->lists) {
      stats.list_bytes += list.capacity * sizeof(KilnElement);
    }
  }
  stats.cell_bytes -= std::min(stats.cell_bytes, stats.list_bytes);
  return stats;
}

NodeStats CudaTree::Stats(int node) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  NodeStats stats;
  if (sparse_[node] == nullptr) return stats;
  const KilnCudaPool& pool = *Mirror(&sparse_[node]->memory, HostAccess::kRead);
  stats.cells_made = pool.made;
  stats.cells_collected = pool.returned;
  stats.cells_peak = std::max(pool.peak, pool.made - pool.returned);
  return stats;
}

}  // namespace kiln
