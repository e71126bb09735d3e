// Memory, and the storages of fields, SNodes and ndarrays in it.
#ifndef KILN_CLIENT_PY_NATIVE_STORAGE_OBJECT_H_
#define KILN_CLIENT_PY_NATIVE_STORAGE_OBJECT_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client_cpp/host/dense_access.h"
#include "client_cpp/host/scattered_access.h"
#include "common/layout/layout.h"
#include "runtime/storage.h"

namespace kiln {

// The memory of a tree or an ndarray. It exists as long as a field refers to it, even after the
// tree is destroyed. A stale field therefore raises an error and never accesses freed memory.
struct Memory {
  std::shared_ptr<Buffer> buffer;  // shared with tensors that other libraries hold
  std::shared_ptr<void> owner;     // of memory that is not in `buffer`
  bool alive = false;
  std::vector<std::weak_ptr<Memory>> dependents;  // joined memories, destroyed with it
  std::vector<std::weak_ptr<Memory>> parts;       // of joined memory

  // Whether the host sees a mirror of a device's memory. Before each use of that:
  bool is_mirrored() const;
  // Whose memory it is; null: the host's.
  Device* device() const;
  // Bring `bytes` at the host's address `at` up to date, or all of it (runtime/storage.h). Both
  // need the GIL, until the host has read or written them.
  absl::Status Touch(const void* at, uint64_t bytes, HostAccess access) const;
  absl::Status TouchAll(HostAccess access) const;
  // Whether Touch has nothing to do.
  bool IsReady(const void* at, uint64_t bytes, HostAccess access) const;
  // Waits for the work for which Touch would have to wait. Does not need the GIL.
  absl::Status Await() const;
  // Whether the host has waited since the last launch, by what TouchFirst brings up to date: no
  // Touch has to wait then. Never where other libraries use the memory.
  bool IsAwaited() const;
  absl::Status TouchFirst() const;
  // Before a launch: hands over what the host has written. The GIL is held until the launch has
  // started.
  absl::Status HandOver() const;
  // Other libraries use `bytes` of the device's memory from now on, whose mirror is at `at`:
  // Deliver then follows each write of the host, with the GIL held since Touch. Requires: it is not
  // joined.
  absl::Status Share(const void* at, uint64_t bytes) const;
  bool is_shared() const;
  absl::Status Deliver(const void* at, uint64_t bytes) const;
  absl::Status DeliverAll() const;
};

// Frees `memory`. While launches run without the GIL, the last of them frees it. Needs the GIL, as
// do the two functions below.
void DestroyMemory(Memory* memory);
void BeginUnlockedLaunch();
void EndUnlockedLaunch();

// The number of destroyed memories. When it has changed, kernels check the memories to which they
// are bound. Guarded by the GIL.
extern uint64_t memory_epoch;

class TreeObject;

struct FieldStorage {
  // Access to elements from outside of kernels; indices count from zero.
  absl::StatusOr<uint8_t*> Locate(const int64_t* indices, int component, CellAccess mode) const {
    if (scattered != nullptr) return scattered->Locate(indices, component, mode);
    return access.Address(indices, component);
  }
  uint64_t Read(const uint8_t* at, const int64_t* indices, int component) const {
    if (scattered != nullptr) return scattered->Read(at, indices, component);
    return access.Read(at, indices, component);
  }
  void Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const {
    if (scattered != nullptr) return scattered->Write(at, indices, component, value);
    access.Write(at, indices, component, value);
  }
  absl::Status WriteElement(const int64_t* indices, const uint64_t* values) const;
  void CopyTo(void* array) const;
  void ReadAll(void* array) const;
  void CopyFrom(const void* array) const;
  void Fill(const uint64_t* values) const;
  absl::Status WriteAll(const void* array) const;

  std::shared_ptr<Memory> memory;
  DenseAccess access;
  // For fields in trees or in several words, for which `access` has only types and indices.
  std::shared_ptr<const ScatteredAccess> scattered;
  // In tree form: the trees, by their numbers in the descriptor.
  std::vector<std::shared_ptr<TreeObject>> trees;
  std::string descriptor;        // serialized proto Storage; empty for ndarrays
  std::vector<uint64_t> bases;   // addresses
  std::vector<int64_t> extents;  // that a launch passes: the outermost one; all for an ndarray
  std::vector<int64_t> shape;
  std::vector<uint32_t> element_shape;
  std::vector<int64_t> full_shape;  // for ndarrays: shape, then element_shape
  bool is_ndarray = false;
  uint32_t texels = 0;       // of textures, as kiln_param has it
  Device* device = nullptr;  // of ndarrays: whose memory it is; null: the host's
  // Of an array that a kernel takes as it is: which of its axes are the elements' follows from the
  // parameter's annotation.
  bool is_external = false;
  bool is_writable = true;
  bool is_joined = false;  // consists of several storages, to which kernels are bound
};

// Joined memory, which is destroyed as soon as one of `memories` is.
std::shared_ptr<Memory> JoinMemory(std::vector<std::shared_ptr<Memory>> memories);

// The storage of a C-ordered array at `data`, which `memory` keeps alive.
std::shared_ptr<FieldStorage> MakeArrayStorage(std::shared_ptr<Memory> memory, uint8_t* data,
                                               Scalar scalar,
                                               const std::vector<uint32_t>& element_shape,
                                               const std::vector<int64_t>& shape);

// The descriptor of an ndarray parameter. All ndarrays may overlap one another.
std::string NdarrayDescriptor(Scalar scalar, absl::Span<const uint32_t> element_shape, int ndim,
                              int boundary);

void BindStorage(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_STORAGE_OBJECT_H_
