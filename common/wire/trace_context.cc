#include "common/wire/trace_context.h"

#include <sys/random.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace kiln {
namespace {

// VERSION-TRACE-SPAN-FLAGS, where version and flags have two digits.
constexpr size_t kTraceDigits = 32, kSpanDigits = 16;
constexpr size_t kTraceAt = 2 + 1, kSpanAt = kTraceAt + kTraceDigits + 1;
constexpr size_t kFlagsAt = kSpanAt + kSpanDigits + 1, kLength = kFlagsAt + 2;

bool IsId(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos &&
         text.find_first_not_of('0') != absl::string_view::npos;
}

// Sixteen digits, not all zero.
std::string RandomId() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    bits = static_cast<uint64_t>(absl::GetCurrentTimeNanos());
  }
  return absl::StrCat(absl::Hex(bits | 1, absl::kZeroPad16));
}

}  // namespace

TraceContext ParseTraceparent(absl::string_view traceparent) {
  // Later versions may append fields after the flags.
  if (traceparent.size() < kLength || traceparent[kTraceAt - 1] != '-' ||
      traceparent[kSpanAt - 1] != '-' || traceparent[kFlagsAt - 1] != '-' ||
      traceparent.substr(0, 2) == "ff" ||
      (traceparent.substr(0, 2) == "00" && traceparent.size() != kLength)) {
    return {};
  }
  const absl::string_view trace = traceparent.substr(kTraceAt, kTraceDigits);
  const absl::string_view span = traceparent.substr(kSpanAt, kSpanDigits);
  if (!IsId(trace) || !IsId(span)) return {};
  return {std::string(trace), std::string(span)};
}

std::string NewSpan(absl::string_view parent) {
  const TraceContext context = ParseTraceparent(parent);
  const std::string trace =
      context.trace.empty() ? absl::StrCat(RandomId(), RandomId()) : context.trace;
  return absl::StrCat("00-", trace, "-", RandomId(), "-01");
}

}  // namespace kiln
