// The text of one Python function in a normal form, which is independent of comments, blank lines
// and the function's position in the file.
#ifndef KILN_CLIENT_PY_NATIVE_PYTHON_SOURCE_H_
#define KILN_CLIENT_PY_NATIVE_PYTHON_SOURCE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace kiln {

struct PythonBlock {
  // The function's lines without comments, blank lines and trailing spaces. Functions with equal
  // forms have equal syntax trees, except for line numbers: strings and all other spaces are kept.
  std::string normal_form;
  // The lines of the file, from 0, that are part of the form.
  std::vector<int> lines;
  int end = 0;  // the line after the last one
};

// Reads the function whose decorators, or else `def`, begin at line `first`. `line(i)` returns line
// i with its line end, or nullopt after the last line. `nested_fstrings`: an f-string may contain
// strings with its own quotes (Python 3.12); then functions with f-strings keep their comments.
// Returns nullopt if there is no function, or if its end is malformed.
absl::optional<PythonBlock> ReadPythonBlock(
    const std::function<absl::optional<absl::string_view>(int)>& line, int first,
    bool nested_fstrings);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_PYTHON_SOURCE_H_
