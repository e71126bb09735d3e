// The text of one Python function, in a form that comments, blank lines and its place
// in the file do not change.
#ifndef KILN_CLIENT_PY_NATIVE_PYTHON_SOURCE_H_
#define KILN_CLIENT_PY_NATIVE_PYTHON_SOURCE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace kiln {

struct PythonBlock {
  // Its lines without comments, without what is blank, without spaces at their ends.
  // Equal forms have equal syntax trees, but for line numbers: nothing inside of a
  // string is touched, nor any space before the last character of a line.
  std::string normal_form;
  // Those lines that left something in the form, 0-based in the file.
  std::vector<int> lines;
  int end = 0;  // the line after the last one
};

// Reads the function whose decorators, or else `def`, start at line `first`. `line(i)`
// answers line i with its end, or nullopt after the last. `nested_fstrings`: the
// language lets an f-string hold strings with its own quotes (Python 3.12); then
// functions with f-strings keep their comments.
// nullopt: there is no function, or it does not end as one should.
absl::optional<PythonBlock> ReadPythonBlock(
    const std::function<absl::optional<absl::string_view>(int)>& line, int first,
    bool nested_fstrings);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_PYTHON_SOURCE_H_
