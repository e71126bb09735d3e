// Where Kiln's programs are. A checkout and Debian's packages have all of them in one folder.
// Python packages have two: the compiler and what serves other machines are a package of their own.
#ifndef KILN_COMMON_HOME_PROGRAMS_H_
#define KILN_COMMON_HOME_PROGRAMS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// The path of a program, such as "kiln-worker": in `folder`, which has kilnd, or in the package
// kiln_compiler beside the package of `folder`. The first of them if neither has it.
std::string ProgramIn(const std::string& folder, absl::string_view name);

// The failure of what needs a compiler, where `worker` cannot be run.
std::string NoCompiler(absl::string_view worker);

}  // namespace kiln

#endif  // KILN_COMMON_HOME_PROGRAMS_H_
