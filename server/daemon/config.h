// Reads the daemon's configuration file: proto/config.proto in protobuf's text format.
#ifndef KILN_SERVER_DAEMON_CONFIG_H_
#define KILN_SERVER_DAEMON_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kiln/proto/config.pb.h"

namespace kiln {

// The content of the file, without defaults. Paths in it become absolute, relative to the file's
// directory. NotFound: the file does not exist. PermissionDenied: others can write to it
// (common/home/folder.h), and so could choose what runs here. InvalidArgument: "FILE:LINE:COLUMN:
// FIELD: what is wrong", for text that does not parse, for unknown or unsupported fields, and for
// invalid values.
absl::StatusOr<proto::Config> ReadConfig(const std::string& path);
// The same for `text`, as if it came from `path`.
absl::StatusOr<proto::Config> ParseConfig(const std::string& text, const std::string& path);

// Whether `address` is HOST:PORT. Port 0 is one: the system chooses it.
bool IsHostAndPort(absl::string_view address);

// Whether HOST:PORT is reachable from this machine alone. False for all names but "localhost".
bool IsLoopback(absl::string_view address);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_CONFIG_H_
