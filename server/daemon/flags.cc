#include "server/daemon/flags.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lang/home.h"
#include "lang/status_macros.h"
#include "server/daemon/config.h"

namespace kiln {
namespace {

constexpr int kMaxWorkers = 256;

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad ", what));
}

bool ParseSeconds(absl::string_view text, absl::Duration* out) {
  double seconds;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0 && seconds < 1e9)) return false;
  *out = absl::Seconds(seconds);
  return true;
}

bool ParseCount(absl::string_view text, int least, int* out) {
  return absl::SimpleAtoi(text, out) && *out >= least;
}

std::string OwnDirectory() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string exe(path, n > 0 ? n : 0);
  return exe.substr(0, exe.rfind('/'));
}

int Cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The value of the argument `--name=...`, the last one that is given.
std::string ValueOf(absl::string_view name, int argc, char** argv) {
  std::string value;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, name)) value = std::string(arg);
  }
  return value;
}

template <typename Number, typename Member>
void TakeUnlessZero(Number number, Member* member) {
  if (number != 0) *member = static_cast<Member>(number);
}

// The file that is named must be there; that of the home need not.
absl::Status ReadFile(int argc, char** argv, Flags* flags) {
  const std::string named = ValueOf("--config=", argc, argv);
  std::string path = named;
  if (named.empty()) {
    const absl::StatusOr<Home> home = Home::Find(ValueOf("--home=", argc, argv));
    if (!home.ok()) return absl::OkStatus();  // said later
    path = home->dir() + "/kilnd.conf";
  }
  if (named.empty() && access(path.c_str(), F_OK) != 0) return absl::OkStatus();
  absl::StatusOr<proto::Config> config = ReadConfig(path);
  RETURN_IF_ERROR(config.status());
  flags->config = *std::move(config);
  const proto::Config& c = flags->config;
  TakeUnlessZero(c.memory().max_bytes(), &flags->memory_bytes);
  TakeUnlessZero(c.disk().max_bytes(), &flags->cache_bytes);
  TakeUnlessZero(c.workers().count(), &flags->workers);
  TakeUnlessZero(c.workers().job_bytes(), &flags->job_bytes);
  TakeUnlessZero(c.workers().max_jobs(), &flags->worker_jobs);
  TakeUnlessZero(c.workers().max_queue(), &flags->max_queue);
  TakeUnlessZero(c.limits().connections(), &flags->max_connections);
  if (c.workers().job_seconds() != 0) flags->job_limit = absl::Seconds(c.workers().job_seconds());
  return absl::OkStatus();
}

absl::Status ReadEnvironment(Flags* flags) {
  if (const char* text = getenv("KILN_CACHE_BYTES")) {
    if (!absl::SimpleAtoi(text, &flags->cache_bytes)) return Bad("KILN_CACHE_BYTES");
  }
  if (const char* text = getenv("KILN_JOB_SECONDS")) {
    if (!ParseSeconds(text, &flags->job_limit)) return Bad("KILN_JOB_SECONDS");
  }
  if (const char* text = getenv("KILN_BIN")) flags->bin = text;
  return absl::OkStatus();
}

