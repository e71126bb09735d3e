#include "server/daemon/compiling/compile_service.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/unit/canonical.h"
#include "common/wire/error_detail.h"
#include "server/observe/metrics.h"

namespace kiln {
namespace {

constexpr int kMaxDigests = 1 << 16;
// The bytes of entries in a Lookup reply; the caller requests omitted ones again.
constexpr size_t kMaxLookupBytes = size_t{4} << 20;
// Lookup never returns a larger entry. An entry that is larger than a whole reply is sent alone.
constexpr size_t kMaxLookedUpEntry = size_t{64} << 20;
// Keys per request to the shared tiers: one round trip to each tier.
constexpr size_t kSharedAtOnce = 32;

// Stages can be shown only by running them.
bool WantsStages(const proto::ReportOptions& report) {
  return report.print_ir() || report.timing() || report.statistics();
}

// The dozen passes of the compiler count as one stage here.
const char* StageLabel(const std::string& name) {
  for (const char* stage : {"check", "lower", "emit", "optimize", "codegen", "link"}) {
    if (name == stage) return stage;
  }
  return "passes";
}

absl::StatusOr<std::vector<Key>> KeysOf(const proto::LookupRequest& request) {
  if (request.digests_size() > kMaxDigests) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.digests_size(), " digests; at most ", kMaxDigests, " at once"));
  }
  std::vector<Key> keys;
  keys.reserve(request.digests_size());
  for (const std::string& raw : request.digests()) {
    ASSIGN_OR_RETURN(keys.emplace_back(), Key::FromBytes(raw));
  }
  // The usual look-up of one key needs no set.
  if (keys.size() < 2) return keys;
  // Rejects duplicates: a few bytes of a request must not cause many copies of an entry.
  absl::flat_hash_set<Key> seen;
  for (const Key& key : keys) {
    if (!seen.insert(key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the digest ", key.Hex(), " is named twice; a look-up names each once"));
    }
  }
  return keys;
}

std::string TakeEntry(proto::CompileReply* reply) {
  std::string entry = std::move(*reply->mutable_entry());
  reply->clear_entry();
  return entry;
}

// The keys of a caller that named the serialised proto::Upstream `upstream`.
TrustedKeys KeysOf(const std::string& upstream) {
  TrustedKeys keys;
  proto::Upstream named;
  if (upstream.empty() || !named.ParseFromString(upstream)) return keys;
  for (const std::string& line : named.trusted_key()) {
    absl::StatusOr<PublicKey> key = PublicKey::Parse(line);
    // A malformed key is left out: entries that it signed are then refused, which says so.
    if (key.ok()) keys.Add(*std::move(key));
  }
  return keys;
}

void ObserveStages(const proto::CompileReply& reply) {
  Metrics& metrics = Metrics::Get();
  metrics.histogram("kiln_compile_seconds")->Observe(absl::Seconds(reply.seconds()));
  // Summed first: passes that count as one stage are one observation.
  std::map<absl::string_view, double> seconds;
  for (const proto::StageReport& stage : reply.stages()) {
    seconds[StageLabel(stage.name())] += stage.seconds();
  }
  for (const auto& [stage, sum] : seconds) {
    metrics.histogram("kiln_compile_stage_seconds", stage)->Observe(absl::Seconds(sum));
  }
}

}  // namespace

// One flight. Each waiting caller may leave at any time, at any step.
class CompileService::CompileState {
 public:
  struct What {
    Key key;
    Place place;
    std::string name;
    JobOwner owner;
    std::string job;  // a serialised CompileRequest
    proto::Priority priority;
    std::string upstream;  // of the caller, with its quotas
    bool upstream_required;
    std::shared_ptr<Quotas::Account> account;
    absl::Time deadline;
  };
  static What WhatOf(const Key& key, const Place& place, absl::Time deadline, const Caller& caller,
                     proto::CompileRequest request) {
    // The tenant follows from the caller, never from the request.
    request.set_tenant(caller.tenant);
    return {key,
            place,
            request.name(),
            {caller.tenant, caller.name},
            request.SerializeAsString(),
            request.priority(),
            caller.upstream,
            caller.upstream_required,
            caller.account,
            deadline};
  }
  CompileState(What what, Flights::Done done) : what(std::move(what)), done_(std::move(done)) {}

