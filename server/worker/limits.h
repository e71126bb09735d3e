// What a worker process may use, and whom it outlives: nobody.
#ifndef KILN_SERVER_WORKER_LIMITS_H_
#define KILN_SERVER_WORKER_LIMITS_H_

#include <cstdint>

namespace kiln {

struct Limits {
  uint64_t memory_bytes = 0;  // address space; 0: no limit
  uint64_t cpu_seconds = 0;   // 0: no limit
};

// Dies with the process that started it, leaves no core, closes descriptors it
// was not given (but 0, 1, 2 and `keep`), and sets `limits`. What the system
// does not allow is left out: limits guard, nothing depends on them.
void ConfineProcess(const Limits& limits, int keep);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_LIMITS_H_
