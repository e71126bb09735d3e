#include "server/daemon/serving/handler.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/artifact/target.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/plain_text.h"
#include "common/base/status_macros.h"
#include "common/wire/error_detail.h"
#include "common/wire/trace_context.h"
#include "common/wire/version.h"
#include "server/observe/json_text.h"
#include "server/observe/log.h"

namespace kiln {
namespace {

// About the time of one compilation: after it a place in the queue is likely free.
constexpr uint32_t kRetryAfterMs = 250;
// Bounds of texts that clients choose. They are repeated in logs, metrics and records, so a long
// one would be paid for many times.
constexpr size_t kMaxNameBytes = 200;
constexpr size_t kMaxCallerName = 128;
constexpr size_t kMaxTenantName = 64;

template <typename Message>
absl::StatusOr<Message> Parse(const std::string& body) {
  Message message;
  if (!message.ParseFromString(body)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", message.GetTypeName(), " that does not parse"));
  }
  return message;
}

// The part names the component at fault, for metrics and for clients, which decide by it and not by
// the text.
absl::Status About(absl::string_view part, absl::Status status) {
  SetPart(&status, part);
  return status;
}

// Rights are bits, so that a rule can require several and a front can mask some.
struct RightName {
  uint32_t right;
  const char* name;
};
constexpr RightName kRightNames[] = {
    {proto::RIGHT_READ, "read"},
    {proto::RIGHT_COMPILE, "compile"},
    {proto::RIGHT_WRITE, "write"},
    {proto::RIGHT_ADMIN, "admin"},
};

std::string NamesOf(uint32_t rights) {
  std::vector<std::string> names;
  for (const RightName& right : kRightNames) {
    if ((rights & right.right) != 0) names.push_back(right.name);
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

absl::Status Forbidden(const Caller& caller, uint32_t right) {
  return About("rights", absl::PermissionDeniedError(absl::StrCat(
                             "this needs the right to ", NamesOf(right), "; rights of ",
                             caller.name, ": ", NamesOf(caller.rights))));
}

std::string Range(uint32_t oldest, uint32_t newest) {
  return oldest == 0 || oldest == newest ? absl::StrCat(newest)
                                         : absl::StrCat(oldest, " to ", newest);
}

// Names appear in logs and keys: only unambiguous characters.
bool IsName(absl::string_view name, size_t longest) {
  return name.size() <= longest && absl::c_all_of(name, [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-' || c == '@' ||
                  c == ':';
         });
}

// From now on `caller` is the one that the front named; it gets no more rights than before.
absl::Status SpeakFor(const proto::Caller& stated, Caller* caller) {
  // The front checked both, but this process does not rely on it.
  if (!IsName(stated.name(), kMaxCallerName) || !IsName(stated.tenant(), kMaxTenantName)) {
    return absl::InvalidArgumentError("caller: invalid name or tenant");
  }
  // Not local even if the front runs as our user: local callers may store entries without a
  // signature.
  caller->local = false;
  caller->name = stated.name();
  caller->tenant = stated.tenant();
  // Restricts only. A front that is taken over by an attacker gains no rights over our own.
  caller->rights &= stated.rights();
  return absl::OkStatus();
}

FrameType ReplyTypeOf(FrameType request) {
  // The types are numbered in pairs; see framing.h.
  return static_cast<FrameType>(static_cast<uint32_t>(request) + 1);
}

void CountRefusal(const absl::Status& status) {
  const std::string part = PartOf(status);
  // Only statuses with a part: other errors are counted by code, in Handle.
  if (!part.empty()) Metrics::Get().counter("kiln_refused_total", part)->Add();
}

// Adds the result of a request to compile to `record`.
void Describe(const absl::StatusOr<std::shared_ptr<const CompileService::Compiled>>& result,
              bool joined, proto::RequestRecord* record) {
  if (!result.ok()) {
    record->set_outcome("error");
    record->set_error(std::string(result.status().message()));
    // An error keeps no unit: a program that fails may be run again and again.
    record->clear_unit();
    return;
  }
  const proto::CompileReply& reply = (*result)->reply;
  const EntryPtr& entry = (*result)->entry;
  record->set_digest(reply.digest());
  record->set_bytes(entry == nullptr ? 0 : entry->bytes.size());
  // Only compilations keep their unit: it is what the dashboard compiles again, and it is large.
  const bool compiled = reply.stages_size() > 0 || reply.tier() == "compiled";
  record->set_outcome(entry == nullptr ? "diagnostics" : joined ? "joined" : reply.tier());
  if (!compiled || joined) {
    record->clear_unit();
    return;
  }
  // The worker's time is exact, ours includes transfers; their difference is mostly the queue.
  record->set_queue_seconds(std::max(0.0, record->seconds() - reply.seconds()));
  // Without the IR, which a report may contain and which is as large as a unit.
  for (const proto::StageReport& stage : reply.stages()) {
    proto::StageReport* out = record->add_stages();
    out->set_name(stage.name());
    out->set_seconds(stage.seconds());
  }
}

// "file:line" of the kernel.
std::string SourcePlace(const proto::SourceMap& map) {
  for (const proto::Span& span : map.spans()) {
    // The first span that is the kernel's own and not a called function's. The client's numbers may
    // be wrong.
    if (span.inlined_at() != 0 || span.file() >= static_cast<uint32_t>(map.files_size())) continue;
    return absl::StrCat(map.files(static_cast<int>(span.file())), ":", span.line());
  }
  return "";
}

// Values are JSON already, since numbers and texts are written differently.
LogFields EventFields(const proto::RequestRecord& record, const std::string& parent,
                      const std::string& span, const std::string& place) {
  const absl::StatusOr<Key> key = Key::FromBytes(record.digest());
  LogFields fields = {{"kernel", JsonString(record.kernel())},
                      {"outcome", JsonString(record.outcome())},
                      {"seconds", JsonNumber(record.seconds())},
                      {"queue_seconds", JsonNumber(record.queue_seconds())},
                      {"client", JsonString(record.client())},
                      {"trace", JsonString(record.trace())},
                      {"span", JsonString(span)}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) fields.emplace_back(name, JsonString(value));
  };
  add("parent", parent);
  add("key", key.ok() && !key->empty() ? key->Hex() : "");
  add("error", record.error());
  add("source", place);
  return fields;
}

}  // namespace

Reply Handler::ErrorFrame(uint32_t id, const absl::Status& status) {
  proto::ErrorReply error = ToErrorReply(status);
  // Without a time the client would not know that trying again helps, and would compile by itself.
  if (absl::IsResourceExhausted(status) && error.retry_after_ms() == 0) {
    error.set_retry_after_ms(kRetryAfterMs);
  }
  return {FrameType::kError, id, error.SerializeAsString()};
}

Reply Handler::Refuse(uint32_t id, const absl::Status& status) {
  CountRefusal(status);
  return ErrorFrame(id, status);
}

// Type, name, right, allowed before Hello, function. A message without a row is not a request.
const Handler::Rule Handler::kRules[] = {
    {FrameType::kHello, "hello", proto::RIGHT_NONE, true, &Handler::Hello},
    {FrameType::kLookup, "lookup", proto::RIGHT_READ, false, &Handler::Lookup},
    {FrameType::kCompile, "compile", proto::RIGHT_COMPILE, false, &Handler::Compile},
    {FrameType::kLink, "link", proto::RIGHT_COMPILE, false, &Handler::Link},
    {FrameType::kCapabilities, "capabilities", proto::RIGHT_NONE, false, &Handler::Capabilities},
    {FrameType::kPut, "put", proto::RIGHT_WRITE, false, &Handler::Put},
    {FrameType::kStats, "stats", proto::RIGHT_ADMIN, true, &Handler::Stats},
    {FrameType::kMetrics, "metrics", proto::RIGHT_ADMIN, true, &Handler::AllMetrics},
    {FrameType::kRecent, "recent", proto::RIGHT_ADMIN, true, &Handler::Recent},
    {FrameType::kHits, "hits", proto::RIGHT_READ, false, &Handler::Hits},
    {FrameType::kClear, "clear", proto::RIGHT_ADMIN, true, &Handler::Clear},
    {FrameType::kShutdown, "shutdown", proto::RIGHT_ADMIN, true, &Handler::Shutdown},
};

Handler::Handler(Parts parts) : parts_(std::move(parts)), start_(SteadyNow()) {
  Metrics& metrics = Metrics::Get();
  // The usual form of a version in Prometheus: a label of a constant 1.
  metrics.gauge("kiln_build_info", kVersion)->Set(1);
  metrics.gauge("kiln_start_time_seconds")->Set(absl::ToDoubleSeconds(start_ - absl::UnixEpoch()));
  for (const Rule& rule : kRules) {
    // Looked up once: a look-up by name in each request takes the lock of all metrics.
    kinds_[static_cast<size_t>(rule.type)] = {metrics.counter("kiln_requests_total", rule.name),
                                              metrics.histogram("kiln_request_seconds", rule.name)};
  }
}

Reply Handler::Handle(const Frame& request, Caller* caller) {
  const absl::Time start = SteadyNow();
  Activity::Client* client = nullptr;
  if (caller->session != nullptr) {
    client = &caller->session->client();
    // Before the answer, so that `kiln top` shows requests that wait.
    ++client->running;
    ++client->requests;
  }
  received_->Add(kFrameHeaderSize + request.body.size());
  Body body = Answer(request, caller);
  Reply reply = body.ok() ? Reply{ReplyTypeOf(request.type), request.id, std::move(*body)}
                          : ErrorFrame(request.id, body.status());
  sent_->Add(kFrameHeaderSize + reply.body.size());
  // The type is the client's number: a type without a rule has an empty row.
  const Kind& kind = kinds_[std::min<size_t>(static_cast<size_t>(request.type), kLastFrameType)];
  if (kind.requests != nullptr) {
    kind.requests->Add();
    kind.seconds->Observe(SteadyNow() - start);
  }
  if (!body.ok()) {
    Metrics::Get()
        .counter("kiln_request_errors_total", absl::StatusCodeToString(body.status().code()))
        ->Add();
    CountRefusal(body.status());
    // A daemon that clients started and that has no working compiler only delays them. Without it,
    // they use a worker of their own and report its failure.
    if (parts_.lives_by_clients && !has_compiled_ && PartOf(body.status()) == "compiler") {
      Log("cannot serve without a compiler: ", body.status().message());
      parts_.stop();
    }
  }
  if (client != nullptr) --client->running;
  // A front states its caller with the greeting.
  // Only now is the name known. Everything before the greeting counts for no client.
  if (request.type == FrameType::kHello && caller->greeted) {
    caller->session = parts_.activity->Enter(caller->name);
  }
  return reply;
}

Handler::Body Handler::Answer(const Frame& request, Caller* caller) {
  for (const Rule& rule : kRules) {
    if (rule.type != request.type) continue;
    // Statistics and shutdown need no greeting, so that tools of another protocol version can stop
    // this daemon.
    if (!rule.before_hello && !caller->greeted) {
      return absl::FailedPreconditionError("the first message must be Hello");
    }
    // In one place, before the body is parsed: no function below has to think of rights.
    if ((caller->rights & rule.right) != rule.right) return Forbidden(*caller, rule.right);
    return (this->*rule.answer)(request.body, caller);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a message of type ", static_cast<uint32_t>(request.type), " is not a request"));
}

Handler::Body Handler::Hello(const std::string& body, Caller* caller) {
  ASSIGN_OR_RETURN(const proto::Hello hello, Parse<proto::Hello>(body));
  // Checked first: the newer build may speak other protocol versions.
  if (parts_.replaced && parts_.replaced()) {
    parts_.stop();
    return absl::UnavailableError("kilnd was replaced by a newer build and is ending");
  }
  // 0 comes from clients before this field existed: they speak one version only.
  const uint32_t oldest = hello.oldest_protocol();
  const uint32_t common =
      CommonProtocol({}, {hello.protocol(), oldest == 0 ? hello.protocol() : oldest});
  if (common == 0) {
    return About(
        "protocol",
        absl::FailedPreconditionError(absl::StrCat(
            "kilnd ", kVersion, " (protocol ", Range(kOldestProtocolVersion, kProtocolVersion),
            ", process ", getpid(), ") does not serve Kiln ", hello.build(), " (protocol ",
            Range(oldest, hello.protocol()), "): they have no version of the protocol in common")));
  }
  // Only a front names a caller; a program's own connection may name an upstream instead.
  if (hello.has_caller()) {
    RETURN_IF_ERROR(SpeakFor(hello.caller(), caller));
  } else if (hello.has_upstream()) {
    caller->upstream = hello.upstream().SerializeAsString();
    caller->upstream_required = hello.upstream_required();
  }
  // Without a compiler, statistics and shutdown still work; compiling fails by itself.
  const CompilerIds compiler = parts_.compiler->Look().value_or(CompilerIds());
  caller->greeted = true;
  proto::HelloReply reply;
  reply.set_protocol(common);
  reply.set_build(kVersion);
  if (!compiler.empty()) {
    reply.set_compiler(std::string(compiler.cpu.view()));
    reply.set_cuda_compiler(std::string(compiler.cuda.view()));
  }
  reply.set_pid(getpid());
  return reply.SerializeAsString();
}

Handler::Body Handler::Lookup(const std::string& body, Caller* caller) {
  ASSIGN_OR_RETURN(const proto::LookupRequest request, Parse<proto::LookupRequest>(body));
  ASSIGN_OR_RETURN(CompileService::Looked looked, parts_.compiles->Lookup(request, *caller));
  return ReplyBody::Of(looked.reply, std::move(looked.entries));
}

Handler::Body Handler::Hits(const std::string& body, Caller* caller) {
  ASSIGN_OR_RETURN(const proto::HitsRequest request, Parse<proto::HitsRequest>(body));
  RETURN_IF_ERROR(parts_.compiles->CountHits(request, *caller));
  // The front answered these from its own cache. They count like look-ups, otherwise the hit rate
  // would show the misses only.
  kinds_[static_cast<size_t>(FrameType::kLookup)].requests->Add(request.requests());
  if (caller->session != nullptr) caller->session->client().requests += request.requests();
  return proto::HitsReply().SerializeAsString();
}

Handler::Body Handler::Compile(const std::string& body, Caller* caller) {
  const absl::Time start = SteadyNow();
  ASSIGN_OR_RETURN(proto::CompileRequest request, Parse<proto::CompileRequest>(body));
  proto::RequestRecord record;
  // Cut here for all receivers of the name: workers, logs, messages, other machines.
  request.set_name(std::string(CutText(request.name(), kMaxNameBytes)));
  record.set_kernel(request.name());
  record.set_client(caller->name);
  // A copy, because the request moves to the compilation. Describe drops it for hits.
  record.set_unit(request.unit());
  const TraceContext parent = ParseTraceparent(request.traceparent());
  request.set_traceparent(NewSpan(request.traceparent()));
  const TraceContext span = ParseTraceparent(request.traceparent());
  record.set_trace(span.trace);
  // Before the request moves. Paths may be confidential, so the configuration decides.
  const std::string place = parts_.name_sources ? SourcePlace(request.source_map()) : "";
  bool joined = false;
  const auto compiled = parts_.compiles->Compile(std::move(request), *caller, &joined);
  // A compiler that worked once is not given up because of one failure; see Handle.
  if (compiled.ok() && (*compiled)->reply.tier() == "compiled") has_compiled_ = true;
  record.set_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  record.set_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
  Describe(compiled, joined, &record);
  // Hits are counted, not logged one by one.
  if (LogsEvents() && (!compiled.ok() || !record.unit().empty())) {
    LogEvent("compile", EventFields(record, parent.span, span.span, place));
  }
  parts_.activity->Note(std::move(record));
  RETURN_IF_ERROR(compiled.status());
  return ReplyBody::Of((*compiled)->reply, (*compiled)->entry);
}

Handler::Body Handler::Link(const std::string& body, Caller* caller) {
  ASSIGN_OR_RETURN(proto::LinkRequest request, Parse<proto::LinkRequest>(body));
  request.set_name(std::string(CutText(request.name(), kMaxNameBytes)));
  return parts_.links->Link(request, *caller);
}

Handler::Body Handler::Recent(const std::string& body, Caller* /*caller*/) {
  ASSIGN_OR_RETURN(const proto::RecentRequest request, Parse<proto::RecentRequest>(body));
  return parts_.activity->Recent(request).SerializeAsString();
}

Handler::Body Handler::Capabilities(const std::string& /*body*/, Caller* /*caller*/) {
  ASSIGN_OR_RETURN(const CompilerIds compiler, parts_.compiler->Known());
  proto::CapabilitiesReply reply;
  reply.set_protocol(kProtocolVersion);
  reply.set_build(kVersion);
  reply.set_compiler(std::string(compiler.cpu.view()));
  for (const Target target : CompiledTargets()) reply.add_targets(target.text());
  reply.set_max_message_bytes(kMaxFrameBytes);
  reply.set_workers(parts_.workers);
  reply.set_cuda_compiler(std::string(compiler.cuda.view()));
  if (parts_.cuda_toolchain != nullptr) reply.set_cuda_toolchain(parts_.cuda_toolchain());
  return reply.SerializeAsString();
}

// A caller's entry belongs to its tenant. All callers but our own user need a signature of a
// trusted compiler.
absl::Status Handler::Keep(const std::string& bytes, const Caller& caller) {
  ASSIGN_OR_RETURN(const EntryView view, DecodeEntry(bytes));
  // A signature says which tenant an entry was compiled for, and it must be this one.
  if (view.info.tenant() != caller.tenant) {
    return absl::PermissionDeniedError("it was made for another tenant");
  }
  // From the tenant of the connection and the key in the entry, never from a place that the client
  // states: no client can write where another one reads.
  const Place place = PlaceOf(caller.tenant, view.key);
  if (!caller.local && !parts_.admit) {
    return absl::PermissionDeniedError("this kilnd trusts no keys");
  }
  absl::StatusOr<EntryPtr> entry =
      caller.local ? CheckEntry(place, bytes) : parts_.admit(place, bytes, caller.name);
  RETURN_IF_ERROR(entry.status());
  return parts_.tiers->Put(place, *std::move(entry));
}

Handler::Body Handler::Put(const std::string& body, Caller* caller) {
  ASSIGN_OR_RETURN(const proto::PutRequest request, Parse<proto::PutRequest>(body));
  proto::PutReply reply;
  for (const std::string& entry : request.entries()) {
    const absl::Status kept = Keep(entry, *caller);
    proto::PutReply::Result* result = reply.add_results();
    // One refusal does not reject the others: entries of a bundle may have different signers.
    result->set_kept(kept.ok());
    result->set_refused(std::string(kept.message()));
  }
  return reply.SerializeAsString();
}

Handler::Body Handler::Shutdown(const std::string& /*body*/, Caller* /*caller*/) {
  parts_.stop();
  return proto::ShutdownReply().SerializeAsString();
}

Handler::Body Handler::AllMetrics(const std::string& /*body*/, Caller* /*caller*/) {
  return Metrics::Get().Collect().SerializeAsString();
}

Handler::Body Handler::Stats(const std::string& /*body*/, Caller* /*caller*/) {
  proto::StatsReply reply = parts_.housekeeper->Totals();
  const PoolStats pool = parts_.pool->stats();
  reply.set_worker_deaths(pool.deaths);
  reply.set_waiting(pool.waiting);
  reply.set_uptime_seconds(absl::ToDoubleSeconds(SteadyNow() - start_));
  reply.set_pid(getpid());
  return reply.SerializeAsString();
}

Handler::Body Handler::Clear(const std::string& /*body*/, Caller* /*caller*/) {
  const StoreStats removed = parts_.tiers->Clear();
  Log("cleared the cache: ", removed.entries, " entries");
  proto::ClearReply reply;
  reply.set_entries(removed.entries);
  reply.set_bytes(removed.bytes);
  return reply.SerializeAsString();
}

}  // namespace kiln
