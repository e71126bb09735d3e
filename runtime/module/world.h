// A world: a module's fields and trees with memory of their own, on which its kernels run. A
// program may have many worlds of one module.
//
// Thread safety: launches and accesses from several threads are as safe as on plain memory; kernels
// update the activity of sparse cells without locks.
#ifndef KILN_RUNTIME_MODULE_WORLD_H_
#define KILN_RUNTIME_MODULE_WORLD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/memory_budget.h"
#include "runtime/module/module.h"
#include "runtime/result.h"
#include "runtime/storage.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

class Executor;

struct WorldOptions {
  Executor* executor = nullptr;          // of loops over trees; null: the process's pool
  std::shared_ptr<MemoryBudget> budget;  // of trees; null: no limit
  uint64_t seed = 0;                     // of random numbers
  HostMemory memory;                     // of trees; none: the system's
};

class World {
 public:
  // In the memory of the module's device. ResourceExhausted names the size if the system or the
  // device refuses memory.
  static Result<std::unique_ptr<World>> Make(std::shared_ptr<const Module> module,
                                             const WorldOptions& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Module& of() const { return *module_; }
  // Fills in the slots of kernel number `kernel` that are the world's. Requires: `slots` has all
  // slots of the kernel.
  void Bind(int kernel, uint64_t* slots) const {
    for (const Bound& bound : bound_[kernel]) slots[bound.slot] = bound.value;
  }
  // Memory of dense fields that a kernel uses.
  struct Range {
    uint64_t begin, end;
    bool writes;
  };
  const std::vector<Range>& RangesOf(int kernel) const { return ranges_[kernel]; }
  // The random number of the next launch: it depends on seed and number of launches.
  uint64_t NextRandom();
  // Restarts random numbers. Thread-safe.
  void Seed(uint64_t seed);
  // Has the system provide the memory of all trees' roots now. Changes nothing that kernels see.
  void Touch();

  // Before a launch of kernel number `kernel`: hands over to the device what the host has written.
  // Requires: KeepHostAway since before it, until the launch has started.
  Result<> HandOver(int kernel) const;
  // While the lock exists, functions of the world that use fields wait: what they fetch before a
  // launch has started and keep after it would be outdated. On the CPU there is nothing to lock.
  // Device::CheckProcess's error where a forked child would wait for a thread of its parent.
  Result<std::unique_lock<std::mutex>> KeepHostAway() const;

  // --- Fields
  // The address of component `component` at `indices`, which count from the first index of each
  // axis; of quantised fields, that of the word. Null for kFind and inactive cells. OutOfRange
  // names field and index; Unimplemented on a device with memory of its own.
  Result<uint8_t*> Locate(int field, const int64_t* indices, uint32_t component,
                          CellAccess access) const;
  // Copies the numbers of one element, on any device. Inactive cells read as zeros; Set activates
  // them. OutOfRange as above. Requires: ModuleField::only_kernels is null.
  Result<> Get(int field, const int64_t* indices, void* element) const;
  Result<> Set(int field, const int64_t* indices, const void* element) const;
  // Copies all elements between the field and an array in C order. Inactive cells read as zeros and
  // keep nothing. Unimplemented if ModuleField::only_kernels says why.
  Result<> Read(int field, void* array) const;
  Result<> Write(int field, const void* array) const;
  // Memory seen as a strided array: the address of the first scalar and, for each axis of the field
  // and then of its elements, the distance in bytes. FailedPrecondition, with the reason, for
  // fields that are none.
  struct View {
    uint8_t* data = nullptr;
    std::vector<int64_t> strides;
  };
  Result<View> ViewOf(int field) const;
  // The same in the memory of the module's device, where code that this world does not know of may
  // use it from now on.
  Result<View> DeviceViewOf(int field) const;

 private:
  struct Bound {
    uint32_t slot;
    uint64_t value;
  };

  explicit World(std::shared_ptr<const Module> module) : module_(std::move(module)) {}
  Result<> FillTrees();
  Result<> BindKernels();
  Result<> CopyNodes();
  // `visit` may write to cells if `access` says so.
  template <typename Visit>
  Result<> ForEachRun(int field, HostAccess access, const Visit& visit) const;
  // As Locate, for a use of the host within MeetViews.
  Result<uint8_t*> Reach(int field, const int64_t* indices, uint32_t component,
                         CellAccess access) const;
  // The host's part of a field, with memory that others use by a view: calls `use` such that it
  // sees what is on the device, and that the device has what it writes.
  template <typename Use>
  Result<> MeetViews(int field, const Use& use) const;
  Result<> HandOverViewed(int field) const;
  // Waits for the work that a use of all elements has to wait for, while launches may start.
  Result<> AwaitField(int field) const;
  // For a root of the field's tree at an address.
  Result<View> ArrayOf(int field, uint64_t root) const;

  uint64_t RootOf(int tree) const;  // for kernels

  std::shared_ptr<const Module> module_;
  std::vector<std::shared_ptr<TreeData>> trees_;
  mutable std::mutex host_uses_fields_;  // on devices with memory of their own
  // Their memory, likewise.
  std::vector<std::shared_ptr<Buffer>> buffers_;
  // By tree: whether code that the world does not know of may use its memory.
  std::unique_ptr<std::atomic<bool>[]> viewed_;
  std::vector<std::vector<Buffer*>> used_;  // by kernel
  std::unique_ptr<Buffer> device_nodes_;
  // To which a slot of a kernel points: on a device, to the copy in device_nodes_.
  struct NodeTable {
    std::vector<KilnNode*> nodes;
    size_t kernel, bound;  // numbers in bound_
  };
  std::vector<NodeTable> nodes_;
  std::vector<std::vector<Bound>> bound_;   // by kernel
  std::vector<std::vector<Range>> ranges_;  // by kernel
  std::atomic<uint64_t> random_{0};
};

}  // namespace kiln

#endif  // KILN_RUNTIME_MODULE_WORLD_H_
