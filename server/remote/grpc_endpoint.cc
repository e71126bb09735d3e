#include "server/remote/grpc_endpoint.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/plain_text.h"
#include "common/base/status_macros.h"
#include "google/rpc/status.pb.h"

namespace kiln {
namespace {

// Reconnects soon: the breaker decides how often, not gRPC, whose own pauses grow to two minutes.
constexpr int kFirstPauseMs = 100;
constexpr int kLongestPauseMs = 2000;

grpc::ChannelArguments Arguments(const GrpcEndpoint::Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPauseMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstPauseMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestPauseMs);
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  // Two endpoints never share a connection: each has credentials of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!options.tls.server_name().empty()) {
    arguments.SetSslTargetNameOverride(options.tls.server_name());
  }
  return arguments;
}

}  // namespace

bool IsLocalAddress(absl::string_view address) {
  if (absl::StartsWith(address, "/") || absl::StartsWith(address, "unix:")) return true;
  if (absl::StartsWith(address, "[::1]") || address == "::1") return true;
  const absl::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost") return true;
  // A host name may begin with "127.", too; only digits and dots are an address.
  return absl::StartsWith(host, "127.") &&
         host.find_first_not_of("0123456789.") == absl::string_view::npos;
}

absl::StatusOr<std::unique_ptr<GrpcEndpoint>> GrpcEndpoint::Make(Options options) {
  if (options.address.empty()) {
    return absl::InvalidArgumentError("address: expected HOST:PORT of the server");
  }
  const proto::Tls& tls = options.tls;
  if (tls.certificate_file().empty() != tls.key_file().empty()) {
    return absl::InvalidArgumentError(
        "tls: certificate_file and key_file belong together, and one is missing");
  }
  if (!options.token_file.empty() && !tls.enabled() && !IsLocalAddress(options.address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("token_file: the token would travel in the clear to ", options.address,
                     "; add tls { enabled: true }"));
  }
  return std::unique_ptr<GrpcEndpoint>(new GrpcEndpoint(std::move(options)));
}

GrpcEndpoint::GrpcEndpoint(Options options)
    : options_(std::move(options)),
      token_(options_.token_file),
      ca_(options_.tls.ca_file()),
      certificate_(options_.tls.certificate_file()),
      key_(options_.tls.key_file()) {}

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcEndpoint::channel() {
  grpc::SslCredentialsOptions now;
  if (options_.tls.enabled()) {
    ASSIGN_OR_RETURN(now.pem_root_certs, ca_.Read());
    ASSIGN_OR_RETURN(now.pem_cert_chain, certificate_.Read());
    ASSIGN_OR_RETURN(now.pem_private_key, key_.Read());
  }
  absl::MutexLock lock(&mutex_);
  // Files are read at each call (WatchedFile looks at their stamps first). New ones need a new
  // channel.
  if (channel_ != nullptr && now.pem_root_certs == used_.pem_root_certs &&
      now.pem_cert_chain == used_.pem_cert_chain && now.pem_private_key == used_.pem_private_key) {
    return channel_;
  }
  channel_ = grpc::CreateCustomChannel(
      options_.address,
      options_.tls.enabled() ? grpc::SslCredentials(now) : grpc::InsecureChannelCredentials(),
      Arguments(options_));
  used_ = std::move(now);
  return channel_;
}

absl::Status GrpcEndpoint::Prepare(grpc::ClientContext* context, absl::Time deadline) {
  if (deadline != absl::InfiniteFuture()) {
    // gRPC counts by the wall clock, we by the steady one.
    context->set_deadline(absl::ToChronoTime(TimeOfDay(deadline)));
  }
  if (options_.token_file.empty()) return absl::OkStatus();
  // For each call, as tokens are exchanged while the daemon runs.
  ASSIGN_OR_RETURN(const std::string token, token_.ReadSecret());
  context->AddMetadata("authorization", absl::StrCat("Bearer ", token));
  return absl::OkStatus();
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  // gRPC and Abseil use the same numbers for codes.
  absl::Status ours(static_cast<absl::StatusCode>(status.error_code()),
                    absl::StrCat(what, ": ", OneLine(status.error_message())));
  google::rpc::Status details;
  // As payloads, from which WithRetries reads the server's wish to be asked later.
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      ours.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return ours;
}

}  // namespace kiln
