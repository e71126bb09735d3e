// A client of one Redis server: makes connections on demand, reuses them, and pipelines commands.
//
// Every call ends at its deadline, whatever the server does (except for name resolution, which the
// system bounds). Thread-safe: each concurrent call has a connection.
#ifndef KILN_SERVER_REMOTE_REDIS_CLIENT_H_
#define KILN_SERVER_REMOTE_REDIS_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/resp.h"

namespace kiln {

// No stored value is larger, except for a byte with its kind. A larger one is DataLoss, detected at
// its first line.
inline constexpr size_t kRedisChunk = size_t{512} << 10;

class RedisConnection;

class RedisClient {
 public:
  using Command = std::vector<absl::string_view>;

  // InvalidArgument names the unsupported field. Does not connect.
  static absl::StatusOr<std::unique_ptr<RedisClient>> Make(const proto::Redis& config);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // Sends all `commands` and waits for their replies, in order. An error reply is a value (kError).
  // After Unavailable, DeadlineExceeded or DataLoss any subset of the commands may have run.
  absl::StatusOr<std::vector<RedisValue>> Run(absl::Span<const Command> commands,
                                              absl::Time deadline);
  // One command, whose error is a Status.
  absl::StatusOr<RedisValue> Run(const Command& command, absl::Time deadline);

 private:
  explicit RedisClient(const proto::Redis& config);

  // An idle connection, or null.
  std::unique_ptr<RedisConnection> TakeIdle();
  // A new connection, authenticated and with the database selected.
  absl::StatusOr<std::unique_ptr<RedisConnection>> Open(absl::Time deadline);
  void GiveBack(std::unique_ptr<RedisConnection> connection);

  const proto::Redis config_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<RedisConnection>> idle_ ABSL_GUARDED_BY(mutex_);
};

// The status of an error reply: PermissionDenied for missing rights, else Unavailable.
absl::Status StatusOf(const RedisValue& value);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REDIS_CLIENT_H_
