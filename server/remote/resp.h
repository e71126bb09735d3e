// Redis' wire protocol, RESP2, as far as the shared tier needs it: commands are arrays of strings;
// replies are simple strings, errors, integers and bulk strings.
//
// A server cannot make the parser allocate more than it has sent, nor more than the limit. Any
// other reply is DataLoss. This is the reason for a parser of our own. hiredis 0.14 allocates what
// a reply's first line announces. It limits the time of each read but not of a whole call, and has
// no TLS.
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

// Appends the encoded command to `out`.
void AppendRespCommand(absl::Span<const absl::string_view> words, std::string* out);

// Parses replies from a stream of bytes that arrives in any pieces.
class RespReader {
 public:
  explicit RespReader(size_t max_text) : max_text_(max_text) {}

  void Feed(absl::string_view bytes);
  // The next reply; nullopt while it is incomplete. DataLoss: the stream is unusable.
  absl::StatusOr<absl::optional<RedisValue>> Next();

 private:
  const size_t max_text_;
  std::string buffer_;
  size_t at_ = 0;  // bytes before it are consumed
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_RESP_H_
