// The file with the dashboard's address and the secret that a reader has to present. Only the
// daemon's user can read it; `kiln top` does.
#ifndef KILN_SERVER_WEB_FRONT_ADDRESS_FILE_H_
#define KILN_SERVER_WEB_FRONT_ADDRESS_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Writes "ORIGIN/#SECRET" to `path`. Reuses the secret of an earlier kilnd-web's file, so that an
// open page survives a restart; else makes a new one. Returns the secret, 32 hexadecimal digits.
// `path` must be in a directory that only this user can write to.
absl::StatusOr<std::string> WriteAddress(const std::string& path, const std::string& origin);

// Whether both are equal; takes the same time wherever they differ.
bool SameSecret(absl::string_view shown, absl::string_view secret);

}  // namespace kiln

#endif  // KILN_SERVER_WEB_FRONT_ADDRESS_FILE_H_
