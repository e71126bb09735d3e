// The file that says where the dashboard is, with the secret that its reader has to show. Only
// the daemon's user can read it: `kiln top` does.
#ifndef KILN_SERVER_DAEMON_WEB_ADDRESS_FILE_H_
#define KILN_SERVER_DAEMON_WEB_ADDRESS_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Writes "ORIGIN/#SECRET" to `path`, with the secret that an earlier kilnd-web left there or else
// a new one, so that an open page outlives a restart. Returns the secret, 32 hexadecimal digits.
// `path` is in a directory that only this user can write to.
absl::StatusOr<std::string> WriteAddress(const std::string& path, const std::string& origin);

// Whether both are the same; takes equally long wherever they differ.
bool SameSecret(absl::string_view shown, absl::string_view secret);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WEB_ADDRESS_FILE_H_
