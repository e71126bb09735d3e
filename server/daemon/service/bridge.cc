#include "server/daemon/service/bridge.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/status_macros.h"
#include "lang/version.h"
#include "proto/service.pb.h"

namespace kiln {
namespace {

constexpr int kAskIfGoneMs = 50;
constexpr absl::Duration kTransferLimit = absl::Seconds(60);

absl::StatusOr<int> Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat("socket path too long: ", path));
  }
  memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    absl::Status status = absl::UnavailableError(absl::StrCat(path, ": ", strerror(errno)));
    close(fd);
    return status;
  }
  return fd;
}

// Whether the reply to `request` came, and what it is.
absl::Status Exchange(int fd, FrameType type, const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* reply, absl::Time deadline,
                      const std::function<bool()>& gone, bool* reusable) {
  *reusable = false;
  RETURN_IF_ERROR(WriteFrame(fd, type, 1, request, absl::Now() + kTransferLimit));
  while (true) {
    pollfd entry = {fd, POLLIN, 0};
    const int ready = poll(&entry, 1, kAskIfGoneMs);
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
    if (gone && gone()) return absl::CancelledError("the caller went away");
    if (absl::Now() > deadline) return absl::DeadlineExceededError("the call's deadline passed");
  }
  ASSIGN_OR_RETURN(const Frame frame, ReadFrame(fd, absl::Now() + kTransferLimit));
  *reusable = true;
  return ParseReply(frame, static_cast<FrameType>(static_cast<uint32_t>(type) + 1), reply);
}

}  // namespace

Bridge::~Bridge() {
  for (const int fd : idle_) close(fd);
}

absl::Status Bridge::Call(FrameType type, const google::protobuf::MessageLite& request,
                          google::protobuf::MessageLite* reply, absl::Time deadline,
                          const std::function<bool()>& gone) {
  ASSIGN_OR_RETURN(const int fd, Take(deadline));
  bool reusable;
  absl::Status status = Exchange(fd, type, request, reply, deadline, gone, &reusable);
  if (reusable) {
    GiveBack(fd);
  } else {
    close(fd);
  }
  return status;
}

absl::StatusOr<int> Bridge::Take(absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      const int fd = idle_.back();
      idle_.pop_back();
      return fd;
    }
  }
  ASSIGN_OR_RETURN(const int fd, Connect(socket_path_));
  proto::Hello hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_build(kVersion);
  proto::HelloReply reply;
  bool reusable;
  absl::Status status =
      Exchange(fd, FrameType::kHello, hello, &reply, deadline, nullptr, &reusable);
  if (status.ok()) return fd;
  close(fd);
  return status;
}

void Bridge::GiveBack(int fd) {
  absl::MutexLock lock(&mutex_);
  idle_.push_back(fd);
}

}  // namespace kiln
