// kilnd-grpc: the daemon's public API over TCP (proto/service.proto), a process that kilnd
// starts when `service.listen` is set and that ends with it. It authenticates callers and
// holds no other state: each call becomes a frame on the local socket, so both transports
// have one handler.
//
//   kilnd-grpc --listen=HOST:PORT --socket=PATH [--certificate=PEM --key=PEM]
//              [--client-ca=PEM] [--tokens=FILE] [--anonymous-rights=BITS] [--insecure]
//              [--parent=PID]
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lang/framing.h"
#include "server/daemon/config.h"
#include "server/daemon/service/bridge.h"
#include "server/daemon/service/callers.h"
#include "server/daemon/service/calls.h"
#include "server/daemon/service/credentials.h"

namespace kiln {
namespace {

// The port may still be our predecessor's, which is finishing its calls.
constexpr absl::Duration kBindPatience = absl::Seconds(12);
constexpr absl::Duration kBindPause = absl::Milliseconds(20);
// Calls that run at the end have so long; kilnd waits a little longer.
constexpr std::chrono::seconds kDrainPatience{7};
constexpr time_t kLookAfterSeconds = 1;
constexpr size_t kMemoryForRequests = size_t{512} << 20;

struct Options {
  std::string listen;
  std::string socket_path;
  TlsFiles tls;
  Callers::Options callers;
  bool insecure = false;
  pid_t parent = 0;  // the daemon, with which we end
};

bool ParseFlag(absl::string_view arg, Options* options) {
  const std::pair<const char*, std::string*> texts[] = {
      {"--listen=", &options->listen},
      {"--socket=", &options->socket_path},
      {"--key=", &options->tls.key},
      {"--certificate=", &options->tls.certificate},
      {"--client-ca=", &options->tls.client_ca},
      {"--tokens=", &options->callers.token_file}};
  for (const auto& [flag, value] : texts) {
    if (absl::ConsumePrefix(&arg, flag)) return !(*value = std::string(arg)).empty();
  }
  if (arg == "--insecure") return options->insecure = true;
  if (absl::ConsumePrefix(&arg, "--parent=")) return absl::SimpleAtoi(arg, &options->parent);
  return absl::ConsumePrefix(&arg, "--anonymous-rights=") &&
         absl::SimpleAtoi(arg, &options->callers.anonymous_rights) &&
         options->callers.anonymous_rights <= 15;
}

void Say(absl::string_view what) {
  std::fprintf(stderr, "kilnd-grpc[%d] %s\n", getpid(), std::string(what).c_str());
}

// Limits on what a caller can make us hold.
void SetLimits(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder->SetMaxSendMessageSize(static_cast<int>(kMaxFrameBytes));
  builder->SetResourceQuota(grpc::ResourceQuota("kilnd-grpc").Resize(kMemoryForRequests));
  constexpr std::pair<const char*, int> kArguments[] = {
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, 256},
      {GRPC_ARG_MAX_METADATA_SIZE, 16 << 10},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000},
      // Who is silent is asked for a sign of life; who asks too often is cut off.
      {GRPC_ARG_KEEPALIVE_TIME_MS, 60000},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000},
      {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2},
      {GRPC_ARG_MAX_CONNECTION_IDLE_MS, 30 * 60 * 1000},
  };
  for (const auto& [name, value] : kArguments) builder->AddChannelArgument(name, value);
}

// Waits for a signal to end; meanwhile says whether the daemon is well, and reads the
// tokens again.
void LookAfter(Calls* calls, Bridge* bridge, Callers* callers, const sigset_t& signals) {
  std::string said;
  bool well = true;
  while (true) {
    const timespec pause = {kLookAfterSeconds, 0};
    if (sigtimedwait(&signals, nullptr, &pause) > 0) return;
    const std::string wrong(callers->Reload().message());
    if (!wrong.empty() && wrong != said) Say(absl::StrCat("keeps the tokens it has: ", wrong));
    said = wrong;
    const bool answers = bridge->Answers();
    if (answers != well) Say(answers ? "kilnd answers again" : "kilnd does not answer");
    well = answers;
    calls->SetServing(well);
  }
}

int Fail(absl::string_view what, int status) {
  Say(what);
  return status;
}

int Serve(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int sig : {SIGTERM, SIGINT}) sigaddset(&signals, sig);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Bridge bridge(options.socket_path);
  Callers callers(options.callers);
  const absl::Status read = callers.Reload();
  if (!read.ok()) return Fail(read.message(), 2);
  const auto credentials = MakeCredentials(options.tls);
  if (!credentials.ok()) return Fail(credentials.status().message(), 2);

  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  const absl::Time give_up = absl::Now() + kBindPatience;
  while (true) {
    Calls calls(&bridge, &callers);
    grpc::ServerBuilder builder;
    SetLimits(&builder);
    int port = 0;
    builder.AddListeningPort(options.listen, *credentials, &port);
    calls.Register(&builder);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (server == nullptr || port == 0) {
      if (absl::Now() > give_up) return Fail(absl::StrCat("cannot listen on ", options.listen), 1);
      absl::SleepFor(kBindPause);
      continue;
    }
    calls.Start();
    Say(absl::StrCat("listens on port ", port, options.tls.certificate.empty() ? "" : " (TLS)"));
    LookAfter(&calls, &bridge, &callers, signals);
    calls.SetServing(false);
    server->Shutdown(std::chrono::system_clock::now() + kDrainPatience);
    return 0;
  }
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (!ParseFlag(argv[i], &options)) return Fail(absl::StrCat("bad argument ", argv[i]), 2);
  }
  options.callers.certificates = !options.tls.client_ca.empty();
  if (options.tls.certificate.empty() && !IsLoopback(options.listen)) {
    if (!options.insecure) return Fail("refuses to listen without TLS", 2);
    Say(absl::StrCat("WARNING: answers on ", options.listen,
                     " without TLS: whoever is on the way reads and changes what it says"));
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Who died before that sends no signal.
  if (options.parent != 0 && getppid() != options.parent) return Fail("kilnd has ended", 1);
  return Serve(options);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
