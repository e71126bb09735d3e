#include "server/remote/redis_client.h"

#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/plain_text.h"
#include "common/base/status_macros.h"
#include "server/remote/connect.h"
#include "server/remote/stream.h"

namespace kiln {
namespace {

// As many as usually work at once; more are opened for a burst and closed after it.
constexpr size_t kMaxIdle = 16;
constexpr absl::Duration kTryLimit = absl::Milliseconds(100);
constexpr size_t kReadBytes = 64 << 10;
// The largest stored value: a chunk, or a small entry, with its mark.
constexpr size_t kMaxReplyText = kRedisChunk + 1;

// Read for each connection: the password may change while we run.
absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    return absl::UnavailableError(absl::StrCat("cannot read the password in ", path));
  }
  return std::string(absl::StripAsciiWhitespace(line));
}

}  // namespace

absl::Status StatusOf(const RedisValue& value) {
  if (value.kind != RedisValue::kError) return absl::OkStatus();
  const std::string text = absl::StrCat("Redis answers: ", OneLine(value.text));
  // Following such answers needs a map of the cluster. Without this text the tier would only look
  // empty.
  for (const char* elsewhere : {"MOVED ", "ASK ", "CLUSTERDOWN"}) {
    if (!absl::StartsWith(value.text, elsewhere)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("Redis Cluster is not supported (", text, "): name one server, or a proxy"));
  }
  // Refusals of a replica, or for missing rights, are not failures of the server.
  for (const char* refusal : {"NOPERM", "READONLY"}) {
    if (absl::StartsWith(value.text, refusal)) return absl::PermissionDeniedError(text);
  }
  // Its memory or its disk is full: it still answers look-ups.
  for (const char* full : {"OOM ", "MISCONF "}) {
    if (absl::StartsWith(value.text, full)) return absl::ResourceExhaustedError(text);
  }
  return absl::UnavailableError(text);
}

// One stream. Unusable after a call that fails.
class RedisConnection {
 public:
  explicit RedisConnection(std::unique_ptr<Stream> stream)
      : stream_(std::move(stream)), reader_(kMaxReplyText), buffer_(kReadBytes, '\0') {}

  absl::StatusOr<std::vector<RedisValue>> Run(absl::Span<const RedisClient::Command> commands,
                                              absl::Time deadline) {
    std::string out;
    // All in one buffer: one round trip for all commands.
    for (const RedisClient::Command& command : commands) AppendRespCommand(command, &out);
    std::vector<RedisValue> replies;
    replies.reserve(commands.size());
    absl::string_view left = out;
    while (true) {
      // A server may answer before it has read everything: sends and receives alternate.
      const size_t before = left.size();
      RETURN_IF_ERROR(stream_->Send(&left));
      ASSIGN_OR_RETURN(const size_t got, stream_->Receive(buffer_.data(), buffer_.size()));
      reader_.Feed(absl::string_view(buffer_.data(), got));
      while (replies.size() < commands.size()) {
        ASSIGN_OR_RETURN(absl::optional<RedisValue> value, reader_.Next());
        if (!value.has_value()) break;
        replies.push_back(*std::move(value));
      }
      if (replies.size() == commands.size()) break;
      // Bounds a server whose data never makes us wait, too.
      if (SteadyNow() >= deadline) return absl::DeadlineExceededError("no complete answer in time");
      // Poll does not report bytes in TLS's own buffer.
      if (got == 0 && left.size() == before) {
        RETURN_IF_ERROR(stream_->Await(/*to_send=*/!left.empty(), deadline));
      }
    }
    // All replies before all commands were sent: the two sides no longer agree which reply belongs
    // where.
    if (!left.empty()) return absl::DataLossError("Redis sent more than it was asked for");
    return replies;
  }

  bool Alive() const { return stream_->Quiet(); }

 private:
  const std::unique_ptr<Stream> stream_;
  RespReader reader_;
  std::string buffer_;
};

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::Make(const proto::Redis& config) {
  if (config.address().empty()) return absl::InvalidArgumentError("redis.address is missing");
  RETURN_IF_ERROR(CheckAddress(config.address()));
  if (const absl::Status tls = CheckTls(config.tls(), config.address()); !tls.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("redis.", tls.message()));
  }
  if (!config.user().empty() && config.password_file().empty()) {
    return absl::InvalidArgumentError("redis.user needs redis.password_file");
  }
  return std::unique_ptr<RedisClient>(new RedisClient(config));
}

RedisClient::RedisClient(const proto::Redis& config) : config_(config) {}
RedisClient::~RedisClient() = default;

std::unique_ptr<RedisConnection> RedisClient::TakeIdle() {
  absl::MutexLock lock(&mutex_);
  while (!idle_.empty()) {
    std::unique_ptr<RedisConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    // Servers close idle connections. A dead one is dropped here instead of failing a request.
    if (connection->Alive()) return connection;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<RedisConnection>> RedisClient::Open(absl::Time deadline) {
  ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                   Stream::Open(config_.address(), config_.tls(), deadline));
  auto connection = std::make_unique<RedisConnection>(std::move(stream));
  std::vector<Command> commands;
  std::string password;
  if (!config_.password_file().empty()) {
    ASSIGN_OR_RETURN(password, ReadSecret(config_.password_file()));
    // The old form of AUTH, for servers before version 6.
    if (config_.user().empty()) {
      commands.push_back({"AUTH", password});
    } else {
      commands.push_back({"AUTH", config_.user(), password});
    }
  }
  const std::string database = absl::StrCat(config_.database());
  if (config_.database() != 0) commands.push_back({"SELECT", database});
  if (commands.empty()) return connection;
  ASSIGN_OR_RETURN(const std::vector<RedisValue> replies, connection->Run(commands, deadline));
  for (const RedisValue& reply : replies) RETURN_IF_ERROR(StatusOf(reply));
  return connection;
}

void RedisClient::GiveBack(std::unique_ptr<RedisConnection> connection) {
  absl::MutexLock lock(&mutex_);
  // The newest is used first, so that a burst's connections age out at the server.
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
}

absl::StatusOr<std::vector<RedisValue>> RedisClient::Run(absl::Span<const Command> commands,
                                                         absl::Time deadline) {
  std::unique_ptr<RedisConnection> connection = TakeIdle();
  if (connection == nullptr) {
    ASSIGN_OR_RETURN(connection, Open(deadline));
  }
  absl::StatusOr<std::vector<RedisValue>> replies = connection->Run(commands, deadline);
  if (replies.ok()) {
    // Only after success: after an error, a late reply could be taken for the next command's.
    GiveBack(std::move(connection));
  } else if (config_.tls().enabled() && absl::IsUnavailable(replies.status())) {
    // A server rejects our certificate only after the handshake, and its message is lost if we have
    // sent more by then.
    RETURN_IF_ERROR(TryTls(config_.address(), config_.tls(), SteadyNow() + kTryLimit));
  }
  return replies;
}

absl::StatusOr<RedisValue> RedisClient::Run(const Command& command, absl::Time deadline) {
  ASSIGN_OR_RETURN(std::vector<RedisValue> replies,
                   Run(absl::MakeConstSpan(&command, 1), deadline));
  RETURN_IF_ERROR(StatusOf(replies[0]));
  return std::move(replies[0]);
}

}  // namespace kiln
