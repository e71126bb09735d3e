// kilnd: reads its settings, claims its home, and runs the daemon.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/artifact/user_keys.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"
#include "common/home/regular_file.h"
#include "common/wire/version.h"
#include "server/cache/trust.h"
#include "server/daemon/compiling/compiler_identity.h"
#include "server/daemon/compiling/shared_tiers.h"
#include "server/daemon/daemon.h"
#include "server/daemon/detach.h"
#include "server/daemon/flags.h"
#include "server/daemon/single_instance.h"
#include "server/daemon/stop_signal.h"
#include "server/observe/log.h"

namespace kiln {
namespace {

// Longer than another daemon takes to drain: its lock is then free.
constexpr absl::Duration kStartPatience = absl::Seconds(15);

// Keeps malloc's memory small in spite of many threads and large messages.
void TameMalloc() {
  // glibc makes an arena per thread, up to eight per core, and none of them shrinks.
  mallopt(M_ARENA_MAX, 2);
  // Large messages get pages of their own, which are returned when they are freed.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
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
