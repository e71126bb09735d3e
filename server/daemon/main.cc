// kilnd: the composition root. It creates all components in the order of their dependencies, and
// destroys them in reverse.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/artifact/user_keys.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"
#include "common/home/regular_file.h"
#include "common/wire/version.h"
#include "server/cache/counters.h"
#include "server/cache/disk_store.h"
#include "server/cache/memory_store.h"
#include "server/cache/tiered_store.h"
#include "server/cache/trust.h"
#include "server/daemon/compiling/compile_service.h"
#include "server/daemon/compiling/compiler_identity.h"
#include "server/daemon/compiling/link_service.h"
#include "server/daemon/compiling/shared_tiers.h"
#include "server/daemon/component_metrics.h"
#include "server/daemon/detach.h"
#include "server/daemon/flags.h"
#include "server/daemon/fronts/front.h"
#include "server/daemon/fronts/listener.h"
#include "server/daemon/housekeeper.h"
#include "server/daemon/notify.h"
#include "server/daemon/serving/connections.h"
#include "server/daemon/serving/handler.h"
#include "server/daemon/single_instance.h"
#include "server/daemon/workers/worker_pool.h"
#include "server/front/front_channel.h"
#include "server/front/generation.h"
#include "server/front/quotas.h"
#include "server/observe/activity.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

// Clients' records of kernels may take this fraction of the entries' budget, in addition to it.
constexpr uint64_t kWarmShare = 8;
// Longer than another daemon takes to drain: its lock is then free.
constexpr absl::Duration kStartPatience = absl::Seconds(15);
// From the signal to the end; the last part is for clients on the local socket.
constexpr absl::Duration kDrainPatience = absl::Seconds(9);
constexpr absl::Duration kLastPatience = absl::Seconds(1);
constexpr absl::Duration kHandOverPatience = absl::Seconds(3);
constexpr int kFrontPollMs = 10;
// Compilations before a worker is replaced: fewer if our signature makes others run its code. A
// start costs as much as a few compilations.
constexpr int kUnsignedJobs = 1000;
constexpr int kSignedJobs = 100;
// The front's cache of replies; at most as large as the memory tier.
constexpr uint64_t kMostKeptByFront = uint64_t{16} << 20;

// Keeps malloc's memory small in spite of many threads and large messages.
void TameMalloc() {
  // glibc makes an arena per thread, up to eight per core, and none of them shrinks.
  mallopt(M_ARENA_MAX, 2);
  // Large messages get pages of their own, which are returned when they are freed.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

// Whether the file of this program is still the one that was started.
class OwnFile {
 public:
  OwnFile() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    path_.assign(path, n > 0 ? n : 0);
    if (stat(path_.c_str(), &started_) != 0) path_.clear();
  }
  // A missing file is being replaced: the old daemon continues.
  bool Replaced() const {
    struct stat now;
    return !path_.empty() && stat(path_.c_str(), &now) == 0 &&
           (now.st_ino != started_.st_ino || now.st_size != started_.st_size ||
            now.st_mtim.tv_sec != started_.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != started_.st_mtim.tv_nsec);
  }

 private:
  std::string path_;
  struct stat started_ = {};
};

// Wakes the main thread from any other, and by SIGTERM, SIGINT and SIGHUP. SIGUSR2 says that
// a successor waits (single_instance.h).
class StopSignal {
 public:
  StopSignal() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int sig : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&signals, sig);
    // Before any thread starts: threads inherit the mask, and a signal must reach the descriptor
    // alone.
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    event_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // a file-size limit is a full disk
  }
  void Raise() {
    const uint64_t one = 1;
    if (write(event_fd_, &one, sizeof one) < 0) return;
  }
  // Call when the signal's descriptor is readable. Returns the process that wants to take over, 0
  // for another signal.
  pid_t Successor() const {
    signalfd_siginfo info;
    const bool asked =
        read(signal_fd_, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2;
    return asked ? static_cast<pid_t>(info.ssi_pid) : 0;
  }
  int signal_fd() const { return signal_fd_; }
  int event_fd() const { return event_fd_; }

 private:
  int signal_fd_;
  int event_fd_;
};

void AcceptAll(int listen_fd, Connections* connections) {
  while (true) {
    const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      // A client that gave up before we accepted it is no reason to stop accepting.
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // No descriptors left: new connections wait until others close.
      if (errno == EMFILE || errno == ENFILE) absl::SleepFor(absl::Milliseconds(20));
      return;
    }
    // The directory's rights already keep others out. This also holds where they are not enforced.
    const absl::Status peer = CheckPeer(fd);
    if (peer.ok()) {
      connections->Serve(fd);
    } else {
      Log("refused: ", peer.message());
      close(fd);
    }
  }
}

