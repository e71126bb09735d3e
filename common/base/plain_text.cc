#include "common/base/plain_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kiln {
namespace {

// Control characters that terminals interpret: C0 and DEL (one byte), C1 (two bytes).
bool IsControl(absl::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string Escaped(absl::string_view text, size_t most, bool lines) {
  const size_t missing = text.size() - CutText(text, most).size();
  absl::string_view rest = text.substr(0, text.size() - missing);
  std::string out;
  out.reserve(rest.size());
  while (!rest.empty()) {
    const size_t length = Utf8Length(rest);
    const absl::string_view character = rest.substr(0, std::max<size_t>(length, 1));
    const bool kept = lines && (character == "\n" || character == "\t");
    if (kept || (length > 0 && !IsControl(character))) {
      out.append(character.data(), character.size());
    } else if (character == "\n") {
      out += "\\n";
    } else if (character == "\t") {
      out += "\\t";
    } else {
      for (const char byte : character) {
        absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(byte));
      }
    }
    rest.remove_prefix(character.size());
  }
  if (missing > 0) absl::StrAppend(&out, "... (", missing, " bytes more)");
  return out;
}

}  // namespace

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Refuse overlong forms, surrogates, and numbers beyond the last character.
  if (length == 3 && first == 0xe0 && byte(1) < 0xa0) return 0;
  if (length == 3 && first == 0xed && byte(1) > 0x9f) return 0;
  if (length == 4 && first == 0xf0 && byte(1) < 0x90) return 0;
  if (length == 4 && first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

absl::string_view CutText(absl::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  // Step back over continuation bytes; a character has at most three.
  for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; ++i) {
    --end;
  }
  return text.substr(0, end);
}

std::string OneLine(absl::string_view text, size_t most) { return Escaped(text, most, false); }

std::string PlainText(absl::string_view text, size_t most) { return Escaped(text, most, true); }

}  // namespace kiln
