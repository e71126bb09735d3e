// Whether the machine, and the daemon's container, has memory for one more compilation.
//
// Thread-safe: stateless.
#ifndef KILN_SERVER_DAEMON_WORKERS_MEMORY_GAUGE_H_
#define KILN_SERVER_DAEMON_WORKERS_MEMORY_GAUGE_H_

#include <cstdint>
#include <string>

namespace kiln {

class MemoryGauge {
 public:
  // For tests: roots other than the system's.
  explicit MemoryGauge(std::string proc = "/proc", std::string cgroup = "/sys/fs/cgroup")
      : proc_(std::move(proc)), cgroup_(std::move(cgroup)) {}

  // True if half a gigabyte is available (an eighth of all memory if that is less). Also, processes
  // must have stalled on memory for at most two fifths of the last ten seconds. Values that the
  // system does not report count as plenty.
  bool Room() const;

  // Bytes available without swapping.
  uint64_t Available() const;

 private:
  const std::string proc_;
  const std::string cgroup_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WORKERS_MEMORY_GAUGE_H_