// Serves until a stop request or the idle timeout; returns why it ended, and the successor if there
// is one.
struct End {
  const char* why;
  pid_t successor = 0;
};
End ServeUntilStopped(int listen_fd, const StopSignal& stop, absl::Duration idle_exit,
                      Connections* connections) {
  while (true) {
    int timeout_ms = -1;
    if (idle_exit > absl::ZeroDuration()) {
      // Computed anew after each wake-up: requests move the end without waking this thread.
      const absl::Duration left = connections->last_request() + idle_exit - SteadyNow();
      if (left <= absl::ZeroDuration()) return {"idle"};
      timeout_ms =
          static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, INT_MAX));
    }
    pollfd fds[3] = {
        {listen_fd, POLLIN, 0}, {stop.signal_fd(), POLLIN, 0}, {stop.event_fd(), POLLIN, 0}};
    if (poll(fds, 3, timeout_ms) < 0 && errno != EINTR) return {"poll failed"};
    if (fds[0].revents != 0) AcceptAll(listen_fd, connections);
    if (fds[1].revents != 0) {
      const pid_t successor = stop.Successor();
      return {successor != 0 ? "another takes over" : "signal", successor};
    }
    if (fds[2].revents != 0) return {"asked to"};
  }
}

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
    pollfd entry = {instance->listen_fd, POLLIN, 0};
    if (poll(&entry, 1, kFrontPollMs) > 0) AcceptAll(instance->listen_fd, connections);
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

void WritePid(const std::string& path) {
  const absl::StatusOr<Descriptor> fd =
      OpenRegularFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  const std::string text = absl::StrCat(getpid(), "\n");
  // Only people and tools read it, so a full disk is no reason not to serve.
  if (!fd.ok()) {
    Log("cannot write ", fd.status().message());
  } else if (write(fd->get(), text.data(), text.size()) < 0) {
    Log("cannot write ", path);
  }
}