  const What what;
  std::string lease;     // of the current step: our right to compile
  std::string fallback;  // why the upstream did not compile it

  // Begins a step. Its answer may arrive before the caller of Begin knows how to stop it, so steps
  // are numbered.
  int Begin() {
    absl::MutexLock lock(&mutex_);
    stop_ = raise_priority_ = nullptr;
    return ++step_;
  }
  // `stop` ends `step`, unless another step has begun.
  void StopsWith(int step, std::function<void()> stop) {
    {
      absl::MutexLock lock(&mutex_);
      if (step != step_) return;
      if (!cancelled_) {
        stop_ = std::move(stop);
        return;
      }
    }
    // The flight was cancelled before the step could say how to stop it.
    stop();
  }
  bool cancelled() const {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }
  void Cancel() {
    std::function<void()> stop;
    {
      absl::MutexLock lock(&mutex_);
      cancelled_ = true;
      // Called without the lock, because stopping may end the flight and lock again.
      stop = std::exchange(stop_, nullptr);
    }
    if (stop) stop();
  }
  // How to raise the priority of a job that the workers have.
  void RaisesPriorityWith(int step, std::function<void()> raise_priority) {
    {
      absl::MutexLock lock(&mutex_);
      if (step != step_) return;
      if (!hurried_) {
        raise_priority_ = std::move(raise_priority);
        return;
      }
    }
    raise_priority();
  }
  void RaisePriority() {
    std::function<void()> raise_priority;
    {
      absl::MutexLock lock(&mutex_);
      hurried_ = true;
      raise_priority = std::exchange(raise_priority_, nullptr);
    }
    if (raise_priority) raise_priority();
  }
  // Called once.
  void End(Flights::Result result) {
    // Forgets how to stop the last step, which has ended.
    Begin();
    done_(std::move(result));
  }

 private:
  const Flights::Done done_;
  mutable absl::Mutex mutex_;
  int step_ ABSL_GUARDED_BY(mutex_) = 0;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool hurried_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> stop_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> raise_priority_ ABSL_GUARDED_BY(mutex_);
};

// The entries of one reply to a look-up.
class CompileService::Gathering {
 public:
  explicit Gathering(Looked* looked) : looked_(looked) {}

  // Whether the reply has no room left: the remaining results are left out.
  bool full() const { return full_; }
  // The entry of result `i`, found in `tier`. False: it does not fit.
  bool Add(int i, EntryPtr entry, absl::string_view tier) {
    const size_t size = entry->bytes.size();
    // The first entry always fits, so a caller that asks again makes progress.
    full_ |= size_ > 0 && size_ + size > kMaxLookupBytes;
    if (full_ || size > kMaxLookedUpEntry) return false;
    size_ += size;
    proto::LookupReply::Result* result = looked_->reply.mutable_results(i);
    result->set_found(true);
    result->set_tier(std::string(tier));
    looked_->entries[i] = std::move(entry);
    return true;
  }
  void LeaveOutTheRest() {
    if (!full_) return;
    for (proto::LookupReply::Result& result : *looked_->reply.mutable_results()) {
      result.set_left_out(!result.found());
    }
  }

 private:
  Looked* const looked_;
  size_t size_ = 0;
  bool full_ = false;
};

