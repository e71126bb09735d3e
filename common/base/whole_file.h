// Files of the user that are replaced whole, as client_py/kiln/whole_file.py does it: a full disk
// leaves the previous one, and readers see the old bytes or the new ones.
#ifndef KILN_COMMON_BASE_WHOLE_FILE_H_
#define KILN_COMMON_BASE_WHOLE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Replaces the file at `path` by `bytes`; links stay. Written in place are pipes and devices, files
// in folders that take no new file, and files that are mounted by themselves. An error begins with
// the path.
absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_WHOLE_FILE_H_
