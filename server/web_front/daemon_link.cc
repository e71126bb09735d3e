#include "server/web_front/daemon_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/wire/unix_address.h"
#include "common/wire/version.h"
#include "kiln/proto/service.pb.h"

namespace kiln {
namespace {

absl::Status Exchange(int fd, FrameType type, const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* reply, absl::Time deadline) {
  RETURN_IF_ERROR(WriteFrame(fd, type, 1, request, deadline));
  ASSIGN_OR_RETURN(const Frame frame, ReadFrame(fd, deadline));
  return ParseReply(frame, static_cast<FrameType>(static_cast<uint32_t>(type) + 1), reply);
}

}  // namespace

absl::Status DaemonLink::Call(FrameType type, const google::protobuf::MessageLite& request,
                              google::protobuf::MessageLite* reply, absl::Duration patience) const {
  const absl::Time deadline = SteadyNow() + patience;
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(socket_path_));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "socket");
  const auto cleanup = absl::MakeCleanup([fd] { close(fd); });
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return absl::UnavailableError(absl::StrCat(socket_path_, ": ", strerror(errno)));
  }
  proto::Hello hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_build(kVersion);
  proto::HelloReply welcome;
  RETURN_IF_ERROR(Exchange(fd, FrameType::kHello, hello, &welcome, deadline));
  return Exchange(fd, type, request, reply, deadline);
}

}  // namespace kiln
