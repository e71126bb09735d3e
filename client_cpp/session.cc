#include "client_cpp/session.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "client_cpp/daemon_client.h"
#include "client_cpp/devices.h"
#include "client_cpp/disk_tier.h"
#include "client_cpp/entry_trust.h"
#include "client_cpp/loaded_artifact.h"
#include "client_cpp/manifest_recorder.h"
#include "client_cpp/mutex.h"
#include "client_cpp/offline_cache.h"
#include "client_cpp/private_worker.h"
#include "client_cpp/recorded_kernel.h"
#include "client_cpp/spawn.h"
#include "client_cpp/upstream.h"
#include "common/artifact/compiler_id.h"
#include "common/artifact/cuda_toolkit.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "common/artifact/user_keys.h"
#include "common/base/clock.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"
#include "common/home/home.h"
#include "common/home/programs.h"
#include "common/home/variables.h"
#include "common/unit/canonical.h"
#include "common/unit/math_library.h"
#include "common/wire/error_detail.h"
#include "common/wire/trace_context.h"
#include "runtime/cpu/glibc.h"
#include "runtime/cpu_device.h"

namespace kiln {
namespace {

// The server ends a job at its deadline and reports that. The client waits this much longer.
constexpr absl::Duration kDeadlineSlack = absl::Seconds(2);
// For requests without a compilation: a daemon that takes longer hangs.
constexpr absl::Duration kControlTimeout = absl::Seconds(10);
// The approximate limit on the bytes that Prefetch keeps.
// A program may name thousands of kernels, and use few of them.
constexpr size_t kMaxPrefetchBytes = size_t{64} << 20;

// The parent span of this process's requests: $TRACEPARENT (W3C Trace Context for processes), or
// the beginning of a new trace.
const std::string& ParentSpan() {
  static FirstUse<std::string> span;
  return span.Get([] {
    const char* given = std::getenv("TRACEPARENT");
    return NewSpan(given == nullptr ? "" : given);
  });
}

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

// Completes the target of `unit` for machines with glibc 2.`glibc`; the host, if it names no
// device.
void FillTarget(const proto::CompileUnit& unit, uint32_t glibc, proto::Target* target) {
  if (target->device_case() == proto::Target::DEVICE_NOT_SET) {
    SetTarget(CpuDevice().target(), target);
  }
  target->set_runtime_abi(AbiFor(TargetOf(*target).device()));
  // Code for other devices calls nothing of the host's.
  if (target->has_cpu()) target->set_glibc(GlibcFor(unit, glibc));
}

// Clears the options that change no code for the target: they must not make another key. Returns
// whether there were some.
bool ClearIdleOptions(const proto::Target& target, proto::CompileUnit* unit) {
  if (target.has_cuda() || !unit->options().deterministic()) return false;
  unit->mutable_options()->clear_deterministic();
  return true;
}

absl::Status CheckSize(const std::string& canonical) {
  if (canonical.size() <= kMaxUnitBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kernel too large: ", canonical.size(), " bytes"));
}

// One compilation or fetch. Other callers with the same key wait for it.
struct Flight {
  Mutex mutex;
  std::condition_variable_any is_done;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::StatusOr<CompileOutcome> outcome ABSL_GUARDED_BY(mutex) = CompileOutcome();
};

bool NamesUpstream(const SessionOptions& options) {
  return !options.server.empty() && options.server != "off";
}

// The fields of each greeting to the daemon. They contain this program's upstream and trusted keys,
// because another program, with another environment, may have started the daemon.
proto::Hello WishesOf(const Home& home, const SessionOptions& options) {
  proto::Hello hello;
  if (!NamesUpstream(options)) return hello;
  *hello.mutable_upstream() = *ParseUpstream(options.server);  // Create has checked it
  // If the keys cannot be read, the check of a signature reports it.
  if (const absl::StatusOr<TrustedKeys> keys = ReadUserKeys(home); keys.ok()) {
    for (const std::string& line : keys->Lines()) hello.mutable_upstream()->add_trusted_key(line);
  }
  hello.set_upstream_required(options.strict);
  return hello;
}

// N of the glibc 2.N of the machines that run the kernels: $KILN_GLIBC, else this machine.
absl::StatusOr<uint32_t> WantedGlibc() {
  const char* given = std::getenv("KILN_GLIBC");
  if (given == nullptr || *given == '\0') return HostGlibc();
  if (const std::optional<uint32_t> minor = ParseGlibc(given); minor.has_value()) return *minor;
  return absl::InvalidArgumentError(
      absl::StrCat("KILN_GLIBC=", given, ": expected a version such as 2.31"));
}

// A kernel in the process's own table. Code for CUDA is loaded for one of the devices; null: code
// for CPUs.
using Slot = std::pair<Key, const Device*>;

// The state that does not survive a fork; a child starts with a new one.
struct State {
  State(const Home& home, const SessionOptions& options)
      : pid(getpid()),
        daemon(home, options.bin_dir, WishesOf(home, options)),
        worker(options.bin_dir) {}

  const pid_t pid;
  const State* parents = nullptr;  // in a forked child: the parent's state, unused but not leaked
  DaemonClient daemon;
  PrivateWorker worker;
  Mutex mutex;
  absl::flat_hash_map<Slot, std::shared_ptr<Flight>> flights ABSL_GUARDED_BY(mutex);
  // Entries that Prefetch received and that are not used yet.
  absl::flat_hash_map<Key, proto::LookupReply::Result> prefetched ABSL_GUARDED_BY(mutex);
  SessionStats stats ABSL_GUARDED_BY(mutex);
  // Empty until known: from the home's record, or from the first compilation.
  CompilerIds compiler ABSL_GUARDED_BY(mutex);
  bool looked_for_compiler ABSL_GUARDED_BY(mutex) = false;
};

class LocalSession : public Session {
 public:
  LocalSession(Home home, SessionOptions options)
      : home_(std::move(home)),
        own_home_(home_.CheckIsOwn()),
        own_cache_(home_.CheckIsOwnWithCache()),
        options_(std::move(options)),
        trust_(home_),
        disk_(home_, &trust_, {options_.read_only || !own_home_.ok(), !own_cache_.ok()}),
        manifest_(options_.records_manifest ? ManifestRecorder::OfProcess() : nullptr),
        state_(new State(home_, options_)) {}

  ~LocalSession() override {
    State* state = state_.load();
    // A forked child must not stop its parent's worker.
    // In a child, locks of the state may be held by threads that do not exist there.
    if (state->pid == getpid()) delete state;
  }

  absl::StatusOr<CompileOutcome> Compile(proto::CompileUnit unit,
                                         const proto::SourceMap& source_map,
                                         const proto::ReportOptions& report) override;
  absl::StatusOr<CompileOutcome> Fetch(const Key& key) override;
  int Prefetch(absl::Span<const Key> keys) override;
  absl::StatusOr<CompileOutcome> Warm(const proto::CompileRequest& recorded,
                                      Target target) override;
  absl::StatusOr<EntryOutcome> FetchEntry(proto::CompileUnit unit,
                                          const proto::SourceMap& source_map) override;
  absl::StatusOr<proto::LinkReply> Link(proto::LinkRequest request) override;
  CompilerIds compiler() override { return CompilerId(Current()); }
  uint32_t glibc() const override { return options_.glibc; }
  SessionStats stats() const override {
    State& state = Current();
    MutexLock lock(&state.mutex);
    return state.stats;
  }
  const std::string& home() const override { return home_.dir(); }
  bool read_only() const override { return options_.read_only || !own_home_.ok(); }
  const absl::Status& own_home() const override { return own_home_; }
  absl::StatusOr<proto::StatsReply> DaemonStats() override;
  absl::StatusOr<proto::MetricsReply> DaemonMetrics() override;
  absl::StatusOr<proto::RecentReply> DaemonRecent(const proto::RecentRequest& request) override;
  absl::StatusOr<proto::ClearReply> ClearCache() override;
  absl::Status StopDaemon() override;

 private:
  struct Job {
    const std::string& canonical;
    const proto::SourceMap& source_map;
    const proto::ReportOptions& report;
    CompilerIds compiler;  // empty if unknown
    Key key;
    Device* cuda = nullptr;  // for LoadBytes
    bool load = true;        // false: only make the entry
    proto::Priority priority = proto::PRIORITY_INTERACTIVE;
  };

  using Obtainer = absl::FunctionRef<absl::StatusOr<CompileOutcome>()>;

  absl::StatusOr<CompileOutcome> Get(State& state, Job job, absl::Time start);
  State& Current() const;
  CompilerIds CompilerId(State& state) const;
  static absl::StatusOr<CompileOutcome> Await(Flight& flight, absl::Time start);
  absl::StatusOr<CompileOutcome> Shared(State& state, const Slot& slot, Obtainer obtain);
  absl::StatusOr<CompileOutcome> Obtain(State& state, const Job& job);
  absl::StatusOr<CompileOutcome> Find(State& state, const Key& key, bool ask, Device* cuda);
  absl::StatusOr<proto::LookupReply::Result> FindSent(State& state, const Key& key, bool ask);
  absl::StatusOr<EntryView> CheckSent(const std::string& bytes, const Key& key) const;
  absl::StatusOr<EntryOutcome> FindEntry(State& state, const Key& key);
  absl::StatusOr<proto::LookupReply> Lookup(State& state, absl::Span<const Key> keys);
  absl::Status CheckKeeps(absl::string_view what) const;
  bool TryDaemon(State& state) const;
  bool GiveUpDaemon(State& state, const absl::Status& why) const;
  absl::Status WithoutStranger(const absl::Status& refusal, const Digest& its_compiler) const;
  absl::Status CheckWorksAlone(const absl::Status& why) const;
  absl::Time Deadline() const;
  void SayWhoseHome() const;
  void SayFallback(const std::string& why) const;
  absl::StatusOr<proto::CompileReply> Ask(State& state, const Job& job, CompilerIds* compiler);
  absl::StatusOr<CompileOutcome> Take(State& state, const Job& job, proto::CompileReply reply,
                                      CompilerIds compiler);
  void Count(State& state, const CompileOutcome& outcome) const;
  // Whether the user chose to use no daemon. A daemon would write to the home, so a read-only
  // session also uses none.
  bool wants_none() const {
    return options_.server == "off" || !options_.use_cache || options_.read_only;
  }
  // The same, or others can write to the home, which no daemon serves.
  bool off() const { return wants_none() || !own_cache_.ok(); }

  const Home home_;
  const absl::Status own_home_;
  const absl::Status own_cache_;  // own_home_, if that is an error
  const SessionOptions options_;
  const EntryTrust trust_;
  const DiskTier disk_;
  ManifestRecorder* const manifest_;  // or nullptr
  mutable std::atomic<State*> state_;
  mutable std::atomic<bool> warned_{false};
  mutable std::atomic<bool> warned_of_home_{false};
  mutable std::atomic<bool> warned_of_upstream_{false};
};

State& LocalSession::Current() const {
  State* state = state_.load(std::memory_order_acquire);
  if (state->pid == getpid()) return *state;
  // Do not touch the old state: other threads of the parent may have held its locks.
  auto* fresh = new State(home_, options_);
  fresh->parents = state;
  // Several threads of the child may come here at once; one state wins.
  if (state_.compare_exchange_strong(state, fresh)) return *fresh;
  delete fresh;
  return *state;
}

CompilerIds LocalSession::CompilerId(State& state) const {
  {
    MutexLock lock(&state.mutex);
    // Once per process: an id that changes later is found by the reply's entry (Take).
    if (state.looked_for_compiler) return state.compiler;
  }
  SayWhoseHome();
  const std::string worker = ProgramIn(options_.bin_dir, "kiln-worker");
  // Without a daemon, this process writes the record, and needs the directory for it.
  if (off() && options_.use_cache && !read_only()) home_.Create().IgnoreError();
  // Otherwise the daemon's first compilation reports it; running the worker just to ask would slow
  // down the first start.
  // The daemon's workers have the daemon's toolkit.
  const std::string toolkit = off() ? CudaToolkit() : "";
  absl::StatusOr<CompilerIds> id = own_home_.ok()
                                       ? ReadCompilerId(home_.CompilerIdPath(), worker, toolkit)
                                       : absl::StatusOr<CompilerIds>(own_home_);
  if (!id.ok() && off() && !options_.bin_dir.empty()) {
    if (read_only()) {
      auto asked = AskCompilerId(worker);
      if (asked.ok()) id = asked->ids;
    } else {
      id = GetCompilerId(home_.CompilerIdPath(), worker);
    }
  }
  MutexLock lock(&state.mutex);
  state.looked_for_compiler = true;
  if (id.ok()) {
    state.compiler = *id;
    state.daemon.SetWantedCompiler(id->cpu);
  }
  return state.compiler;
}

absl::StatusOr<CompileOutcome> LocalSession::Compile(proto::CompileUnit unit,
                                                     const proto::SourceMap& source_map,
                                                     const proto::ReportOptions& report) {
  const absl::Time start = SteadyNow();
  State& state = Current();
  proto::Target target = std::move(*unit.mutable_target());
  unit.clear_target();
  // Without the target: a bundle's manifest names the target beside it, and `kiln warm` may choose
  // others.
  std::string recorded = CanonicalBytes(unit);
  Manifest::Unit used;
  if (const Target asked = TargetOf(target); !asked.empty()) used.target = asked.text();
  FillTarget(unit, options_.glibc, &target);
  const bool cleared = ClearIdleOptions(target, &unit);
  const std::string canonical = WithTarget(cleared ? CanonicalBytes(unit) : recorded, target, unit);
  Job job{canonical, source_map, report, CompilerId(state), {}};
  // While the compiler works, the program may choose another. Without one, loading says why.
  if (target.has_cuda()) job.cuda = DeviceFor(Target::Device::kCuda).value_or(nullptr);
  ASSIGN_OR_RETURN(CompileOutcome outcome, Get(state, job, start));
  // A kernel with errors is not recorded: a warm-up could only fail on it again.
  if (outcome.kernel == nullptr || (manifest_ == nullptr && !options_.returns_recorded)) {
    return outcome;
  }
  recorded = RecordedKernel(std::move(recorded), source_map);
  if (manifest_ != nullptr) {
    used.key = outcome.digest;
    used.kernel = source_map.kernel();
    manifest_->Add(std::move(used), recorded, compiler().cpu);
  }
  if (options_.returns_recorded) outcome.recorded = std::move(recorded);
  return outcome;
}

absl::StatusOr<CompileOutcome> LocalSession::Get(State& state, Job job, absl::Time start) {
  RETURN_IF_ERROR(CheckSize(job.canonical));
  job.key = UnitKey(job.canonical, job.compiler);
  // Reports are this caller's, so such a compilation is shared with no other thread.
  if (!WantsReport(job.report)) {
    return Shared(state, {job.key, job.cuda}, [&] { return Obtain(state, job); });
  }
  ASSIGN_OR_RETURN(CompileOutcome outcome, Obtain(state, job));
  outcome.wait_seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  Count(state, outcome);
  return outcome;
}

// Waits for the result of another thread, which has it or is working on it.
absl::StatusOr<CompileOutcome> LocalSession::Await(Flight& flight, absl::Time start) {
  MutexLock lock(&flight.mutex);
  while (!flight.done) flight.is_done.wait(flight.mutex);
  absl::StatusOr<CompileOutcome> outcome = flight.outcome;
  if (outcome.ok()) {
    // The thread did not get the entry itself; it is a hit of this process's own table.
    outcome->tier = "process";
    outcome->wait_seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  }
  return outcome;
}

// Makes one of several concurrent callers for a key obtain the entry, while the others wait.
absl::StatusOr<CompileOutcome> LocalSession::Shared(State& state, const Slot& slot,
                                                    Obtainer obtain) {
  const absl::Time start = SteadyNow();
  bool leads = false;
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(&state.mutex);
    std::shared_ptr<Flight>& known = state.flights[slot];
    leads = known == nullptr;
    if (leads) known = std::make_shared<Flight>();
    flight = known;
  }
  if (!leads) return Await(*flight, start);
  absl::StatusOr<CompileOutcome> outcome = obtain();
  if (outcome.ok()) {
    outcome->wait_seconds = absl::ToDoubleSeconds(SteadyNow() - start);
    Count(state, *outcome);
  }
  if (!outcome.ok() || outcome->kernel == nullptr) {
    MutexLock lock(&state.mutex);
    // Failures are not kept: the next call tries again, perhaps with a daemon.
    state.flights.erase(slot);
  } else if (auto made = Key::FromHex(outcome->digest); made.ok() && *made != slot.first) {
    // Meanwhile the compiler's id became known or changed: the next key contains the new id.
    MutexLock lock(&state.mutex);
    state.flights.emplace(Slot(*made, slot.second), flight);
  }
  MutexLock lock(&flight->mutex);
  flight->outcome = outcome;
  // Only the caller that compiled gets the stage reports; copying them would be most of a hit's
  // cost.
  if (outcome.ok()) flight->outcome->stages.clear();
  flight->done = true;
  flight->is_done.notify_all();
  return outcome;
}

absl::StatusOr<CompileOutcome> LocalSession::Obtain(State& state, const Job& job) {
  // Without the compiler's id there is no key to look for. The reply will bring it.
  if (options_.use_cache && !job.compiler.empty() && !WantsReport(job.report)) {
    // Sends the whole unit only if no cache has the entry.
    absl::StatusOr<CompileOutcome> found = Find(state, job.key, /*ask=*/!off(), job.cuda);
    // Any other failure is a miss. Cancelled is the user's Ctrl-C, which must not start a
    // compilation.
    if (found.ok() || absl::IsCancelled(found.status())) return found;
  }
  CompilerIds compiler = job.compiler;
  ASSIGN_OR_RETURN(proto::CompileReply reply, Ask(state, job, &compiler));
  return Take(state, job, std::move(reply), compiler);
}

absl::StatusOr<CompileOutcome> LocalSession::Fetch(const Key& key) {
  State& state = Current();
  if (!options_.use_cache) return absl::NotFoundError("this session uses no cache");
  const absl::Time start = SteadyNow();
  Device* const cuda = CudaDeviceInUse();
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(&state.mutex);
    auto at = state.flights.find(Slot(key, nullptr));
    if (at == state.flights.end()) at = state.flights.find(Slot(key, cuda));
    if (at != state.flights.end()) flight = at->second;
  }
  if (flight != nullptr) return Await(*flight, start);
  // Not published in the table until it is found: a compiling thread must not wait for a look-up
  // that may miss.
  ASSIGN_OR_RETURN(CompileOutcome outcome, Find(state, key, /*ask=*/!off(), cuda));
  outcome.wait_seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  Count(state, outcome);
  flight = std::make_shared<Flight>();
  {
    MutexLock lock(&flight->mutex);
    flight->outcome = outcome;
    flight->done = true;
  }
  MutexLock lock(&state.mutex);
  state.flights.emplace(Slot(key, outcome.kernel->device()), std::move(flight));
  return outcome;
}

// Finds an existing entry: on disk, among the prefetched or, if `ask`, at the daemon. NotFound for
// any failure.
absl::StatusOr<CompileOutcome> LocalSession::Find(State& state, const Key& key, bool ask,
                                                  Device* cuda) {
  CompileOutcome outcome;
  outcome.digest = key.Hex();
  outcome.tier = "disk";
  auto loaded = disk_.Load(key, cuda);
  if (!loaded.ok()) {
    ASSIGN_OR_RETURN(const proto::LookupReply::Result result, FindSent(state, key, ask));
    ASSIGN_OR_RETURN(const EntryView entry, CheckSent(result.entry(), key));
    outcome.tier = result.tier();
    loaded = disk_.LoadSent(result.entry(), entry, cuda);
  }
  if (!loaded.ok()) return absl::NotFoundError(loaded.status().message());
  outcome.kernel = std::move(loaded->kernel);
  outcome.info = std::move(loaded->info);
  outcome.compile_seconds = outcome.info->compile_seconds();
  return outcome;
}

// What the daemon has sent of `key`: among the prefetched or, if `ask`, now. NotFound if nothing.
absl::StatusOr<proto::LookupReply::Result> LocalSession::FindSent(State& state, const Key& key,
                                                                  bool ask) {
  proto::LookupReply::Result result;
  {
    MutexLock lock(&state.mutex);
    if (auto at = state.prefetched.find(key); at != state.prefetched.end()) {
      result = std::move(at->second);
      state.prefetched.erase(at);
    }
  }
  if (!result.found() && ask) {
    ASSIGN_OR_RETURN(proto::LookupReply reply, Lookup(state, {key}));
    if (reply.results_size() == 1) result = std::move(*reply.mutable_results(0));
  }
  if (!result.found()) return absl::NotFoundError("no such entry");
  return result;
}

absl::StatusOr<EntryView> LocalSession::CheckSent(const std::string& bytes, const Key& key) const {
  ASSIGN_OR_RETURN(EntryView entry, DecodeEntry(bytes, &key));
  // The daemon checked it too, but by its own configuration.
  if (trust_.required()) RETURN_IF_ERROR(trust_.Check(entry));
  return entry;
}

int LocalSession::Prefetch(absl::Span<const Key> keys) {
  State& state = Current();
  if (off()) return 0;
  absl::flat_hash_set<Key> seen;
  std::vector<Key> missing;
  for (const Key& key : keys) {
    // Whether the file is good shows when it is loaded; asking for it twice costs more than a rare
    // miss.
    if (seen.insert(key).second && access(home_.EntryPath(PlaceOf(key)).c_str(), R_OK) != 0) {
      missing.push_back(key);
    }
  }
  int found = 0;
  size_t bytes = 0;
  // A full reply omits the remaining entries; request these again.
  while (!missing.empty() && bytes < kMaxPrefetchBytes) {
    absl::StatusOr<proto::LookupReply> reply = Lookup(state, missing);
    if (!reply.ok() || reply->results_size() != static_cast<int>(missing.size())) break;
    std::vector<Key> left_out;
    const int before = found;
    MutexLock lock(&state.mutex);
    for (int i = 0; i < reply->results_size(); ++i) {
      proto::LookupReply::Result& result = *reply->mutable_results(i);
      if (result.left_out()) left_out.push_back(missing[i]);
      if (!result.found()) continue;
      ++found;
      bytes += result.entry().size();
      // Kept as bytes: most are loaded later, some never.
      state.prefetched[missing[i]] = std::move(result);
    }
    if (found == before) break;  // no progress, so another request would not help
    missing = std::move(left_out);
  }
  return found;
}

absl::StatusOr<CompileOutcome> LocalSession::Warm(const proto::CompileRequest& recorded,
                                                  Target target) {
  const absl::Time start = SteadyNow();
  State& state = Current();
  const bool wants_report = WantsReport(recorded.report());
  if (!wants_report) RETURN_IF_ERROR(CheckKeeps("nothing can be added to the cache"));
  ASSIGN_OR_RETURN(proto::CompileUnit unit, ParseCanonical(recorded.unit()));
  SetTarget(target, unit.mutable_target());
  FillTarget(unit, options_.glibc, unit.mutable_target());
  ClearIdleOptions(unit.target(), &unit);
  const std::string canonical = CanonicalBytes(unit);
  Job job{canonical, recorded.source_map(), recorded.report(), CompilerId(state), {}};
  // A warm-up may be for another target, whose code this machine cannot load.
  job.load = false;
  // Nothing waits for it, so programs go first.
  job.priority = proto::PRIORITY_WARM;
  job.key = UnitKey(job.canonical, job.compiler);
  CompileOutcome outcome;
  auto known = job.compiler.empty() || wants_report || !options_.use_cache
                   ? absl::NotFoundError("not looked for")
                   : disk_.Check(job.key);
  if (known.ok()) {
    outcome.digest = job.key.Hex();
    outcome.tier = "disk";
    outcome.compile_seconds = known->compile_seconds();
    // A warm-up counts as a use: entries that it names must not be evicted first.
    disk_.Touch(job.key);
  } else {
    CompilerIds compiler = job.compiler;
    ASSIGN_OR_RETURN(proto::CompileReply reply, Ask(state, job, &compiler));
    ASSIGN_OR_RETURN(outcome, Take(state, job, std::move(reply), compiler));
  }
  outcome.wait_seconds = absl::ToDoubleSeconds(SteadyNow() - start);
  return outcome;
}

absl::StatusOr<EntryOutcome> LocalSession::FetchEntry(proto::CompileUnit unit,
                                                      const proto::SourceMap& source_map) {
  State& state = Current();
  const uint32_t glibc = unit.target().glibc() != 0 ? unit.target().glibc() : options_.glibc;
  FillTarget(unit, glibc, unit.mutable_target());
  ClearIdleOptions(unit.target(), &unit);
  const std::string canonical = CanonicalBytes(unit);
  RETURN_IF_ERROR(CheckSize(canonical));
  const proto::ReportOptions no_report;
  Job job{canonical, source_map, no_report, CompilerId(state), {}};
  job.load = false;
  job.key = UnitKey(canonical, job.compiler);
  if (options_.use_cache && !job.compiler.empty()) {
    absl::StatusOr<EntryOutcome> found = FindEntry(state, job.key);
    // As in Obtain: only Ctrl-C is not a miss.
    if (found.ok() || absl::IsCancelled(found.status())) return found;
  }
  CompilerIds compiler = job.compiler;
  ASSIGN_OR_RETURN(proto::CompileReply reply, Ask(state, job, &compiler));
  EntryOutcome outcome;
  outcome.entry = reply.entry();
  // Checks that it is the entry of this unit.
  ASSIGN_OR_RETURN(CompileOutcome taken, Take(state, job, std::move(reply), compiler));
  outcome.diagnostics = std::move(taken.diagnostics);
  outcome.tier = std::move(taken.tier);
  return outcome;
}

// Finds an existing entry like Find, and loads nothing.
absl::StatusOr<EntryOutcome> LocalSession::FindEntry(State& state, const Key& key) {
  EntryOutcome outcome;
  if (auto read = disk_.Read(key); read.ok()) {
    outcome.entry = *std::move(read);
    outcome.tier = "disk";
    return outcome;
  }
  ASSIGN_OR_RETURN(proto::LookupReply::Result result, FindSent(state, key, /*ask=*/!off()));
  RETURN_IF_ERROR(CheckSent(result.entry(), key).status());
  outcome.entry = std::move(*result.mutable_entry());
  outcome.tier = result.tier();
  return outcome;
}

absl::StatusOr<proto::LinkReply> LocalSession::Link(proto::LinkRequest request) {
  State& state = Current();
  request.set_deadline_ms(options_.compile_timeout_ms);
  const absl::Time deadline = Deadline();
  absl::Status status = state.daemon.given_up();
  if (TryDaemon(state)) {
    proto::LinkReply reply;
    CompilerIds compiler;
    status = state.daemon.Call(FrameType::kLink, request, FrameType::kLinkReply, &reply, deadline,
                               &compiler);
    // Also a daemon that knows no link jobs.
    status = WithoutStranger(status, compiler.cpu);
    if (status.ok()) return reply;
    if (!GiveUpDaemon(state, status)) return status;
  }
  RETURN_IF_ERROR(CheckWorksAlone(status));
  return state.worker.Link(request, deadline);
}

absl::StatusOr<proto::LookupReply> LocalSession::Lookup(State& state, absl::Span<const Key> keys) {
  if (!TryDaemon(state)) return absl::UnavailableError(state.daemon.given_up().message());
  proto::LookupRequest request;
  for (const Key& key : keys) request.add_digests(std::string(key.view()));
  proto::LookupReply reply;
  absl::Status status = state.daemon.Call(FrameType::kLookup, request, FrameType::kLookupReply,
                                          &reply, SteadyNow() + kControlTimeout);
  if (status.ok()) return reply;
  GiveUpDaemon(state, status);
  return status;
}

// FailedPrecondition, with `what` and the reason, if this session may not change the cache.
absl::Status LocalSession::CheckKeeps(absl::string_view what) const {
  if (!own_cache_.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": ", own_cache_.message()));
  }
  if (!options_.read_only) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what, ": it is read-only"));
}

