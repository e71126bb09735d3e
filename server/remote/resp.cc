#include "server/remote/resp.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kiln {
namespace {

constexpr size_t kMaxLine = 4096;

}  // namespace

void AppendRespCommand(absl::Span<const absl::string_view> words, std::string* out) {
  absl::StrAppend(out, "*", words.size(), "\r\n");
  for (const absl::string_view word : words) {
    absl::StrAppend(out, "$", word.size(), "\r\n", word, "\r\n");
  }
}

void RespReader::Feed(absl::string_view bytes) {
  if (at_ > 0) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(bytes.data(), bytes.size());
}

// Parses one reply of RESP 2: a line "<kind><text>\r\n", which for '$' states the length of the
// text that follows. Returns nullopt while the reply is incomplete; its bytes stay in the buffer.
absl::StatusOr<absl::optional<RedisValue>> RespReader::Next() {
  const absl::string_view rest = absl::string_view(buffer_).substr(at_);
  const size_t end = rest.find("\r\n");
  if (end == absl::string_view::npos) {
    if (rest.size() > kMaxLine) return absl::DataLossError("a reply's first line is too long");
    return absl::nullopt;
  }
  if (end == 0 || end > kMaxLine)
    return absl::DataLossError("expected a Redis reply, got other bytes");
  const absl::string_view line = rest.substr(1, end - 1);
  const size_t head = end + 2;
  RedisValue value;
  switch (rest[0]) {
    case '+':
    case '-':
      value.kind = rest[0] == '+' ? RedisValue::kText : RedisValue::kError;
      value.text = std::string(line);
      break;
    case ':':
      value.kind = RedisValue::kInteger;
      if (!absl::SimpleAtoi(line, &value.integer)) {
        return absl::DataLossError("reply: expected an integer");
      }
      break;
    case '$': {
      int64_t size = 0;
      if (!absl::SimpleAtoi(line, &size) || size < -1) {
        return absl::DataLossError("reply: expected a length");
      }
      if (size == -1) break;  // the key does not exist
      if (static_cast<uint64_t>(size) > max_text_) {
        return absl::DataLossError(
            absl::StrCat("a reply of ", size, " bytes; at most ", max_text_));
      }
      if (rest.size() < head + size + 2) return absl::nullopt;
      if (rest.substr(head + size, 2) != "\r\n") {
        return absl::DataLossError("a reply does not end at its stated length");
      }
      value.kind = RedisValue::kText;
      value.text = std::string(rest.substr(head, size));
      at_ += head + size + 2;
      return absl::optional<RedisValue>(std::move(value));
    }
    default:
      return absl::DataLossError("expected a Redis reply, got other bytes");
  }
  at_ += head;
  return absl::optional<RedisValue>(std::move(value));
}

}  // namespace kiln
