// kilnd-grpc: the daemon's public API over TCP (proto/service.proto). kilnd starts this process if
// `service.listen` is set, and stops it when it exits. It authenticates callers and keeps no other
// state: each call becomes a frame on the local socket, so both transports have one handler.
//
//   kilnd-grpc --socket=PATH [--certificate=PEM --key=PEM] [--client-ca=PEM]
//              [--tokens=FILE] [--anonymous-rights=BITS] [--insecure]
//              [--connection-seconds=N] [--kept-bytes=N] [--connections=N]
//
// Over descriptor 3 (server/front/front_channel.h) it receives kilnd's generation counter, and then
// its listening sockets.
#include <fcntl.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "common/wire/framing.h"
#include "server/front/front_channel.h"
#include "server/front/generation.h"
#include "server/grpc_front/acceptor.h"
#include "server/grpc_front/bridge.h"
#include "server/grpc_front/callers.h"
#include "server/grpc_front/calls.h"
#include "server/grpc_front/credentials.h"
#include "server/grpc_front/guests.h"
#include "server/grpc_front/outbox.h"
#include "server/grpc_front/replies.h"
#include "server/observe/log.h"

namespace kiln {
namespace {

// The time limit of running calls at shutdown; kilnd waits a little longer.
constexpr std::chrono::seconds kDrainPatience{7};
constexpr time_t kLookAfterSeconds = 1;
constexpr absl::Duration kTellPatience = absl::Seconds(1);
constexpr size_t kMemoryForRequests = size_t{512} << 20;
// For connections to kilnd (bridge.h), files that are reread, and gRPC itself.
constexpr rlim_t kOtherDescriptors = 640;

struct Options {
  std::string socket_path;
  TlsFiles tls;
  Callers::Options callers;
  bool insecure = false;
  // Callers reconnect after this time. They reach new replicas, and the successor of one that
  // handed off. gRPC tells callers in a way that costs no call.
  int connection_seconds = 300;
  size_t kept_bytes = 0;  // of replies
  int connections = 512;
};

bool ParseFlag(absl::string_view arg, Options* options) {
  const std::pair<const char*, std::string*> texts[] = {
      {"--socket=", &options->socket_path},
      {"--key=", &options->tls.key},
      {"--certificate=", &options->tls.certificate},
      {"--client-ca=", &options->tls.client_ca},
      {"--tokens=", &options->callers.token_file}};
  for (const auto& [flag, value] : texts) {
    if (absl::ConsumePrefix(&arg, flag)) return !(*value = std::string(arg)).empty();
  }
  if (arg == "--insecure") return options->insecure = true;
  if (absl::ConsumePrefix(&arg, "--connection-seconds=")) {
    return absl::SimpleAtoi(arg, &options->connection_seconds) && options->connection_seconds > 0;
  }
  if (absl::ConsumePrefix(&arg, "--kept-bytes=")) {
    return absl::SimpleAtoi(arg, &options->kept_bytes);
  }
  if (absl::ConsumePrefix(&arg, "--connections=")) {
    return absl::SimpleAtoi(arg, &options->connections) && options->connections > 0;
  }
  return absl::ConsumePrefix(&arg, "--anonymous-rights=") &&
         absl::SimpleAtoi(arg, &options->callers.anonymous_rights) &&
         options->callers.anonymous_rights <= 15;
}

// gRPC's own messages, in our format.
void LogOfGrpc(gpr_log_func_args* args) { Log("gRPC: ", args->message); }

// Limits the memory that a caller can make us allocate.
void SetLimits(const Options& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder->SetMaxSendMessageSize(static_cast<int>(kMaxFrameBytes));
  builder->SetResourceQuota(grpc::ResourceQuota("kilnd-grpc").Resize(kMemoryForRequests));
  const std::pair<const char*, int> arguments[] = {
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, 256},
      {GRPC_ARG_MAX_METADATA_SIZE, 16 << 10},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000},
      // Silent clients get keepalive pings; clients that ping too often are disconnected.
      {GRPC_ARG_KEEPALIVE_TIME_MS, 60000},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000},
      {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2},
      {GRPC_ARG_ENABLE_CHANNELZ, 0},  // counts each call for a service that is not offered
      {GRPC_ARG_MAX_CONNECTION_AGE_MS, options.connection_seconds * 1000},
  };
  for (const auto& [name, value] : arguments) builder->AddChannelArgument(name, value);
}

// The configured number of connections, as far as descriptors suffice.
Guests::Options GuestsOf(const Options& options) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  // The soft limit is often 1024; raising it needs no right.
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t room = limit.rlim_cur > 4 * kOtherDescriptors / 3
                          ? limit.rlim_cur - kOtherDescriptors
                          : limit.rlim_cur / 4;
  Guests::Options guests;
  guests.most = static_cast<int>(std::min<rlim_t>(options.connections, room));
  return guests;
}

