// The log of the daemon and of the programs that it starts: lines with time, program and pid
// on stderr, which a detached daemon has pointed at <home>/kilnd.log; plain, or one JSON object
// a line. No kernel's source is ever written, and where it stands only if the configuration
// asks for it.
#ifndef KILN_SERVER_DAEMON_LOG_H_
#define KILN_SERVER_DAEMON_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Makes stderr append to `path`; a file over a megabyte becomes `path`.1 and a new one is
// begun, by whichever of the processes that write to it comes first. Without such a file (a
// read-only home) lines go nowhere.
void LogToFile(const std::string& path);

// From here on lines are {"time", "program", "pid", "message"} or, of events, {"time",
// "program", "pid", "event", fields}.
void LogAsJson();

// What a program is given that kilnd starts, so that it logs as kilnd does.
std::vector<std::string> LogFlags();
// Does what such a flag says; false where it is none.
bool TakeLogFlag(absl::string_view arg);
// The program's name in its lines, "kilnd" without; what libprotobuf says becomes lines, too.
void LogAs(const char* program);

// Something that happens often: written to a JSON log only. Values are JSON (json_text.h).
using LogFields = std::vector<std::pair<const char*, std::string>>;
bool LogsEvents();
void LogEvent(const char* event, const LogFields& fields);

// Texts of peers may be in it: control characters and bytes that are no UTF-8 are escaped, and a
// line that is too long is cut.
void LogLine(const std::string& text);

template <typename... Parts>
void Log(const Parts&... parts) {
  LogLine(absl::StrCat(parts...));
}

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_LOG_H_
