#include "server/remote/upstream.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/wire/framing.h"
#include "common/wire/version.h"
#include "kiln/proto/unit.pb.h"
#include "server/remote/stream.h"

namespace kiln {
namespace {

// An upstream may be replaced by another build, so its capabilities are asked again after this
// time.
constexpr absl::Duration kFitsFor = absl::Minutes(1);
constexpr absl::Duration kAskLimit = absl::Seconds(1);
constexpr absl::Duration kTryLimit = absl::Milliseconds(300);
// The interval of liveness checks during a compilation. A busy machine answers them late.
constexpr absl::Duration kFirstSign = absl::Milliseconds(300);
constexpr absl::Duration kNextSign = absl::Seconds(1);
constexpr absl::Duration kSignLimit = absl::Seconds(2);
// A look-up asks for no more entries once it has this many bytes: they go on in one frame.
constexpr size_t kMostBytes = kMaxFrameBytes / 4;

std::string Short(absl::string_view id) {
  return id.empty() ? "none" : absl::BytesToHexString(id.substr(0, 6));
}

bool IsForCuda(const std::string& unit) {
  proto::CompileUnit parsed;
  return parsed.ParseFromString(unit) && parsed.target().has_cuda();
}

// The compilers are known to be the same, but keys of units for CUDA depend on more. As a refused
// argument, it does not keep other units from the upstream (breaker.h).
absl::Status OtherToolkit() {
  return absl::InvalidArgumentError(
      "the upstream differs in NVIDIA's toolkit, on which keys of code for CUDA depend");
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
      new UpstreamKilnd(std::move(endpoint), config.tls(), std::move(compiler), limit));
}

UpstreamKilnd::UpstreamKilnd(std::unique_ptr<GrpcEndpoint> endpoint, proto::Tls tls,
                             std::string compiler, absl::Duration compile_limit)
    : endpoint_(std::move(endpoint)),
      tls_(std::move(tls)),
      compiler_(std::move(compiler)),
      compile_limit_(compile_limit) {}

absl::Status UpstreamKilnd::CheckEqual(proto::Kiln::Stub* stub, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    // The lock is not held for the question itself: several threads may ask at once, which is
    // harmless.
    if (SteadyNow() < ask_again_) return fits_;
  }
  grpc::ClientContext context;
  RETURN_IF_ERROR(endpoint_->Prepare(&context, std::min(deadline, SteadyNow() + kAskLimit)));
  proto::CapabilitiesReply theirs;
  const absl::Status asked =
      FromGrpc(stub->Capabilities(&context, proto::CapabilitiesRequest(), &theirs),
               absl::StrCat("the upstream ", endpoint_->address()));
  // A failed request has no result to cache: the next call asks again. Of a handshake gRPC says
  // only that it failed.
  if (absl::IsUnavailable(asked) && tls_.enabled()) {
    RETURN_IF_ERROR(TryTls(endpoint_->address(), tls_, SteadyNow() + kTryLimit));
  }
  RETURN_IF_ERROR(asked);
  absl::Status fits = absl::OkStatus();
  if (theirs.protocol() < kOldestProtocolVersion) {
    fits = absl::FailedPreconditionError(
        absl::StrCat("the upstream ", endpoint_->address(),
                     " differs in protocol: ", theirs.protocol(), " (kilnd ", theirs.build(),
                     ") there, ", kOldestProtocolVersion, " to ", kProtocolVersion, " here"));
  } else if (theirs.compiler() != compiler_) {
    // Another compiler makes other code for the same unit, so all its keys differ.
    fits = absl::FailedPreconditionError(absl::StrCat(
        "the upstream ", endpoint_->address(), " differs in compiler: ", Short(theirs.compiler()),
        " (kilnd ", theirs.build(), ") there, ", Short(compiler_), " here"));
  }
  absl::MutexLock lock(&mutex_);
  fits_ = fits;
  ask_again_ = SteadyNow() + kFitsFor;
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
  const absl::Status status =
      FromGrpc(method(stub.get(), &context), absl::StrCat(what, " at ", endpoint_->address()));
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    // The upstream may be gone, or hang: a short request detects that before a kernel is sent.
    absl::MutexLock lock(&mutex_);
    ask_again_ = absl::InfinitePast();
  }
  return status;
}

