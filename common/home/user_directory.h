// Where this user's own files are.
#ifndef KILN_COMMON_HOME_USER_DIRECTORY_H_
#define KILN_COMMON_HOME_USER_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace kiln {

// $HOME, else what the user database says; FailedPrecondition where neither does.
absl::StatusOr<std::string> UserDirectory();

}  // namespace kiln

#endif  // KILN_COMMON_HOME_USER_DIRECTORY_H_
