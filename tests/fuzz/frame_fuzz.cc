// Decodes an arbitrary stream of frames like daemon, client and worker. The decoder must return
// whole frames until the stream ends or is refused. It must not hang, crash, or allocate memory for
// bytes that were only announced.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/time/clock.h"
#include "common/wire/framing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)kiln::DecodeFrameHeader(bytes);
  if (size > 100000) return 0;  // more does not fit the socket's buffer
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  const bool sent = send(ends[0], data, size, MSG_DONTWAIT) == static_cast<ssize_t>(size);
  close(ends[0]);
  const absl::Time deadline = absl::Now() + absl::Seconds(5);
  while (sent) {
    absl::StatusOr<kiln::Frame> frame = kiln::ReadFrame(ends[1], deadline, 1 << 20);
    if (absl::IsDeadlineExceeded(frame.status())) std::abort();
    if (!frame.ok()) break;
    if (frame->body.size() > size) std::abort();
    kiln::proto::CompileReply reply;
    (void)kiln::ParseReply(*frame, kiln::FrameType::kCompileReply, &reply);
  }
  close(ends[1]);
  return 0;
}
