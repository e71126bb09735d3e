// kilnd with its gRPC front on a free port, a test worker, and callers of all kinds.
#ifndef KILN_SERVER_GRPC_FRONT_GRPC_FIXTURE_H_
#define KILN_SERVER_GRPC_FRONT_GRPC_FIXTURE_H_

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kiln/proto/service.grpc.pb.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {

class GrpcFixture : public DaemonTest {
 protected:
  using Stub = proto::Kiln::Stub;

  GrpcFixture() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    port_ = ntohs(address.sin_port);  // free a moment ago
  }

  static std::string BinFlag() {
    const std::string kilnd = KilndPath();
    return "--bin=" + kilnd.substr(0, kilnd.rfind("/daemon/")) + "/grpc_front";
  }
  std::string Address() const { return absl::StrCat("127.0.0.1:", port_); }

  // Starts kilnd with `service` as that section of its configuration, `listen` added.
  void Begin(const std::string& service = "", std::vector<std::string> flags = {}) {
    ASSERT_TRUE(home_->Create().ok());
    WriteFile(home_->dir() + "/kilnd.conf",
              absl::StrCat("service { listen: \"", Address(), "\" ", service, " }\n"));
    flags.push_back(BinFlag());
    ASSERT_EQ(Start(flags), 0);
  }
  void WriteTokens(const std::string& text) {
    WriteFile(TokenPath() + ".new", text);
    chmod((TokenPath() + ".new").c_str(), 0600);
    rename((TokenPath() + ".new").c_str(), TokenPath().c_str());
  }
  std::string TokenPath() const { return TempPath("tokens"); }

  // A channel of its own, connected anew.
  std::unique_ptr<Stub> Connect(
      std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials()) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    return proto::Kiln::NewStub(grpc::CreateCustomChannel(absl::StrCat("localhost:", port_),
                                                          std::move(credentials), arguments));
  }

  // Calls with `token`, waiting for the server to be there.
  template <typename Request, typename Reply>
  static grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Reply*),
                           Stub* stub, const std::string& token, const Request& request,
                           Reply* reply, int deadline_ms = 20000, bool wait = true) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
    context.set_wait_for_ready(wait);
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return (stub->*method)(&context, request, reply);
  }
  static grpc::Status Compile(Stub* stub, const std::string& token, const std::string& name,
                              uint64_t seed, proto::CompileReply* reply = nullptr,
                              int deadline_ms = 20000) {
    proto::CompileReply ignored;
    return Call(&Stub::Compile, stub, token, RequestFor(name, seed),
                reply != nullptr ? reply : &ignored, deadline_ms);
  }
  static grpc::Status Lookup(Stub* stub, const std::string& token, const std::string& digest,
                             proto::LookupReply* reply) {
    proto::LookupRequest request;
    request.add_digests(digest);
    return Call(&Stub::Lookup, stub, token, request, reply);
  }

  int port_ = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_GRPC_FIXTURE_H_
