#include "client_py/native/storage_object.h"

#include <pthread.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client_cpp/runtime_status.h"
#include "client_py/native/active_device.h"
#include "client_py/native/status_error.h"
#include "client_py/native/tree_object.h"
#include "common/base/deterministic.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"

namespace kiln {

namespace py = pybind11;

uint64_t memory_epoch = 0;

namespace {

// Guarded by the GIL, like memory_epoch.
int unlocked_launches = 0;

// Memory that was destroyed while launches were running, and is freed when none is running.
std::vector<std::shared_ptr<void>>& Graveyard() {
  static FirstUse<std::vector<std::shared_ptr<void>>> graveyard;
  return graveyard.Get();
}

std::shared_ptr<FieldStorage> MakeNdarray(int scalar, const std::vector<uint32_t>& element_shape,
                                          const std::vector<int64_t>& shape, uint32_t texels) {
  uint64_t components = 1;
  for (uint32_t extent : element_shape) components *= extent;
  uint64_t bytes = components * ScalarBytes(static_cast<Scalar>(scalar));
  for (int64_t extent : shape) {
    // Checked at each factor: the product of absurd extents would wrap to a small number.
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) ||
        bytes > kMaxTreeBytes) {
      throw py::value_error("the ndarray is too large");
    }
  }
  auto memory = std::make_shared<Memory>();
  // An array without elements has an address too, as other libraries expect one.
  memory->buffer = ValueOrRaise(ToStatusOr(ActiveDevice().Allocate(bytes == 0 ? 1 : bytes)));
  memory->alive = true;
  uint8_t* data = memory->buffer->host();
  auto storage =
      MakeArrayStorage(std::move(memory), data, static_cast<Scalar>(scalar), element_shape, shape);
  storage->texels = texels;
  return storage;
}

// The number of the CUDA device that has the elements; None: the host has them.
std::optional<int32_t> CudaDeviceOf(const FieldStorage& storage) {
  const Device* const device = storage.memory->device();
  return device == nullptr ? std::nullopt : std::optional<int32_t>(device->number());
}

// Later work in another library's stream waits for what the elements' device was given before.
void ReleaseTo(const FieldStorage& storage, uint64_t stream) {
  Device* const device = storage.memory->device();
  if (device != nullptr) RaiseIfError(ToStatus(device->ReleaseTo(stream)));
}

