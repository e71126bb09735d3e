// Ends a running kernel on Ctrl-C.
//
// Python's handler of SIGINT only sets a flag, which Python checks between two bytecodes, so only
// after the kernel. The handler here ends the kernel of the main thread, and then calls Python's.
#ifndef KILN_CLIENT_PY_NATIVE_INTERRUPT_H_
#define KILN_CLIENT_PY_NATIVE_INTERRUPT_H_

#include <Python.h>

#include <cstdint>

#include "runtime/loaded_kernel.h"

namespace kiln {

// Installs the handler in front of the current one. Does nothing if it is installed already, if
// SIGINT is ignored or ends the process, or outside of the main thread. Requires: Python's handler
// raises KeyboardInterrupt. A handler that the program installs later replaces this one.
void EndKernelsOnInterrupt();

// LaunchHooks::failed for a launch that this thread starts now. Null, so that the launch uses its
// own flag, outside of the main thread, before the handler is installed, and while a FlagTaken
// exists.
volatile uint32_t* FlagForLaunch();

// Hooks that only provide this flag; null if it is null.
const LaunchHooks* OnlyInterruptible();

// Exists during a launch whose hooks may run Python code, which may launch further kernels.
class FlagTaken {
 public:
  FlagTaken();
  ~FlagTaken();
  FlagTaken(const FlagTaken&) = delete;
  FlagTaken& operator=(const FlagTaken&) = delete;

 private:
  const bool before_;
};

// Raises KeyboardInterrupt for a launch that SIGINT ended. Needs the GIL.
void RaiseInterrupt();

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_INTERRUPT_H_
