// Opens files whose names others may have given to something else: a FIFO there would block the
// process until another one opened its other end.
#ifndef KILN_COMMON_HOME_REGULAR_FILE_H_
#define KILN_COMMON_HOME_REGULAR_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/home/folder.h"

namespace kiln {

// Opens the regular file at `path`; `flags` as for open(2), a new file has mode 0600. Does not
// wait. Errors name the path; FailedPrecondition: it is something else than a regular file.
absl::StatusOr<Descriptor> OpenRegularFile(const std::string& path, int flags);

// The number at the beginning of a small text file; 0 without such a file or number.
int NumberInFile(const std::string& path);

}  // namespace kiln

#endif  // KILN_COMMON_HOME_REGULAR_FILE_H_
