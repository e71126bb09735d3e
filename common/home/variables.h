// What the environment variables of programs and of kilnd may say. A wrong value is reported when a
// program or kilnd starts, since later it would pass for the default.
#ifndef KILN_COMMON_HOME_VARIABLES_H_
#define KILN_COMMON_HOME_VARIABLES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace kiln {

// The variable's value; an empty one counts as unset, as `NAME= program` in a shell means it.
std::optional<std::string> Variable(const char* name);

// OK, or InvalidArgument: "NAME=VALUE: expected ...". Variables with values of other forms are not
// in the table: what reads them checks them.
absl::Status CheckVariablesOfPrograms();
absl::Status CheckVariablesOfKilnd();

}  // namespace kiln

#endif  // KILN_COMMON_HOME_VARIABLES_H_
