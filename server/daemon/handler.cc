#include "server/daemon/handler.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/status_macros.h"
#include "lang/version.h"
#include "server/daemon/log.h"

namespace kiln {
namespace {

constexpr uint32_t kRetryAfterMs = 250;
constexpr size_t kMaxNameBytes = 200;

constexpr std::pair<FrameType, const char*> kRequestNames[] = {
    {FrameType::kHello, "hello"},       {FrameType::kLookup, "lookup"},
    {FrameType::kCompile, "compile"},   {FrameType::kCapabilities, "capabilities"},
    {FrameType::kStats, "stats"},       {FrameType::kClear, "clear"},
    {FrameType::kShutdown, "shutdown"}, {FrameType::kPut, "put"},
    {FrameType::kMetrics, "metrics"},   {FrameType::kRecent, "recent"},
};

template <typename Message>
absl::StatusOr<Message> Parse(const std::string& body) {
  Message message;
  if (!message.ParseFromString(body)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", message.GetTypeName(), " that does not parse"));
  }
  return message;
}

FrameType ReplyTypeOf(FrameType request) {
  return static_cast<FrameType>(static_cast<uint32_t>(request) + 1);
}

// Adds to `record` how a request to compile ended.
void Describe(const absl::StatusOr<std::shared_ptr<const proto::CompileReply>>& result, bool joined,
              proto::RequestRecord* record) {
  if (!result.ok()) {
    record->set_outcome("error");
    record->set_error(std::string(result.status().message()));
    record->clear_unit();
    return;
  }
  const proto::CompileReply& reply = **result;
  record->set_digest(reply.digest());
  record->set_bytes(reply.entry().size());
  const bool compiled = reply.stages_size() > 0 || reply.tier() == "compiled";
  record->set_outcome(reply.entry().empty() ? "diagnostics" : joined ? "joined" : reply.tier());
  if (!compiled || joined) {
    record->clear_unit();
    return;
  }
  record->set_queue_seconds(std::max(0.0, record->seconds() - reply.seconds()));
  for (const proto::StageReport& stage : reply.stages()) {
    proto::StageReport* out = record->add_stages();
    out->set_name(stage.name());
    out->set_seconds(stage.seconds());
  }
}

}  // namespace

Frame Handler::ErrorFrame(uint32_t id, const absl::Status& status) {
  proto::ErrorReply error = ToErrorReply(status);
  if (absl::IsResourceExhausted(status)) error.set_retry_after_ms(kRetryAfterMs);
  return Frame{FrameType::kError, id, error.SerializeAsString()};
}

Handler::Handler(Parts parts) : parts_(std::move(parts)), start_(absl::Now()) {
  Metrics& metrics = Metrics::Get();
  metrics.gauge("kiln_build_info", kVersion)->Set(1);
  metrics.gauge("kiln_start_time_seconds")->Set(absl::ToDoubleSeconds(start_ - absl::UnixEpoch()));
  for (const auto& [type, name] : kRequestNames) {
    kinds_[static_cast<size_t>(type)] = {metrics.counter("kiln_requests_total", name),
                                         metrics.histogram("kiln_request_seconds", name)};
  }
}

Frame Handler::Handle(Frame request, Caller* caller) {
  const absl::Time start = absl::Now();
  Activity::Client* client = nullptr;
  if (caller->seat != nullptr) {
    client = &caller->seat->client();
    ++client->running;
    ++client->requests;
  }
  received_->Add(kFrameHeaderSize + request.body.size());
  Body body = Answer(request, caller);
  Frame reply = body.ok() ? Frame{ReplyTypeOf(request.type), request.id, *std::move(body)}
                          : ErrorFrame(request.id, body.status());
  sent_->Add(kFrameHeaderSize + reply.body.size());
  const Kind& kind = kinds_[std::min<size_t>(static_cast<size_t>(request.type), kLastFrameType)];
  if (kind.requests != nullptr) {
    kind.requests->Add();
    kind.seconds->Observe(absl::Now() - start);
  }
  if (!body.ok()) {
    Metrics::Get()
        .counter("kiln_request_errors_total", absl::StatusCodeToString(body.status().code()))
        ->Add();
  }
  if (client != nullptr) --client->running;
  // A front states its caller with the greeting.
  if (request.type == FrameType::kHello && caller->greeted) {
    caller->seat = parts_.activity->Enter(caller->name);
  }
  return reply;
}

Handler::Body Handler::Answer(const Frame& request, Caller* caller) {
  Body body;
  switch (request.type) {
    case FrameType::kHello:
      body = Hello(request.body, caller);
      break;
    case FrameType::kStats:
      body = Stats();
      break;
    case FrameType::kMetrics:
      body = Metrics::Get().Collect().SerializeAsString();
      break;
    case FrameType::kRecent:
      body = Recent(request.body);
      break;
    case FrameType::kClear:
      body = Clear();
      break;
    case FrameType::kShutdown:
      parts_.stop();
      body = proto::ShutdownReply().SerializeAsString();
      break;
    case FrameType::kLookup:
    case FrameType::kCompile:
    case FrameType::kCapabilities:
      if (!caller->greeted) {
        body = absl::FailedPreconditionError("the first message must be Hello");
      } else if (request.type == FrameType::kLookup) {
        body = Lookup(request.body, *caller);
      } else if (request.type == FrameType::kCompile) {
        body = Compile(request.body, *caller);
      } else {
        body = Capabilities();
      }
      break;
    default:
      body = absl::InvalidArgumentError(absl::StrCat(
          "a message of type ", static_cast<uint32_t>(request.type), " is no request"));
  }
  return body;
}

Handler::Body Handler::Hello(const std::string& body, Caller* caller) {
  ASSIGN_OR_RETURN(const proto::Hello hello, Parse<proto::Hello>(body));
  if (hello.protocol() != kProtocolVersion || hello.build() != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("kilnd ", kVersion, " (protocol ", kProtocolVersion, ", process ", getpid(),
                     ") does not serve Kiln ", hello.build(), " (protocol ", hello.protocol(),
                     "): they must be of one version"));
  }
  if (parts_.replaced && parts_.replaced()) {
    parts_.stop();
    return absl::UnavailableError("kilnd was replaced by a newer build and is ending");
  }
  ASSIGN_OR_RETURN(const Digest compiler, parts_.compiler->Look());
  caller->greeted = true;
  proto::HelloReply reply;
  reply.set_protocol(kProtocolVersion);
  reply.set_build(kVersion);
  reply.set_compiler(std::string(compiler.view()));
  reply.set_pid(getpid());
  return reply.SerializeAsString();
}

