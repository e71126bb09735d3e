// One Redis server: connections made when needed and kept, commands sent in one go.
//
// Every call ends at its deadline, whatever the server does (but for the name service,
// which the system bounds). Thread-safe: each concurrent call has a connection.
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
#include "proto/config.pb.h"
#include "server/remote/resp.h"

namespace kiln {

// No value that we store is larger, but for a byte that says what it is; a larger one that
// a server answers is DataLoss, found out at its first line.
inline constexpr size_t kRedisChunk = size_t{512} << 10;

class RedisConnection;

class RedisClient {
 public:
  using Command = std::vector<absl::string_view>;

  // InvalidArgument naming the field that cannot be served. Connects to nothing.
  static absl::StatusOr<std::unique_ptr<RedisClient>> Make(const proto::Redis& config);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  // Sends all `commands` and waits for their replies, in order. An error that the
  // server answers is a value (kError). Unavailable, DeadlineExceeded, DataLoss:
  // which of the commands were done is not known.
  absl::StatusOr<std::vector<RedisValue>> Run(absl::Span<const Command> commands,
                                              absl::Time deadline);
  // One command, whose error is a Status.
  absl::StatusOr<RedisValue> Run(const Command& command, absl::Time deadline);

 private:
  explicit RedisClient(const proto::Redis& config);

  // A connection that somebody used before, or null.
  std::unique_ptr<RedisConnection> TakeIdle();
  // A new one, which knows password and database.
  absl::StatusOr<std::unique_ptr<RedisConnection>> Open(absl::Time deadline);
  void GiveBack(std::unique_ptr<RedisConnection> connection);

  const proto::Redis config_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<RedisConnection>> idle_ ABSL_GUARDED_BY(mutex_);
};

// Of a reply that is an error: PermissionDenied where we may not, else Unavailable.
absl::Status StatusOf(const RedisValue& value);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REDIS_CLIENT_H_
