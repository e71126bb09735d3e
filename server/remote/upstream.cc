#include "server/remote/upstream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lang/framing.h"
#include "lang/status_macros.h"
#include "lang/version.h"

namespace kiln {
namespace {

// An upstream may be replaced by another build: it is asked anew so often.
constexpr absl::Duration kFitsFor = absl::Minutes(1);
constexpr absl::Duration kAskLimit = absl::Seconds(2);

std::string Short(absl::string_view id) {
  return id.empty() ? "none" : absl::BytesToHexString(id.substr(0, 6));
}

}  // namespace

absl::StatusOr<std::shared_ptr<UpstreamKilnd>> UpstreamKilnd::Make(const proto::Upstream& config,
                                                                   std::string compiler) {
  GrpcEndpoint::Options options;
  options.address = config.address();
  options.tls = config.tls();
  options.token_file = config.token_file();
  options.max_message_bytes = static_cast<int>(kMaxFrameBytes);
  ASSIGN_OR_RETURN(std::unique_ptr<GrpcEndpoint> endpoint, GrpcEndpoint::Make(std::move(options)));
  const absl::Duration limit =
      config.compile_ms() == 0 ? absl::InfiniteDuration() : absl::Milliseconds(config.compile_ms());
  return std::shared_ptr<UpstreamKilnd>(
      new UpstreamKilnd(std::move(endpoint), std::move(compiler), limit));
}

UpstreamKilnd::UpstreamKilnd(std::unique_ptr<GrpcEndpoint> endpoint, std::string compiler,
                             absl::Duration compile_limit)
    : endpoint_(std::move(endpoint)),
      compiler_(std::move(compiler)),
      compile_limit_(compile_limit) {}

absl::Status UpstreamKilnd::CheckEqual(proto::Kiln::Stub* stub, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Now() < ask_again_) return fits_;
  }
  grpc::ClientContext context;
  RETURN_IF_ERROR(endpoint_->Prepare(&context, std::min(deadline, absl::Now() + kAskLimit)));
  proto::CapabilitiesReply theirs;
  // A failure to ask is no answer: the next call asks again.
  RETURN_IF_ERROR(FromGrpc(stub->Capabilities(&context, proto::CapabilitiesRequest(), &theirs),
                           endpoint_->address()));
  absl::Status fits = absl::OkStatus();
  if (theirs.protocol() < kOldestProtocolVersion) {
    fits = absl::FailedPreconditionError(
        absl::StrCat("the upstream ", endpoint_->address(),
                     " differs in protocol: ", theirs.protocol(), " (kilnd ", theirs.build(),
                     ") there, ", kOldestProtocolVersion, " to ", kProtocolVersion, " here"));
  } else if (theirs.compiler() != compiler_) {
    fits = absl::FailedPreconditionError(absl::StrCat(
        "the upstream ", endpoint_->address(), " differs in compiler: ", Short(theirs.compiler()),
        " (kilnd ", theirs.build(), ") there, ", Short(compiler_), " here"));
  }
  absl::MutexLock lock(&mutex_);
  fits_ = fits;
  ask_again_ = absl::Now() + kFitsFor;
  return fits;
}

absl::Status UpstreamKilnd::Call(
    absl::string_view what, absl::Time deadline,
    const std::function<grpc::Status(proto::Kiln::Stub*, grpc::ClientContext*)>& method) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, endpoint_->channel());
  const std::unique_ptr<proto::Kiln::Stub> stub = proto::Kiln::NewStub(channel);
  RETURN_IF_ERROR(CheckEqual(stub.get(), deadline));
  grpc::ClientContext context;
  RETURN_IF_ERROR(endpoint_->Prepare(&context, deadline));
  return FromGrpc(method(stub.get(), &context), absl::StrCat(what, " at ", endpoint_->address()));
}

absl::StatusOr<std::vector<std::string>> UpstreamTier::Get(absl::Span<const Digest> places,
                                                           absl::Time deadline) {
  proto::LookupRequest request;
  for (const Digest& place : places) request.add_digests(std::string(place.view()));
  proto::LookupReply reply;
  RETURN_IF_ERROR(kilnd_->Call("looking up", deadline, [&](auto* stub, auto* context) {
    return stub->Lookup(context, request, &reply);
  }));
  std::vector<std::string> entries(places.size());
  if (reply.results_size() != static_cast<int>(places.size())) {
    return absl::DataLossError("the upstream answered something else than it was asked");
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i] = std::move(*reply.mutable_results(static_cast<int>(i))->mutable_entry());
  }
  return entries;
}

absl::Status UpstreamTier::Put(const Digest&, absl::string_view, absl::Time) {
  return absl::OkStatus();
}

absl::StatusOr<proto::CompileReply> UpstreamDelegate::Compile(const proto::CompileRequest& request,
                                                              const Digest& key,
                                                              absl::Time deadline) {
  deadline = std::min(deadline, absl::Now() + kilnd_->compile_limit());
  proto::CompileRequest theirs = request;
  theirs.clear_tenant();  // which is the upstream's to say
  theirs.set_deadline_ms(static_cast<uint32_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()), 1, INT32_MAX)));
  proto::CompileReply reply;
  RETURN_IF_ERROR(kilnd_->Call("compiling", deadline, [&](auto* stub, auto* context) {
    return stub->Compile(context, theirs, &reply);
  }));
  if (reply.digest() != key.view()) {
    return absl::FailedPreconditionError("the upstream made another key of the same unit");
  }
  return reply;
}

}  // namespace kiln
