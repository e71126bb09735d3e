// Makes text from outside safe in a log line or a message: it ends no line, moves no cursor and is
// valid UTF-8.
#ifndef KILN_COMMON_BASE_PLAIN_TEXT_H_
#define KILN_COMMON_BASE_PLAIN_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// The length of the UTF-8 character at the beginning of `text`; 0 if there is none.
size_t Utf8Length(absl::string_view text);

// The longest beginning of `text` of at most `most` bytes that ends between two characters.
absl::string_view CutText(absl::string_view text, size_t most);

// The limit on a peer's text in messages.
inline constexpr size_t kPeerTextBytes = 400;

// `text` with control characters and invalid UTF-8 escaped as "\n", "\t" or "\x1b". If it exceeds
// `most` bytes: its beginning, and how much is missing.
std::string OneLine(absl::string_view text, size_t most = kPeerTextBytes);

// The same, but keeps newlines and tabs.
std::string PlainText(absl::string_view text, size_t most);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_PLAIN_TEXT_H_