Handler::Body Handler::Lookup(const std::string& body, const Caller& caller) {
  ASSIGN_OR_RETURN(const proto::LookupRequest request, Parse<proto::LookupRequest>(body));
  ASSIGN_OR_RETURN(const proto::LookupReply reply, parts_.compiles->Lookup(request, caller));
  return reply.SerializeAsString();
}

Handler::Body Handler::Compile(const std::string& body, const Caller& caller) {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(proto::CompileRequest request, Parse<proto::CompileRequest>(body));
  proto::RequestRecord record;
  record.set_kernel(request.name().substr(0, kMaxNameBytes));
  record.set_client(caller.name);
  record.set_unit(request.unit());
  bool joined = false;
  const auto reply = parts_.compiles->Compile(std::move(request), caller, &joined);
  const absl::Time end = absl::Now();
  record.set_time(absl::ToDoubleSeconds(end - absl::UnixEpoch()));
  record.set_seconds(absl::ToDoubleSeconds(end - start));
  Describe(reply, joined, &record);
  parts_.activity->Note(std::move(record));
  RETURN_IF_ERROR(reply.status());
  return (*reply)->SerializeAsString();
}

Handler::Body Handler::Recent(const std::string& body) {
  ASSIGN_OR_RETURN(const proto::RecentRequest request, Parse<proto::RecentRequest>(body));
  return parts_.activity->Recent(request).SerializeAsString();
}

Handler::Body Handler::Capabilities() {
  ASSIGN_OR_RETURN(const Digest compiler, parts_.compiler->Known());
  proto::CapabilitiesReply reply;
  reply.set_protocol(kProtocolVersion);
  reply.set_build(kVersion);
  reply.set_compiler(std::string(compiler.view()));
  for (const char* target : {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    reply.add_targets(target);
  }
  reply.set_max_message_bytes(kMaxFrameBytes);
  reply.set_workers(parts_.workers);
  return reply.SerializeAsString();
}

Handler::Body Handler::Stats() {
  proto::StatsReply reply = parts_.housekeeper->Totals();
  const PoolStats pool = parts_.pool->stats();
  reply.set_worker_deaths(pool.deaths);
  reply.set_waiting(pool.waiting);
  reply.set_uptime_seconds(absl::ToDoubleSeconds(absl::Now() - start_));
  reply.set_pid(getpid());
  return reply.SerializeAsString();
}

Handler::Body Handler::Clear() {
  const StoreStats removed = parts_.tiers->Clear();
  Log("cleared the cache: ", removed.entries, " entries");
  proto::ClearReply reply;
  reply.set_entries(removed.entries);
  reply.set_bytes(removed.bytes);
  return reply.SerializeAsString();
}

}  // namespace kiln
