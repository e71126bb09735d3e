// Whether the machine, and the container that the daemon is in, has memory for one more
// compilation.
//
// Thread-safe: stateless.
#ifndef KILN_SERVER_DAEMON_MEMORY_GAUGE_H_
#define KILN_SERVER_DAEMON_MEMORY_GAUGE_H_

#include <cstdint>
#include <string>

namespace kiln {

class MemoryGauge {
 public:
  // Other roots than the system's: for tests.
  explicit MemoryGauge(std::string proc = "/proc", std::string cgroup = "/sys/fs/cgroup")
      : proc_(std::move(proc)), cgroup_(std::move(cgroup)) {}

  // Half a gigabyte to be had (an eighth of all memory where that is less), and programs
  // not held up by its lack for more than two fifths of the last ten seconds. What the
  // system does not tell counts as plenty.
  bool Room() const;

  // Bytes to be had without swapping.
  uint64_t Available() const;

 private:
  const std::string proc_;
  const std::string cgroup_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_MEMORY_GAUGE_H_
