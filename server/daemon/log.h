// The daemon's log: lines with time and pid on stderr, which a detached daemon
// has pointed at <home>/kilnd.log. No kernel's source is ever written.
#ifndef KILN_SERVER_DAEMON_LOG_H_
#define KILN_SERVER_DAEMON_LOG_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace kiln {

// Makes stderr append to `path`; a file over `max_bytes` becomes `path`.1 and a
// new one is begun. Without such a file (a read-only home) lines go nowhere.
void LogToFile(const std::string& path, uint64_t max_bytes);

void LogLine(const std::string& line);

template <typename... Parts>
void Log(const Parts&... parts) {
  LogLine(absl::StrCat(parts...));
}

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_LOG_H_
