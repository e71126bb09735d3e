#include "client_cpp/session.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client_cpp/daemon_client.h"
#include "client_cpp/disk_tier.h"
#include "client_cpp/offline_cache.h"
#include "client_cpp/private_worker.h"
#include "client_cpp/spawn.h"
#include "lang/canonical.h"
#include "lang/compiler_id.h"
#include "lang/cpu_level.h"
#include "lang/entry.h"
#include "lang/home.h"
#include "lang/status_macros.h"

namespace kiln {
namespace {

// The server ends a job at its deadline and says so; this much longer we listen.
constexpr absl::Duration kDeadlineSlack = absl::Seconds(2);
constexpr absl::Duration kControlTimeout = absl::Seconds(10);
// After the daemon was found missing or hanging, the private worker serves this
// long before it is tried again.
constexpr absl::Duration kGiveUpFor = absl::Seconds(10);

bool HasErrors(const CompileOutcome& outcome) {
  for (const proto::Diagnostic& diagnostic : outcome.diagnostics) {
    if (diagnostic.severity() == proto::ERROR) return true;
  }
  return false;
}

// Reports need the compiler to run, whatever is cached.
bool WantsReport(const proto::ReportOptions& report) {
  return report.print_ir() || report.timing() || report.statistics();
}

// One compilation or fetch, which other callers of the same key wait for.
struct Instance {
  absl::Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::StatusOr<CompileOutcome> outcome ABSL_GUARDED_BY(mutex) = CompileOutcome();
};

// All that does not survive a fork; the child starts with a new one.
struct State {
  State(const Home& home, const SessionOptions& options)
      : pid(getpid()), daemon(home, options.bin_dir), worker(options.bin_dir) {}

  const pid_t pid;
  DaemonClient daemon;
  PrivateWorker worker;
  absl::Mutex mutex;
  absl::flat_hash_map<Digest, std::shared_ptr<Instance>> instances ABSL_GUARDED_BY(mutex);
  SessionStats stats ABSL_GUARDED_BY(mutex);
  // Empty until known: from the home's record, or from who compiled first.
  Digest compiler ABSL_GUARDED_BY(mutex);
  bool looked_for_compiler ABSL_GUARDED_BY(mutex) = false;
  absl::Time daemon_again ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
};

class LocalSession : public Session {
 public:
  LocalSession(Home home, SessionOptions options)
      : home_(std::move(home)),
        options_(std::move(options)),
        disk_(home_),
        state_(new State(home_, options_)) {}

  ~LocalSession() override {
    State* state = state_.load();
    // A forked child must not stop its parent's worker.
    if (state->pid == getpid()) delete state;
  }

  absl::StatusOr<CompileOutcome> Compile(proto::CompileUnit unit,
                                         const proto::SourceMap& source_map,
                                         const proto::ReportOptions& report) override;
  SessionStats stats() const override {
    State& state = Current();
    absl::MutexLock lock(&state.mutex);
    return state.stats;
  }
  const std::string& home() const override { return home_.dir(); }
  absl::StatusOr<proto::StatsReply> DaemonStats() override;
  absl::StatusOr<proto::ClearReply> ClearCache() override;
  absl::Status StopDaemon() override;

 private:
  struct Job {
    std::string canonical;
    const proto::SourceMap& source_map;
    const proto::ReportOptions& report;
    Digest compiler;  // as far as known
    Digest key;
  };

  State& Current() const;
  Digest CompilerId(State& state) const;
  absl::StatusOr<CompileOutcome> Obtain(State& state, const Job& job);
  absl::StatusOr<proto::CompileReply> Ask(State& state, const Job& job, Digest* compiler);
  absl::StatusOr<CompileOutcome> Take(State& state, const Job& job, proto::CompileReply reply,
                                      Digest compiler);
  void Count(State& state, const CompileOutcome& outcome) const;
  bool off() const { return options_.server == "off" || !options_.use_cache; }

