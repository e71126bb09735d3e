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

Handler::Body Handler::Lookup(const std::string& body, const Caller& caller) {
  ASSIGN_OR_RETURN(const proto::LookupRequest request, Parse<proto::LookupRequest>(body));
  ASSIGN_OR_RETURN(const proto::LookupReply reply, parts_.compiles->Lookup(request, caller));
  return reply.SerializeAsString();
}

Handler::Body Handler::Compile(const std::string& body, const Caller& caller) {
  ASSIGN_OR_RETURN(proto::CompileRequest request, Parse<proto::CompileRequest>(body));
  ASSIGN_OR_RETURN(const auto reply, parts_.compiles->Compile(std::move(request), caller));
  return reply->SerializeAsString();
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
