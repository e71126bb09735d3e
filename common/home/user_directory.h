// The directory of this user's own files.
#ifndef KILN_COMMON_HOME_USER_DIRECTORY_H_
#define KILN_COMMON_HOME_USER_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace kiln {

// $HOME, else the user database's entry; FailedPrecondition if there is neither.
absl::StatusOr<std::string> UserDirectory();

}  // namespace kiln

#endif  // KILN_COMMON_HOME_USER_DIRECTORY_H_
