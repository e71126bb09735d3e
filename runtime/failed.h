// Whether a launch has ended early.
#ifndef KILN_RUNTIME_FAILED_H_
#define KILN_RUNTIME_FAILED_H_

#include "runtime/abi.h"

namespace kiln {

// Atomic, because any thread of the launch or a signal handler may set the flag meanwhile. Relaxed:
// a thread that sees it late only does useless work.
inline bool HasFailed(const KilnContext& ctx) {
  return __atomic_load_n(ctx.failed, __ATOMIC_RELAXED) != 0;
}

}  // namespace kiln

#endif  // KILN_RUNTIME_FAILED_H_
