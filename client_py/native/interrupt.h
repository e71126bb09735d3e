// Ctrl-C while a kernel runs.
//
// Python's handler of SIGINT only takes a note, at which Python looks between two bytecodes: after
// the kernel. The handler here ends the kernel of the main thread, too, and then calls Python's.
#ifndef KILN_CLIENT_PY_NATIVE_INTERRUPT_H_
#define KILN_CLIENT_PY_NATIVE_INTERRUPT_H_

#include <Python.h>

#include <cstdint>

#include "runtime/loaded_kernel.h"

namespace kiln {

// Puts the handler before the one in place. Does nothing where it is there already, where SIGINT is
// ignored or ends the process, and outside of the main thread. To be called while Python's handler
// raises KeyboardInterrupt; a handler that the program sets later takes this one's place.
void EndKernelsOnInterrupt();

// LaunchHooks::failed for a launch that this thread makes now. Null, for a flag of the launch's
// own: outside of the main thread, before the handler is in place, and while FlagTaken lives.
volatile uint32_t* FlagForLaunch();

// Hooks that do nothing but bring that flag; null where it is.
const LaunchHooks* OnlyInterruptible();

// Lives during a launch whose hooks may run Python code, which may launch kernels.
class FlagTaken {
 public:
  FlagTaken();
  ~FlagTaken();
  FlagTaken(const FlagTaken&) = delete;
  FlagTaken& operator=(const FlagTaken&) = delete;

 private:
  const bool before_;
};

// KeyboardInterrupt, for a launch that SIGINT ended. Needs the GIL.
void RaiseInterrupt();

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_INTERRUPT_H_
