#include "server/daemon/handler.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/canonical.h"
#include "lang/status_macros.h"
#include "lang/version.h"
#include "server/daemon/log.h"

namespace kiln {
namespace {

constexpr int kMaxDigests = 1 << 16;
// What one Lookup reply may carry; the rest is not found and asked for again.
constexpr size_t kMaxLookupBytes = size_t{64} << 20;
constexpr uint32_t kRetryAfterMs = 250;

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

proto::CompileReply ReplyOf(const Digest& key, const Found& found) {
  proto::CompileReply reply;
  reply.set_digest(std::string(key.view()));
  reply.set_entry(found.entry->bytes);
  reply.set_tier(std::string(found.tier));
  reply.set_seconds(found.entry->compile_seconds);
  return reply;
}

}  // namespace

Frame Handler::ErrorFrame(uint32_t id, const absl::Status& status) {
  proto::ErrorReply error = ToErrorReply(status);
  if (absl::IsResourceExhausted(status)) error.set_retry_after_ms(kRetryAfterMs);
  return Frame{FrameType::kError, id, error.SerializeAsString()};
}

Frame Handler::Handle(Frame request, Caller* caller) {
  Body body;
  switch (request.type) {
    case FrameType::kHello:
      body = Hello(request.body, caller);
      break;
    case FrameType::kStats:
      body = Stats();
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
        body = Lookup(request.body);
      } else if (request.type == FrameType::kCompile) {
        body = Compile(std::move(request.body), *caller);
      } else {
        body = Capabilities();
      }
      break;
    default:
      body = absl::InvalidArgumentError(absl::StrCat(
          "a message of type ", static_cast<uint32_t>(request.type), " is no request"));
  }
  if (!body.ok()) return ErrorFrame(request.id, body.status());
  return Frame{ReplyTypeOf(request.type), request.id, *std::move(body)};
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

Handler::Body Handler::Lookup(const std::string& body) {
  ASSIGN_OR_RETURN(const proto::LookupRequest request, Parse<proto::LookupRequest>(body));
  if (request.digests_size() > kMaxDigests) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.digests_size(), " digests; at most ", kMaxDigests, " at once"));
  }
  proto::LookupReply reply;
  size_t size = 0;
  for (const std::string& raw : request.digests()) {
    ASSIGN_OR_RETURN(const Digest key, Digest::FromBytes(raw));
    proto::LookupReply::Result* result = reply.add_results();
    if (size > kMaxLookupBytes) continue;
    const Found found = parts_.tiers->Get(key);
    if (found.entry == nullptr) continue;
    size += found.entry->bytes.size();
    if (size > kMaxLookupBytes) continue;
    result->set_found(true);
    result->set_entry(found.entry->bytes);
    result->set_tier(std::string(found.tier));
    parts_.counters->Hit(found.tier, found.entry->compile_seconds);
  }
  return reply.SerializeAsString();
}

Handler::Body Handler::Compile(std::string body, const Caller& caller) {
  ASSIGN_OR_RETURN(proto::CompileRequest request, Parse<proto::CompileRequest>(body));
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
  const proto::ReportOptions& report = request.report();
  // Who wants to see the stages wants them run.
  const bool fresh = report.print_ir() || report.timing() || report.statistics();
  Digest flight = key;
  if (fresh) flight = Sha256Of(absl::StrCat(key.Hex(), " ", ++unshared_));

  auto look = [&]() -> std::shared_ptr<const proto::CompileReply> {
    const Found found = fresh ? Found() : parts_.tiers->Get(key);
    if (found.entry == nullptr) return nullptr;
    parts_.counters->Hit(found.tier, found.entry->compile_seconds);
    return std::make_shared<const proto::CompileReply>(ReplyOf(key, found));
  };
  if (auto hit = look()) return hit->SerializeAsString();

  auto start = [&](const SingleFlight<proto::CompileReply>::Done& done) -> std::function<void()> {
    // An earlier flight may have landed since we looked.
    if (auto hit = look()) {
      done(std::move(hit));
      return nullptr;
    }
    auto take = [this, key, done](absl::StatusOr<Frame> frame) {
      TakeResult(key, std::move(frame), done);
    };
    absl::StatusOr<std::shared_ptr<WorkerPool::Job>> job =
        parts_.pool->Submit(std::move(body), request.name(), take);
    if (!job.ok()) {
      done(job.status());
      return nullptr;
    }
    parts_.counters->Miss();
    return [pool = parts_.pool, job = *job] { pool->Cancel(job); };
  };
  auto outcome = flights_.Do(flight, deadline, caller.gone, start);
  RETURN_IF_ERROR(outcome.result.status());
  const proto::CompileReply& reply = **outcome.result;
  if (outcome.joined && !reply.entry().empty()) parts_.counters->Hit("joined", reply.seconds());
  return reply.SerializeAsString();
}

void Handler::TakeResult(const Digest& key, absl::StatusOr<Frame> frame,
                         const SingleFlight<proto::CompileReply>::Done& done) {
  auto reply = std::make_shared<proto::CompileReply>();
  absl::Status status =
      frame.ok() ? ParseReply(*frame, FrameType::kCompileReply, reply.get()) : frame.status();
  if (status.ok() && reply->digest() != key.view()) {
    parts_.compiler->Look().status().IgnoreError();
    parts_.pool->Renew();
    status = absl::UnavailableError("the compiler was replaced while it compiled; try again");
  }
  if (status.ok() && !reply->entry().empty()) {
    absl::StatusOr<EntryPtr> entry = CheckEntry(key, reply->entry());
    if (entry.ok()) {
      parts_.tiers->Put(key, *std::move(entry)).IgnoreError();  // the disk tier has warned
    } else {
      status = absl::InternalError(
          absl::StrCat("the compiler's result is damaged: ", entry.status().message()));
    }
  }
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  parts_.counters->Compiled(/*with_errors=*/reply->entry().empty());
  done(std::shared_ptr<const proto::CompileReply>(std::move(reply)));
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
