// Redis' wire protocol, RESP2, as far as the shared tier needs it: commands are
// arrays of strings; replies are simple strings, errors, integers and bulk strings.
//
// Nothing that a server sends makes more be kept than it sent, and not more than the
// limit; what is no such reply is DataLoss. This is why it is our own: hiredis 0.14
// allocates what a reply's first line announces, bounds each read but no call as a whole,
// and has no TLS.
#ifndef KILN_SERVER_REMOTE_RESP_H_
#define KILN_SERVER_REMOTE_RESP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace kiln {

struct RedisValue {
  enum Kind { kNil, kText, kInteger, kError };
  Kind kind = kNil;
  std::string text;  // of kText and kError
  int64_t integer = 0;
};

// Appends a command to what is to be sent.
void AppendRespCommand(absl::Span<const absl::string_view> words, std::string* out);

// Takes replies out of a stream of bytes, in whatever pieces it comes.
class RespReader {
 public:
  explicit RespReader(size_t max_text) : max_text_(max_text) {}

  void Feed(absl::string_view bytes);
  // The next reply; nullopt while it is not whole. DataLoss: the stream is lost.
  absl::StatusOr<absl::optional<RedisValue>> Next();

 private:
  const size_t max_text_;
  std::string buffer_;
  size_t at_ = 0;  // what is before has been taken
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_RESP_H_
