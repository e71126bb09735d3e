#include "runtime/cuda/tree_notices.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_tree.h"

namespace kiln::cuda {

Result<TreeNotices::Place> TreeNotices::Remember(const CudaTree* tree, bool grows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (notice_ == nullptr) {
    void* memory = nullptr;
    Code code = driver_.HostAlloc(&memory, sizeof(KilnCudaNotice), kHostPortable | kHostDeviceMap);
    if (code == kSuccess) code = driver_.HostGetDevicePointer(&notice_address_, memory, 0);
    if (code != kSuccess) return driver_.ErrorOf(code, "no memory for reports of SNodes");
    std::memset(memory, 0, sizeof(KilnCudaNotice));
    notice_ = static_cast<KilnCudaNotice*>(memory);
  }
  int asks = -1;
  if (grows) {
    std::array<bool, KILN_CUDA_GROWING> taken = {};
    for (const auto& [id, known] : trees_) {
      if (known.asks >= 0) taken[known.asks] = true;
    }
    const auto free = std::find(taken.begin(), taken.end(), false);
    if (free != taken.end()) asks = static_cast<int>(free - taken.begin());
    if (asks >= 0) __atomic_store_n(&notice_.load()->asks[asks], 0u, __ATOMIC_RELAXED);
  }
  trees_[++last_tree_] = {tree, asks};
  const Address at = notice_address_ + offsetof(KilnCudaNotice, asks) + asks * sizeof(uint32_t);
  return Place{last_tree_, notice_address_, asks < 0 ? 0 : at};
}

void TreeNotices::Forget(uint64_t id) {
  const std::lock_guard<std::mutex> growing(growing_);
  const std::lock_guard<std::mutex> lock(mutex_);
  trees_.erase(id);
}

uint64_t TreeNotices::Bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [id, known] : trees_) bytes += known.tree->bytes();
  return bytes;
}

void TreeNotices::GrowThoseThatAsk() {
  const std::lock_guard<std::mutex> growing(growing_);
  std::vector<std::pair<const CudaTree*, uint64_t>> asking;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    KilnCudaNotice* const notice = notice_;
    // First, since a tree that asks meanwhile sets it again.
    __atomic_store_n(&notice->asked, 0u, __ATOMIC_SEQ_CST);
    for (const auto& [id, known] : trees_) {
      if (known.asks < 0) continue;
      const uint64_t mib = __atomic_exchange_n(&notice->asks[known.asks], 0u, __ATOMIC_SEQ_CST);
      if (mib != 0) asking.emplace_back(known.tree, mib << 20);
    }
  }
  for (const auto& [tree, bytes] : asking) tree->Grow(bytes);
}

Result<> TreeNotices::TakeReady(const RecentLaunches& launches) {
  const std::lock_guard<std::mutex> lock(mutex_);
  KilnCudaNotice* const notice = notice_;
  const auto tree = trees_.find(notice->tree);
  // A tree that is gone took its failure along.
  const std::string text =
      tree == trees_.end() ? "" : tree->second.tree->Refusal(notice->node, launches.Text());
  __atomic_store_n(&notice->ready, 0u, __ATOMIC_RELAXED);
  __atomic_store_n(&notice->failed, 0u, __ATOMIC_RELEASE);
  if (text.empty()) return {};
  return Error{ErrorCode::kResourceExhausted, text};
}

}  // namespace kiln::cuda
