// kilnd-web: the daemon's metrics, health and dashboard over HTTP. kilnd starts this process with
// --web, and stops it when it exits. It queries the daemon over the local socket.
//
//   kilnd-web --socket=PATH --address-file=PATH
//
// It receives its listening sockets over descriptor 3 (server/front/front_channel.h). On loopback
// addresses it shows the dashboard to programs of its own user that send the secret in the address
// file. On any other address, and to other users, it serves only /metrics, /healthz and /readyz.
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "server/front/front_channel.h"
#include "server/observe/log.h"
#include "server/web_front/address_file.h"
#include "server/web_front/daemon_link.h"
#include "server/web_front/history.h"
#include "server/web_front/peer.h"
#include "server/web_front/site.h"
#include "server/web_front/visitors.h"

namespace kiln {
namespace {

// Above Visitors' limit: at this limit libmicrohttpd would accept no connection.
constexpr unsigned kMaxConnections = 256;
// For headers; a request beyond it is refused by the library.
constexpr size_t kConnectionBytes = 32 << 10;
constexpr size_t kStackBytes = 1 << 20;
constexpr absl::Duration kLookForSlow = absl::Milliseconds(500);
constexpr absl::Duration kEndPatience = absl::Seconds(5);

constexpr std::pair<const char*, const char*> kHeaders[] = {
    // The page may load nothing from elsewhere and be in no other page's frame.
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
  Visitors* visitors;
  bool loopback;       // whether it listens on loopback
  std::string secret;  // of the dashboard; "": no dashboard
};

int DescriptorOf(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

MHD_Result AddArgument(void* query, MHD_ValueKind, const char* name, const char* value) {
  (*static_cast<std::map<std::string, std::string>*>(query))[name] = value == nullptr ? "" : value;
  return MHD_YES;
}

// "": the request has no such header.
absl::string_view HeaderOf(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

bool IsOfOwnUser(const Front& front, MHD_Connection* connection) {
  // Host: a foreign name that resolves to a loopback address (DNS rebinding) has another one.
  return front.loopback && IsLoopbackHost(HeaderOf(connection, "Host")) &&
         IsOwnUser(DescriptorOf(connection));
}

MHD_Result Send(MHD_Connection* connection, const WebResponse& answer) {
  MHD_Response* response = MHD_create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", answer.type.c_str());
  for (const auto& [name, value] : kHeaders) MHD_add_response_header(response, name, value);
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  // Drops our reference; the queue has its own.
  MHD_destroy_response(response);
  return queued;
}

MHD_Result Handle(void* argument, MHD_Connection* connection, const char* url, const char* method,
                  const char* /*version*/, const char* /*upload*/, size_t* upload_size,
                  void** state) {
  static char begun;
  if (*state == nullptr) {  // called with the headers only; ignores a body
    *state = &begun;
    return MHD_YES;
  }
  // Bodies are read and dropped: no request of ours has one.
  if (*upload_size > 0) {
    *upload_size = 0;
    return MHD_YES;
  }
  const auto& front = *static_cast<const Front*>(argument);
  // Between Asked and Answered kilnd works: the time does not count as the peer's.
  front.visitors->Asked(DescriptorOf(connection));
  WebRequest request;
  request.method = method;
  request.path = url;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, AddArgument, &request.query);
  // A page of another site cannot send this header.
  request.knows_secret = SameSecret(HeaderOf(connection, "X-Kiln"), front.secret);
  request.own_user = IsOfOwnUser(front, connection);
  const MHD_Result sent = Send(connection, front.site->Answer(request));
  front.visitors->Answered(DescriptorOf(connection));
  return sent;
}

void NoteConnection(void* argument, MHD_Connection* connection, void** /*socket_state*/,
                    MHD_ConnectionNotificationCode what) {
  const auto& front = *static_cast<const Front*>(argument);
  const int fd = DescriptorOf(connection);
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) return front.visitors->Left(fd);
  front.visitors->Came(
      fd, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
}

void NoteEnd(void* argument, MHD_Connection* connection, void** /*state*/,
             MHD_RequestTerminationCode /*how*/) {
  static_cast<const Front*>(argument)->visitors->Served(DescriptorOf(connection));
}

// A thread per connection: one that waits for kilnd delays no other probe.
MHD_Daemon* AnswerOn(int socket, Front* front) {
  return MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
      0, nullptr, nullptr, Handle, front, MHD_OPTION_LISTEN_SOCKET, socket,
      MHD_OPTION_CONNECTION_LIMIT, kMaxConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionBytes, MHD_OPTION_THREAD_STACK_SIZE, kStackBytes, MHD_OPTION_NOTIFY_CONNECTION,
      NoteConnection, front, MHD_OPTION_NOTIFY_COMPLETED, NoteEnd, front, MHD_OPTION_END);
}

// Disconnects slow peers as long as it lives.
class Watchdog {
 public:
  explicit Watchdog(Visitors* visitors)
      : thread_([this, visitors] {
          while (!end_.WaitForNotificationWithTimeout(kLookForSlow)) visitors->HangUpOnSlow();
        }) {}
  ~Watchdog() {
    end_.Notify();
    thread_.join();
  }

