// The launches of a captured graph (client_py/kiln/graph/captured.py): instances with their slots.
// A device starts those in a row at once whose outcome the host need not look at. The others are
// launched one by one.
#ifndef KILN_CLIENT_PY_NATIVE_CAPTURED_LAUNCHES_H_
#define KILN_CLIENT_PY_NATIVE_CAPTURED_LAUNCHES_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client_py/native/bound_instance.h"
#include "client_py/native/slots.h"
#include "client_py/native/storage_object.h"
#include "runtime/launch_graph.h"

namespace kiln {

// All functions need the GIL, and throw what pybind11 translates.
class CapturedLaunches {
 public:
  CapturedLaunches() = default;
  CapturedLaunches(const CapturedLaunches&) = delete;
  CapturedLaunches& operator=(const CapturedLaunches&) = delete;

  // Adds the call of a kernel that has an instance for it. The caller keeps the arguments. Methods
  // of the kernel raise the errors of launches that a graph cannot have.
  void Add(const pybind11::object& kernel, const pybind11::tuple& args);
  // After the last one: makes the device's graphs.
  void Finish();
  // Runs all of them. Returns why the device could not; empty: memory that they use exists no more.
  // Throws the errors of kernels.
  std::optional<std::string> Run();
  size_t size() const { return launches_.size(); }

 private:
  struct Launch {
    pybind11::object kernel;
    std::unique_ptr<InstanceRef> held;  // of `bound`
    BoundInstance* bound;
    std::vector<uint64_t> slots;
    HeldGradients gradients;
  };

  // Launches in a row.
  struct Part {
    size_t first, last;                  // exclusive
    std::unique_ptr<LaunchGraph> graph;  // null: one by one
  };

  void AddMemory(const std::shared_ptr<Memory>& memory);
  void AddArray(const Launch& launch, const SlotFill& fill, PyObject* argument);
  bool HaveMemory();
  void HandOver();
  std::unique_ptr<LaunchGraph> MakeGraph(size_t first, size_t last) const;
  // False: memory exists no more.
  bool RunInTurn(const Part& part);

  std::vector<Launch> launches_;
  std::vector<std::shared_ptr<Memory>> memories_;  // of all launches, each once
  uint64_t epoch_ = 0;                             // memory_epoch when they were last checked
  bool on_device_ = false;
  std::vector<Part> parts_;  // of the launches, in order
};

void BindCapturedLaunches(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_CAPTURED_LAUNCHES_H_
