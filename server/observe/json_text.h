// Text as JSON, for logs and the dashboard.
#ifndef KILN_SERVER_OBSERVE_JSON_TEXT_H_
#define KILN_SERVER_OBSERVE_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// `text` as a JSON string, with quotes. Invalid UTF-8 becomes U+FFFD. "<" and "&" are escaped too,
// so that the result is safe in HTML.
std::string JsonString(absl::string_view text);

bool IsUtf8(absl::string_view text);

// A JSON number; "null" for NaN and infinities.
std::string JsonNumber(double value);

}  // namespace kiln

#endif  // KILN_SERVER_OBSERVE_JSON_TEXT_H_
