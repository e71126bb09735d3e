// A launch from Python: when it releases the GIL, and how its prints, failed checks and errors
// reach Python.
#ifndef KILN_CLIENT_PY_NATIVE_LAUNCHING_H_
#define KILN_CLIENT_PY_NATIVE_LAUNCHING_H_

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>

#include "client_py/native/bound_instance.h"
#include "client_py/native/gil.h"
#include "client_py/native/storage_object.h"

namespace kiln {

// Releases the GIL when it is told to, until its end. Memory that other threads destroy meanwhile
// stays allocated.
class Unlocked {
 public:
  Unlocked() = default;
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    if (!released_.has_value()) return;
    released_.reset();
    EndUnlockedLaunch();
  }
  void Begin() {
    if (released_.has_value()) return;
    BeginUnlockedLaunch();
    released_.emplace();
  }

 private:
  std::optional<GilReleased> released_;
};

// Before a launch of a kernel that prints: what the program printed appears first. Runs Python
// code.
void FlushPythonStdout();

// Launches on up to `threads` threads, 0: all of the pool. Needs the GIL, and releases it while a
// long launch runs. On a device it does not release it before the launch has started: until then no
// other thread may touch what the host has handed over (Memory::HandOver). False with a Python
// error if the launch failed or was interrupted; methods of `kernel` make the error. The caller
// holds a reference to `bound`.
bool Launch(PyObject* kernel, BoundInstance* bound, const uint64_t* slots, uint64_t* results,
            int threads);

// Raises an error of the runtime, as a launch that fails does.
void RaiseRuntimeError(PyObject* kernel, const std::string& text);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_LAUNCHING_H_
