// Text that others wrote, as part of a log line or a message: it ends no line, moves no cursor and
// is UTF-8.
#ifndef KILN_COMMON_BASE_PLAIN_TEXT_H_
#define KILN_COMMON_BASE_PLAIN_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// Bytes of the UTF-8 character at the beginning of `text`; 0 if there is none.
size_t Utf8Length(absl::string_view text);

// The beginning of `text`, at most `most` bytes, that ends between two characters.
absl::string_view CutText(absl::string_view text, size_t most);

// So much of what a peer says is shown.
inline constexpr size_t kPeerTextBytes = 400;

// `text` with control characters and bytes that are no UTF-8 as "\n", "\t" or "\x1b". Of more than
// `most` bytes, its beginning and how much is missing.
std::string OneLine(absl::string_view text, size_t most = kPeerTextBytes);

// The same, but lines stay lines: newlines and tabs are kept.
std::string PlainText(absl::string_view text, size_t most);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_PLAIN_TEXT_H_