// Arguments contain paths only: secrets are in the files.
std::vector<std::string> GrpcArguments(const Flags& flags, const std::string& socket) {
  const proto::Service& service = flags.config.service();
  const uint64_t kept_bytes = std::min(flags.memory_bytes, kMostKeptByFront);
  std::vector<std::string> arguments = {absl::StrCat("--socket=", socket),
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

// What workers say of themselves: logs and counts the gaps in their sandbox, each once, and keeps
// what they make code for CUDA with.
class WorkersReports {
 public:
  void Note(const proto::HelloReply& worker) {
    absl::MutexLock lock(&mutex_);
    if (const std::string& now = worker.cuda_toolchain(); now != cuda_toolchain_) {
      const auto gauge = [](const std::string& toolchain) {
        return Metrics::Get().gauge("kiln_cuda_toolchain", toolchain);
      };
      if (!cuda_toolchain_.empty()) gauge(cuda_toolchain_)->Set(0);
      cuda_toolchain_ = now;
      if (!now.empty()) gauge(now)->Set(1);
    }
    for (const proto::HelloReply::Gap& gap : worker.gaps()) {
      // Each worker reports the same gaps; there may be hundreds in a day.
      if (!known_.insert(gap.name()).second) continue;
      Log("warning: workers are confined less than they should be: ", gap.text());
      Metrics::Get().gauge("kiln_worker_gaps", gap.name())->Set(1);
    }
  }

  // Of the last worker that started; "" before the first.
  std::string cuda_toolchain() const {
    absl::MutexLock lock(&mutex_);
    return cuda_toolchain_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::set<std::string> known_ ABSL_GUARDED_BY(mutex_);  // gaps
  std::string cuda_toolchain_ ABSL_GUARDED_BY(mutex_);
};

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

SharedTiers::Options SharedOptions(const Flags& flags, CompilerIdentity* compiler) {
  SharedTiers::Options options;
  options.program = flags.RemotePath();
  options.worker = flags.worker;
  options.config = flags.config;
  options.compiler = [compiler] { return compiler->Known(); };
  return options;
}

// All components. Members are in the order of their use, so they are destroyed in the reverse one.
class Daemon {
 public:
  Daemon(const Flags& flags, const Home& home, const SingleInstance& instance, Trust* trust,
         StopSignal* stop)
      : flags_(flags), home_(home), instance_(instance), trust_(trust), stop_(stop) {
    housekeeper_.Start();
  }
  // Serves until a stop request or the idle timeout, and then drains.
  void Run();

 private:
  DiskOptions MakeDiskOptions();
  uint64_t WarmBytes() const;
  PoolOptions MakePoolOptions();
  CompileService::Parts CompileParts();
  Handler::Parts HandlerParts();
  WatchedComponents Components();

  void CloseUnusedSockets();
  void HandOverTo(pid_t successor);
  void Drain(absl::Time end);

  const Flags& flags_;
  const Home& home_;
  SingleInstance instance_;
  Trust* const trust_;
  StopSignal* const stop_;
  const OwnFile own_file_;

  DiskStore disk_{home_, MakeDiskOptions()};
  Generation generation_;
  MemoryStore memory_{flags_.memory_bytes, [this] { generation_.Advance(); }};
  TieredStore tiers_{{&memory_, &disk_}};
  Counters counters_;
  Housekeeper housekeeper_{home_, &disk_, WarmBytes(), &tiers_, &counters_};

  WorkersReports reports_;
  std::unique_ptr<WorkerPool> pool_ = std::make_unique<WorkerPool>(MakePoolOptions());
  CompilerIdentity compiler_{home_.CompilerIdPath(), flags_.worker, [this] { pool_->Renew(); }};
  SharedTiers shared_{SharedOptions(flags_, &compiler_)};
  // One attempt, one repetition after a worker died, and the way.
  const absl::Duration compile_limit_ = 2 * flags_.job_limit + absl::Seconds(10);
  CompileService compiles_{CompileParts()};
  LinkService links_{pool_.get(), compile_limit_};

  Activity activity_;
  Handler handler_{HandlerParts()};
  // Separate quotas: an incomplete request must not hold back its caller's other replies.
  Quotas requests_{Quotas::FromConfig(flags_.config.limits())};
  Quotas replies_{Quotas::FromConfig(flags_.config.limits())};
  Connections connections_{&handler_, &requests_, &replies_, flags_.max_connections};
  const std::unique_ptr<Metrics::Watch> watch_ = WatchComponents(Components());

  Front grpc_{flags_.GrpcFrontPath(), GrpcArguments(flags_, instance_.socket_path),
              flags_.config.service().listen(), &instance_.given, &generation_};
  Front web_{flags_.WebFrontPath(),
             {absl::StrCat("--socket=", instance_.socket_path),
              absl::StrCat("--address-file=", home_.DashboardPath())},
             flags_.config.web().listen(),
             &instance_.given};
};

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
  const End how = ServeUntilStopped(instance_.listen_fd, *stop_, flags_.idle_exit, &connections_);
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
    pollfd entry = {instance_.listen_fd, POLLIN, 0};
    if (poll(&entry, 1, kFrontPollMs) > 0) AcceptAll(instance_.listen_fd, &connections_);
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

void Run(const Flags& flags, const Home& home, const SingleInstance& instance, Trust* trust) {
  StopSignal stop;
  WritePid(home.PidPath());
  if (geteuid() == 0) {
    Log("warning: kilnd runs as root, which it never needs");
  }
  Log("kilnd ", kVersion, " serves ", home.dir(), " on ", instance.socket_path);
  Daemon(flags, home, instance, trust, &stop).Run();
}

void Complain(const absl::Status& status) {
  std::fprintf(stderr, "kilnd: %s\n", std::string(status.message()).c_str());
}

absl::Status LoadTrust(const proto::Trust& config, const Home& home, Trust* trust) {
  TrustOptions options;
  options.key_files.assign(config.key_file().begin(), config.key_file().end());
  if (options.key_files.empty()) options.key_files = UserKeyFiles(home);
  options.signing_key_file = config.signing_key_file();
  options.accept_unsigned = config.accept_unsigned();
  options.warn = [](const std::string& message) { Log(message); };
  return trust->Load(std::move(options));
}

// Executes kilnd-remote, which tries the servers named on its standard input.
int TryServers(const Flags& flags, const Home& home, const Trust& trust) {
  if (flags.config.tier().empty() && !flags.config.has_execution()) return 0;
  if (!trust.admits()) {
    std::printf(
        "trust\tbad\tno key is trusted: all entries of these servers are refused "
        "(trust.key_file, kiln key trust)\n");
    std::fflush(stdout);
  }
  CompilerIdentity compiler(home.CompilerIdPath(), flags.worker, [] {});
  const int fd = memfd_create("servers", 0);
  const proto::Configure to_ask = SharedTiers::ToAsk(SharedOptions(flags, &compiler));
  const std::string program = flags.RemotePath();
  if (fd < 0 || !to_ask.SerializeToFileDescriptor(fd) || lseek(fd, 0, SEEK_SET) != 0 ||
      dup2(fd, STDIN_FILENO) < 0 ||
      execl(program.c_str(), program.c_str(), "--try", static_cast<char*>(nullptr)) != 0) {
    Complain(absl::ErrnoToStatus(errno, program));
  }
  return 1;
}

absl::StatusOr<SingleInstance> Claim(const Home& home, bool take_over,
                                     const std::vector<int>& sockets) {
  // A home that cannot be written still has a daemon, which keeps nothing.
  const absl::Status made = home.Create();
  if (!made.ok()) Complain(made);
  // Another user may have created it just now.
  RETURN_IF_ERROR(home.CheckIsOwnWithCache());
  return BecomeInstance(home, SteadyNow() + kStartPatience, take_over, sockets);
}

// Before anything else: what holds for the process from its start. Returns a service manager's
// sockets.
std::vector<int> PrepareProcess(int argc, char** argv) {
  TameMalloc();
  LogAs("kilnd");
  // Abseil's deadlock detection, on in some distributions, costs a tenth of a hit's time.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Before anything opens a descriptor: the manager's numbers begin at 3.
  std::vector<int> sockets = SocketsOfManager();
  // Files of the daemon are its user's alone, and its user can use them, whatever the starter's
  // mask.
  umask(077);
  // Before any code counts processors.
  const bool detaches =
      std::any_of(argv, argv + argc, [](absl::string_view arg) { return arg == "--daemonize"; });
  if (detaches) ForgetStartersLimits();
  return sockets;
}

// The socket accepts by now, so the starter may exit before we serve it.
void DetachWith(const SingleInstance& instance) {
  std::vector<int> keep = {instance.lock_fd, instance.listen_fd};
  keep.insert(keep.end(), instance.given.begin(), instance.given.end());
  Detach(keep);
}

void OpenLog(const Flags& flags, const Home& home) {
  if (flags.config.log().json()) LogAsJson();
  const std::string& log_file = flags.config.log().file();
  if (flags.daemonize || !log_file.empty()) {
    LogToFile(log_file.empty() ? home.LogPath() : log_file);
  }
}

// Returns the exit status: 2 if a setting is at fault.
int Start(const Flags& flags, const std::vector<int>& sockets) {
  const absl::Status user = CheckUser(flags);
  if (!user.ok()) Complain(user);
  // The two that only look may run as root, so that `kiln doctor` works there.
  if (!user.ok() && !flags.check && !flags.try_servers) return 2;
  absl::StatusOr<Home> home = Home::Find(flags.home);
  // Check everything that may fail first: a take-over must not stop a daemon in vain.
  Trust trust;
  if (home.ok()) {
    absl::Status loaded = home->CheckIsOwnWithCache();
    if (loaded.ok()) loaded = LoadTrust(flags.config.trust(), *home, &trust);
    if (!loaded.ok()) {
      Complain(loaded);
      return 2;
    }
  }
  if (flags.check && home.ok()) return 0;
  const absl::Status descriptors = CheckDescriptors(flags);
  if (!descriptors.ok()) {
    Complain(descriptors);
    return 2;
  }
  if (flags.try_servers && home.ok()) return TryServers(flags, *home, trust);
  absl::StatusOr<SingleInstance> instance =
      home.ok() ? Claim(*home, flags.take_over, sockets) : home.status();
  if (!instance.ok()) {
    // Another process's daemon serves equally well.
    if (flags.daemonize && absl::IsAlreadyExists(instance.status())) return 0;
    Complain(instance.status());
    return 1;
  }
  if (flags.daemonize) DetachWith(*instance);
  OpenLog(flags, *home);
  Run(flags, *home, *instance, &trust);
  Log("ended");
  return 0;
}

int Main(int argc, char** argv) {
  const std::vector<int> sockets = PrepareProcess(argc, argv);
  absl::StatusOr<Flags> flags = ParseFlags(argc, argv);
  if (!flags.ok()) {
    Complain(flags.status());
    return 2;
  }
  if (flags->help) {
    std::fputs(FlagsHelp().c_str(), stdout);
    return 0;
  }
  if (flags->version) {
    std::printf("kilnd %s\n", kVersion);
    return 0;
  }
  return Start(*flags, sockets);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