absl::StatusOr<CompileService::Looked> CompileService::Lookup(const proto::LookupRequest& request,
                                                              const Caller& caller) {
  ASSIGN_OR_RETURN(const std::vector<Key> keys, KeysOf(request));
  Looked looked;
  looked.entries.resize(keys.size());
  Gathering gathering(&looked);
  std::vector<Place> places;
  places.reserve(keys.size());
  for (const Key& key : keys) {
    places.push_back(PlaceOf(caller.tenant, key));
    looked.reply.add_results();
  }
  // In the order of the request: what a full reply leaves out, the caller asks for again.
  for (int i = 0; i < looked.reply.results_size() && !gathering.full(); ++i) {
    if (request.presence()) {
      RETURN_IF_ERROR(caller.LeaveLoop());  // to the disk
      looked.reply.mutable_results(i)->set_found(parts_.tiers->Contains(places[i]));
      continue;
    }
    Found found = parts_.tiers->GetAtOnce(places[i]);
    if (found.entry == nullptr) {
      RETURN_IF_ERROR(caller.LeaveLoop());
      found = parts_.tiers->Get(places[i]);
    }
    if (found.entry == nullptr) continue;
    const double seconds = found.entry->compile_seconds;
    if (gathering.Add(i, std::move(found.entry), found.tier)) {
      parts_.counters->Hit(found.tier, seconds);
    }
  }
  if (parts_.shared->serves(caller.upstream)) {
    std::vector<int> missing;
    for (int i = 0; i < looked.reply.results_size(); ++i) {
      if (!looked.reply.results(i).found()) missing.push_back(i);
    }
    const absl::Span<const int> all = missing;
    for (size_t from = 0; from < all.size() && !gathering.full(); from += kSharedAtOnce) {
      // Each round trip may take a quarter of a second; nothing waits for the rest any more.
      if (caller.gone && caller.gone()) break;
      RETURN_IF_ERROR(caller.LeaveLoop());
      FindShared(places, all.subspan(from, kSharedAtOnce), request.presence(), caller.upstream,
                 &looked.reply, &gathering);
    }
  }
  gathering.LeaveOutTheRest();
  return looked;
}

absl::Status CompileService::CountHits(const proto::HitsRequest& hits, const Caller& caller) {
  for (const proto::HitsRequest::Hit& hit : hits.hits()) {
    ASSIGN_OR_RETURN(const Key key, Key::FromBytes(hit.digest()));
    // A look-up rather than a count, so that entries which a front serves from its own cache stay
    // recent in ours.
    const EntryPtr entry = parts_.tiers->Get(PlaceOf(caller.tenant, key)).entry;
    parts_.counters->Hit("front", entry == nullptr ? 0 : entry->compile_seconds, hit.count());
  }
  return absl::OkStatus();
}

// Fetches entries also for requests that ask for presence only: an entry counts as present only
// after its check, and the caller is about to use it.
void CompileService::FindShared(const std::vector<Place>& places, absl::Span<const int> missing,
                                bool presence, const std::string& upstream,
                                proto::LookupReply* reply, Gathering* gathering) {
  std::vector<Place> asked;
  asked.reserve(missing.size());
  for (const int i : missing) asked.push_back(places[i]);
  std::vector<SharedTiers::Fetched> found = parts_.shared->Find(asked, upstream);
  for (size_t i = 0; i < found.size(); ++i) {
    EntryPtr entry = Keep(asked[i], std::move(found[i].entry), found[i].tier, upstream);
    if (entry == nullptr) continue;
    if (presence) {
      reply->mutable_results(missing[i])->set_found(true);
      continue;
    }
    const double seconds = entry->compile_seconds;
    if (gathering->Add(missing[i], std::move(entry), found[i].tier)) {
      parts_.counters->Hit(found[i].tier, seconds);
    }
  }
}

EntryPtr CompileService::Keep(const Place& place, std::string bytes, const std::string& source,
                              const std::string& upstream) {
  if (bytes.empty()) return nullptr;
  absl::StatusOr<EntryPtr> entry =
      parts_.trust->Admit(place, std::move(bytes), absl::StrCat("tier ", source), KeysOf(upstream));
  // Trust has logged and counted it. For the caller it is a miss.
  if (!entry.ok()) return nullptr;
  parts_.tiers->Put(place, *entry).IgnoreError();  // the disk tier has warned
  // Stores it in the tiers before the one that had it.
  parts_.shared->Store(place, *entry, /*lease=*/"", /*from=*/source);
  return *std::move(entry);
}

std::shared_ptr<const CompileService::Compiled> CompileService::Find(const Key& key,
                                                                     const Place& place,
                                                                     bool at_once) {
  Found found = at_once ? parts_.tiers->GetAtOnce(place) : parts_.tiers->Get(place);
  if (found.entry == nullptr) return nullptr;
  return Hit(key, std::move(found.entry), found.tier);
}

