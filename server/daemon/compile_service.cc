#include "server/daemon/compile_service.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/canonical.h"
#include "lang/entry.h"
#include "lang/status_macros.h"
#include "server/daemon/metrics.h"

namespace kiln {
namespace {

constexpr int kMaxDigests = 1 << 16;
// What one Lookup reply may carry; the rest is not found and asked for again.
constexpr size_t kMaxLookupBytes = size_t{64} << 20;

// Who wants to see the stages wants them run.
bool WantsStages(const proto::ReportOptions& report) {
  return report.print_ir() || report.timing() || report.statistics();
}

// The compiler's own passes are one stage here: there are a dozen.
const char* StageLabel(const std::string& name) {
  for (const char* stage : {"check", "lower", "emit", "optimize", "codegen", "link"}) {
    if (name == stage) return stage;
  }
  return "passes";
}

void ObserveStages(const proto::CompileReply& reply) {
  Metrics& metrics = Metrics::Get();
  metrics.histogram("kiln_compile_seconds")->Observe(absl::Seconds(reply.seconds()));
  std::map<absl::string_view, double> seconds;
  for (const proto::StageReport& stage : reply.stages()) {
    seconds[StageLabel(stage.name())] += stage.seconds();
  }
  for (const auto& [stage, sum] : seconds) {
    metrics.histogram("kiln_compile_stage_seconds", stage)->Observe(absl::Seconds(sum));
  }
}

}  // namespace

absl::StatusOr<proto::LookupReply> CompileService::Lookup(const proto::LookupRequest& request,
                                                          const Caller& caller) {
  if (request.digests_size() > kMaxDigests) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.digests_size(), " digests; at most ", kMaxDigests, " at once"));
  }
  proto::LookupReply reply;
  size_t size = 0;
  for (const std::string& raw : request.digests()) {
    ASSIGN_OR_RETURN(const Digest key, Digest::FromBytes(raw));
    const Digest place = PlaceOf(caller.tenant, key);
    proto::LookupReply::Result* result = reply.add_results();
    if (request.presence()) {
      result->set_found(parts_.tiers->Contains(place));
      continue;
    }
    if (size > kMaxLookupBytes) continue;
    const Found found = parts_.tiers->Get(place);
    if (found.entry == nullptr) continue;
    size += found.entry->bytes.size();
    if (size > kMaxLookupBytes) continue;
    result->set_found(true);
    result->set_entry(found.entry->bytes);
    result->set_tier(std::string(found.tier));
    parts_.counters->Hit(found.tier, found.entry->compile_seconds);
  }
  return reply;
}

std::shared_ptr<const proto::CompileReply> CompileService::Find(const Digest& key,
                                                                const Digest& place) {
  const Found found = parts_.tiers->Get(place);
  if (found.entry == nullptr) return nullptr;
  parts_.counters->Hit(found.tier, found.entry->compile_seconds);
  auto reply = std::make_shared<proto::CompileReply>();
  reply->set_digest(std::string(key.view()));
  reply->set_entry(found.entry->bytes);
  reply->set_tier(std::string(found.tier));
  reply->set_seconds(found.entry->compile_seconds);
  return reply;
}

absl::StatusOr<std::shared_ptr<const proto::CompileReply>> CompileService::Compile(
    proto::CompileRequest request, const Caller& caller, bool* joined) {
  if (request.unit().empty() || request.unit().size() > kMaxUnitBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a compile unit of ", request.unit().size(),
                                                   " bytes; 1 to ", kMaxUnitBytes, " may be"));
  }
  const absl::Time deadline =
      absl::Now() + (request.deadline_ms() == 0 ? parts_.compile_limit
                                                : absl::Milliseconds(request.deadline_ms()));
  ASSIGN_OR_RETURN(const Digest compiler, parts_.compiler->Known());
  // The client's own digest is never asked for: what is stored goes under ours.
  const Digest key = UnitKey(request.unit(), compiler);
  const Digest place = PlaceOf(caller.tenant, key);
  const bool fresh = WantsStages(request.report());
  Digest flight = place;
  if (fresh) {
    flight = Sha256Of(absl::StrCat(place.Hex(), " ", ++unshared_));
  } else if (auto hit = Find(key, place)) {
    return hit;
  }

  if (caller.account != nullptr) RETURN_IF_ERROR(caller.account->CheckCompiles(absl::Now()));
  auto start = [&](const Flights::Done& done) -> Flights::Cancel {
    // An earlier flight may have landed since we looked.
    if (auto hit = fresh ? nullptr : Find(key, place)) {
      done(std::move(hit));
      return nullptr;
    }
    request.set_tenant(caller.tenant);
    if (caller.account != nullptr) caller.account->CountCompile(absl::Now());
    return Start(key, place, {request.SerializeAsString(), request.name(), key, request.priority()},
                 done);
  };
  Flights::Outcome outcome = flights_.Do(flight, deadline, caller.gone, start);
  *joined = outcome.joined;
  RETURN_IF_ERROR(outcome.result.status());
  const proto::CompileReply& reply = **outcome.result;
  if (outcome.joined && !reply.entry().empty()) parts_.counters->Hit("joined", reply.seconds());
  return outcome.result;
}

CompileService::Flights::Cancel CompileService::Start(const Digest& key, const Digest& place,
                                                      WorkerPool::Task task,
                                                      const Flights::Done& done) {
  auto take = [this, key, place, done](absl::StatusOr<Frame> frame) {
    TakeResult(key, place, std::move(frame), done);
  };
  absl::StatusOr<std::shared_ptr<WorkerPool::Job>> submitted =
      parts_.pool->Submit(std::move(task), take);
  if (!submitted.ok()) {
    done(submitted.status());
    return nullptr;
  }
  parts_.counters->Miss();
  return [pool = parts_.pool, job = *submitted] { pool->Cancel(job); };
}

void CompileService::TakeResult(const Digest& key, const Digest& place, absl::StatusOr<Frame> frame,
                                const Flights::Done& done) {
  auto reply = std::make_shared<proto::CompileReply>();
  absl::Status status =
      frame.ok() ? ParseReply(*frame, FrameType::kCompileReply, reply.get()) : frame.status();
  if (status.ok() && reply->digest() != key.view()) {
    parts_.compiler->Look().status().IgnoreError();
    parts_.pool->Renew();
    status = absl::UnavailableError("the compiler was replaced while it compiled; try again");
  }
  if (status.ok() && !reply->entry().empty()) {
    absl::StatusOr<EntryPtr> entry = CheckEntry(place, reply->entry());
    if (entry.ok()) {
      parts_.tiers->Put(place, *std::move(entry)).IgnoreError();  // the disk tier has warned
    } else {
      status = absl::InternalError(
          absl::StrCat("the compiler's result is damaged: ", entry.status().message()));
    }
  }
  Metrics& metrics = Metrics::Get();
  if (!status.ok()) {
    metrics.counter("kiln_compiles_total", absl::IsCancelled(status) ? "cancelled" : "error")
        ->Add();
    done(std::move(status));
    return;
  }
  ObserveStages(*reply);
  if (reply->entry().empty()) {
    metrics.counter("kiln_compiles_total", "diagnostics")->Add();
  } else {
    metrics.counter("kiln_compiles_total", "artifact")->Add();
    if (auto view = DecodeEntry(reply->entry()); view.ok()) {
      metrics.counter("kiln_cache_misses_total", miss_reasons_.Explain(view->info))->Add();
    }
  }
  parts_.counters->Compiled(/*with_errors=*/reply->entry().empty());
  done(std::shared_ptr<const proto::CompileReply>(std::move(reply)));
}

}  // namespace kiln
