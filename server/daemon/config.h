// Reads the daemon's configuration file: proto/config.proto in protobuf's text format.
#ifndef KILN_SERVER_DAEMON_CONFIG_H_
#define KILN_SERVER_DAEMON_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace kiln {

// What the file says, nothing filled in; paths of files are made absolute, from the
// file's directory. NotFound: there is no such file. PermissionDenied: others can write to it
// (lang/folder.h), and so say what is run and written here. InvalidArgument:
// "FILE:LINE:COLUMN: FIELD: what is wrong", for text that does not parse, fields that
// are unknown, that this build does not support, or whose value cannot be.
absl::StatusOr<proto::Config> ReadConfig(const std::string& path);
// The same for `text`, as if it were read from `path`.
absl::StatusOr<proto::Config> ParseConfig(const std::string& text, const std::string& path);

// Whether HOST:PORT can be reached from this machine alone. Names other than
// "localhost" count as not.
bool IsLoopback(absl::string_view address);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_CONFIG_H_
