#include "client_py/native/device_arrays.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

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

// The memory of a field or ndarray on a device; null for other arrays.
const std::shared_ptr<Memory>* MirroredMemoryOf(PyObject* array) {
  if (!IsField(array)) return nullptr;
  const std::shared_ptr<Memory>& memory = reinterpret_cast<FieldObject*>(array)->storage->memory;
  return memory->is_mirrored() ? &memory : nullptr;
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

absl::Status DeviceArrays::Prepare(const BoundInstance& bound, PyObject* const* args,
                                   uint64_t* slots) {
  PointToCopies(bound, slots);
  std::vector<std::shared_ptr<Memory>> of_gradients;
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
    if (const std::shared_ptr<Memory>* memory = MirroredMemoryOf(array)) {
      if (fill.of_gradient) of_gradients.push_back(*memory);
      continue;
    }
    arrays_.Add(static_cast<uint8_t*>(view.data), BytesOf(view), slots + fill.slot,
                fill.needs_writable);
  }
  RETURN_IF_ERROR(ToStatus(arrays_.CopyIn()));
  // Last: Python code, such as a property `grad`, lets other threads run.
  for (const auto& memory : bound.memories) RETURN_IF_ERROR(memory->HandOver());
  for (const auto& memory : of_gradients) RETURN_IF_ERROR(memory->HandOver());
  for (const SlotFill& fill : bound.fills) {
    if (fill.kind != SlotFill::kArrayBase || fill.of_gradient) continue;
    const std::shared_ptr<Memory>* memory = MirroredMemoryOf(args[fill.argument]);
    if (memory != nullptr) RETURN_IF_ERROR((*memory)->HandOver());
  }
  return absl::OkStatus();
}

}  // namespace kiln
