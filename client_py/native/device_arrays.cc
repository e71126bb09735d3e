#include "client_py/native/device_arrays.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <utility>

#include "client_cpp/runtime_status.h"
#include "client_py/native/active_device.h"
#include "client_py/native/array_view.h"
#include "client_py/native/field_object.h"
#include "common/base/status_macros.h"

namespace kiln {

namespace py = pybind11;

namespace {

uint64_t BytesOf(const ArrayView& view) {
  uint64_t bytes = ScalarBytes(view.scalar);
  for (int a = 0; a < view.ndim; ++a) bytes *= static_cast<uint64_t>(view.extents[a]);
  return bytes;
}

}  // namespace

absl::StatusOr<uint64_t> DeviceArrays::AddressOf(uint8_t* host, uint64_t bytes, bool is_written) {
  for (Copy& copy : copies_) {
    // The same array twice is one array on the device, too.
    if (copy.host == host && copy.bytes == bytes) {
      copy.is_written |= is_written;
      return reinterpret_cast<uint64_t>(copy.buffer->data());
    }
    if (host < copy.host + copy.bytes && copy.host < host + bytes) {
      return absl::InvalidArgumentError(
          "two arrays that overlap cannot be arguments of one launch on a CUDA device: each is "
          "copied there by itself");
    }
  }
  Copy copy{host, bytes, is_written, nullptr};
  ASSIGN_OR_RETURN(copy.buffer, ToStatusOr(ActiveDevice().Allocate(std::max<uint64_t>(bytes, 1))));
  if (bytes > 0) ActiveDevice().CopyIn(copy.buffer->data(), host, bytes);
  copies_.push_back(std::move(copy));
  return reinterpret_cast<uint64_t>(copies_.back().buffer->data());
}

absl::Status DeviceArrays::Prepare(const BoundInstance& bound, PyObject* const* args,
                                   uint64_t* slots) {
  for (const auto& memory : bound.memories) RETURN_IF_ERROR(memory->HandOver());
  for (const SlotFill& fill : bound.fills) {
    if (fill.kind != SlotFill::kArrayBase) continue;
    ArrayView view;
    // The caller keeps gradients, which it has checked.
    const auto gradient = py::reinterpret_steal<py::object>(
        fill.of_gradient ? PyObject_GetAttrString(args[fill.argument], "grad") : nullptr);
    PyObject* array = fill.of_gradient ? gradient.ptr() : args[fill.argument];
    if (array == nullptr || !ViewArray(array, &view)) {
      PyErr_Clear();
      return absl::InternalError("an array changed during the call");
    }
    if (IsField(array)) {
      const Memory& memory = *reinterpret_cast<FieldObject*>(array)->storage->memory;
      if (memory.is_mirrored()) {
        RETURN_IF_ERROR(memory.HandOver());
        continue;
      }
    }
    ASSIGN_OR_RETURN(slots[fill.slot], AddressOf(static_cast<uint8_t*>(view.data), BytesOf(view),
                                                 fill.needs_writable));
  }
  return absl::OkStatus();
}

absl::Status DeviceArrays::CopyBack() {
  Device& device = ActiveDevice();
  for (const Copy& copy : copies_) {
    if (copy.is_written) device.CopyOut(copy.host, copy.buffer->data(), copy.bytes);
  }
  return copies_.empty() ? absl::OkStatus() : ToStatus(device.Synchronize());
}

}  // namespace kiln
