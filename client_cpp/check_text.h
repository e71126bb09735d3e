// Sentences about checks of debug mode that failed.
#ifndef KILN_CLIENT_CPP_CHECK_TEXT_H_
#define KILN_CLIENT_CPP_CHECK_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "kiln/proto/kernel.pb.h"

namespace kiln {

// The text of a check whose own text is unknown.
inline constexpr char kCheckFailed[] = "a check of the kernel failed";

// What the check of a node says. `values`: the slots that it reports (lowering/lower_checks.cc).
// The words are those of Python (client_py/kiln/diagnostics/checks.py), which also knows names.
std::string CheckText(proto::NodeKind kind, absl::Span<const uint64_t> values);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_CHECK_TEXT_H_
