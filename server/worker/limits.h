// Resource limits of a worker process, which never outlives its parent.
#ifndef KILN_SERVER_WORKER_LIMITS_H_
#define KILN_SERVER_WORKER_LIMITS_H_

#include <cstdint>

namespace kiln {

struct Limits {
  uint64_t memory_bytes = 0;  // address space; 0: no limit
  uint64_t cpu_seconds = 0;   // 0: no limit
};

// Makes the process die with its parent and write no core. Closes all descriptors except 0, 1, 2
// and `keep`. Raises the limit on the size of files to the hard one, and sets `limits`. Skips what
// the system does not allow: the limits are a safeguard that nothing depends on.
void ConfineProcess(const Limits& limits, int keep);

}  // namespace kiln

#endif  // KILN_SERVER_WORKER_LIMITS_H_
