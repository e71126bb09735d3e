// A device's trees with sparse levels, and what its kernels say of them in memory of the host
// (KilnCudaNotice): that a tree had no memory, or asks for more.
#ifndef KILN_RUNTIME_CUDA_TREE_NOTICES_H_
#define KILN_RUNTIME_CUDA_TREE_NOTICES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/recent_launches.h"
#include "runtime/cuda_abi.h"
#include "runtime/result.h"

namespace kiln {

class CudaTree;

namespace cuda {

// Thread-safe.
class TreeNotices {
 public:
  explicit TreeNotices(const Driver& driver) : driver_(driver) {}

  // Gives a tree a number for the notice that its kernels fill in. `asks`: where kernels ask for
  // memory for it, if it `grows`; 0: there are too many such trees, so that it does not grow.
  struct Place {
    uint64_t id;
    Address notice, asks;
  };
  // Requires: the thread has entered the device's context. The tree is forgotten before it ends.
  [[gnu::cold]] Result<Place> Remember(const CudaTree* tree, bool grows);
  // Returns when no thread has the tree grow any more.
  [[gnu::cold]] void Forget(uint64_t id);

  // Before work on trees: gives those that have asked for it more memory. Does not wait for the
  // device, and is one load if no tree has asked. Requires: the thread has no turn.
  void Grow() {
    const KilnCudaNotice* notice = notice_.load(std::memory_order_acquire);
    if (notice != nullptr && __atomic_load_n(&notice->asked, __ATOMIC_RELAXED) != 0) {
      GrowThoseThatAsk();
    }
  }
  // That a tree had no memory, once, with the launches that may have caused it. One load while none
  // had.
  Result<> Take(const RecentLaunches& launches) {
    const KilnCudaNotice* notice = notice_.load(std::memory_order_acquire);
    if (notice == nullptr || __atomic_load_n(&notice->ready, __ATOMIC_ACQUIRE) == 0) return {};
    return TakeReady(launches);
  }
  // The memory of all trees.
  [[gnu::cold]] uint64_t Bytes() const;

 private:
  [[gnu::cold]] void GrowThoseThatAsk();
  [[gnu::cold]] Result<> TakeReady(const RecentLaunches& launches);

  const Driver& driver_;
  // Held while trees grow, before `mutex_` and all locks of trees.
  std::mutex growing_;
  mutable std::mutex mutex_;  // of the members below
  // In the host's memory, which the device writes; null before the first tree. Read without the
  // lock, too.
  std::atomic<KilnCudaNotice*> notice_{nullptr};
  Address notice_address_ = 0;  // the device's
  struct KnownTree {
    const CudaTree* tree;
    int asks;  // its number in the notice; -1: none
  };
  std::map<uint64_t, KnownTree> trees_;
  uint64_t last_tree_ = 0;
};

}  // namespace cuda
}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_TREE_NOTICES_H_
