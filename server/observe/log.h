// The log of the daemon and of the programs that it starts: lines with time, program and pid on
// stderr, plain or one JSON object per line. A detached daemon points stderr at <home>/kilnd.log.
// It never contains a kernel's source, and a kernel's file and line only if the configuration asks
// for it.
#ifndef KILN_SERVER_OBSERVE_LOG_H_
#define KILN_SERVER_OBSERVE_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Redirects stderr to append to `path`. When the file exceeds a megabyte, the first of the
// processes that notices renames it to `path`.1 and begins a new one. If the file cannot be created
// (a read-only home), lines are discarded.
void LogToFile(const std::string& path);

// From now on lines are {"time", "program", "pid", "message"} or, for events, {"time", "program",
// "pid", "event", fields}.
void LogAsJson();

// The flag that makes a program started by kilnd log in the same form.
std::vector<std::string> LogFlags();
// Applies such a flag; false if `flag` is another.
bool TakeLogFlag(absl::string_view arg);
// The program's name in its lines, "kilnd" by default; also turns libprotobuf's messages into
// lines.
void LogAs(const char* program);

// A frequent event: written to a JSON log only. Values are JSON (json_text.h).
using LogFields = std::vector<std::pair<const char*, std::string>>;
bool LogsEvents();
void LogEvent(const char* event, const LogFields& fields);

// The text may contain peers' text: control characters and invalid UTF-8 are escaped, and a long
// line is cut.
void LogLine(const std::string& text);

template <typename... Parts>
void Log(const Parts&... parts) {
  LogLine(absl::StrCat(parts...));
}

}  // namespace kiln

#endif  // KILN_SERVER_OBSERVE_LOG_H_