std::shared_ptr<const CompileService::Compiled> CompileService::Hit(const Key& key, EntryPtr entry,
                                                                    absl::string_view tier) {
  parts_.counters->Hit(tier, entry->compile_seconds);
  auto hit = std::make_shared<Compiled>();
  hit->reply.set_digest(std::string(key.view()));
  hit->reply.set_tier(std::string(tier));
  hit->reply.set_seconds(entry->compile_seconds);
  hit->entry = std::move(entry);
  return hit;
}

CompileService::Flights::Control CompileService::Start(const CompileStatePtr& state, bool reports) {
  // A local worker alone reports stages.
  if (reports || !parts_.shared->serves(state->what.upstream)) {
    AskWorker(state);
  } else {
    AskShared(state);
  }
  return {[state] { state->Cancel(); }, [state] { state->RaisePriority(); }};
}

absl::StatusOr<std::shared_ptr<const CompileService::Compiled>> CompileService::Compile(
    proto::CompileRequest request, const Caller& caller, bool* joined) {
  if (request.unit().empty() || request.unit().size() > kMaxUnitBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a compile unit of ", request.unit().size(),
                                                   " bytes; 1 to ", kMaxUnitBytes, " may be"));
  }
  const absl::Time deadline =
      SteadyNow() + (request.deadline_ms() == 0 ? parts_.compile_limit
                                                : absl::Milliseconds(request.deadline_ms()));
  // Latest never reads a file; only a daemon that has not yet seen its compiler does.
  CompilerIds compiler = parts_.compiler->Latest();
  if (compiler.empty()) {
    RETURN_IF_ERROR(caller.LeaveLoop());
    ASSIGN_OR_RETURN(compiler, parts_.compiler->Known());
  }
  // Computes the key from the unit: entries are never stored under a client's key.
  const Key key = UnitKey(request.unit(), compiler);
  const Place place = PlaceOf(caller.tenant, key);
  const bool fresh = WantsStages(request.report());
  Digest flight = place;
  if (fresh) {
    // A request for stages must not join a flight that does not report them, nor lend itself to
    // others.
    flight = Sha256Of(absl::StrCat(place.Hex(), " ", ++unshared_));
  } else if (auto hit = Find(key, place, /*at_once=*/true)) {
    // On the event loop's thread: memory hits never wait for another thread.
    return hit;
  }
  RETURN_IF_ERROR(caller.LeaveLoop());
  if (auto hit = fresh ? nullptr : Find(key, place, /*at_once=*/false)) return hit;

  // After the look-ups: hits are free, whatever a caller's quota.
  if (caller.account != nullptr) RETURN_IF_ERROR(caller.account->CheckCompiles(SteadyNow()));
  // Runs at most once, in the caller that opens the flight. All others wait for its result.
  auto start = [&](const Flights::Done& done) -> Flights::Control {
    // An earlier flight may have ended since the look-up.
    if (auto hit = fresh ? nullptr : Find(key, place, /*at_once=*/false)) {
      done(std::move(hit));
      return {};
    }
    const auto state = std::make_shared<CompileState>(
        CompileState::WhatOf(key, place, deadline, caller, std::move(request)), done);
    return Start(state, /*reports=*/fresh);
  };
  // An interactive request that joins a warm flight raises its priority.
  const bool waits = request.priority() != proto::PRIORITY_WARM;
  Flights::Outcome outcome = flights_.Do(flight, deadline, caller.gone, start, waits);
  *joined = outcome.joined;
  RETURN_IF_ERROR(outcome.result.status());
  const Compiled& compiled = **outcome.result;
  // Each caller but the first saved a compilation.
  if (outcome.joined && compiled.entry != nullptr) {
    parts_.counters->Hit("joined", compiled.reply.seconds());
  }
  return outcome.result;
}

void CompileService::AskShared(const CompileStatePtr& state) {
  // Waits for the lease's holder as long as compiling takes, then compiles too. A dead holder's
  // lease needs additional time to expire.
  const absl::Duration wait = std::clamp(state->what.deadline - SteadyNow(), absl::ZeroDuration(),
                                         parts_.shared->lease_ttl() + compile_times_.Patience());
  const int step = state->Begin();
  const uint64_t request = parts_.shared->Fetch(
      state->what.place, state->what.upstream, wait,
      [this, state](SharedTiers::Fetched found) { TakeShared(state, std::move(found)); });
  state->StopsWith(step, [shared = parts_.shared, request] { shared->Cancel(request); });
}

