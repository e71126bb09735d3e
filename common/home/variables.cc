#include "common/home/variables.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

struct Row {
  const char* name;
  const char* expected;  // for messages; of a variable with few values, all of them
  bool (*accepts)(absl::string_view value, absl::string_view expected);
};

// Whether `expected`, such as "on, off or check", names the value.
bool IsNamed(absl::string_view value, absl::string_view expected) {
  for (const absl::string_view word : absl::StrSplit(expected, absl::ByAnyChar(", "))) {
    if (word == value && word != "or") return true;
  }
  return false;
}

bool IsBytes(absl::string_view value, absl::string_view) {
  uint64_t bytes;
  return absl::SimpleAtoi(value, &bytes);
}

bool IsPositive(absl::string_view value, absl::string_view) {
  uint64_t count;
  return absl::SimpleAtoi(value, &count) && count > 0;
}

// 1e9 seconds are 30 years: longer ones overflow sums of times. The comparisons refuse NaN, too.
bool IsSeconds(absl::string_view value, absl::string_view) {
  double seconds;
  return absl::SimpleAtod(value, &seconds) && seconds > 0 && seconds < 1e9;
}

constexpr Row kOfPrograms[] = {
    {"KILN_CACHE", "read-only or read-write", IsNamed},
    {"KILN_OWNER_CHECK", "on or off", IsNamed},
    {"KILN_REQUIRE_HIT", "0 or 1", IsNamed},
    {"KILN_REQUIRE_SIGNED", "0 or 1", IsNamed},
    {"KILN_STAT", "on or off", IsNamed},
    {"KILN_STRICT", "0 or 1", IsNamed},
    {"KILN_TAPE_MB", "a number of megabytes, at least 1", IsPositive},
    {"KILN_WARM", "on, off or check", IsNamed},
};

constexpr Row kOfKilnd[] = {
    {"KILN_CACHE_BYTES", "a number of bytes", IsBytes},
    {"KILN_JOB_SECONDS", "a number of seconds, more than 0", IsSeconds},
};

absl::Status Check(const Row& row) {
  const std::optional<std::string> value = Variable(row.name);
  if (!value.has_value() || row.accepts(*value, row.expected)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(row.name, "=", *value, ": expected ", row.expected));
}

}  // namespace

std::optional<std::string> Variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

absl::Status CheckVariablesOfPrograms() {
  for (const Row& row : kOfPrograms) RETURN_IF_ERROR(Check(row));
  return absl::OkStatus();
}

absl::Status CheckVariablesOfKilnd() {
  for (const Row& row : kOfKilnd) RETURN_IF_ERROR(Check(row));
  return absl::OkStatus();
}

}  // namespace kiln