bool LocalSession::TryDaemon(State& state) const { return !off() && state.daemon.Usable(); }

// Returns whether `why` means that the daemon is unavailable. If so, opens the breaker, and warns
// the first time.
bool LocalSession::GiveUpDaemon(State& state, const absl::Status& why) const {
  const bool absent =
      absl::IsUnavailable(why) || absl::IsFailedPrecondition(why) || absl::IsPermissionDenied(why);
  if (!absent) return false;
  // From here on calls do not wait for it, until the breaker tries again.
  state.daemon.GiveUp(why);
  if (!options_.strict && !warned_.exchange(true)) {
    std::fprintf(stderr, "kiln: compiling without a daemon for now: %s\n",
                 std::string(why.message()).c_str());
  }
  return true;
}

// A daemon of another build may not understand this build's messages, and refuse them as unknown.
// Then this process continues without a daemon; otherwise returns `refusal`.
absl::Status LocalSession::WithoutStranger(const absl::Status& refusal,
                                           const Digest& its_compiler) const {
  // Starting a worker to ask for its id takes long, so only this refusal leads there.
  if (!absl::IsInvalidArgument(refusal)) return refusal;
  const auto own = AskCompilerId(ProgramIn(options_.bin_dir, "kiln-worker"));
  if (!own.ok() || own->ids.cpu == its_compiler) return refusal;
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon is of another build of Kiln: ", refusal.message(), "; kiln stop ends it"));
}