absl::Status UpstreamKilnd::GivesSign() {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, endpoint_->channel());
  grpc::ClientContext context;
  RETURN_IF_ERROR(endpoint_->Prepare(&context, SteadyNow() + kSignLimit));
  proto::CapabilitiesReply reply;
  return FromGrpc(
      proto::Kiln::NewStub(channel)->Capabilities(&context, proto::CapabilitiesRequest(), &reply),
      "no sign of life");
}

absl::StatusOr<std::vector<std::string>> UpstreamTier::Get(absl::Span<const Place> places,
                                                           absl::Time deadline) {
  std::vector<std::string> entries(places.size());
  std::vector<size_t> missing(places.size());
  std::iota(missing.begin(), missing.end(), 0);
  size_t bytes = 0;
  // A full reply leaves out the rest, which is asked for again.
  while (!missing.empty() && bytes < kMostBytes) {
    proto::LookupRequest request;
    for (const size_t i : missing) request.add_digests(std::string(places[i].view()));
    proto::LookupReply reply;
    const absl::Status status = kilnd_->Call(
        "looking up", deadline,
        [&](auto* stub, auto* context) { return stub->Lookup(context, request, &reply); });
    if (bytes > 0 && !status.ok()) break;  // what earlier replies brought is of use
    RETURN_IF_ERROR(status);
    if (reply.results_size() != static_cast<int>(missing.size())) {
      return absl::DataLossError("the upstream's reply does not match the request");
    }
    std::vector<size_t> left_out;
    const size_t before = bytes;
    for (size_t i = 0; i < missing.size(); ++i) {
      proto::LookupReply::Result& result = *reply.mutable_results(static_cast<int>(i));
      bytes += result.entry().size();
      entries[missing[i]] = std::move(*result.mutable_entry());
      if (result.left_out()) left_out.push_back(missing[i]);
    }
    if (bytes == before) break;  // else an upstream could hold us here for ever
    missing = std::move(left_out);
  }
  return entries;
}

// An upstream stores what it compiles itself. It takes no entries from daemons below it.
absl::Status UpstreamTier::Put(const Place&, absl::string_view, absl::Time) {
  return absl::OkStatus();
}

absl::StatusOr<proto::CompileReply> UpstreamDelegate::Compile(const proto::CompileRequest& request,
                                                              const Key& key, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    if (SteadyNow() < cuda_again_ && IsForCuda(request.unit())) return OtherToolkit();
  }
  deadline = std::min(deadline, SteadyNow() + kilnd_->compile_limit());
  proto::CompileRequest theirs = request;
  theirs.clear_tenant();  // the upstream determines the tenant
  theirs.set_deadline_ms(static_cast<uint32_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(deadline - SteadyNow()), 1, INT32_MAX)));
  proto::CompileReply reply;
  RETURN_IF_ERROR(kilnd_->Call("compiling", deadline, [&](auto* stub, auto* context) {
    grpc::Status status;
    absl::Notification done;
    // Asynchronous, so that this thread can ask for signs of life: gRPC notices a dead machine only
    // after many seconds, and a compilation may last a minute.
    stub->async()->Compile(context, &theirs, &reply, [&](grpc::Status ended) {
      status = std::move(ended);
      done.Notify();
    });
    for (absl::Duration pause = kFirstSign; !done.WaitForNotificationWithTimeout(pause);
         pause = kNextSign) {
      const absl::Status sign = kilnd_->GivesSign();
      if (sign.ok()) continue;
      // The callback uses this frame's locals, so the call has to end before we leave.
      context->TryCancel();
      done.WaitForNotification();
      // The reply came while we cancelled.
      if (status.ok()) break;
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, std::string(sign.message()));
    }
    return status;
  }));
  if (reply.digest() == key.view()) return reply;
  if (!IsForCuda(request.unit())) {
    return absl::FailedPreconditionError("the upstream computed another key for the same unit");
  }
  absl::MutexLock lock(&mutex_);
  cuda_again_ = SteadyNow() + kFitsFor;
  return OtherToolkit();
}

}  // namespace kiln
