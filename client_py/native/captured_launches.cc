#include "client_py/native/captured_launches.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client_cpp/runtime_status.h"
#include "client_py/native/array_view.h"
#include "client_py/native/device_arrays.h"
#include "client_py/native/field_object.h"
#include "client_py/native/kernel_object.h"
#include "client_py/native/status_error.h"

namespace kiln {

namespace py = pybind11;

namespace {

// Calls the method of the kernel that raises why a graph cannot have a launch of it.
[[noreturn]] void Refuse(const py::object& kernel, const char* why, int argument = -1) {
  kernel.attr("_not_in_graph")(why, argument);
  throw py::value_error("a graph cannot have the launch");
}

}  // namespace

void CapturedLaunches::AddMemory(const std::shared_ptr<Memory>& memory) {
  if (std::find(memories_.begin(), memories_.end(), memory) == memories_.end()) {
    memories_.push_back(memory);
  }
}

// On a device, the array has to be in its memory: a copy would have the values of the capture.
void CapturedLaunches::AddArray(const Launch& launch, const SlotFill& fill, PyObject* argument) {
  const auto array = fill.of_gradient ? py::reinterpret_steal<py::object>(GradientOf(argument))
                                      : py::reinterpret_borrow<py::object>(argument);
  if (array && IsField(array.ptr())) {
    const auto& memory = reinterpret_cast<FieldObject*>(array.ptr())->storage->memory;
    AddMemory(memory);
    if (!on_device_ || memory->is_mirrored() || memory->is_shared()) return;
  }
  if (on_device_) Refuse(launch.kernel, "copied", fill.argument);
}

void CapturedLaunches::Add(const py::object& kernel, const py::tuple& args) {
  PyObject* const* items = &PyTuple_GET_ITEM(args.ptr(), 0);
  BoundInstance* const bound = FindInstance(kernel.ptr(), items, PyTuple_GET_SIZE(args.ptr()));
  if (bound == nullptr) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    throw py::value_error("the kernel has no instance for the arguments");
  }
  Launch launch{kernel, std::make_unique<InstanceRef>(bound), bound, bound->slots, {}};
  const LoadedKernel& code = *bound->instance->kernel();
  if (!code.info().results.empty()) Refuse(kernel, "returns");
  if (bound->prints) Refuse(kernel, "prints");
  if (!PackSlots(kernel.ptr(), *bound, items, &launch.gradients, launch.slots.data()) ||
      (IsDerivative(kernel.ptr()) && !CheckApart(kernel.ptr(), *bound, items))) {
    throw py::error_already_set();
  }
  on_device_ = code.is_on_device();
  if (on_device_) PointToCopies(*bound, launch.slots.data());
  for (const auto& memory : bound->memories) AddMemory(memory);
  for (const SlotFill& fill : bound->fills) {
    if (fill.kind == SlotFill::kArrayBase) AddArray(launch, fill, items[fill.argument]);
  }
  launches_.push_back(std::move(launch));
}

std::unique_ptr<LaunchGraph> CapturedLaunches::MakeGraph(size_t first, size_t last) const {
  std::unique_ptr<LaunchGraph> graph =
      launches_[first].bound->instance->kernel()->device()->MakeGraph();
  for (size_t i = first; graph != nullptr && i < last; ++i) {
    const Launch& launch = launches_[i];
    const BoundInstance& bound = *launch.bound;
    RaiseIfError(
        ToStatus(graph->Add(bound.instance->kernel(), launch.slots.data(), bound.names->front())));
  }
  if (graph != nullptr) RaiseIfError(ToStatus(graph->Finish()));
  return graph;
}

void CapturedLaunches::Finish() {
  const auto is_checked = [this](size_t i) { return !on_device_ || launches_[i].bound->can_fail; };
  for (size_t first = 0, last = 0; first < launches_.size(); first = last) {
    while (last < launches_.size() && is_checked(last) == is_checked(first)) ++last;
    parts_.push_back({first, last, is_checked(first) ? nullptr : MakeGraph(first, last)});
  }
}

bool CapturedLaunches::HaveMemory() {
  if (epoch_ == memory_epoch) return true;
  for (const auto& memory : memories_) {
    if (!memory->alive) return false;
  }
  epoch_ = memory_epoch;
  return true;
}

// What the host has written comes before the launches, what they write is for it to fetch.
void CapturedLaunches::HandOver() {
  if (!on_device_) return;
  for (const auto& memory : memories_) RaiseIfError(memory->HandOver());
}

bool CapturedLaunches::RunInTurn(const Part& part) {
  for (size_t i = part.first; i < part.last; ++i) {
    const Launch& launch = launches_[i];
    // Another thread may have destroyed memory, or touched some, during the launch before.
    if (!HaveMemory()) return false;
    HandOver();
    if (!LaunchSlots(launch.kernel.ptr(), launch.bound, launch.slots.data()) ||
        PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
  }
  return true;
}

std::optional<std::string> CapturedLaunches::Run() {
  if (!HaveMemory()) return "";
  for (const Part& part : parts_) {
    if (part.graph == nullptr) {
      if (!RunInTurn(part)) return "";
      continue;
    }
    // As between the launches of RunInTurn.
    if (!HaveMemory()) return "";
    HandOver();
    std::unique_ptr<LaunchTime> time = StartTime();
    const Result<> done = part.graph->Launch();
    if (!done.ok()) return done.error().text;
    if (!RecordTime("captured graph", std::move(time))) throw py::error_already_set();
  }
  return std::nullopt;
}

void BindCapturedLaunches(py::module_& m) {
  py::class_<CapturedLaunches>(m, "CapturedLaunches")
      .def(py::init<>())
      .def("add", &CapturedLaunches::Add)
      .def("finish", &CapturedLaunches::Finish)
      .def("run", &CapturedLaunches::Run)
      .def("__len__", &CapturedLaunches::size);
}

}  // namespace kiln