// Of a request that may compile.
absl::Time LocalSession::Deadline() const {
  return SteadyNow() + absl::Milliseconds(options_.compile_timeout_ms) + kDeadlineSlack;
}

// OK if a private worker may do what the daemon did not. `why`: the daemon's failure.
absl::Status LocalSession::CheckWorksAlone(const absl::Status& why) const {
  // A deliberate choice of no daemon is not a failure of one.
  if (!options_.strict || wants_none()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "no daemon, and KILN_STRICT=1: ", own_cache_.ok() ? why.message() : own_cache_.message()));
}

// Reports once that the home is not own. A read-only session of an own home needs no report.
void LocalSession::SayWhoseHome() const {
  if (own_cache_.ok() || options_.strict || !options_.use_cache) return;
  if (options_.read_only && own_home_.ok()) return;
  if (warned_of_home_.exchange(true)) return;
  std::fprintf(stderr, "kiln: using only signed entries of %s, storing nothing there: %s\n",
               home_.dir().c_str(), std::string(own_cache_.message()).c_str());
}

// Reports once why the kilnd that the user named is not used.
void LocalSession::SayFallback(const std::string& why) const {
  if (why.empty() || !NamesUpstream(options_) || warned_of_upstream_.exchange(true)) return;
  std::fprintf(stderr, "kiln: KILN_SERVER=%s: %s; compiling without it for now\n",
               options_.server.c_str(), why.c_str());
}

