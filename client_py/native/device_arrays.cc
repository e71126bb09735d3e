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

void PointToCopies(const BoundInstance& bound, uint64_t* slots) {
  if (bound.trees.empty()) return;
  const std::vector<ArgumentSlot>& arguments = bound.instance->kernel()->info().arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != ArgumentSlot::Kind::kTree || arguments[i].element == 0) continue;
    const BoundTree& tree = bound.trees.at(arguments[i].param);
    if (tree.copy != nullptr) slots[i] = reinterpret_cast<uint64_t>(tree.copy->data());
  }
}

// What a launch that was not waited for reads comes before the next use of the memory.
DeviceArrays::~DeviceArrays() {
  for (const Scratch& one : scratch_) device_->ReturnScratch(one.memory, one.bytes);
}

// Arrays that overlap are parts of one copy, so that writes to one show in the other.
absl::Status DeviceArrays::CopyIn(uint64_t* slots) {
  std::vector<HostArray*> sorted;
  sorted.reserve(arrays_.size());
  for (HostArray& array : arrays_) sorted.push_back(&array);
  std::sort(sorted.begin(), sorted.end(),
            [](const HostArray* a, const HostArray* b) { return a->host < b->host; });
  for (size_t first = 0, last; first < sorted.size(); first = last) {
    uint8_t* const begin = sorted[first]->host;
    uint8_t* end = begin + sorted[first]->bytes;
    for (last = first + 1; last < sorted.size() && sorted[last]->host < end; ++last) {
      end = std::max(end, sorted[last]->host + sorted[last]->bytes);
    }
    // At the distance that the host has to a boundary, so that all parts are as aligned as there.
    constexpr uint64_t kBoundary = 256;
    const uint64_t shift = reinterpret_cast<uintptr_t>(begin) % kBoundary, bytes = end - begin;
    ASSIGN_OR_RETURN(uint8_t* const memory, ToStatusOr(device_->TakeScratch(shift + bytes)));
    scratch_.push_back({memory, shift + bytes});
    uint8_t* const copy = memory + shift;
    if (bytes > 0) device_->CopyIn(copy, begin, bytes);
    for (size_t i = first; i < last; ++i) {
      sorted[i]->copy = copy + (sorted[i]->host - begin);
      slots[sorted[i]->slot] = reinterpret_cast<uint64_t>(sorted[i]->copy);
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceArrays::Prepare(const BoundInstance& bound, PyObject* const* args,
                                   uint64_t* slots) {
  device_ = &ActiveDevice();
  for (const auto& memory : bound.memories) RETURN_IF_ERROR(memory->HandOver());
  PointToCopies(bound, slots);
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
    arrays_.push_back({static_cast<uint8_t*>(view.data), BytesOf(view), fill.slot,
                       fill.needs_writable, /*copy=*/nullptr});
  }
  return arrays_.empty() ? absl::OkStatus() : CopyIn(slots);
}

absl::Status DeviceArrays::CopyBack() {
  // Of an array that is only read, not even the same bytes may be written: its memory may be
  // read-only.
  bool any = false;
  for (const HostArray& array : arrays_) {
    if (!array.is_written || array.bytes == 0) continue;
    device_->CopyOut(array.host, array.copy, array.bytes);
    any = true;
  }
  return any ? ToStatus(device_->Synchronize()) : absl::OkStatus();
}

}  // namespace kiln
