#include "server/remote/redis_client.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/entry.h"
#include "lang/status_macros.h"
#include "server/remote/connect.h"

namespace kiln {
namespace {

constexpr size_t kMaxIdle = 16;
constexpr size_t kReadBytes = 64 << 10;
// A chunk, or an entry that was stored whole, and what frames it.
constexpr size_t kMaxReplyText = kMaxEntrySize;

// Read for each connection: a password may be changed while we run.
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
  const std::string text = absl::StrCat("Redis answers: ", value.text);
  // Of a replica, or to a user who may not: no fault of the server's.
  for (const char* refusal : {"NOPERM", "READONLY"}) {
    if (absl::StartsWith(value.text, refusal)) return absl::PermissionDeniedError(text);
  }
  return absl::UnavailableError(text);
}

// One stream. A call that fails leaves it unusable.
class RedisConnection {
 public:
  explicit RedisConnection(int fd) : fd_(fd), reader_(kMaxReplyText) {}
  ~RedisConnection() { close(fd_); }
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  absl::StatusOr<std::vector<RedisValue>> Run(absl::Span<const RedisClient::Command> commands,
                                              absl::Time deadline) {
    std::string out;
    for (const RedisClient::Command& command : commands) AppendRespCommand(command, &out);
    std::vector<RedisValue> replies;
    replies.reserve(commands.size());
    absl::string_view left = out;
    // A server may answer before it has read all: neither side waits for the other.
    while (replies.size() < commands.size()) {
      RETURN_IF_ERROR(Await(fd_, left.empty() ? POLLIN : POLLIN | POLLOUT, deadline));
      if (!left.empty()) RETURN_IF_ERROR(Send(&left));
      RETURN_IF_ERROR(Receive());
      while (replies.size() < commands.size()) {
        ASSIGN_OR_RETURN(absl::optional<RedisValue> value, reader_.Next());
        if (!value.has_value()) break;
        replies.push_back(*std::move(value));
      }
    }
    if (!left.empty()) return absl::DataLossError("Redis answered more than it was asked");
    return replies;
  }

  // Between calls a server says nothing: readable means that it closed.
  bool Alive() const {
    pollfd entry = {fd_, POLLIN, 0};
    return poll(&entry, 1, 0) == 0;
  }

 private:
  absl::Status Send(absl::string_view* left) {
    const ssize_t sent = send(fd_, left->data(), left->size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      left->remove_prefix(sent);
    } else if (errno != EAGAIN && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("lost Redis: ", std::strerror(errno)));
    }
    return absl::OkStatus();
  }

  absl::Status Receive() {
    if (buffer_.empty()) buffer_.resize(kReadBytes);
    const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0) {
      reader_.Feed(absl::string_view(buffer_.data(), got));
    } else if (got == 0) {
      return absl::UnavailableError("Redis closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("lost Redis: ", std::strerror(errno)));
    }
    return absl::OkStatus();
  }

  const int fd_;
  RespReader reader_;
  std::string buffer_;
};

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::Make(const proto::Redis& config) {
  if (config.address().empty()) return absl::InvalidArgumentError("redis.address is missing");
  RETURN_IF_ERROR(CheckAddress(config.address()));
  const proto::Tls& tls = config.tls();
  if (tls.enabled() || !tls.ca_file().empty() || !tls.certificate_file().empty() ||
      !tls.key_file().empty() || !tls.server_name().empty()) {
    return absl::InvalidArgumentError(
        "redis.tls is not served by this build: put a TLS tunnel (stunnel, a sidecar) before "
        "Redis, or use a private network");
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
    if (connection->Alive()) return connection;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<RedisConnection>> RedisClient::Open(absl::Time deadline) {
  ASSIGN_OR_RETURN(const int fd, ConnectTo(config_.address(), deadline));
  auto connection = std::make_unique<RedisConnection>(fd);
  std::vector<Command> commands;
  std::string password;
  if (!config_.password_file().empty()) {
    ASSIGN_OR_RETURN(password, ReadSecret(config_.password_file()));
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
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(connection));
}

absl::StatusOr<std::vector<RedisValue>> RedisClient::Run(absl::Span<const Command> commands,
                                                         absl::Time deadline) {
  std::unique_ptr<RedisConnection> connection = TakeIdle();
  if (connection == nullptr) {
    ASSIGN_OR_RETURN(connection, Open(deadline));
  }
  ASSIGN_OR_RETURN(std::vector<RedisValue> replies, connection->Run(commands, deadline));
  GiveBack(std::move(connection));
  return replies;
}

absl::StatusOr<RedisValue> RedisClient::Run(const Command& command, absl::Time deadline) {
  ASSIGN_OR_RETURN(std::vector<RedisValue> replies,
                   Run(absl::MakeConstSpan(&command, 1), deadline));
  RETURN_IF_ERROR(StatusOf(replies[0]));
  return std::move(replies[0]);
}

}  // namespace kiln