absl::StatusOr<proto::CompileReply> LocalSession::Ask(State& state, const Job& job,
                                                      CompilerIds* compiler) {
  proto::CompileRequest request;
  request.set_unit(job.canonical);
  *request.mutable_source_map() = job.source_map;
  *request.mutable_report() = job.report;
  request.set_deadline_ms(options_.compile_timeout_ms);
  request.set_name(job.source_map.kernel());
  request.set_traceparent(NewSpan(ParentSpan()));
  request.set_priority(job.priority);
  const absl::Time deadline = Deadline();

  absl::Status status = state.daemon.given_up();
  if (TryDaemon(state)) {
    proto::CompileReply reply;
    status = state.daemon.Call(FrameType::kCompile, request, FrameType::kCompileReply, &reply,
                               deadline, compiler);
    status = WithoutStranger(status, compiler->cpu);
    if (PartOf(status) == "upstream") {
      return absl::UnavailableError(absl::StrCat("KILN_SERVER=", options_.server, ": ",
                                                 status.message(),
                                                 " (KILN_STRICT: no compiling without it)"));
    }
    if (!status.ok() && !GiveUpDaemon(state, status)) return status;
    SayFallback(reply.fallback());
    // A refused entry is compiled here, by this process's own worker.
    if (status.ok()) status = trust_.CheckReply(reply.entry());
    if (status.ok()) return reply;
    // Without a daemon, this process writes the record through which later processes find entries.
    if (job.compiler.empty() && !options_.bin_dir.empty()) {
      GetCompilerId(home_.CompilerIdPath(), ProgramIn(options_.bin_dir, "kiln-worker"))
          .IgnoreError();
    }
  }
  RETURN_IF_ERROR(CheckWorksAlone(status));
  // Counted, so that `kiln stats` shows that daemons are failing.
  if (!off()) disk_.NoteFallback();
  ASSIGN_OR_RETURN(proto::CompileReply reply, state.worker.Compile(request, deadline, compiler));
  // If signatures are required, no process would accept this entry from the cache.
  const bool keeps = options_.use_cache && !read_only() && own_cache_.ok() && !trust_.required();
  if (keeps && !reply.entry().empty()) {
    ASSIGN_OR_RETURN(const Key key, Key::FromBytes(reply.digest()));
    // For the next process. A daemon would have stored it.
    disk_.Store(key, reply.entry());
  }
  return reply;
}

