#include "common/wire/framing.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/base/plain_text.h"
#include "common/base/status_macros.h"
#include "common/wire/error_detail.h"

namespace kiln {
namespace {

// The limit on a failure's text, which gRPC sends in headers of limited size.
constexpr size_t kMostOfMessage = 4096;

// The most that is allocated before any byte arrives, since a peer may announce any length.
constexpr size_t kFirstReserve = 1 << 20;

absl::Status ErrnoStatus(absl::StatusCode code, absl::string_view what, int error) {
  return absl::Status(code, absl::StrCat(what, ": ", std::strerror(error)));
}

// Waits until `fd` has `events`, or the deadline.
absl::Status WaitFor(int fd, short events, absl::Time deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline != absl::InfiniteFuture()) {
      const absl::Duration left = deadline - SteadyNow();
      if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("peer is too slow");
      // Round up: poll(0) would spin during the last millisecond.
      timeout_ms =
          static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, INT_MAX));
    }
    pollfd entry = {fd, events, 0};
    const int ready = poll(&entry, 1, timeout_ms);
    if (ready > 0) return absl::OkStatus();  // the caller's next read or write finds errors
    if (ready < 0 && errno != EINTR) {
      return ErrnoStatus(absl::StatusCode::kUnavailable, "poll", errno);
    }
  }
}

// Reads some bytes; 0 at the end of the stream.
absl::StatusOr<size_t> ReadSome(int fd, char* out, size_t size, absl::Time deadline) {
  const bool timed = deadline != absl::InfiniteFuture();
  for (;;) {
    ssize_t got = -1;
    // Sockets shared with a process that wants them to block cannot be switched to non-blocking:
    // each call says so itself.
    if (timed) {
      got = recv(fd, out, size, MSG_DONTWAIT);
      // Pipes have no recv: wait first, then read what is there.
      if (got < 0 && errno == ENOTSOCK) {
        RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline));
        got = read(fd, out, size);
      }
    } else {
      got = read(fd, out, size);
    }
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    // A peer that was killed with unread bytes in its socket ends the stream like any other.
    if (errno == ECONNRESET) return size_t{0};
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return ErrnoStatus(absl::StatusCode::kUnavailable, "read", errno);
    }
    RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline));
  }
}

// Reads exactly `size` bytes. An end before the first is Unavailable if `may_end`.
absl::Status ReadAll(int fd, char* out, size_t size, bool may_end, absl::Time deadline) {
  size_t done = 0;
  while (done < size) {
    ASSIGN_OR_RETURN(const size_t got, ReadSome(fd, out + done, size - done, deadline));
    if (got == 0) {
      // Between two frames the peer may leave. Within one, something is wrong.
      if (may_end && done == 0) return absl::UnavailableError("end of stream");
      return absl::DataLossError("stream ended inside a frame");
    }
    done += got;
  }
  return absl::OkStatus();
}

// Writes some of the parts in one system call.
// NOSIGNAL: a peer that is gone must be an error here and not a SIGPIPE, which ends the program.
ssize_t WriteSome(int fd, absl::Span<iovec> parts, bool timed) {
  // The kernel refuses more parts; the rest goes with the next call.
  parts = parts.subspan(0, IOV_MAX);
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | (timed ? MSG_DONTWAIT : 0));
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  if (!timed) return writev(fd, parts.data(), static_cast<int>(parts.size()));
  // Pipes have no MSG_DONTWAIT. After poll() reports room, a write of one page does not block.
  pollfd entry = {fd, POLLOUT, 0};
  if (poll(&entry, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return write(fd, parts[0].iov_base, std::min<size_t>(parts[0].iov_len, PIPE_BUF));
}

// Removes the first `size` bytes from `parts`, and empty parts.
void Advance(size_t size, absl::Span<iovec>* parts) {
  while (!parts->empty() && size >= parts->front().iov_len) {
    size -= parts->front().iov_len;
    parts->remove_prefix(1);
  }
  if (size == 0) return;
  parts->front().iov_base = static_cast<char*>(parts->front().iov_base) + size;
  parts->front().iov_len -= size;
}

}  // namespace

