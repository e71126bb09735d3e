// Details of an error for programs, beside its code and message. A Status carries them in this
// process, proto::ErrorReply between processes (common/wire/framing.h converts).
#ifndef KILN_COMMON_WIRE_ERROR_DETAIL_H_
#define KILN_COMMON_WIRE_ERROR_DETAIL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kiln {

// The subject of an error, from a closed list; "": none.
//   "protocol", "compiler", "rights"   the part that differs, is missing or cannot run
//   "kernel"                           this kernel was refused, others are not
//   "queue", "quota"                   the server, or this caller's quota, is exhausted
//   "upstream"                         the kilnd that the caller named is unavailable
void SetPart(absl::Status* status, absl::string_view part);
std::string PartOf(const absl::Status& status);

// When to retry; zero: unknown.
void SetRetryAfter(absl::Status* status, absl::Duration after);
absl::Duration RetryAfterOf(const absl::Status& status);

}  // namespace kiln

#endif  // KILN_COMMON_WIRE_ERROR_DETAIL_H_