  const Home home_;
  const SessionOptions options_;
  const DiskTier disk_;
  mutable std::atomic<State*> state_;
  mutable std::atomic<bool> warned_{false};
};

State& LocalSession::Current() const {
  State* state = state_.load(std::memory_order_acquire);
  if (state->pid == getpid()) return *state;
  // The old one is left alone: other threads of the parent may have held its locks.
  auto* fresh = new State(home_, options_);
  if (state_.compare_exchange_strong(state, fresh)) return *fresh;
  delete fresh;
  return *state;
}

Digest LocalSession::CompilerId(State& state) const {
  {
    absl::MutexLock lock(&state.mutex);
    if (state.looked_for_compiler) return state.compiler;
  }
  const std::string worker = options_.bin_dir + "/kiln-worker";
  if (off() && options_.use_cache) home_.Create().IgnoreError();
  // With a daemon, whoever compiles first says it; running the worker just to ask
  // would make a first start slower.
  auto id = off() && !options_.bin_dir.empty() ? GetCompilerId(home_.CompilerIdPath(), worker)
                                               : ReadCompilerId(home_.CompilerIdPath(), worker);
  absl::MutexLock lock(&state.mutex);
  state.looked_for_compiler = true;
  if (id.ok()) {
    state.compiler = *id;
    state.daemon.SetWantedCompiler(*id);
  }
  return state.compiler;
}

absl::StatusOr<CompileOutcome> LocalSession::Compile(proto::CompileUnit unit,
                                                     const proto::SourceMap& source_map,
                                                     const proto::ReportOptions& report) {
  const absl::Time start = absl::Now();
  State& state = Current();
  unit.mutable_target()->set_runtime_abi(RuntimeAbi());
  if (unit.target().device_case() == proto::Target::DEVICE_NOT_SET) {
    static const proto::CpuLevel host = HostCpuLevel();
    unit.mutable_target()->set_cpu(host);
  }
  Job job{CanonicalBytes(unit), source_map, report, CompilerId(state), {}};
  if (job.canonical.size() > kMaxUnitBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel too large: ", job.canonical.size(), " bytes"));
  }
  job.key = UnitKey(job.canonical, job.compiler);

  if (WantsReport(report)) {
    ASSIGN_OR_RETURN(CompileOutcome outcome, Obtain(state, job));
    outcome.wait_seconds = absl::ToDoubleSeconds(absl::Now() - start);
    Count(state, outcome);
    return outcome;
  }
  bool leads = false;
  std::shared_ptr<Instance> instance;
  {
    absl::MutexLock lock(&state.mutex);
    std::shared_ptr<Instance>& slot = state.instances[job.key];
    leads = slot == nullptr;
    if (leads) slot = std::make_shared<Instance>();
    instance = slot;
  }
  if (!leads) {
    absl::MutexLock lock(&instance->mutex);
    instance->mutex.Await(absl::Condition(&instance->done));
    absl::StatusOr<CompileOutcome> outcome = instance->outcome;
    if (outcome.ok()) {
      outcome->tier = "process";
      outcome->wait_seconds = absl::ToDoubleSeconds(absl::Now() - start);
    }
    return outcome;
  }
  absl::StatusOr<CompileOutcome> outcome = Obtain(state, job);
  if (outcome.ok()) {
    outcome->wait_seconds = absl::ToDoubleSeconds(absl::Now() - start);
    Count(state, *outcome);
  }
  if (!outcome.ok() || outcome->kernel == nullptr) {
    absl::MutexLock lock(&state.mutex);
    state.instances.erase(job.key);
  } else if (auto key = Digest::FromHex(outcome->digest); key.ok() && *key != job.key) {
    // The compiler's id became known, or another, meanwhile: next time that is the key.
    absl::MutexLock lock(&state.mutex);
    state.instances.emplace(*key, instance);
  }
  absl::MutexLock lock(&instance->mutex);
  instance->outcome = outcome;
  instance->done = true;
  return outcome;
}

absl::StatusOr<CompileOutcome> LocalSession::Obtain(State& state, const Job& job) {
  if (options_.use_cache && !job.compiler.empty() && !WantsReport(job.report)) {
    auto kernel = disk_.Load(job.key);
    if (kernel.ok()) {
      CompileOutcome outcome;
      outcome.kernel = *std::move(kernel);
      outcome.digest = job.key.Hex();
      outcome.tier = "disk";
      outcome.compile_seconds = outcome.kernel->info().compile_seconds();
      return outcome;
    }
  }
  Digest compiler = job.compiler;
  ASSIGN_OR_RETURN(proto::CompileReply reply, Ask(state, job, &compiler));
  return Take(state, job, std::move(reply), compiler);
}

absl::StatusOr<proto::CompileReply> LocalSession::Ask(State& state, const Job& job,
                                                      Digest* compiler) {
  proto::CompileRequest request;
  request.set_unit(job.canonical);
  *request.mutable_source_map() = job.source_map;
  *request.mutable_report() = job.report;
  request.set_deadline_ms(options_.compile_timeout_ms);
  request.set_name(job.source_map.kernel());
  const absl::Time deadline =
      absl::Now() + absl::Milliseconds(options_.compile_timeout_ms) + kDeadlineSlack;

  bool try_daemon = !off();
  if (try_daemon) {
    absl::MutexLock lock(&state.mutex);
    try_daemon = absl::Now() >= state.daemon_again;
  }
  if (try_daemon) {
    proto::CompileReply reply;
    absl::Status status = state.daemon.Call(FrameType::kCompile, request, FrameType::kCompileReply,
                                            &reply, deadline, compiler);
    if (status.ok()) return reply;
    const bool absent = absl::IsUnavailable(status) || absl::IsFailedPrecondition(status) ||
                        absl::IsPermissionDenied(status);
    if (!absent) return status;
    if (!warned_.exchange(true)) {
      std::fprintf(stderr, "kiln: %s; compiling without it\n",
                   std::string(status.message()).c_str());
    }
    {
      absl::MutexLock lock(&state.mutex);
      state.daemon_again = absl::Now() + kGiveUpFor;
    }
    // Nobody else is there to leave the record by which later processes find entries.
    if (job.compiler.empty() && !options_.bin_dir.empty()) {
      GetCompilerId(home_.CompilerIdPath(), options_.bin_dir + "/kiln-worker").IgnoreError();
    }
  }
  ASSIGN_OR_RETURN(proto::CompileReply reply, state.worker.Compile(request, deadline, compiler));
  if (options_.use_cache && !reply.entry().empty()) {
    ASSIGN_OR_RETURN(const Digest key, Digest::FromBytes(reply.digest()));
    disk_.Store(key, reply.entry());
  }
  return reply;
}

absl::StatusOr<CompileOutcome> LocalSession::Take(State& state, const Job& job,
                                                  proto::CompileReply reply, Digest compiler) {
  CompileOutcome outcome;
  outcome.tier = reply.tier();
  outcome.compile_seconds = reply.seconds();
  for (auto& diagnostic : *reply.mutable_diagnostics()) {
    outcome.diagnostics.push_back(std::move(diagnostic));
  }
  for (auto& stage : *reply.mutable_stages()) outcome.stages.push_back(std::move(stage));
  outcome.digest = job.key.Hex();
  if (reply.entry().empty()) {
    if (HasErrors(outcome)) return outcome;
    return absl::InternalError("the compiler made neither code nor a diagnostic");
  }
  auto entry = DecodeEntry(reply.entry());
  if (!entry.ok()) {
    return absl::InternalError(
        absl::StrCat("the compiler's reply is damaged: ", entry.status().message()));
  }
  // The compiler's files may have been replaced since its id was asked for: the entry
  // names the one that made it. Its key must follow from that and from what was asked.
  if (auto id = Digest::FromHex(entry->info.compiler()); id.ok()) compiler = *id;
  if (entry->key != UnitKey(job.canonical, compiler)) {
    return absl::InternalError("the compiler's reply is for another kernel");
  }
  outcome.digest = entry->key.Hex();
  ASSIGN_OR_RETURN(outcome.kernel, LoadedKernel::FromBytes(entry->payload, entry->info));
  if (outcome.compile_seconds == 0) outcome.compile_seconds = entry->info.compile_seconds();
  if (compiler != job.compiler) {
    absl::MutexLock lock(&state.mutex);
    state.compiler = compiler;
  }
  return outcome;
}

void LocalSession::Count(State& state, const CompileOutcome& outcome) const {
  absl::MutexLock lock(&state.mutex);
  const bool compiled = outcome.tier == "compiled";
  ++(compiled ? state.stats.misses : state.stats.hits);
  if (outcome.kernel != nullptr) ++state.stats.kernels;
  if (!compiled && outcome.compile_seconds > outcome.wait_seconds) {
    state.stats.seconds_saved += outcome.compile_seconds - outcome.wait_seconds;
  }
}

absl::StatusOr<proto::StatsReply> LocalSession::DaemonStats() {
  proto::StatsReply reply;
  absl::Status status =
      Current().daemon.CallIfRunning(FrameType::kStats, proto::StatsRequest(),
                                     FrameType::kStatsReply, &reply, absl::Now() + kControlTimeout);
  return status.ok() ? reply : OfflineStats(home_);
}

absl::StatusOr<proto::ClearReply> LocalSession::ClearCache() {
  proto::ClearReply reply;
  absl::Status status =
      Current().daemon.CallIfRunning(FrameType::kClear, proto::ClearRequest(),
                                     FrameType::kClearReply, &reply, absl::Now() + kControlTimeout);
  return status.ok() ? reply : OfflineClear(home_);
}

absl::Status LocalSession::StopDaemon() {
  proto::ShutdownReply reply;
  absl::Status status = Current().daemon.CallIfRunning(
      FrameType::kShutdown, proto::ShutdownRequest(), FrameType::kShutdownReply, &reply,
      absl::Now() + kControlTimeout);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Session>> Session::Create(const SessionOptions& given) {
  SessionOptions options = given;
  if (options.server.empty()) {
    if (const char* server = std::getenv("KILN_SERVER"); server != nullptr) {
      options.server = server;
    }
  }
  if (!options.server.empty() && options.server != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("KILN_SERVER=", options.server,
                     ": only the local daemon (unset) and a private worker (off) are known"));
  }
  ASSIGN_OR_RETURN(Home home, Home::Find(options.home));
  options.bin_dir = FindBinDir(options.bin_dir);
  return std::shared_ptr<Session>(std::make_shared<LocalSession>(std::move(home), options));
}

}  // namespace kiln
