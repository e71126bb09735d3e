// gRPC's standard services and limits: health, reflection, sizes.
#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/grpc_front/grpc_fixture.h"

namespace kiln {
namespace {

// Messages of grpc.health.v1 and grpc.reflection.v1alpha, as bytes.
constexpr absl::string_view kServing("\x08\x01", 2);
constexpr absl::string_view kNotServing("\x08\x02", 2);
constexpr absl::string_view kListServices("\x3a\x00", 2);

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

grpc::ByteBuffer BufferOf(absl::string_view text) {
  const grpc::Slice slice(text.data(), text.size());
  return {&slice, 1};
}

class ProtocolTest : public GrpcFixture {
 protected:
  // A call by the method's name, as tools make it, without a token.
  class Stream {
   public:
    Stream(int port, const std::string& method)
        : stub_(grpc::CreateChannel(absl::StrCat("localhost:", port),
                                    grpc::InsecureChannelCredentials())) {
      context_.set_wait_for_ready(true);
      context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
      call_ = stub_.PrepareCall(&context_, method, &queue_);
      call_->StartCall(this);
      Next();
    }
    ~Stream() {
      context_.TryCancel();
      queue_.Shutdown();
      void* tag;
      bool ok;
      while (queue_.Next(&tag, &ok)) {
      }
    }
    void Write(absl::string_view request) {
      call_->Write(BufferOf(request), this);
      Next();
    }
    // The next message, or "end".
    std::string Read() {
      grpc::ByteBuffer reply;
      call_->Read(&reply, this);
      return Next() ? TextOf(reply) : "end";
    }

   private:
    bool Next() {
      void* tag;
      bool ok = false;
      return queue_.Next(&tag, &ok) && ok;
    }
    grpc::GenericStub stub_;
    grpc::ClientContext context_;
    grpc::CompletionQueue queue_;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  };

  int ConnectPlainly() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
};

TEST_F(ProtocolTest, HealthFollowsTheDaemon) {
  WriteTokens("alice-0123456789 alice - read,compile\n");
  Begin(absl::StrCat("token_file: \"", TokenPath(), "\""));
  Stream watch(port_, "/grpc.health.v1.Health/Watch");
  watch.Write("");
  EXPECT_EQ(watch.Read(), kServing);
  kill(DaemonPid(), SIGSTOP);
  EXPECT_EQ(watch.Read(), kNotServing);
  kill(DaemonPid(), SIGCONT);
  EXPECT_EQ(watch.Read(), kServing);
  // The server drains, and reports that before it exits.
  std::thread long_call(
      [&] { EXPECT_TRUE(Compile(Connect().get(), "alice-0123456789", "sleep 1500", 1).ok()); });
  while (Jobs().empty()) absl::SleepFor(absl::Milliseconds(5));
  kill(DaemonPid(), SIGTERM);
  EXPECT_EQ(watch.Read(), kNotServing);
  long_call.join();
}

TEST_F(ProtocolTest, ReflectionNamesTheServices) {
  Begin();
  Stream stream(port_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  stream.Write(kListServices);
  const std::string services = stream.Read();
  const std::string symbol = "kiln.proto.Kiln";
  EXPECT_NE(services.find(symbol), std::string::npos) << services;
  stream.Write(std::string("\x22") + static_cast<char>(symbol.size()) + symbol);
  EXPECT_NE(stream.Read().find("CompileRequest"), std::string::npos);
}

TEST_F(ProtocolTest, HeadersHaveALimit) {
  Begin();
  const std::unique_ptr<Stub> stub = Connect();
  ASSERT_TRUE(Compile(stub.get(), "", "x", 1).ok());
  auto call = [](Stub* stub, size_t bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    context.AddMetadata("x-long", std::string(bytes, 'x'));
    proto::CapabilitiesReply reply;
    const grpc::Status status = stub->Capabilities(&context, proto::CapabilitiesRequest(), &reply);
    return absl::StrCat(status.error_code(), " ", status.error_message());
  };
  EXPECT_EQ(call(stub.get(), 8 << 10), "0 ");
  EXPECT_EQ(call(stub.get(), 20 << 10).substr(0, 2), "8 ");  // RESOURCE_EXHAUSTED
  // gRPC may close the connection; others are served.
  EXPECT_EQ(call(Connect().get(), 8 << 10), "0 ");
}

TEST_F(ProtocolTest, LimitsAreAnnounced) {
  Begin();
  ASSERT_TRUE(Compile(Connect().get(), "", "x", 1).ok());
  const int fd = ConnectPlainly();
  const std::string hello =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\x04\0\0\0\0\0", 9);
  ASSERT_EQ(send(fd, hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  unsigned char header[9];
  ASSERT_EQ(recv(fd, header, sizeof header, MSG_WAITALL), 9);
  ASSERT_EQ(header[3], 4);  // SETTINGS
  std::vector<unsigned char> body(header[1] * 256 + header[2]);
  ASSERT_EQ(recv(fd, body.data(), body.size(), MSG_WAITALL), static_cast<ssize_t>(body.size()));
  close(fd);
  std::vector<std::pair<int, uint32_t>> settings;
  for (size_t i = 0; i + 6 <= body.size(); i += 6) {
    settings.emplace_back(body[i] * 256 + body[i + 1],
                          uint32_t{body[i + 2]} << 24 | uint32_t{body[i + 3]} << 16 |
                              uint32_t{body[i + 4]} << 8 | body[i + 5]);
  }
  const std::pair<int, uint32_t> streams(3, 256), headers(6, 16 << 10);
  EXPECT_NE(std::find(settings.begin(), settings.end(), streams), settings.end());
  EXPECT_NE(std::find(settings.begin(), settings.end(), headers), settings.end());
}

TEST_F(ProtocolTest, DisconnectsSilentPeers) {
  Begin();
  ASSERT_TRUE(Compile(Connect().get(), "", "x", 1).ok());
  const int fd = ConnectPlainly();
  const absl::Time start = absl::Now();
  pollfd entry = {fd, POLLRDHUP, 0};
  EXPECT_EQ(poll(&entry, 1, 20000), 1);
  EXPECT_GT(absl::Now() - start, absl::Seconds(5));
  close(fd);
}

}  // namespace
}  // namespace kiln