absl::StatusOr<CompileOutcome> LocalSession::Take(State& state, const Job& job,
                                                  proto::CompileReply reply, CompilerIds compiler) {
  CompileOutcome outcome;
  outcome.tier = reply.tier();
  outcome.compile_seconds = reply.seconds();
  for (auto& diagnostic : *reply.mutable_diagnostics()) {
    outcome.diagnostics.push_back(std::move(diagnostic));
  }
  for (auto& stage : *reply.mutable_stages()) outcome.stages.push_back(std::move(stage));
  outcome.digest = job.key.Hex();
  if (reply.entry().empty()) {
    // Errors of the user's program are an outcome, not a failure of compiling.
    if (HasErrors(outcome)) return outcome;
    return absl::InternalError("the compiler made neither code nor a diagnostic");
  }
  auto entry = DecodeEntry(reply.entry());
  if (!entry.ok()) {
    return absl::InternalError(
        absl::StrCat("the compiler's reply is damaged: ", entry.status().message()));
  }
  // The compiler's files may have been replaced since its id was read: the entry names the compiler
  // that made it. Its key must follow from that compiler and the requested unit.
  if (auto id = Digest::FromHex(entry->info.compiler()); id.ok()) {
    (entry->info.target().has_cuda() ? compiler.cuda : compiler.cpu) = *id;
  }
  // Computed from the unit that we sent: an entry of another kernel would compute wrong results
  // silently.
  if (entry->key != UnitKey(job.canonical, compiler)) {
    return absl::InternalError("the compiler's reply is for another kernel");
  }
  outcome.digest = entry->key.Hex();
  if (job.load) {
    ASSIGN_OR_RETURN(LoadedArtifact loaded, disk_.LoadSent(reply.entry(), *entry, job.cuda));
    outcome.kernel = std::move(loaded.kernel);
    outcome.info = std::move(loaded.info);
  }
  if (outcome.compile_seconds == 0) outcome.compile_seconds = entry->info.compile_seconds();
  if (compiler != job.compiler) {
    MutexLock lock(&state.mutex);
    state.compiler = compiler;
  }
  return outcome;
}

