// Files in which clients note what they know of kernels, below <home>/warm
// (client_py/kiln/warm says what is in them). They decide which code a kernel's text stands for,
// and some are read by parsers that trust them: so only own ones are (lang/folder.h).
//
// Thread safety: pure functions of the home; several processes may use one.
#ifndef KILN_CLIENT_CPP_NOTES_H_
#define KILN_CLIENT_CPP_NOTES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lang/home.h"

namespace kiln {

// The bytes of the note `name`, a path below the home without links ("warm/programs/…").
// NotFound, or PermissionDenied if it or a directory on the way is not own.
absl::StatusOr<std::string> ReadNote(const Home& home, absl::string_view name);

// Replaces the note `name` by `bytes`, written aside and renamed, and makes the directories that
// it needs.
absl::Status WriteNote(const Home& home, absl::string_view name, absl::string_view bytes);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_NOTES_H_