// Reports cached hits to kilnd, for its counters and its eviction order.
void TellHits(Bridge* bridge, Replies* replies) {
  for (const Replies::Hits& hits : replies->TakeHits()) {
    const std::string bytes = hits.request.SerializeAsString();
    const grpc::Slice slice(bytes);
    Exchange exchange(bridge, hits.caller, FrameType::kHits, grpc::ByteBuffer(&slice, 1), "",
                      [](size_t) { return absl::OkStatus(); });
    if (!exchange.Begin(/*soon=*/true)) {
      exchange.Finish(SteadyNow() + kTellPatience, [] { return false; });
    }
  }
}

// Waits for a signal to exit or, after a hand-off, for the end of the last connection. Meanwhile
// monitors the daemon's health and rereads tokens and certificates.
void LookAfter(Calls* calls, Bridge* bridge, Callers* callers, Credentials* credentials,
               Replies* replies, Guests* guests, Outbox* outbox, const Acceptor& acceptor,
               const sigset_t& signals) {
  std::string said;
  bool well = true;
  while (true) {
    const timespec pause = {kLookAfterSeconds, 0};
    // The pause and the wait for a signal in one.
    if (sigtimedwait(&signals, nullptr, &pause) > 0) return;
    std::string wrong;
    for (const absl::Status& read : {callers->Reload(), credentials->Reload()}) {
      if (!read.ok()) absl::StrAppend(&wrong, wrong.empty() ? "" : "; ", read.message());
    }
    // Once for each text, not each second.
    if (!wrong.empty() && wrong != said) Log("continues with the previous files: ", wrong);
    said = wrong;
    const bool answers = bridge->Answers();
    if (answers != well) Log(answers ? "kilnd answers again" : "kilnd does not answer");
    well = answers;
    calls->SetServing(well);
    if (well) TellHits(bridge, replies);
    outbox->Sweep();
    const int connections = guests->Sweep();
    if (acceptor.let_go() && (!well || connections == 0)) return;
  }
}

int Fail(absl::string_view what, int status) {
  Log(what);
  return status;
}

int Serve(const Options& options, const Generation& generation, std::vector<int> sockets) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int sig : {SIGTERM, SIGINT}) sigaddset(&signals, sig);
  // Before gRPC starts threads, which inherit the mask: signals are for LookAfter alone.
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Bridge bridge(options.socket_path);
  Callers callers(options.callers);
  Credentials credentials(options.tls);
  for (const absl::Status& read : {callers.Reload(), credentials.Reload()}) {
    if (!read.ok()) return Fail(read.message(), 2);
  }

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  Replies replies(options.kept_bytes, &generation);
  Guests guests(GuestsOf(options));
  Outbox outbox(&guests);
  Calls calls(&bridge, &callers, &replies, &guests, &outbox);
  grpc::ServerBuilder builder;
  SetLimits(options, &builder);
  const int port = PortOf(sockets[0]);
  Acceptor acceptor(builder.experimental().AddExternalConnectionAcceptor(
                        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
                        credentials.ForServer()),
                    std::move(sockets), &guests);
  calls.Register(&builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return Fail("gRPC does not start", 1);
  calls.Start();
  acceptor.Start();
  Log("listens on port ", port, options.tls.certificate.empty() ? "" : " (TLS)");
  LookAfter(&calls, &bridge, &callers, &credentials, &replies, &guests, &outbox, acceptor, signals);
  acceptor.Stop();
  calls.End();
  // Ends accepting and waits for running calls; then the queue is drained of their last events.
  server->Shutdown(std::chrono::system_clock::now() + kDrainPatience);
  calls.Drain();
  TellHits(&bridge, &replies);
  return 0;
}

int Main(int argc, char** argv) {
  LogAs("kilnd-grpc");
  // Abseil's deadlock detection, on in some distributions, costs a tenth of a hit's time.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  gpr_set_log_function(LogOfGrpc);
  fcntl(kFrontChannelFd, F_SETFD, FD_CLOEXEC);
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (!TakeLogFlag(argv[i]) && !ParseFlag(argv[i], &options))
      return Fail(absl::StrCat("bad argument ", argv[i]), 2);
  }
  options.callers.certificates = !options.tls.client_ca.empty();
  const Message generation = ReceiveWord(kFrontChannelFd);
  Message sockets = ReceiveWord(kFrontChannelFd);
  if (generation.word != Word::kGeneration || sockets.fds.empty()) {
    return Fail("is started by kilnd, which hands over the sockets", 2);
  }
  const bool local = std::all_of(sockets.fds.begin(), sockets.fds.end(), ListensOnLoopback);
  if (options.tls.certificate.empty() && !local) {
    if (!options.insecure) return Fail("refuses to listen without TLS", 2);
    Log("WARNING: answers other machines without TLS: an attacker on the way can read and change "
        "its replies");
  }
  return Serve(options, Generation(generation.fds.empty() ? -1 : generation.fds[0]),
               std::move(sockets.fds));
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
