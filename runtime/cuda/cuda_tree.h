// A tree with sparse levels in a CUDA device's memory (runtime/cuda_abi.h has its form).
//
// Kernels activate and deactivate cells, and the kernel of tree_work.h makes lists and collects,
// all on the device. Between launches, the host works on the mirror of the memory (MirroredBuffer).
// It fetches the pages that it touches, follows the device's pointers in them, and takes cells from
// the same pools.
//
// A kernel cannot get memory, so a tree has some from the start: as much as all of its cells and
// lists can take. Its budget is the limit, or 1 GiB without one. On a device that has less, the
// tree halves its demand until the device has enough. An activation without memory fails: the next
// launch or synchronisation says so.
//
// A tree without a budget grows. It has addresses for all that it can take, up to the device's
// memory. It commits more of them (GrowingMemory) before a launch, once earlier kernels have used
// half of what it has, or found too little. Kernels ask for that in memory of the host
// (KilnCudaNotice), so no launch waits or makes a call of the driver to find out. What it commits
// is for kernels that are launched later: those that the device was given before see the old end.
// Without virtual memory the tree stays as it is.
#ifndef KILN_RUNTIME_CUDA_CUDA_TREE_H_
#define KILN_RUNTIME_CUDA_CUDA_TREE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda_abi.h"
#include "runtime/result.h"
#include "runtime/storage.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

class CudaDevice;
class MirroredBuffer;

// Thread-safe, but no launch may run on other threads while the host works on the tree.
class CudaTree final : public TreeData {
 public:
  // `options.budget`: the bytes of this tree; null: 1 GiB at first, and what it needs later.
  // ResourceExhausted if the device has no memory for it.
  static Result<std::unique_ptr<CudaTree>> Make(CudaDevice* device, TreeShape shape,
                                                const TreeOptions& options);
  ~CudaTree() override;

  // The memory, which begins with the root's cell. All of it at once means that cell: the tree
  // itself touches what it uses of the others.
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  // What it has of the device's memory.
  uint64_t bytes() const;
  // Why the tree had no memory, by the numbers of a notice. `where`: ", in kernel `fill`", or "".
  [[gnu::cold]] std::string Refusal(uint64_t node, const std::string& where) const;
  // Commits as much again as the tree has, or `needed` bytes if that is more. It takes at most half
  // of what the device has free, unless it needs more. Less where the device gives less, maybe
  // nothing.
  void Grow(uint64_t needed) const;

  const TreeShape& shape() const override { return shape_; }
  uint8_t* root() const override;
  KilnNode* node(int node) const override;  // a device address
  Result<uint8_t*> Locate(int node, const int64_t* at, CellAccess access) override;
  void DeactivateAll(int node) override;
  void Collect() override;
  void ForEachRun(int node, const std::function<void(const CellRun&)>& visit,
                  HostAccess access) override;
  uint64_t CountActive(int node) override;
  TreeStats Stats() const override;
  NodeStats Stats(int node) const override;

 private:
  class Image;
  class Walker;
  class RootOfBuffer;
  struct Level {
    int node;
    uint64_t cell;
  };

  CudaTree(CudaDevice* device, TreeShape shape, const TreeOptions& options);
  Result<> Allocate(const MemoryBudget* budget);
  // Memory for the tree; sets `growing_` if it grows.
  [[gnu::cold]] Result<std::unique_ptr<Buffer>> TakeMemory(uint64_t fixed,
                                                           const MemoryBudget* budget);
  // By node, 0 for none: the sparse one above it, and the one in whose memory its cells are.
  struct Above {
    std::vector<int> sparse, holder;
  };
  Above OrderNodes();  // sets `order_`
  // The bytes between the root and the cells, at most.
  uint64_t ImageBytes() const;
  void WriteNode(Image& image, int n, const Above& above);
  Result<> WriteImage(uint64_t head);
  // Tells kernels that are launched from now on where the tree's memory ends.
  void SetEnd() const;
  // From where on the tree asks for more memory (KilnCudaTree.mark).
  uint64_t NextMark() const;
  [[gnu::cold]] Error Beyond(int node, uint32_t axis, const int64_t* at) const;
  Result<std::vector<Level>> WayTo(int node, const int64_t* at) const;
  uint64_t Arena() const;

  // The mirror of what is at a device's address; the first failure of the device is kept.
  uint8_t* Mirror(const void* at, uint64_t bytes, HostAccess access) const;
  // After a write to the mirror, which other libraries may share.
  void Deliver(const void* at, uint64_t bytes) const;
  template <typename T>
  T* Mirror(const T* at, HostAccess access) const {
    constexpr uint64_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression)
    return reinterpret_cast<T*>(Mirror(static_cast<const void*>(at), kBytes, access));
  }
  template <typename T>
  T Read(const T* at) const {
    return *Mirror(at, HostAccess::kRead);
  }
  template <typename T>
  void Write(T* at, T value) const {
    *Mirror(at, HostAccess::kWrite) = value;
    Deliver(static_cast<const void*>(at), sizeof value);
  }
  void SetChanged(KilnCudaNode* node) const { Write(&node->shared.changed, 1u); }

  // As the functions of the device (device_lib/cuda_tree.h), for one thread. All addresses are the
  // device's; null: no memory.
  uint8_t* Take(KilnCudaPool* pool) const;
  uint8_t* Fill(KilnCudaPool* pool, uint8_t** slot) const;
  uint8_t* ActivateChunk(KilnCudaNode* node, uint8_t* container, uint64_t chunk) const;
  uint8_t* Chunk(KilnCudaNode* node, uint8_t* container, uint64_t chunk) const;
  uint8_t* Find(KilnCudaNode* node, uint8_t* container, uint64_t cell, CellAccess access) const;
  Result<> TakeFailure() const;
  void Work(int node, uint32_t work) const;

  CudaDevice* const device_;
  const TreeShape shape_;
  const std::vector<std::string> names_;
  std::shared_ptr<Buffer> buffer_;
  MirroredBuffer* growing_ = nullptr;  // in `buffer_`; null: the tree does not grow
  mutable uint64_t mark_ = 0;          // the last one, as an offset
  // Whether the device had nothing when the tree last asked.
  mutable std::atomic<bool> is_full_{false};
  // Addresses of the device.
  KilnCudaTree* tree_ = nullptr;
  KilnNode** table_ = nullptr;         // by node
  std::vector<KilnCudaNode*> sparse_;  // by node; null for others
  std::vector<int> order_;             // of the sparse ones, parents first
  uint64_t arena_ = 0;                 // offset of the cells
  uint64_t id_ = 0;
  uint64_t asks_ = 0;  // KilnCudaTree.asks
  mutable std::recursive_mutex mutex_;
  mutable Result<> failure_;
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_CUDA_TREE_H_