// Calls `call` on the buffer of a memory, or on those of the parts of a joined one that still
// exist, until one fails.
template <typename Call>
absl::Status ForEachBuffer(const Memory& memory, const Call& call) {
  if (memory.buffer != nullptr) return ToStatus(call(*memory.buffer));
  for (const std::weak_ptr<Memory>& part : memory.parts) {
    const std::shared_ptr<Memory> living = part.lock();
    if (living != nullptr) RETURN_IF_ERROR(ForEachBuffer(*living, call));
  }
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<FieldStorage> MakeArrayStorage(std::shared_ptr<Memory> memory, uint8_t* data,
                                               Scalar scalar,
                                               const std::vector<uint32_t>& element_shape,
                                               const std::vector<int64_t>& shape) {
  int components = 1;
  for (uint32_t extent : element_shape) components *= static_cast<int>(extent);
  auto storage = std::make_shared<FieldStorage>();
  const bool on_device = memory->is_mirrored();
  storage->bases = {reinterpret_cast<uint64_t>(on_device ? memory->buffer->data() : data)};
  storage->device = memory->device();
  storage->memory = std::move(memory);
  storage->access = DenseAccess::OfArray(data, scalar, components, shape);
  storage->extents = shape;
  storage->shape = shape;
  storage->element_shape = element_shape;
  storage->full_shape = shape;
  storage->full_shape.insert(storage->full_shape.end(), element_shape.begin(), element_shape.end());
  storage->is_ndarray = true;
  return storage;
}

absl::Status FieldStorage::WriteElement(const int64_t* indices, const uint64_t* values) const {
  if (scattered != nullptr) return scattered->WriteElement(indices, values);
  access.WriteElement(indices, values);
  return absl::OkStatus();
}

void FieldStorage::CopyTo(void* array) const {
  scattered != nullptr ? scattered->CopyTo(array) : access.CopyTo(array);
}

void FieldStorage::ReadAll(void* array) const {
  scattered != nullptr ? scattered->ReadAll(array) : access.CopyTo(array);
}

void FieldStorage::CopyFrom(const void* array) const {
  scattered != nullptr ? scattered->CopyFrom(array) : access.CopyFrom(array);
}

void FieldStorage::Fill(const uint64_t* values) const {
  if (scattered != nullptr) return scattered->Fill(values);
  const bool is_zero = std::all_of(values, values + access.num_components(),
                                   [](uint64_t value) { return value == 0; });
  // Only memory of our own is known to be zero where nothing has touched it.
  if (is_zero && memory->buffer != nullptr) return access.Clear();
  access.Fill(values);
}

absl::Status FieldStorage::WriteAll(const void* array) const {
  if (scattered != nullptr) return scattered->WriteAll(array);
  access.CopyFrom(array);
  return absl::OkStatus();
}

bool Memory::is_mirrored() const {
  if (buffer != nullptr) return buffer->is_mirrored();
  return std::any_of(parts.begin(), parts.end(), [](const std::weak_ptr<Memory>& part) {
    const std::shared_ptr<Memory> memory = part.lock();
    return memory != nullptr && memory->is_mirrored();
  });
}

Device* Memory::device() const {
  if (buffer != nullptr) return buffer->device();
  for (const std::weak_ptr<Memory>& part : parts) {
    const std::shared_ptr<Memory> memory = part.lock();
    if (memory != nullptr && memory->device() != nullptr) return memory->device();
  }
  return nullptr;
}

absl::Status Memory::Touch(const void* at, uint64_t bytes, HostAccess access) const {
  if (buffer != nullptr) {
    const uint64_t offset = static_cast<const uint8_t*>(at) - buffer->host();
    if (offset >= buffer->size()) return absl::OkStatus();  // another part's
    return ToStatus(buffer->Touch(offset, std::min(bytes, buffer->size() - offset), access));
  }
  for (const std::weak_ptr<Memory>& part : parts) {
    const std::shared_ptr<Memory> memory = part.lock();
    if (memory != nullptr) RETURN_IF_ERROR(memory->Touch(at, bytes, access));
  }
  return absl::OkStatus();
}

bool Memory::IsReady(const void* at, uint64_t bytes, HostAccess access) const {
  if (buffer != nullptr) {
    const uint64_t offset = static_cast<const uint8_t*>(at) - buffer->host();
    return offset >= buffer->size() ||  // another part's
           buffer->IsReady(offset, std::min(bytes, buffer->size() - offset), access);
  }
  return std::all_of(parts.begin(), parts.end(), [&](const std::weak_ptr<Memory>& part) {
    const std::shared_ptr<Memory> memory = part.lock();
    return memory == nullptr || memory->IsReady(at, bytes, access);
  });
}

absl::Status Memory::TouchAll(HostAccess access) const {
  return ForEachBuffer(*this,
                       [access](Buffer& buffer) { return buffer.Touch(0, buffer.size(), access); });
}

absl::Status Memory::Await() const {
  return ForEachBuffer(*this, [](Buffer& buffer) { return buffer.Await(); });
}

bool Memory::IsAwaited() const {
  if (buffer != nullptr) return buffer->IsReady(0, 1, HostAccess::kRead);
  return std::all_of(parts.begin(), parts.end(), [](const std::weak_ptr<Memory>& part) {
    const std::shared_ptr<Memory> memory = part.lock();
    return memory == nullptr || memory->IsAwaited();
  });
}

absl::Status Memory::TouchFirst() const {
  return ForEachBuffer(*this, [](Buffer& buffer) { return buffer.Touch(0, 1, HostAccess::kRead); });
}

absl::Status Memory::HandOver() const {
  return ForEachBuffer(*this, [](Buffer& buffer) { return buffer.HandOver(); });
}

absl::Status Memory::Share(const void* at, uint64_t bytes) const {
  const uint64_t offset = static_cast<const uint8_t*>(at) - buffer->host();
  return ToStatus(buffer->Share(offset, bytes));
}

bool Memory::is_shared() const {
  if (buffer != nullptr) return buffer->is_shared();
  return std::any_of(parts.begin(), parts.end(), [](const std::weak_ptr<Memory>& part) {
    const std::shared_ptr<Memory> memory = part.lock();
    return memory != nullptr && memory->is_shared();
  });
}

absl::Status Memory::Deliver(const void* at, uint64_t bytes) const {
  if (buffer != nullptr) {
    const uint64_t offset = static_cast<const uint8_t*>(at) - buffer->host();
    if (offset >= buffer->size()) return absl::OkStatus();  // another part's
    return ToStatus(buffer->Deliver(offset, std::min(bytes, buffer->size() - offset)));
  }
  for (const std::weak_ptr<Memory>& part : parts) {
    const std::shared_ptr<Memory> memory = part.lock();
    if (memory != nullptr) RETURN_IF_ERROR(memory->Deliver(at, bytes));
  }
  return absl::OkStatus();
}

absl::Status Memory::DeliverAll() const {
  return ForEachBuffer(*this, [](Buffer& buffer) { return buffer.Deliver(0, buffer.size()); });
}

void DestroyMemory(Memory* memory) {
  if (!memory->alive) return;
  memory->alive = false;
  // Bound instances compare this number, so a launch checks its memories only after a destruction.
  ++memory_epoch;
  for (const std::weak_ptr<Memory>& dependent : memory->dependents) {
    if (const auto joined = dependent.lock()) DestroyMemory(joined.get());
  }
  // A launch without the GIL may still use it.
  if (unlocked_launches > 0) {
    Graveyard().push_back(std::move(memory->buffer));
    Graveyard().push_back(std::move(memory->owner));
  }
  memory->buffer.reset();
  memory->owner.reset();
}

// Dependents: the joined memory dies as soon as one of its parts does.
std::shared_ptr<Memory> JoinMemory(std::vector<std::shared_ptr<Memory>> memories) {
  // By address: several fields of one tree share their memory.
  std::sort(memories.begin(), memories.end());
  memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
  if (memories.size() == 1) return memories[0];
  auto joined = std::make_shared<Memory>();
  joined->alive = true;
  joined->parts.assign(memories.begin(), memories.end());
  for (const auto& memory : memories) memory->dependents.push_back(joined);
  return joined;
}

void BeginUnlockedLaunch() { ++unlocked_launches; }

void EndUnlockedLaunch() {
  if (--unlocked_launches > 0) return;
  // Empty the list before freeing: freeing may run Python code.
  std::vector<std::shared_ptr<void>> buried;
  buried.swap(Graveyard());
}

std::string NdarrayDescriptor(Scalar scalar, absl::Span<const uint32_t> element_shape, int ndim,
                              int boundary) {
  proto::Storage storage;
  storage.mutable_element()->set_scalar(scalar);
  for (uint32_t extent : element_shape) storage.mutable_element()->add_shape(extent);
  storage.mutable_ndarray()->set_ndim(ndim);
  storage.mutable_ndarray()->set_boundary(static_cast<proto::Boundary>(boundary));
  // Arrays that a program passes may overlap each other, so all are one set.
  storage.set_alias_set(1);
  return DeterministicBytes(storage);
}

void BindStorage(py::module_& m) {
  // A child has no launches of other threads. Without this reset, it would never free memory.
  pthread_atfork(nullptr, nullptr, [] { unlocked_launches = 0; });
  py::class_<FieldStorage, std::shared_ptr<FieldStorage>>(m, "FieldStorage")
      .def_property_readonly(
          "descriptor",
          [](const FieldStorage& s) {
            // Of ndarrays when it is asked for: each launch on an array of
            // another library makes one.
            return py::bytes(s.is_ndarray ? NdarrayDescriptor(s.access.scalar(), s.element_shape,
                                                              static_cast<int>(s.shape.size()), 0)
                                          : s.descriptor);
          })
      .def_property_readonly("shape",
                             [](const FieldStorage& s) { return py::tuple(py::cast(s.shape)); })
      .def_property_readonly(
          "element_shape",
          [](const FieldStorage& s) { return py::tuple(py::cast(s.element_shape)); })
      .def_property_readonly(
          "scalar", [](const FieldStorage& s) { return static_cast<int>(s.access.scalar()); })
      .def_property_readonly("bases", [](const FieldStorage& s) { return s.bases; })
      .def_property_readonly("trees", [](const FieldStorage& s) { return s.trees; })
      .def_property_readonly("cuda_device", &CudaDeviceOf)
      .def("release_to", &ReleaseTo)
      .def_property_readonly("alive", [](const FieldStorage& s) { return s.memory->alive; })
      .def_readwrite("is_writable", &FieldStorage::is_writable)
      // Explicit, besides the reference count: ti.reset() destroys fields that the program still
      // holds.
      .def("destroy", [](FieldStorage& s) { DestroyMemory(s.memory.get()); });
  m.def("make_ndarray", &MakeNdarray, py::arg("scalar"), py::arg("element_shape"), py::arg("shape"),
        py::arg("texels") = 0);
  m.def(
      "ndarray_descriptor",
      [](int scalar, const std::vector<uint32_t>& element_shape, int ndim, int boundary) {
        return py::bytes(
            NdarrayDescriptor(static_cast<Scalar>(scalar), element_shape, ndim, boundary));
      },
      py::arg("scalar"), py::arg("element_shape"), py::arg("ndim"), py::arg("boundary") = 0);
}

}  // namespace kiln
