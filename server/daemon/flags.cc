#include "server/daemon/flags.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"
#include "common/home/programs.h"
#include "common/home/variables.h"
#include "server/daemon/config.h"

namespace kiln {
namespace {

// Descriptors of the daemon itself, and per worker.
// Socket, locks, log and the streams to fronts and kilnd-remote, with a margin.
constexpr uint64_t kOwnDescriptors = 32;
constexpr uint64_t kDescriptorsOfWorker = 4;

// Beyond the cores of usual machines; each worker has hundreds of MiB, so a larger number is a
// mistake.
constexpr int kMaxWorkers = 256;

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad ", what));
}

bool ParseSeconds(absl::string_view text, absl::Duration* out) {
  double seconds;
  // The negation also refuses NaN. 1e9 seconds are 30 years: longer ones overflow sums of times.
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0 && seconds < 1e9)) return false;
  *out = absl::Seconds(seconds);
  return true;
}

bool ParseCount(absl::string_view text, int least, int* out) {
  return absl::SimpleAtoi(text, out) && *out >= least;
}

// Not argv[0]: with it a daemon started through PATH would not find its worker.
std::string OwnDirectory() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string exe(path, n > 0 ? n : 0);
  return exe.substr(0, exe.rfind('/'));
}

int Cores() {
  cpu_set_t set;
  // The cores that this process may use: in a container these are fewer than the machine's.
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Plain functions, so that the table is constant data.
using SetFlag = bool (*)(absl::string_view text, Flags* flags);

struct FlagRow {
  absl::string_view name;
  absl::string_view value;  // its name in the help; "": the flag takes no value
  absl::string_view help;
  SetFlag set;  // false for an invalid value
};

// One setter per type of member, so that most rows of the table are one line.
template <std::string Flags::* member>
bool SetText(absl::string_view text, Flags* flags) {
  flags->*member = std::string(text);
  return true;
}

template <int Flags::* member>
bool SetCount(absl::string_view text, Flags* flags) {
  return ParseCount(text, 1, &(flags->*member));
}

template <uint64_t Flags::* member>
bool SetBytes(absl::string_view text, Flags* flags) {
  return absl::SimpleAtoi(text, &(flags->*member));
}

template <absl::Duration Flags::* member>
bool SetSeconds(absl::string_view text, Flags* flags) {
  return ParseSeconds(text, &(flags->*member));
}

// In the order of the help. One table for parsing and help, which so cannot differ.
const FlagRow kFlags[] = {
    {"--config", "FILE", "the configuration; default: <home>/kilnd.conf, if it exists",
     [](absl::string_view, Flags*) { return true; }},  // already read
    {"--foreground", "",
     "stay in the foreground, log to standard error (default); notify a service manager at "
     "$NOTIFY_SOCKET of readiness and shutdown",
     [](absl::string_view, Flags* f) { return !(f->daemonize = false); }},
    {"--daemonize", "",
     "return once the socket accepts connections (status 0, also when another daemon of this "
     "home already does); the daemon continues, detached from the terminal",
     [](absl::string_view, Flags* f) { return f->daemonize = true; }},
    {"--take-over", "", "a running daemon of this home hands off to this one, drains and exits",
     [](absl::string_view, Flags* f) { return f->take_over = true; }},
    {"--home", "DIR", "KILN_HOME; default: environment, else ~/.cache/kiln", SetText<&Flags::home>},
    {"--bin", "DIR", "directory of kiln-worker and the fronts; default: KILN_BIN, else kilnd's own",
     SetText<&Flags::bin>},
    {"--worker", "PATH", "another worker binary", SetText<&Flags::worker>},
    {"--listen", "HOST:PORT",
     "also answer gRPC there; addresses other than loopback need certificates (`service` of the "
     "configuration)",
     [](absl::string_view text, Flags* f) {
       f->config.mutable_service()->set_listen(std::string(text));
       return IsHostAndPort(text);
     }},
    {"--web", "HOST:PORT",
     "serve metrics, health and, on loopback addresses, the dashboard over HTTP there",
     [](absl::string_view text, Flags* f) {
       f->config.mutable_web()->set_listen(std::string(text));
       return IsHostAndPort(text);
     }},
    {"--idle-exit", "SECONDS",
     "exit after this time without a request (1800, or 0 if it listens for other machines; 0: "
     "never)",
     SetSeconds<&Flags::idle_exit>},
    {"--workers", "N", "compiler processes (default: cores)",
     [](absl::string_view text, Flags* f) {
       return ParseCount(text, 1, &f->workers) && f->workers <= kMaxWorkers;
     }},
    {"--worker-jobs", "N",
     "jobs after which a worker is replaced (1000, or 100 with a signing key)",
     SetCount<&Flags::worker_jobs>},
    {"--job-seconds", "S", "wall clock for one compilation (KILN_JOB_SECONDS, else 120)",
     [](absl::string_view text, Flags* f) {
       return ParseSeconds(text, &f->job_limit) && f->job_limit > absl::ZeroDuration();
     }},
    {"--job-bytes", "N", "address space of a worker (4 GiB; 0: no limit)",
     SetBytes<&Flags::job_bytes>},
    {"--max-queue", "N", "compilations that may wait for a worker (128)",
     SetCount<&Flags::max_queue>},
    {"--max-connections", "N", "clients at once (512)", SetCount<&Flags::max_connections>},
    {"--cache-bytes", "N", "disk tier budget (KILN_CACHE_BYTES, else 2 GiB)",
     SetBytes<&Flags::cache_bytes>},
    {"--sync", "", "entries on disk survive a power cut",
     [](absl::string_view, Flags* f) {
       f->config.mutable_disk()->set_sync(true);
       return true;
     }},
    {"--signing-key", "FILE", "sign what our own workers compile (kiln key new)",
     [](absl::string_view text, Flags* f) {
       f->config.mutable_trust()->set_signing_key_file(std::string(text));
       return true;
     }},
    {"--trusted-keys", "FILE", "public keys whose signatures are trusted; repeatable",
     [](absl::string_view text, Flags* f) {
       f->config.mutable_trust()->add_key_file(std::string(text));
       return true;
     }},
    {"--accept-unsigned", "",
     "accept unsigned entries from outside: whoever can write to a shared tier can then run "
     "code here",
     [](absl::string_view, Flags* f) {
       f->config.mutable_trust()->set_accept_unsigned(true);
       return true;
     }},
    {"--allow-root", "", "answer other machines even as root; kilnd never needs root",
     [](absl::string_view, Flags* f) { return f->allow_root = true; }},
    {"--json", "", "log one JSON object per line",
     [](absl::string_view, Flags* f) {
       f->config.mutable_log()->set_json(true);
       return true;
     }},
    {"--check", "", "check the configuration and the keys, and exit",
     [](absl::string_view, Flags* f) { return f->check = true; }},
    {"--try", "", "contact each shared tier of the configuration once, report problems, and exit",
     [](absl::string_view, Flags* f) { return f->try_servers = true; }},
    {"--version", "", "print the version and exit",
     [](absl::string_view, Flags* f) { return f->version = true; }},
    {"--help", "", "print this help and exit",
     [](absl::string_view, Flags* f) { return f->help = true; }},
};

struct Argument {
  const FlagRow* flag;
  std::string value;
};

// `--name=value` and `--name value` are the same.
absl::StatusOr<std::vector<Argument>> Split(int argc, char** argv) {
  std::vector<Argument> arguments;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view text = argv[i];
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    // The whole name, no prefixes: a script with a shortened flag would break when another flag is
    // added.
    const auto* row = std::find_if(std::begin(kFlags), std::end(kFlags),
                                   [&](const FlagRow& r) { return r.name == parts.first; });
    if (row == std::end(kFlags)) return Bad(absl::StrCat("argument ", text, ": see --help"));
    const bool has_value = parts.first.size() != text.size();
    Argument argument{row, std::string(parts.second)};
    // `--check=false` would otherwise check, against what it says.
    if (row->value.empty() && has_value) {
      return Bad(absl::StrCat("argument ", text, ": ", row->name, " takes no value"));
    }
    if (!row->value.empty() && !has_value && i + 1 < argc) argument.value = argv[++i];
    // An empty value is almost always an unset variable of a shell script.
    if (!row->value.empty() && argument.value.empty()) {
      return Bad(absl::StrCat("argument ", text, ": ", row->name, "=", row->value, " expected"));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// The value of a flag; the last occurrence counts.
std::string ValueOf(absl::string_view name, const std::vector<Argument>& arguments) {
  std::string value;
  for (const Argument& argument : arguments) {
    if (argument.flag->name == name) value = argument.value;
  }
  return value;
}

// 0 is what an absent field of the configuration reads as, so it means the default.
template <typename Number, typename Member>
void TakeUnlessZero(Number number, Member* member) {
  if (number != 0) *member = static_cast<Member>(number);
}

// A named file must exist; the home's file is optional.
absl::Status ReadFile(const std::vector<Argument>& arguments, Flags* flags) {
  const std::string named = ValueOf("--config", arguments);
  std::string path = named;
  if (named.empty()) {
    const absl::StatusOr<Home> home = Home::Find(ValueOf("--home", arguments));
    if (!home.ok()) return absl::OkStatus();  // reported later
    // Checks the ownership before it reads anything.
    RETURN_IF_ERROR(home->CheckIsOwnWithCache());
    path = home->ConfigPath();
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
  const absl::Status good = CheckVariablesOfKilnd();
  if (!good.ok()) return Bad(good.message());
  if (const auto text = Variable("KILN_CACHE_BYTES"); text.has_value()) {
    SetBytes<&Flags::cache_bytes>(*text, flags);
  }
  if (const auto text = Variable("KILN_JOB_SECONDS"); text.has_value()) {
    SetSeconds<&Flags::job_limit>(*text, flags);
  }
  if (const auto text = Variable("KILN_BIN"); text.has_value()) flags->bin = *text;
  return absl::OkStatus();
}

// No unencrypted traffic leaves this machine, unless the configuration insists.
absl::Status CheckService(const proto::Service& service) {
  // One without the other would serve without TLS, although the user meant to use it.
  if (service.certificate_file().empty() != service.key_file().empty()) {
    return absl::InvalidArgumentError("service: certificate_file and key_file go together");
  }
  // Clients would then not be checked at all.
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

std::string FlagsHelp() {
  std::string text = "usage: kilnd [FLAG]...   also: kiln serve [FLAG]...\n\n";
  for (const FlagRow& row : kFlags) {
    const std::string name =
        row.value.empty() ? std::string(row.name) : absl::StrCat(row.name, "=", row.value);
    absl::StrAppend(&text, "  ", name, std::string(name.size() < 22 ? 24 - name.size() : 2, ' '),
                    row.help, "\n");
  }
  return text;
}

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  ASSIGN_OR_RETURN(const std::vector<Argument> arguments, Split(argc, argv));
  for (const Argument& argument : arguments) {
    flags.help |= argument.flag->name == "--help";
  }
  if (flags.help) return flags;  // whatever the configuration says
  // File, environment, command line: each overrides the one before.
  RETURN_IF_ERROR(ReadFile(arguments, &flags));
  RETURN_IF_ERROR(ReadEnvironment(&flags));
  for (const auto& [flag, value] : arguments) {
    if (!flag->set(value, &flags)) {
      return Bad(absl::StrCat("argument ", flag->name, "=", value, ": ", flag->value, " expected"));
    }
  }
  RETURN_IF_ERROR(CheckService(flags.config.service()));
  // A network server never exits on idle by default.
  if (!flags.config.service().listen().empty() && ValueOf("--idle-exit", arguments).empty()) {
    flags.idle_exit = absl::ZeroDuration();
  }
  if (flags.bin.empty()) flags.bin = OwnDirectory();
  if (!flags.config.service().listen().empty() &&
      access(flags.GrpcFrontPath().c_str(), X_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--listen needs ", flags.GrpcFrontPath(),
                                                   ", which cannot be run: ./kiln build makes it"));
  }
  if (!flags.config.web().listen().empty() && access(flags.WebFrontPath().c_str(), X_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--web needs ", flags.WebFrontPath(),
                                                   ", which cannot be run: ./kiln build makes it"));
  }
  if (flags.worker.empty()) flags.worker = ProgramIn(flags.bin, "kiln-worker");
  if (flags.workers == 0) flags.workers = Cores();
  return flags;
}

absl::Status CheckDescriptors(const Flags& flags) {
  // Connections are not counted: at the limit of descriptors they are refused one by one, but a
  // worker that cannot be started fails a compilation.
  const uint64_t needed = kOwnDescriptors + kDescriptorsOfWorker * flags.workers;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("only ", limit.rlim_cur, " files may be open at once (ulimit -n), and ", needed,
                   " are needed for ", flags.workers, " workers"));
}

absl::Status CheckUser(const Flags& flags) {
  if (geteuid() != 0 || flags.allow_root) return absl::OkStatus();
  // Loopback is allowed: containers often have no other user than root.
  for (const std::string& address :
       {flags.config.service().listen(), flags.config.web().listen()}) {
    if (address.empty() || IsLoopback(address)) continue;
    return absl::PermissionDeniedError(
        absl::StrCat("refuses to answer other machines (", address,
                     ") as root: start it as a user of its own, or with --allow-root"));
  }
  return absl::OkStatus();
}

}  // namespace kiln