void LocalSession::Count(State& state, const CompileOutcome& outcome) const {
  MutexLock lock(&state.mutex);
  const bool compiled = outcome.tier == "compiled";
  ++(compiled ? state.stats.misses : state.stats.hits);
  if (outcome.kernel != nullptr) ++state.stats.kernels;
  // What the entry once took to compile, less the wait for it now.
  if (!compiled && outcome.compile_seconds > outcome.wait_seconds) {
    state.stats.seconds_saved += outcome.compile_seconds - outcome.wait_seconds;
  }
}

absl::StatusOr<proto::StatsReply> LocalSession::DaemonStats() {
  proto::StatsReply reply;
  absl::Status status =
      Current().daemon.CallIfRunning(FrameType::kStats, proto::StatsRequest(),
                                     FrameType::kStatsReply, &reply, SteadyNow() + kControlTimeout);
  return status.ok() ? reply : OfflineStats(home_);
}

absl::StatusOr<proto::MetricsReply> LocalSession::DaemonMetrics() {
  proto::MetricsReply reply;
  RETURN_IF_ERROR(Current().daemon.CallIfRunning(FrameType::kMetrics, proto::MetricsRequest(),
                                                 FrameType::kMetricsReply, &reply,
                                                 SteadyNow() + kControlTimeout));
  return reply;
}

