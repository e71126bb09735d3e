// kilnd-web: the daemon's metrics, health and dashboard over HTTP, a process that kilnd
// starts with --web and that ends with it. It asks the daemon over the local socket.
//
//   kilnd-web --listen=HOST:PORT --socket=PATH
//
// On loopback addresses it shows the dashboard to programs of its own user. On any other
// address, and to other users, only /metrics, /healthz and /readyz.
#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/daemon/web/daemon_link.h"
#include "server/daemon/web/history.h"
#include "server/daemon/web/peer.h"
#include "server/daemon/web/site.h"

namespace kiln {
namespace {

constexpr unsigned kThreads = 4;
constexpr unsigned kMaxConnections = 64;
constexpr unsigned kConnectionSeconds = 30;
constexpr size_t kConnectionBytes = 32 << 10;

constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
     "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
};

struct Front {
  const Site* site;
  bool loopback;  // what it listens on
  int port;
};

MHD_Result AddArgument(void* query, MHD_ValueKind, const char* name, const char* value) {
  (*static_cast<std::map<std::string, std::string>*>(query))[name] = value == nullptr ? "" : value;
  return MHD_YES;
}

bool MaySeeDashboard(const Front& front, MHD_Connection* connection) {
  if (!front.loopback) return false;
  const char* host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  if (host == nullptr || !IsLoopbackHost(host)) return false;
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info != nullptr && info->client_addr != nullptr &&
         IsOwnUser(info->client_addr, front.port);
}

MHD_Result Send(MHD_Connection* connection, const WebResponse& answer) {
  MHD_Response* response = MHD_create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", answer.type.c_str());
  for (const auto& [name, value] : kHeaders) MHD_add_response_header(response, name, value);
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result Handle(void* argument, MHD_Connection* connection, const char* url, const char* method,
                  const char* /*version*/, const char* /*upload*/, size_t* upload_size,
                  void** state) {
  static char begun;
  if (*state == nullptr) {  // headers only: what follows them is not looked at
    *state = &begun;
    return MHD_YES;
  }
  if (*upload_size > 0) {
    *upload_size = 0;
    return MHD_YES;
  }
  const auto& front = *static_cast<const Front*>(argument);
  WebRequest request;
  request.method = method;
  request.path = url;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, AddArgument, &request.query);
  const char* mark = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Kiln");
  request.from_page = mark != nullptr && absl::string_view(mark) == "1";
  request.dashboard = MaySeeDashboard(front, connection);
  return Send(connection, front.site->Answer(request));
}

// The address to listen on; null, with a message on stderr, where it is none.
addrinfo* Resolve(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return nullptr;
  std::string host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), listen.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) std::fprintf(stderr, "kilnd-web: %s: %s\n", host.c_str(), gai_strerror(error));
  return error == 0 ? found : nullptr;
}

MHD_Daemon* Listen(const addrinfo& address, Front* front) {
  const unsigned flags =
      MHD_USE_POLL_INTERNAL_THREAD | (address.ai_family == AF_INET6 ? unsigned{MHD_USE_IPv6} : 0u);
  return MHD_start_daemon(flags, 0, nullptr, nullptr, Handle, front, MHD_OPTION_SOCK_ADDR,
                          address.ai_addr, MHD_OPTION_THREAD_POOL_SIZE, kThreads,
                          MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
                          MHD_OPTION_CONNECTION_TIMEOUT, kConnectionSeconds,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_END);
}

int PortOf(const addrinfo& address) {
  return address.ai_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in*>(address.ai_addr)->sin_port);
}

// For as long as the process lives, which is as long as the daemon does.
[[noreturn]] void SampleForever(const DaemonLink& daemon, History* history) {
  while (true) {
    proto::MetricsReply metrics;
    if (daemon.Call(FrameType::kMetrics, proto::MetricsRequest(), &metrics).ok()) {
      history->Add(absl::Now(), metrics);
    }
    absl::SleepFor(History::kFine);
  }
}

int Main(int argc, char** argv) {
  std::string listen, socket_path;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--listen=")) {
      listen = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--socket=")) {
      socket_path = std::string(arg);
    } else {
      std::fprintf(stderr, "kilnd-web: bad argument %s\n", argv[i]);
      return 2;
    }
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  addrinfo* address = Resolve(listen);
  if (address == nullptr) {
    std::fprintf(stderr, "kilnd-web: --listen must be HOST:PORT, not '%s'\n", listen.c_str());
    return 2;
  }
  const DaemonLink daemon(socket_path);
  History history;
  const Site site(&daemon, &history);
  Front front = {&site, IsLoopback(address->ai_addr), PortOf(*address)};
  MHD_Daemon* server = Listen(*address, &front);
  freeaddrinfo(address);
  if (server == nullptr) {
    std::fprintf(stderr, "kilnd-web: cannot listen on %s\n", listen.c_str());
    return 1;
  }
  if (front.port == 0) {
    const MHD_DaemonInfo* info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);
    if (info != nullptr) front.port = info->port;
  }
  std::fprintf(stderr, "kilnd-web[%d] listens on port %d: %s\n", getpid(), front.port,
               front.loopback ? "metrics, health and the dashboard" : "metrics and health only");
  SampleForever(daemon, &history);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
