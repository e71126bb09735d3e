// Clients' files about kernels, below <home>/warm (client_py/kiln/warm specifies them). They decide
// which code a kernel's text stands for, and trusting parsers read some of them. Only own files are
// read (common/home/folder.h).
//
// Thread safety: pure functions of the home; several processes may use one.
#ifndef KILN_CLIENT_CPP_NOTES_H_
#define KILN_CLIENT_CPP_NOTES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/home/home.h"

namespace kiln {

// The bytes of the note `name`, a path below the home without links ("warm/programs/…").
// NotFound, or PermissionDenied if it or a directory on the way is not own.
absl::StatusOr<std::string> ReadNote(const Home& home, absl::string_view name);

// Replaces the note `name` by `bytes`: writes aside, then renames. Creates missing directories.
absl::Status WriteNote(const Home& home, absl::string_view name, absl::string_view bytes);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_NOTES_H_
