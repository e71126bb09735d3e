// Length-prefixed protobuf messages over a stream socket or pipe: the local transport between
// client and daemon, and between daemon and worker.
//
// Header, 16 bytes little-endian: magic "KLNF" u32, type u32, length u32, id u32. A reply carries
// the id of its request. A peer that sends a wrong magic, an unknown type or a length over the
// limit is disconnected, since the stream is unusable.
//
// Thread safety: functions are pure; two threads must not read (or write) a descriptor at once.
#ifndef KILN_COMMON_WIRE_FRAMING_H_
#define KILN_COMMON_WIRE_FRAMING_H_

#include <sys/uio.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "google/protobuf/message_lite.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

enum class FrameType : uint32_t {
  kError = 1,  // ErrorReply
  kHello = 2,
  kHelloReply = 3,
  kLookup = 4,
  kLookupReply = 5,
  kCompile = 6,
  kCompileReply = 7,
  kCapabilities = 8,
  kCapabilitiesReply = 9,
  kStats = 10,
  kStatsReply = 11,
  kClear = 12,
  kClearReply = 13,
  kShutdown = 14,
  kShutdownReply = 15,
  kPut = 16,
  kPutReply = 17,
  kMetrics = 18,
  kMetricsReply = 19,
  kRecent = 20,
  kRecentReply = 21,
  kHits = 22,
  kHitsReply = 23,
  kLink = 24,
  kLinkReply = 25,
  // Between kilnd and kilnd-remote (proto/remote.proto); replies may come in any order.
  kConfigure = 32,
  kConfigureReply = 33,
  kFetch = 34,
  kFetchReply = 35,
  kStore = 36,
  kStoreReply = 37,
  kRelease = 38,
  kReleaseReply = 39,
  kDelegate = 40,
  kDelegateReply = 41,
};
inline constexpr uint32_t kLastFrameType = 41;
inline constexpr uint32_t kFrameMagic = 0x464e4c4b;  // "KLNF"
inline constexpr size_t kFrameHeaderSize = 16;
inline constexpr uint32_t kMaxFrameBytes = 80u << 20;

struct FrameHeader {
  FrameType type;
  uint32_t length;
  uint32_t id;
};

struct Frame {
  FrameType type;
  uint32_t id;
  std::string body;
};

void EncodeFrameHeader(const FrameHeader& header, char out[kFrameHeaderSize]);

// InvalidArgument names the wrong field (magic, type, length).
absl::StatusOr<FrameHeader> DecodeFrameHeader(absl::string_view bytes,
                                              uint32_t max_length = kMaxFrameBytes);

// Writes one frame, in one system call if possible. Unavailable if the peer has closed (never
// raises SIGPIPE on sockets), DeadlineExceeded.
absl::Status WriteFrame(int fd, FrameType type, uint32_t id, absl::string_view body,
                        absl::Time deadline = absl::InfiniteFuture());
absl::Status WriteFrame(int fd, FrameType type, uint32_t id,
                        const google::protobuf::MessageLite& message,
                        absl::Time deadline = absl::InfiniteFuture());

// Reads one frame. Unavailable at a clean end of stream before a header,
// DataLoss inside a frame, InvalidArgument for a bad header, DeadlineExceeded.
absl::StatusOr<Frame> ReadFrame(int fd, absl::Time deadline = absl::InfiniteFuture(),
                                uint32_t max_length = kMaxFrameBytes);

// For frames that are transferred in parts; failures are those of ReadFrame and WriteFrame.
//
// Reads until `bytes` has `size` bytes. Allocates as bytes arrive, not as the header announces.
absl::Status ReadOn(int fd, size_t size, absl::Time deadline, std::string* bytes);
// Writes `parts`, and removes from them what was written. With a deadline in the past: writes what
// it can without waiting.
absl::Status WriteParts(int fd, absl::Time deadline, absl::Span<iovec>* parts);

// The reply that carries a failure of ours; ParseReply converts it back.
proto::ErrorReply ToErrorReply(const absl::Status& status);

// Parses `frame` as the expected message. A kError frame becomes the Status that it carries;
// another type or an unparsable body is Internal.
absl::Status ParseReply(const Frame& frame, FrameType expected,
                        google::protobuf::MessageLite* reply);

}  // namespace kiln

#endif  // KILN_COMMON_WIRE_FRAMING_H_