 private:
  absl::Notification end_;
  std::thread thread_;
};

// Stops accepting, and answers pending requests.
void End(const std::vector<MHD_Daemon*>& servers, const Visitors& visitors) {
  // Leaves the sockets open: kilnd passes them on.
  for (MHD_Daemon* server : servers) MHD_quiesce_daemon(server);
  const absl::Time give_up = SteadyNow() + kEndPatience;
  while (visitors.busy() > 0 && SteadyNow() < give_up) absl::SleepFor(absl::Milliseconds(10));
  for (MHD_Daemon* server : servers) MHD_stop_daemon(server);
}

// The dashboard's origin, for browsers.
std::string OriginOf(const std::vector<int>& sockets) {
  const bool v4 = std::any_of(sockets.begin(), sockets.end(), IsIpv4);
  return absl::StrCat("http://", v4 ? "127.0.0.1" : "[::1]", ":", PortOf(sockets[0]));
}

// Samples metrics until kilnd exits, or a successor's kilnd-web answers.
Word SampleUntilTold(const DaemonLink& daemon, History* history) {
  while (true) {
    proto::MetricsReply metrics;
    if (daemon.Call(FrameType::kMetrics, proto::MetricsRequest(), &metrics).ok()) {
      history->Add(absl::Now(), metrics);
    }
    pollfd channel = {kFrontChannelFd, POLLIN, 0};
    if (poll(&channel, 1, static_cast<int>(absl::ToInt64Milliseconds(History::kFine))) > 0) {
      return ReceiveWord(kFrontChannelFd).word;
    }
  }
}

int Fail(absl::string_view what) {
  Log(what);
  return 2;
}

int Main(int argc, char** argv) {
  LogAs("kilnd-web");
  // The disassembler must not inherit the channel to kilnd.
  fcntl(kFrontChannelFd, F_SETFD, FD_CLOEXEC);
  // A browser that goes away must not end the front.
  signal(SIGPIPE, SIG_IGN);
  std::string socket_path, address_file;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (TakeLogFlag(arg)) continue;
    if (absl::ConsumePrefix(&arg, "--socket=")) {
      socket_path = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--address-file=")) {
      address_file = std::string(arg);
    } else {
      return Fail(absl::StrCat("bad argument ", argv[i]));
    }
  }
  const Message first = ReceiveWord(kFrontChannelFd);
  if (first.fds.empty()) return Fail("is started by kilnd, which hands over the sockets");
  const DaemonLink daemon(socket_path);
  History history;
  const Site site(&daemon, &history);
  Visitors visitors;
  Front front = {&site, &visitors,
                 std::all_of(first.fds.begin(), first.fds.end(), ListensOnLoopback), ""};
  if (front.loopback) {
    absl::StatusOr<std::string> secret = WriteAddress(address_file, OriginOf(first.fds));
    // Metrics and health are more important, so the front starts without a dashboard.
    if (!secret.ok()) Log("shows no dashboard: ", secret.status().message());
    front.secret = std::move(secret).value_or("");
  }
  // Before the servers: connections come as soon as those run.
  const Watchdog watchdog(&visitors);
  std::vector<MHD_Daemon*> servers;
  for (const int fd : first.fds) {
    servers.push_back(AnswerOn(fd, &front));
    if (servers.back() == nullptr) return Fail("cannot answer on the sockets it was given");
  }
  SendWord(kFrontChannelFd, Word::kServe).IgnoreError();
  Log("listens on port ", PortOf(first.fds[0]), ": ",
      front.secret.empty() ? "metrics and health only" : "metrics, health and the dashboard");
  // kilnd has died: nothing that this process could answer is left.
  if (SampleUntilTold(daemon, &history) != Word::kDrain) _exit(1);
  End(servers, visitors);
  return 0;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
