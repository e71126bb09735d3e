// The daemon's log: lines with time and pid on stderr, which a detached daemon
// has pointed at <home>/kilnd.log; plain, or one JSON object a line. No kernel's source
// is ever written, and where it stands only if the configuration asks for it.
#ifndef KILN_SERVER_DAEMON_LOG_H_
#define KILN_SERVER_DAEMON_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kiln {

// Makes stderr append to `path`; a file over `max_bytes` becomes `path`.1 and a
// new one is begun. Without such a file (a read-only home) lines go nowhere.
void LogToFile(const std::string& path, uint64_t max_bytes);

// From here on lines are {"time", "pid", "message"} or, of events, {"time", "pid",
// "event", fields}.
void LogAsJson();

// Something that happens often: written to a JSON log only. Values are JSON (json_text.h).
using LogFields = std::vector<std::pair<const char*, std::string>>;
bool LogsEvents();
void LogEvent(const char* event, const LogFields& fields);

void LogLine(const std::string& line);

template <typename... Parts>
void Log(const Parts&... parts) {
  LogLine(absl::StrCat(parts...));
}

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_LOG_H_
