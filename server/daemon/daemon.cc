#include "server/daemon/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/home/regular_file.h"
#include "server/daemon/fronts/listener.h"
#include "server/daemon/notify.h"
#include "server/daemon/serve_loop.h"
#include "server/front/front_channel.h"
#include "server/observe/log.h"

namespace kiln {
namespace {

// Clients' records of kernels may take this fraction of the entries' budget, in addition to it.
constexpr uint64_t kWarmShare = 8;
// From the signal to the end; the last part is for clients on the local socket.
constexpr absl::Duration kDrainPatience = absl::Seconds(9);
constexpr absl::Duration kLastPatience = absl::Seconds(1);
constexpr absl::Duration kHandOverPatience = absl::Seconds(3);
// Compilations before a worker is replaced: fewer if our signature makes others run its code. A
// start costs as much as a few compilations.
constexpr int kUnsignedJobs = 1000;
constexpr int kSignedJobs = 100;
// The front's cache of replies; at most as large as the memory tier.
constexpr uint64_t kMostKeptByFront = uint64_t{16} << 20;

// Gives a successor the fronts' sockets and the lock, and accepts connections until the successor
// does.
void HandOver(pid_t successor, const std::vector<Front*>& fronts, SingleInstance* instance,
              Housekeeper* housekeeper, Connections* connections) {
  std::vector<int> sockets;
  for (const Front* front : fronts) {
    const std::vector<int> own = front->Sockets();
    sockets.insert(sockets.end(), own.begin(), own.end());
  }
  // Before the lock is released: the successor reads them as soon as it has the lock.
  GiveSockets(*instance, successor, sockets);
  // From here on the successor alone evicts and writes totals.
  housekeeper->Retire();
  close(instance->lock_fd);
  instance->lock_fd = -1;
  const absl::Time give_up = SteadyNow() + kHandOverPatience;
  // Until the successor's socket has our name. Connections of that time are ours to accept.
  while (HasSocket(*instance) && SteadyNow() < give_up) {
    AcceptBriefly(instance->listen_fd, connections);
  }
  for (Front* front : fronts) front->LetGo();
}

// A successor may have written its own number meanwhile.
bool NamesUs(const std::string& pid_path) { return NumberInFile(pid_path) == getpid(); }

// Keeps files that belong to a successor by now, or to another machine.
void RemoveNames(const SingleInstance& instance, const std::string& pid_path) {
  // A manager's socket stays: it starts the next daemon at the next connection.
  if (HasSocket(instance) && !instance.managed) unlink(instance.socket_path.c_str());
  if (instance.lock_fd >= 0 && NamesUs(pid_path)) unlink(pid_path.c_str());
}

DiskOptions DiskOptionsFor(const Flags& flags) {
  DiskOptions options;
  options.max_bytes = flags.cache_bytes;
  options.sync = flags.config.disk().sync();
  options.read_only = flags.config.disk().mode() == proto::READ_ONLY;
  options.warn = [](const std::string& message) { Log(message); };
  return options;
}

// `signs`: our signature makes others run what the workers compile.
PoolOptions PoolOptionsFor(const Flags& flags, bool signs) {
  PoolOptions options;
  options.worker = flags.worker;
  options.workers = flags.workers;
  options.max_queue = flags.max_queue;
  options.job_limit = flags.job_limit;
  options.job_bytes = flags.job_bytes;
  options.max_jobs = flags.worker_jobs != 0 ? flags.worker_jobs
                     : signs                ? kSignedJobs
                                            : kUnsignedJobs;
  options.unconfined = flags.config.workers().unconfined();
  return options;
}

}  // namespace

SharedTiers::Options SharedOptions(const Flags& flags, CompilerIdentity* compiler) {
  SharedTiers::Options options;
  options.program = flags.RemotePath();
  options.worker = flags.worker;
  options.config = flags.config;
  options.compiler = [compiler] { return compiler->Known(); };
  return options;
}

Daemon::Daemon(const Flags& flags, const Home& home, const SingleInstance& instance, Trust* trust,
               StopSignal* stop)
    : flags_(flags), home_(home), instance_(instance), trust_(trust), stop_(stop) {
  housekeeper_.Start();
}

DiskOptions Daemon::MakeDiskOptions() {
  DiskOptions options = DiskOptionsFor(flags_);
  // Disk and housekeeper need each other. The disk calls this only once entries are stored, when
  // the housekeeper exists.
  options.over_budget = [this] { housekeeper_.Nudge(); };
  return options;
}

uint64_t Daemon::WarmBytes() const {
  return DiskOptionsFor(flags_).read_only ? 0 : flags_.cache_bytes / kWarmShare;
}

PoolOptions Daemon::MakePoolOptions() {
  PoolOptions options = PoolOptionsFor(flags_, trust_->signs());
  options.greeted = [this](const proto::HelloReply& worker) { reports_.Note(worker); };
  return options;
}

CompileService::Parts Daemon::CompileParts() {
  CompileService::Parts parts;
  parts.tiers = &tiers_;
  parts.counters = &counters_;
  parts.compiler = &compiler_;
  parts.pool = pool_.get();
  parts.shared = &shared_;
  parts.trust = trust_;
  parts.compile_limit = compile_limit_;
  return parts;
}

Handler::Parts Daemon::HandlerParts() {
  Handler::Parts parts;
  parts.compiles = &compiles_;
  parts.links = &links_;
  parts.tiers = &tiers_;
  parts.housekeeper = &housekeeper_;
  parts.compiler = &compiler_;
  parts.pool = pool_.get();
  parts.activity = &activity_;
  parts.name_sources = flags_.config.log().sources();
  parts.admit = [trust = trust_](const Place& place, std::string bytes, absl::string_view source) {
    return trust->Admit(place, std::move(bytes), source);
  };
  parts.stop = [stop = stop_] { stop->Raise(); };
  // A daemon that also serves other machines stays, to report the problem.
  parts.lives_by_clients = flags_.daemonize && flags_.config.service().listen().empty() &&
                           flags_.config.web().listen().empty();
  parts.replaced = [this] { return own_file_.Replaced(); };
  parts.workers = flags_.workers;
  parts.cuda_toolchain = [this] { return reports_.cuda_toolchain(); };
  return parts;
}

WatchedComponents Daemon::Components() {
  return {{&memory_, &disk_}, &housekeeper_, pool_.get(), &connections_,
          &activity_,         trust_,        &shared_};
}

// Arguments contain paths only: secrets are in the files.
std::vector<std::string> Daemon::GrpcArguments() const {
  const proto::Service& service = flags_.config.service();
  const uint64_t kept_bytes = std::min(flags_.memory_bytes, kMostKeptByFront);
  std::vector<std::string> arguments = {absl::StrCat("--socket=", instance_.socket_path),
                                        absl::StrCat("--kept-bytes=", kept_bytes)};
  if (service.connection_seconds() != 0) {
    arguments.push_back(absl::StrCat("--connection-seconds=", service.connection_seconds()));
  }
  if (service.connections() != 0) {
    arguments.push_back(absl::StrCat("--connections=", service.connections()));
  }
  if (service.anonymous_rights() != 0) {
    arguments.push_back(absl::StrCat("--anonymous-rights=", service.anonymous_rights()));
  }
  const std::pair<const char*, const std::string&> files[] = {
      {"--certificate=", service.certificate_file()},
      {"--key=", service.key_file()},
      {"--client-ca=", service.client_ca_file()},
      {"--tokens=", service.token_file()}};
  for (const auto& [flag, path] : files) {
    if (!path.empty()) arguments.push_back(flag + path);
  }
  if (service.insecure()) arguments.push_back("--insecure");
  return arguments;
}

std::vector<std::string> Daemon::WebArguments() const {
  return {absl::StrCat("--socket=", instance_.socket_path),
          absl::StrCat("--address-file=", home_.DashboardPath())};
}

// Fronts have taken theirs. A socket that is left would accept connections that are never served.
void Daemon::CloseUnusedSockets() {
  for (const int fd : instance_.given) {
    Log("nothing is configured for the socket of port ", PortOf(fd), " that was handed over");
    close(fd);
  }
}

void Daemon::Run() {
  CloseUnusedSockets();
  grpc_.Start();
  web_.Start();
  if (!flags_.daemonize) NotifyManager("READY=1");
  const Ending how =
      ServeUntilStopped(instance_.listen_fd, *stop_, flags_.idle_exit, &connections_);
  Log("ending: ", how.why);
  if (!flags_.daemonize) NotifyManager("STOPPING=1");
  const absl::Time end = SteadyNow() + kDrainPatience;
  if (how.successor != 0) HandOverTo(how.successor);
  Drain(end);
}

void Daemon::HandOverTo(pid_t successor) {
  // Invalidates our fronts' caches: the successor announces removals to its own fronts only.
  generation_.End();
  memory_.Close();
  HandOver(successor, {&grpc_, &web_}, &instance_, &housekeeper_, &connections_);
}

void Daemon::Drain(absl::Time end) {
  // Drain the front first: replies to its callers pass through it.
  grpc_.Drain();
  while (grpc_.running() && SteadyNow() < end - kLastPatience) {
    AcceptBriefly(instance_.listen_fd, &connections_);
  }
  grpc_.Stop();
  // Then remove the name: a new client finds no socket, and starts a daemon that waits for our
  // lock. Connections that are not accepted yet are still served, by our successor if the socket
  // outlives us.
  RemoveNames(instance_, home_.PidPath());
  if (!instance_.managed) AcceptAll(instance_.listen_fd, &connections_);
  connections_.Drain(end - SteadyNow());
  // Ends work that no client waits for while the objects that it uses still exist.
  shared_.Stop();
  pool_.reset();
}

}  // namespace kiln