void CompileService::TakeShared(const CompileStatePtr& state, SharedTiers::Fetched found) {
  // From here on each path must use up the lease: Store and Release do, otherwise other machines
  // wait until it expires.
  state->lease = found.lease;
  EntryPtr entry =
      Keep(state->what.place, std::move(found.entry), found.tier, state->what.upstream);
  if (entry == nullptr) return AskDelegates(state);
  state->End(Hit(state->what.key, std::move(entry), found.tier));
}

void CompileService::AskDelegates(const CompileStatePtr& state) {
  // Remote compilers first: they are configured because they are faster or have more cores.
  if (!parts_.shared->delegates(state->what.upstream)) return AskWorker(state);
  const absl::Duration wait = std::max(state->what.deadline - SteadyNow(), absl::ZeroDuration());
  const int step = state->Begin();
  const uint64_t request =
      parts_.shared->Delegate(state->what.job, state->what.key, state->what.upstream, wait,
                              [this, state](absl::StatusOr<proto::DelegateReply> answer) {
                                TakeDelegated(state, std::move(answer));
                              });
  state->StopsWith(step, [shared = parts_.shared, request] { shared->Cancel(request); });
}

absl::Status CompileService::Accept(const CompileState& state,
                                    const absl::StatusOr<proto::DelegateReply>& answer,
                                    Compiled* compiled) const {
  RETURN_IF_ERROR(answer.status());
  if (answer->reply().empty()) return absl::UnavailableError(answer->upstream_failure());
  proto::CompileReply& reply = compiled->reply;
  // The other side computed the key from the unit itself. A difference means another compiler.
  if (!reply.ParseFromString(answer->reply()) || reply.digest() != state.what.key.view()) {
    return absl::DataLossError("the reply is for another key");
  }
  // No entry: the unit has errors, and the reply has its diagnostics.
  if (reply.entry().empty()) return absl::OkStatus();
  std::string bytes = TakeEntry(&reply);
  // Stored, but not signed: the daemon signs only what its own workers compiled.
  absl::StatusOr<EntryPtr> entry =
      answer->trusted() ? CheckEntry(state.what.place, std::move(bytes))
                        : parts_.trust->Admit(state.what.place, std::move(bytes),
                                              "a remote compiler", KeysOf(state.what.upstream));
  if (absl::IsPermissionDenied(entry.status())) {
    return absl::PermissionDeniedError(
        absl::StrCat(entry.status().message(),
                     " (a server signs with its trust.signing_key_file; kiln key trust has the "
                     "public key of it count here)"));
  }
  RETURN_IF_ERROR(entry.status());
  compiled->entry = *std::move(entry);
  return absl::OkStatus();
}

void CompileService::TakeDelegated(const CompileStatePtr& state,
                                   absl::StatusOr<proto::DelegateReply> answer) {
  auto compiled = std::make_shared<Compiled>();
  proto::CompileReply& reply = compiled->reply;
  const absl::Status accepted = Accept(*state, answer, compiled.get());
  // A delegated compilation that failed costs time, but no result: a local worker compiles instead,
  // unless the client insists on its upstream.
  if (!accepted.ok()) {
    if (!state->what.upstream.empty()) {
      state->fallback = std::string(accepted.message());
      if (state->what.upstream_required && !state->cancelled()) {
        absl::Status failure = absl::UnavailableError(state->fallback);
        SetPart(&failure, "upstream");
        parts_.shared->Release(state->lease);
        return state->End(std::move(failure));
      }
    }
    return AskWorker(state);
  }
  if (compiled->entry != nullptr) {
    if (reply.tier() == "compiled") {
      parts_.counters->Miss();
    } else {
      parts_.counters->Hit(reply.tier(), reply.seconds());
    }
    // Releases the lease: it travels with the entry.
    KeepResult(*state, compiled->entry, reply.tier());
  } else {
    // The unit has errors. A fruitless lease tells the other machines not to wait for an entry.
    parts_.shared->Release(state->lease, /*fruitless=*/true);
  }
  reply.set_fallback(answer->upstream_failure());
  state->End(std::shared_ptr<const Compiled>(std::move(compiled)));
}

