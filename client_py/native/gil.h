// Releasing and taking the GIL, in scopes.
//
// Once the interpreter ends, Python ends each other thread that wants the GIL by unwinding its
// stack. C++ ends the process where that meets a destructor, and other destructors would use Python
// objects without the GIL. Such a thread waits here for the end of the process instead, as it does
// in Python 3.14.
#ifndef KILN_CLIENT_PY_NATIVE_GIL_H_
#define KILN_CLIENT_PY_NATIVE_GIL_H_

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <optional>

namespace kiln {

// Calls `take`, which takes the GIL. Does not return once the interpreter ends.
template <typename Take>
auto TakeGil(const Take& take) {
  try {
    return take();
  } catch (const abi::__forced_unwind&) {
    while (true) pause();
  }
}

// Releases the GIL, which the thread holds, until the end of the scope.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    TakeGil([this] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* const state_;
};

// Holds the GIL until the end of the scope, in any thread.
class GilTaken {
 public:
  GilTaken() : state_(TakeGil([] { return PyGILState_Ensure(); })) {}
  ~GilTaken() { PyGILState_Release(state_); }
  GilTaken(const GilTaken&) = delete;
  GilTaken& operator=(const GilTaken&) = delete;

 private:
  const PyGILState_STATE state_;
};

// Lets other threads run Python until the end of the scope, if `run`.
class OtherThreads {
 public:
  explicit OtherThreads(bool run) {
    if (run) released_.emplace();
  }

 private:
  std::optional<GilReleased> released_;
};

inline bool HasOtherThreads() {
  PyThreadState* const first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  return first != nullptr && PyThreadState_Next(first) != nullptr;
}

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_GIL_H_
