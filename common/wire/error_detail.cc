#include "common/wire/error_detail.h"

#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

constexpr char kPart[] = "kiln/part";
constexpr char kRetryAfterMs[] = "kiln/retry_after_ms";

std::string Detail(const absl::Status& status, const char* name) {
  const auto payload = status.GetPayload(name);
  return payload.has_value() ? std::string(*payload) : "";
}

}  // namespace

void SetPart(absl::Status* status, absl::string_view part) {
  status->SetPayload(kPart, absl::Cord(part));
}

std::string PartOf(const absl::Status& status) { return Detail(status, kPart); }

void SetRetryAfter(absl::Status* status, absl::Duration after) {
  const std::string text = absl::StrCat(absl::ToInt64Milliseconds(after));
  status->SetPayload(kRetryAfterMs, absl::Cord(absl::string_view(text)));
}

absl::Duration RetryAfterOf(const absl::Status& status) {
  int64_t milliseconds = 0;
  (void)absl::SimpleAtoi(Detail(status, kRetryAfterMs), &milliseconds);
  return absl::Milliseconds(milliseconds);
}

}  // namespace kiln
