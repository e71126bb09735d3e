// Trace ids that follow a request through client, daemon, worker and other machines, in
// the form of W3C Trace Context: "00-<32 hex trace>-<16 hex span>-<2 hex flags>".
//
// Thread safety: pure functions.
#ifndef KILN_COMMON_WIRE_TRACE_CONTEXT_H_
#define KILN_COMMON_WIRE_TRACE_CONTEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

struct TraceContext {
  std::string trace;  // 32 hexadecimal digits
  std::string span;   // 16, of the caller
};

// The ids in `traceparent`; both empty if it is invalid (unknown version, zero ids).
TraceContext ParseTraceparent(absl::string_view traceparent);

// The traceparent of a new span: in the trace of `parent` if that is valid, else in a new trace.
std::string NewSpan(absl::string_view parent);

}  // namespace kiln

#endif  // KILN_COMMON_WIRE_TRACE_CONTEXT_H_
