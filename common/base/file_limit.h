// The limit on the size of files (ulimit -f), for messages.
#ifndef KILN_COMMON_BASE_FILE_LIMIT_H_
#define KILN_COMMON_BASE_FILE_LIMIT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kiln {

// The status of a write to the file that `what` names which failed with `error`, an errno. It
// states the limit if that is at fault.
absl::Status WriteError(int error, absl::string_view what);

// Why a compiler that this process starts may not be able to compile anything, to be appended to a
// message; "" if the limit is no reason. A compiler raises its soft limit to the hard one.
std::string TooSmallFiles();

}  // namespace kiln

#endif  // KILN_COMMON_BASE_FILE_LIMIT_H_
