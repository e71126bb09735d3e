// kilnd-grpc: the daemon's public API over TCP (proto/service.proto), a process
// that kilnd starts with --listen and that ends with it. It holds no state: each
// call becomes a frame on the local socket, so both transports have one handler.
//
//   kilnd-grpc --listen=HOST:PORT --socket=PATH
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lang/framing.h"
#include "proto/service.grpc.pb.h"
#include "server/daemon/service/bridge.h"

namespace kiln {
namespace {

class Service final : public proto::Kiln::Service {
 public:
  explicit Service(Bridge* bridge) : bridge_(bridge) {}

  grpc::Status Lookup(grpc::ServerContext* context, const proto::LookupRequest* request,
                      proto::LookupReply* reply) override {
    return Forward(context, FrameType::kLookup, *request, reply);
  }
  grpc::Status Compile(grpc::ServerContext* context, const proto::CompileRequest* request,
                       proto::CompileReply* reply) override {
    // The caller's deadline holds for the daemon's work too.
    proto::CompileRequest bounded = *request;
    const absl::Time deadline = absl::FromChrono(context->deadline());
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left < INT32_MAX && (bounded.deadline_ms() == 0 || left < bounded.deadline_ms())) {
      bounded.set_deadline_ms(static_cast<uint32_t>(std::max<int64_t>(left, 1)));
    }
    return Forward(context, FrameType::kCompile, bounded, reply);
  }
  grpc::Status Capabilities(grpc::ServerContext* context, const proto::CapabilitiesRequest* request,
                            proto::CapabilitiesReply* reply) override {
    return Forward(context, FrameType::kCapabilities, *request, reply);
  }
  grpc::Status Stats(grpc::ServerContext* context, const proto::StatsRequest* request,
                     proto::StatsReply* reply) override {
    return Forward(context, FrameType::kStats, *request, reply);
  }

 private:
  grpc::Status Forward(grpc::ServerContext* context, FrameType type,
                       const google::protobuf::MessageLite& request,
                       google::protobuf::MessageLite* reply) {
    const absl::Status status =
        bridge_->Call(type, request, reply, absl::FromChrono(context->deadline()),
                      [context] { return context->IsCancelled(); });
    // The two libraries number their codes alike.
    return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                        std::string(status.message()));
  }

  Bridge* const bridge_;
};

int Main(int argc, char** argv) {
  std::string address;
  std::string socket_path;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--listen=")) {
      address = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--socket=")) {
      socket_path = std::string(arg);
    } else {
      std::fprintf(stderr, "kilnd-grpc: bad argument %s\n", argv[i]);
      return 2;
    }
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);

  Bridge bridge(socket_path);
  Service service(&bridge);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxFrameBytes));
  builder.SetMaxSendMessageSize(static_cast<int>(kMaxFrameBytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "kilnd-grpc: cannot listen on %s\n", address.c_str());
    return 1;
  }
  std::fprintf(stderr, "kilnd-grpc[%d] listens on port %d\n", getpid(), port);
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