absl::StatusOr<proto::RecentReply> LocalSession::DaemonRecent(const proto::RecentRequest& request) {
  proto::RecentReply reply;
  RETURN_IF_ERROR(Current().daemon.CallIfRunning(
      FrameType::kRecent, request, FrameType::kRecentReply, &reply, SteadyNow() + kControlTimeout));
  return reply;
}

absl::StatusOr<proto::ClearReply> LocalSession::ClearCache() {
  RETURN_IF_ERROR(CheckKeeps("the cache cannot be cleared"));
  proto::ClearReply reply;
  absl::Status status =
      Current().daemon.CallIfRunning(FrameType::kClear, proto::ClearRequest(),
                                     FrameType::kClearReply, &reply, SteadyNow() + kControlTimeout);
  return status.ok() ? reply : OfflineClear(home_);
}

absl::Status LocalSession::StopDaemon() {
  proto::ShutdownReply reply;
  const absl::Time deadline = SteadyNow() + kControlTimeout;
  DaemonClient& daemon = Current().daemon;
  absl::Status status = daemon.CallIfRunning(FrameType::kShutdown, proto::ShutdownRequest(),
                                             FrameType::kShutdownReply, &reply, deadline);
  if (status.ok()) daemon.AwaitEnd(deadline);
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
    RETURN_IF_ERROR(ParseUpstream(options.server).status());
  }
  RETURN_IF_ERROR(CheckVariablesOfPrograms());
  if (const std::optional<std::string> strict = Variable("KILN_STRICT"); strict.has_value()) {
    options.strict = *strict == "1";
  }
  options.read_only |= Variable("KILN_CACHE") == "read-only";
  if (options.glibc == 0) {
    ASSIGN_OR_RETURN(options.glibc, WantedGlibc());
  }
  ASSIGN_OR_RETURN(Home home, Home::Find(options.home));
  options.bin_dir = FindBinDir(options.bin_dir);
  return std::shared_ptr<Session>(std::make_shared<LocalSession>(std::move(home), options));
}

}  // namespace kiln