void CompileService::AskWorker(const CompileStatePtr& state) {
  absl::Status status = absl::CancelledError("cancelled");
  if (!state->cancelled()) {
    const int step = state->Begin();
    absl::StatusOr<std::shared_ptr<WorkerPool::Job>> submitted = parts_.pool->Submit(
        {state->what.job, state->what.name, state->what.owner, state->what.place,
         state->what.priority},
        [this, state](absl::StatusOr<Frame> frame) { TakeResult(state, std::move(frame)); });
    if (submitted.ok()) {
      // Counted on submission: a job that is cancelled in the queue was a miss as well.
      parts_.counters->Miss();
      // Only what a worker really gets uses up the quota.
      if (state->what.account != nullptr) state->what.account->CountCompile(SteadyNow());
      state->StopsWith(step, [pool = parts_.pool, job = *submitted] { pool->Cancel(job); });
      state->RaisesPriorityWith(
          step, [pool = parts_.pool, job = *submitted] { pool->RaisePriority(job); });
      return;
    }
    status = submitted.status();
  }
  parts_.shared->Release(state->lease);
  state->End(std::move(status));
}

void CompileService::KeepResult(const CompileState& state, EntryPtr entry,
                                const std::string& from) {
  parts_.tiers->Put(state.what.place, entry).IgnoreError();  // the disk tier has warned
  parts_.shared->Store(state.what.place, std::move(entry), state.lease, from);
}

void CompileService::TakeResult(const CompileStatePtr& state, absl::StatusOr<Frame> frame) {
  auto compiled = std::make_shared<Compiled>();
  proto::CompileReply& reply = compiled->reply;
  absl::Status status =
      frame.ok() ? ParseReply(*frame, FrameType::kCompileReply, &reply) : frame.status();
  // The worker computes the key with its own compiler's id. Another key means that the compiler's
  // files were replaced since the daemon read its id.
  if (status.ok() && reply.digest() != state->what.key.view()) {
    // Reads the new id now, so that the retry gets the right key.
    parts_.compiler->Look().status().IgnoreError();
    parts_.pool->Renew();
    status = absl::UnavailableError("the compiler was replaced while it compiled; try again");
  }
  if (status.ok() && !reply.entry().empty()) {
    // Our own worker made it: checked for damage and signed, not judged.
    absl::StatusOr<EntryPtr> entry = parts_.trust->Vouch(state->what.place, TakeEntry(&reply));
    if (entry.ok()) {
      compiled->entry = *std::move(entry);
    } else {
      status = absl::InternalError(
          absl::StrCat("the compiler's result is damaged: ", entry.status().message()));
    }
  }
  if (compiled->entry != nullptr) {
    // How long others wait for our leases follows from it (Patience).
    compile_times_.Add(absl::Seconds(reply.seconds()));
    KeepResult(*state, compiled->entry, /*from=*/"");
  } else {
    // A cancelled job says nothing about the unit: another machine may compile it.
    parts_.shared->Release(state->lease, /*fruitless=*/!absl::IsCancelled(status));
  }
  reply.set_fallback(state->fallback);
  Metrics& metrics = Metrics::Get();
  if (!status.ok()) {
    metrics.counter("kiln_compiles_total", absl::IsCancelled(status) ? "cancelled" : "error")
        ->Add();
    state->End(std::move(status));
    return;
  }
  ObserveStages(reply);
  if (compiled->entry == nullptr) {
    metrics.counter("kiln_compiles_total", "diagnostics")->Add();
  } else {
    metrics.counter("kiln_compiles_total", "artifact")->Add();
    if (auto view = DecodeEntry(compiled->entry->bytes); view.ok()) {
      metrics.counter("kiln_cache_misses_total", miss_reasons_.Explain(view->info))->Add();
    }
  }
  parts_.counters->Compiled(/*with_errors=*/compiled->entry == nullptr);
  state->End(std::shared_ptr<const Compiled>(std::move(compiled)));
}

}  // namespace kiln
