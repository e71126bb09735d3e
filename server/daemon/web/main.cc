// kilnd-web: the daemon's metrics, health and dashboard over HTTP, a process that kilnd
// starts with --web and that ends with it. It asks the daemon over the local socket.
//
//   kilnd-web --socket=PATH
//
// The sockets that it answers on come over descriptor 3 (server/daemon/leash.h). On loopback
// addresses it shows the dashboard to programs of its own user. On any other address, and to other
// users, only /metrics, /healthz and /readyz.
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/daemon/leash.h"
#include "server/daemon/log.h"
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

MHD_Daemon* AnswerOn(int socket, Front* front) {
  return MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD, 0, nullptr, nullptr, Handle, front,
                          MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_THREAD_POOL_SIZE, kThreads,
                          MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
                          MHD_OPTION_CONNECTION_TIMEOUT, kConnectionSeconds,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_END);
}

// Until kilnd ends, or a successor's kilnd-web answers.
Word SampleUntilTold(const DaemonLink& daemon, History* history) {
  while (true) {
    proto::MetricsReply metrics;
    if (daemon.Call(FrameType::kMetrics, proto::MetricsRequest(), &metrics).ok()) {
      history->Add(absl::Now(), metrics);
    }
    pollfd leash = {kLeashFd, POLLIN, 0};
    if (poll(&leash, 1, static_cast<int>(absl::ToInt64Milliseconds(History::kFine))) > 0) {
      return ReceiveWord(kLeashFd).word;
    }
  }
}

int Fail(absl::string_view what) {
  Log(what);
  return 2;
}

int Main(int argc, char** argv) {
  LogAs("kilnd-web");
  fcntl(kLeashFd, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  std::string socket_path;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (TakeLogFlag(arg)) continue;
    if (!absl::ConsumePrefix(&arg, "--socket=")) {
      return Fail(absl::StrCat("bad argument ", argv[i]));
    }
    socket_path = std::string(arg);
  }
  const Message first = ReceiveWord(kLeashFd);
  if (first.fds.empty()) return Fail("is started by kilnd, which hands over the sockets");
  const DaemonLink daemon(socket_path);
  History history;
  const Site site(&daemon, &history);
  Front front = {&site, std::all_of(first.fds.begin(), first.fds.end(), ListensOnLoopback),
                 PortOf(first.fds[0])};
  std::vector<MHD_Daemon*> servers;
  for (const int fd : first.fds) {
    servers.push_back(AnswerOn(fd, &front));
    if (servers.back() == nullptr) return Fail("cannot answer on the sockets it was given");
  }
  SendWord(kLeashFd, Word::kServe).IgnoreError();
  Log("listens on port ", front.port, ": ",
      front.loopback ? "metrics, health and the dashboard" : "metrics and health only");
  if (SampleUntilTold(daemon, &history) != Word::kGoOn) _exit(1);
  // What was asked is still answered.
  for (MHD_Daemon* server : servers) MHD_stop_daemon(server);
  return 0;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
