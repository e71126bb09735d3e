// How long a launch took, for the profiler.
#ifndef KILN_CLIENT_PY_NATIVE_LAUNCH_TIME_H_
#define KILN_CLIENT_PY_NATIVE_LAUNCH_TIME_H_

#include <pybind11/pybind11.h>

#include "runtime/device.h"

namespace kiln {

// The device's work between the constructor and End. On a CUDA device, two events without a wait.
class LaunchTime {
 public:
  explicit LaunchTime(Device* device) : device_(device), begin_(device->Record()) {}
  ~LaunchTime();
  LaunchTime(const LaunchTime&) = delete;
  LaunchTime& operator=(const LaunchTime&) = delete;

  void End() { end_ = device_->Record(); }
  // Requires: End was called. Waits for the work.
  double Seconds() const { return device_->Seconds(begin_, end_); }

 private:
  Device* const device_;
  Device::Event begin_, end_;
};

// LaunchTime, with `seconds()`.
void BindLaunchTime(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_LAUNCH_TIME_H_
