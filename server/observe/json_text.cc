#include "server/observe/json_text.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "common/base/plain_text.h"

namespace kiln {
std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = text[0];
    if (length == 0) {
      out += "\\ufffd";
    } else if (length > 1) {
      out.append(text.data(), length);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '<' || c == '&') {
      out += absl::StrFormat("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string JsonNumber(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.15g", value) : "null";
}

}  // namespace kiln
