#include "common/wire/framing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/bytes.h"
#include "common/wire/error_detail.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

using absl::StatusCode;

// The two kinds of streams that transfer frames.
struct Stream {
  int reader = -1, writer = -1;
  explicit Stream(bool socket) {
    int ends[2];
    const int made =
        socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);
    EXPECT_EQ(made, 0);
    reader = ends[0];
    writer = ends[1];
  }
  ~Stream() {
    CloseReader();
    CloseWriter();
  }
  void CloseWriter() { Close(&writer); }
  void CloseReader() { Close(&reader); }
  static void Close(int* fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
  void Send(const std::string& raw) {
    EXPECT_EQ(write(writer, raw.data(), raw.size()), static_cast<ssize_t>(raw.size()));
  }
};

std::string Header(uint32_t magic, uint32_t type, uint32_t length) {
  std::string bytes(kFrameHeaderSize, '\0');
  PutU32(magic, &bytes[0]);
  PutU32(type, &bytes[4]);
  PutU32(length, &bytes[8]);
  PutU32(7, &bytes[12]);
  return bytes;
}

class Framing : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Streams, Framing, testing::Bool(),
                         [](const auto& info) { return info.param ? "socket" : "pipe"; });

TEST_P(Framing, FramesArriveInOrder) {
  Stream stream(GetParam());
  proto::Hello hello;
  hello.set_build("b");
  ASSERT_TRUE(WriteFrame(stream.writer, FrameType::kHello, 1, hello).ok());
  ASSERT_TRUE(WriteFrame(stream.writer, FrameType::kStats, 2, "").ok());
  const auto first = ReadFrame(stream.reader);
  const auto second = ReadFrame(stream.reader, absl::Now() + absl::Seconds(5));
  ASSERT_TRUE(first.ok() && second.ok());
  proto::Hello back;
  EXPECT_TRUE(ParseReply(*first, FrameType::kHello, &back).ok());
  EXPECT_EQ(back.build(), "b");
  EXPECT_EQ(second->type, FrameType::kStats);
  EXPECT_EQ(second->id, 2u);
  EXPECT_EQ(second->body, "");
}

TEST_P(Framing, LargerThanTheBuffers) {
  for (const absl::Time deadline : {absl::InfiniteFuture(), absl::Now() + absl::Seconds(30)}) {
    Stream stream(GetParam());
    std::string body(5 << 20, 'x');
    body[123456] = 'y';
    std::thread writer([&] {
      EXPECT_TRUE(WriteFrame(stream.writer, FrameType::kCompile, 9, body, deadline).ok());
    });
    const auto frame = ReadFrame(stream.reader, deadline);
    writer.join();
    ASSERT_TRUE(frame.ok()) << frame.status();
    EXPECT_TRUE(frame->body == body);
  }
}

