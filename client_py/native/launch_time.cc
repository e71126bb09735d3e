#include "client_py/native/launch_time.h"

#include "client_py/native/gil.h"

namespace kiln {

namespace py = pybind11;

LaunchTime::~LaunchTime() {
  device_->Release(begin_);
  device_->Release(end_);
}

void BindLaunchTime(py::module_& m) {
  py::class_<LaunchTime>(m, "LaunchTime")
      .def("seconds", &LaunchTime::Seconds, py::call_guard<GilReleased>());
}

}  // namespace kiln
