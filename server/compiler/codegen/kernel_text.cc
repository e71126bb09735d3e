#include "server/compiler/codegen/kernel_text.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kiln {

std::string Dense(int slot, int axes, const std::vector<int>& digits, const std::string& type,
                  const std::string& offset, int alias, const std::string& components) {
  return absl::StrCat("#kiln.dense<slot = ", slot, ", axes = ", axes, ", digits = [",
                      absl::StrJoin(digits, ", "), "], offset = [", offset, "], types = [", type,
                      "], components = [", components,
                      "], bases = 1, base_strides = [], alias = ", alias, ", read_only = false>");
}

std::string Kernel(const std::vector<std::string>& storages, const std::string& tasks,
                   const std::string& results) {
  return absl::StrCat("kiln.kernel @k storages [", absl::StrJoin(storages, ", "), "] results [",
                      results, "] {\n", tasks, "\nkiln.return\n}\n");
}

std::string Range(const std::vector<std::pair<int, int>>& bounds, const std::string& body,
                  const std::string& finish) {
  std::string constants, names, types, indices;
  for (size_t d = 0; d < bounds.size(); ++d) {
    absl::StrAppend(&constants, "%l", d, " = arith.constant ", bounds[d].first, " : i64\n%u", d,
                    " = arith.constant ", bounds[d].second, " : i64\n");
    absl::StrAppend(&names, d ? ", " : "", "%l", d, ", %u", d);
    absl::StrAppend(&types, d ? ", " : "", "i64, i64");
    absl::StrAppend(&indices, d ? ", " : "", "%i", d, " : i32");
  }
  const bool accumulates = body.find("%acc") != std::string::npos;
  return absl::StrCat("kiln.task.range_for \"t\" bounds {\n", constants, "kiln.yield ", names,
                      " : ", types, "\n} body (", indices, accumulates ? ", %acc : f32" : "",
                      ") {\n", body, "\n}", finish.empty() ? "" : " finish " + finish);
}

std::string Serial(const std::string& body) {
  return "kiln.task.serial \"s\" {\n" + body + "\nkiln.return\n}\n";
}

}  // namespace kiln
