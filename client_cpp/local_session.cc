// The part of a session that compiles.
#include "client_cpp/local_session.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client_cpp/devices.h"
#include "client_cpp/loaded_artifact.h"
#include "client_cpp/manifest_recorder.h"
#include "client_cpp/mutex.h"
#include "client_cpp/recorded_kernel.h"
#include "common/artifact/compiler_id.h"
#include "common/artifact/cuda_toolkit.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "common/base/clock.h"
#include "common/base/first_use.h"
#include "common/base/status_macros.h"
#include "common/home/programs.h"
#include "common/unit/canonical.h"
#include "common/unit/math_library.h"
#include "common/wire/error_detail.h"
#include "common/wire/trace_context.h"
#include "runtime/cpu_device.h"

namespace kiln {
namespace {

// The server ends a job at its deadline and reports that. The client waits this much longer.
constexpr absl::Duration kDeadlineSlack = absl::Seconds(2);

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

}  // namespace

LocalSession::State& LocalSession::Current() const {
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

// Of a request that may compile.
absl::Time LocalSession::Deadline() const {
  return SteadyNow() + absl::Milliseconds(options_.compile_timeout_ms) + kDeadlineSlack;
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

}  // namespace kiln