// False for an unknown flag or a bad value.
bool ParseFlag(absl::string_view arg, Flags* flags) {
  if (arg == "--daemonize") return flags->daemonize = true;
  if (arg == "--foreground") return !(flags->daemonize = false);
  if (arg == "--take-over") return flags->take_over = true;
  if (arg == "--version") return flags->version = true;
  if (absl::ConsumePrefix(&arg, "--home=")) return !(flags->home = std::string(arg)).empty();
  if (absl::ConsumePrefix(&arg, "--bin=")) return !(flags->bin = std::string(arg)).empty();
  if (absl::ConsumePrefix(&arg, "--worker=")) return !(flags->worker = std::string(arg)).empty();
  if (absl::ConsumePrefix(&arg, "--idle-exit=")) return ParseSeconds(arg, &flags->idle_exit);
  if (absl::ConsumePrefix(&arg, "--job-seconds=")) return ParseSeconds(arg, &flags->job_limit);
  if (absl::ConsumePrefix(&arg, "--cache-bytes=")) {
    return absl::SimpleAtoi(arg, &flags->cache_bytes);
  }
  if (absl::ConsumePrefix(&arg, "--job-bytes=")) return absl::SimpleAtoi(arg, &flags->job_bytes);
  if (absl::ConsumePrefix(&arg, "--workers=")) {
    return ParseCount(arg, 1, &flags->workers) && flags->workers <= kMaxWorkers;
  }
  if (absl::ConsumePrefix(&arg, "--max-queue=")) return ParseCount(arg, 1, &flags->max_queue);
  if (absl::ConsumePrefix(&arg, "--worker-jobs=")) return ParseCount(arg, 1, &flags->worker_jobs);
  if (absl::ConsumePrefix(&arg, "--max-connections=")) {
    return ParseCount(arg, 1, &flags->max_connections);
  }
  if (absl::ConsumePrefix(&arg, "--web=")) {
    flags->config.mutable_web()->set_listen(std::string(arg));
    return !arg.empty();
  }
  if (absl::ConsumePrefix(&arg, "--listen=")) {
    flags->config.mutable_service()->set_listen(std::string(arg));
    return !arg.empty();
  }
  if (absl::ConsumePrefix(&arg, "--signing-key=")) {
    flags->config.mutable_trust()->set_signing_key_file(std::string(arg));
    return !arg.empty();
  }
  if (absl::ConsumePrefix(&arg, "--trusted-keys=")) {
    flags->config.mutable_trust()->add_key_file(std::string(arg));
    return !arg.empty();
  }
  if (arg == "--accept-unsigned") {
    flags->config.mutable_trust()->set_accept_unsigned(true);
    return true;
  }
  if (arg == "--sync") {
    flags->config.mutable_disk()->set_sync(true);
    return true;
  }
  return absl::StartsWith(arg, "--config=");  // read already
}

// Nothing leaves this machine unencrypted, unless somebody insists.
absl::Status CheckService(const proto::Service& service) {
  if (service.certificate_file().empty() != service.key_file().empty()) {
    return absl::InvalidArgumentError("service: certificate_file and key_file go together");
  }
  if (!service.client_ca_file().empty() && service.certificate_file().empty()) {
    return absl::InvalidArgumentError(
        "service: client_ca_file needs certificate_file and key_file");
  }
  if (service.listen().empty() || !service.certificate_file().empty() || service.insecure() ||
      IsLoopback(service.listen())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("refuses to listen on ", service.listen(),
                   " without TLS: give service.certificate_file and key_file, or a loopback "
                   "address (127.0.0.1:PORT, [::1]:PORT)"));
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  RETURN_IF_ERROR(ReadFile(argc, argv, &flags));
  RETURN_IF_ERROR(ReadEnvironment(&flags));
  for (int i = 1; i < argc; ++i) {
    if (!ParseFlag(argv[i], &flags)) return Bad(absl::StrCat("argument ", argv[i]));
  }
  RETURN_IF_ERROR(CheckService(flags.config.service()));
  // Who listens for other machines is there when they come.
  if (!flags.config.service().listen().empty() && ValueOf("--idle-exit=", argc, argv).empty()) {
    flags.idle_exit = absl::ZeroDuration();
  }
  if (flags.bin.empty()) flags.bin = OwnDirectory();
  if (!flags.config.service().listen().empty() &&
      access(flags.GrpcFrontPath().c_str(), X_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen needs ", flags.GrpcFrontPath(), ", which cannot be run"));
  }
  if (!flags.config.web().listen().empty() && access(flags.WebFrontPath().c_str(), X_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--web needs ", flags.WebFrontPath(), ", which cannot be run"));
  }
  if (flags.worker.empty()) flags.worker = flags.bin + "/kiln-worker";
  if (flags.workers == 0) flags.workers = Cores();
  return flags;
}

}  // namespace kiln
