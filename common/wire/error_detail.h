// What an error says beside its code and words, for programs: carried by a Status in this
// process and by proto::ErrorReply between processes (common/wire/framing.h turns one into the
// other).
#ifndef KILN_COMMON_WIRE_ERROR_DETAIL_H_
#define KILN_COMMON_WIRE_ERROR_DETAIL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kiln {

// What an error is about, a word of a closed list; "": nothing in particular.
//   "protocol", "compiler", "rights"   what differs, lacks or cannot be run
//   "kernel"                           this kernel was refused, others are not
//   "queue", "quota"                   there is too much to do, in all or of this caller
//   "upstream"                         the kilnd that the caller named cannot be asked
void SetPart(absl::Status* status, absl::string_view part);
std::string PartOf(const absl::Status& status);

// When to try again; zero: nobody knows.
void SetRetryAfter(absl::Status* status, absl::Duration after);
absl::Duration RetryAfterOf(const absl::Status& status);

}  // namespace kiln

#endif  // KILN_COMMON_WIRE_ERROR_DETAIL_H_