TEST_P(Framing, BadHeaders) {
  const struct {
    std::string header;
    const char* names;
  } cases[] = {
      {Header(kFrameMagic + 1, 2, 0), "magic"},
      {Header(kFrameMagic, 0, 0), "type"},
      {Header(kFrameMagic, kLastFrameType + 1, 0), "type"},
      {Header(kFrameMagic, 2, kMaxFrameBytes + 1), "length"},
      {Header(kFrameMagic, 2, ~0u), "length"},
  };
  for (const auto& c : cases) {
    Stream stream(GetParam());
    stream.Send(c.header);
    const auto frame = ReadFrame(stream.reader);
    EXPECT_EQ(frame.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(frame.status().message().find(c.names), std::string::npos) << frame.status();
  }
}

TEST_P(Framing, TruncatedAtEveryByte) {
  const std::string whole = Header(kFrameMagic, 2, 5) + "hello";
  for (size_t size = 0; size < whole.size(); ++size) {
    for (const absl::Time deadline : {absl::InfiniteFuture(), absl::Now() + absl::Seconds(5)}) {
      Stream stream(GetParam());
      stream.Send(whole.substr(0, size));
      stream.CloseWriter();
      EXPECT_EQ(ReadFrame(stream.reader, deadline).status().code(),
                size == 0 ? StatusCode::kUnavailable : StatusCode::kDataLoss)
          << size;
    }
  }
}

TEST_P(Framing, DoesNotTrustTheAnnouncedLength) {
  Stream stream(GetParam());
  stream.Send(Header(kFrameMagic, 2, kMaxFrameBytes) + "little");
  stream.CloseWriter();
  EXPECT_EQ(ReadFrame(stream.reader).status().code(), StatusCode::kDataLoss);
}

TEST_P(Framing, TransfersInParts) {
  Stream stream(GetParam());
  std::string text;
  std::vector<std::string> pieces;
  for (int i = 0; i < 3000; ++i) pieces.push_back(std::string(i % 7 * 100, static_cast<char>(i)));
  std::vector<iovec> parts;
  for (std::string& piece : pieces) {
    parts.push_back({&piece[0], piece.size()});
    text += piece;
  }
  absl::Span<iovec> left = absl::MakeSpan(parts);
  // Writes as much as the stream accepts, and the rest when the peer reads.
  EXPECT_EQ(WriteParts(stream.writer, absl::InfinitePast(), &left).code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_LT(left.size(), parts.size());
  std::thread writer([&] {
    EXPECT_TRUE(WriteParts(stream.writer, absl::Now() + absl::Seconds(30), &left).ok());
    EXPECT_TRUE(left.empty());
    stream.CloseWriter();
  });
  std::string got = "begun ";
  EXPECT_TRUE(ReadOn(stream.reader, text.size() + 6, absl::InfiniteFuture(), &got).ok());
  writer.join();
  EXPECT_TRUE(got == "begun " + text);
  EXPECT_EQ(ReadOn(stream.reader, text.size() + 7, absl::InfiniteFuture(), &got).code(),
            StatusCode::kDataLoss);
}

TEST_P(Framing, DeadlineOfReading) {
  Stream stream(GetParam());
  stream.Send(Header(kFrameMagic, 2, 5) + "he");
  const absl::Time start = absl::Now();
  EXPECT_EQ(ReadFrame(stream.reader, start + absl::Milliseconds(30)).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_P(Framing, DeadlineOfWriting) {
  Stream stream(GetParam());
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(
      WriteFrame(stream.writer, FrameType::kCompile, 1, body, absl::Now() + absl::Milliseconds(30))
          .code(),
      StatusCode::kDeadlineExceeded);
}

TEST_P(Framing, PeerHasClosed) {
  signal(SIGPIPE, SIG_IGN);  // pipes have no MSG_NOSIGNAL
  Stream stream(GetParam());
  stream.CloseReader();
  EXPECT_EQ(WriteFrame(stream.writer, FrameType::kStats, 1, "x").code(), StatusCode::kUnavailable);
}

TEST(FramingReply, ErrorsBecomeTheirStatus) {
  const Frame frame = {FrameType::kError, 1,
                       ToErrorReply(absl::ResourceExhaustedError("full")).SerializeAsString()};
  proto::StatsReply reply;
  EXPECT_EQ(ParseReply(frame, FrameType::kStatsReply, &reply),
            absl::ResourceExhaustedError("full"));
}

TEST(FramingReply, SendsDetailsOfErrors) {
  absl::Status sent = absl::ResourceExhaustedError("full");
  SetPart(&sent, "queue");
  SetRetryAfter(&sent, absl::Milliseconds(250));
  const Frame frame = {FrameType::kError, 1, ToErrorReply(sent).SerializeAsString()};
  proto::CompileReply reply;
  const absl::Status got = ParseReply(frame, FrameType::kCompileReply, &reply);
  EXPECT_EQ(PartOf(got), "queue");
  EXPECT_EQ(RetryAfterOf(got), absl::Milliseconds(250));
  EXPECT_EQ(PartOf(absl::InternalError("")), "");
  EXPECT_EQ(RetryAfterOf(absl::InternalError("")), absl::ZeroDuration());
}

TEST(FramingReply, GarbageIsAnError) {
  proto::ErrorReply zero;
  zero.set_message("code 0 is no error code");
  proto::StatsReply reply;
  const Frame frames[] = {
      {FrameType::kError, 1, zero.SerializeAsString()},
      {FrameType::kError, 1, "\xff\xff"},
      {FrameType::kHelloReply, 1, ""},
      {FrameType::kStatsReply, 1, "\xff\xff"},
  };
  for (const Frame& frame : frames) {
    EXPECT_FALSE(ParseReply(frame, FrameType::kStatsReply, &reply).ok());
  }
}

TEST(FramingWrite, OversizedMessageIsRefusedBeforeItIsSent) {
  proto::CompileRequest request;
  request.set_unit(std::string(kMaxFrameBytes + 1, 'x'));
  EXPECT_EQ(WriteFrame(-1, FrameType::kCompile, 1, request).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kiln