absl::Status WriteParts(int fd, absl::Time deadline, absl::Span<iovec>* parts) {
  const bool timed = deadline != absl::InfiniteFuture();
  // Only removes empty parts, as an empty body is one: the loop below would send nothing for ever.
  Advance(0, parts);
  while (!parts->empty()) {
    const ssize_t sent = WriteSome(fd, *parts, timed);
    if (sent >= 0) {
      Advance(static_cast<size_t>(sent), parts);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return ErrnoStatus(absl::StatusCode::kUnavailable, "peer is gone", errno);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadOn(int fd, size_t size, absl::Time deadline, std::string* bytes) {
  size_t done = bytes->size();
  while (done < size) {
    // Memory grows with what arrives, not with what the header claims.
    bytes->resize(std::min(size, std::max(kFirstReserve, 2 * done)));
    RETURN_IF_ERROR(
        ReadAll(fd, &(*bytes)[done], bytes->size() - done, /*may_end=*/false, deadline));
    done = bytes->size();
  }
  return absl::OkStatus();
}

void EncodeFrameHeader(const FrameHeader& header, char out[kFrameHeaderSize]) {
  PutU32(kFrameMagic, out);
  PutU32(static_cast<uint32_t>(header.type), out + 4);
  PutU32(header.length, out + 8);
  PutU32(header.id, out + 12);
}

absl::StatusOr<FrameHeader> DecodeFrameHeader(absl::string_view bytes, uint32_t max_length) {
  if (bytes.size() < kFrameHeaderSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame header of ", bytes.size(), " bytes, not ", kFrameHeaderSize));
  }
  const uint32_t magic = GetU32(bytes.data());
  const uint32_t type = GetU32(bytes.data() + 4);
  const uint32_t length = GetU32(bytes.data() + 8);
  // First, since a stream of another protocol has no meaningful length.
  if (magic != kFrameMagic) {
    return absl::InvalidArgumentError(absl::StrCat("frame magic ", absl::Hex(magic)));
  }
  if (type == 0 || type > kLastFrameType) {
    return absl::InvalidArgumentError(absl::StrCat("frame type ", type, " is unknown"));
  }
  if (length > max_length) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame length ", length, " is over the limit of ", max_length));
  }
  return FrameHeader{static_cast<FrameType>(type), length, GetU32(bytes.data() + 12)};
}

absl::Status WriteFrame(int fd, FrameType type, uint32_t id, absl::string_view body,
                        absl::Time deadline) {
  if (body.size() > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", body.size(), " bytes; at most ", kMaxFrameBytes, " fit"));
  }
  char header[kFrameHeaderSize];
  EncodeFrameHeader({type, static_cast<uint32_t>(body.size()), id}, header);
  // One system call for both, and no copy of the body.
  iovec parts[2] = {{header, sizeof header}, {const_cast<char*>(body.data()), body.size()}};
  absl::Span<iovec> left(parts);
  return WriteParts(fd, deadline, &left);
}

absl::Status WriteFrame(int fd, FrameType type, uint32_t id,
                        const google::protobuf::MessageLite& message, absl::Time deadline) {
  // Before it is serialised: protobuf aborts on messages over 2 GiB.
  const size_t size = message.ByteSizeLong();
  if (size > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", size, " bytes; at most ", kMaxFrameBytes, " fit"));
  }
  return WriteFrame(fd, type, id, message.SerializeAsString(), deadline);
}

absl::StatusOr<Frame> ReadFrame(int fd, absl::Time deadline, uint32_t max_length) {
  char header_bytes[kFrameHeaderSize];
  RETURN_IF_ERROR(ReadAll(fd, header_bytes, sizeof header_bytes, /*may_end=*/true, deadline));
  ASSIGN_OR_RETURN(const FrameHeader header,
                   DecodeFrameHeader({header_bytes, sizeof header_bytes}, max_length));
  Frame frame{header.type, header.id, {}};
  RETURN_IF_ERROR(ReadOn(fd, header.length, deadline, &frame.body));
  return frame;
}

proto::ErrorReply ToErrorReply(const absl::Status& status) {
  proto::ErrorReply reply;
  reply.set_code(static_cast<uint32_t>(status.code()));
  reply.set_message(PlainText(status.message(), kMostOfMessage));
  reply.set_part(PartOf(status));
  reply.set_retry_after_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(RetryAfterOf(status))));
  return reply;
}

absl::Status ParseReply(const Frame& frame, FrameType expected,
                        google::protobuf::MessageLite* reply) {
  if (frame.type == FrameType::kError) {
    proto::ErrorReply error;
    if (!error.ParseFromString(frame.body)) return absl::InternalError("unreadable error reply");
    const auto code = static_cast<absl::StatusCode>(error.code());
    // The number comes from another build; an unknown one must not become OK.
    const bool known = error.code() >= static_cast<uint32_t>(absl::StatusCode::kCancelled) &&
                       error.code() <= static_cast<uint32_t>(absl::StatusCode::kUnauthenticated);
    absl::Status status(known ? code : absl::StatusCode::kUnknown, error.message());
    if (!error.part().empty()) SetPart(&status, error.part());
    if (error.retry_after_ms() > 0) {
      SetRetryAfter(&status, absl::Milliseconds(error.retry_after_ms()));
    }
    return status;
  }
  if (frame.type != expected) {
    return absl::InternalError(absl::StrCat("reply of frame type ",
                                            static_cast<uint32_t>(frame.type), ", not ",
                                            static_cast<uint32_t>(expected)));
  }
  if (!reply->ParseFromString(frame.body)) return absl::InternalError("unreadable reply");
  return absl::OkStatus();
}

}  // namespace kiln
