// Text as JSON, for logs and the dashboard.
#ifndef KILN_SERVER_DAEMON_JSON_TEXT_H_
#define KILN_SERVER_DAEMON_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// `text` as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD; "<" and
// "&" are escaped too, so that the result may stand in HTML.
std::string JsonString(absl::string_view text);

bool IsUtf8(absl::string_view text);

// A number that JSON can hold; "null" for what is none.
std::string JsonNumber(double value);

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_JSON_TEXT_H_
