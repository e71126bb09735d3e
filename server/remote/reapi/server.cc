#include "server/remote/reapi/server.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/wire/version.h"
#include "google/rpc/error_details.pb.h"

namespace kiln {
namespace {

// Servers are upgraded under a running daemon, but rarely.
constexpr absl::Duration kAbilitiesLife = absl::Minutes(5);
// gRPC accepts messages of 4 MiB by default, even if a server allows more.
constexpr size_t kBatchBytes = (4 << 20) - (1 << 10);
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
// With the pauses two to three seconds; the deadline is usually shorter.
constexpr int kTries = 6;

template <typename List>
bool Has(const List& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Resource names are paths: these words would end the path's instance part.
absl::Status CheckInstance(const std::string& instance) {
  if (instance.empty()) return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(instance, '/')) {
    for (const char* word : {"", "blobs", "uploads", "actions", "actionResults", "operations",
                             "capabilities", "compressed-blobs"}) {
      if (part == word) {
        return absl::InvalidArgumentError(absl::StrCat("instance: \"", instance, "\" has a part \"",
                                                       part, "\", which no instance may have"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ReapiServer::Abilities> Understand(const reapi::ServerCapabilities& all) {
  // A server that names no versions has the first.
  if (all.has_low_api_version() && all.low_api_version().major() > 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server speaks version ", all.low_api_version().major(),
                     " of the Remote Execution API at least; expected 2"));
  }
  if (all.has_high_api_version() && all.high_api_version().major() < 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server speaks version ", all.high_api_version().major(),
                     " of the Remote Execution API at most; expected 2"));
  }
  const reapi::CacheCapabilities& cache = all.cache_capabilities();
  // Keys of Kiln are SHA-256 as well, and a second hash of each file would cost as much again.
  if (!Has(cache.digest_functions(), reapi::DigestFunction::SHA256)) {
    return absl::FailedPreconditionError("the server's storage does not use SHA-256");
  }
  ReapiServer::Abilities made;
  made.update = cache.action_cache_update_capabilities().update_enabled();
  // 0 in the server's answer means that it states no limit.
  made.batch_bytes = kBatchBytes;
  if (cache.max_batch_total_size_bytes() > 0) {
    made.batch_bytes = std::min<size_t>(kBatchBytes, cache.max_batch_total_size_bytes());
  }
  if (cache.max_cas_blob_size_bytes() > 0) made.blob_bytes = cache.max_cas_blob_size_bytes();
  made.zstd = Has(cache.supported_compressors(), reapi::Compressor::ZSTD);
  made.zstd_updates = Has(cache.supported_batch_update_compressors(), reapi::Compressor::ZSTD);
  const reapi::ExecutionCapabilities& execution = all.execution_capabilities();
  made.execute = execution.exec_enabled() &&
                 (execution.digest_function() == reapi::DigestFunction::SHA256 ||
                  Has(execution.digest_functions(), reapi::DigestFunction::SHA256));
  return made;
}

absl::Duration PauseAfter(const absl::Status& failure, int tries) {
  static constexpr char kType[] = "type.googleapis.com/google.rpc.RetryInfo";
  // The server's own wish comes first, whatever the code.
  if (const auto payload = failure.GetPayload(kType); payload.has_value()) {
    google::rpc::RetryInfo info;
    if (info.ParseFromString(std::string(*payload))) {
      return absl::Seconds(std::max<int64_t>(info.retry_delay().seconds(), 0)) +
             absl::Nanoseconds(std::max(info.retry_delay().nanos(), 0));
    }
  }
  // All other failures would be the same again.
  if (!absl::IsUnavailable(failure) && !absl::IsAborted(failure)) return absl::InfiniteDuration();
  // Random, so that callers that were refused together do not return together.
  thread_local std::minstd_rand random(std::random_device{}());
  return std::min(kFirstPause * (1 << tries), kLongestPause) *
         std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReapiServer>> ReapiServer::Make(const proto::Reapi& config) {
  RETURN_IF_ERROR(CheckInstance(config.instance()));
  GrpcEndpoint::Options options;
  options.address = config.address();
  options.tls = config.tls();
  options.token_file = config.token_file();
  ASSIGN_OR_RETURN(std::unique_ptr<GrpcEndpoint> endpoint, GrpcEndpoint::Make(std::move(options)));
  return std::unique_ptr<ReapiServer>(new ReapiServer(config.instance(), std::move(endpoint)));
}

absl::Status ReapiServer::Prepare(grpc::ClientContext* context, absl::Time deadline) {
  // Shown by servers' own logs and quotas. Never deleted, as threads may use it at exit.
  static const std::string* const metadata = [] {
    reapi::RequestMetadata tool;
    tool.mutable_tool_details()->set_tool_name("kiln");
    tool.mutable_tool_details()->set_tool_version(kVersion);
    return new std::string(tool.SerializeAsString());
  }();
  context->AddMetadata("build.bazel.remote.execution.v2.requestmetadata-bin", *metadata);
  return endpoint_->Prepare(context, deadline);
}

absl::StatusOr<ReapiServer::Abilities> ReapiServer::abilities(absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    if (SteadyNow() < good_until_) return abilities_;
  }
  // Without the lock: a server that hangs blocks only this caller.
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, endpoint_->channel());
  grpc::ClientContext context;
  RETURN_IF_ERROR(Prepare(&context, deadline));
  reapi::GetCapabilitiesRequest request;
  request.set_instance_name(instance_);
  reapi::ServerCapabilities reply;
  RETURN_IF_ERROR(
      FromGrpc(reapi::Capabilities::NewStub(channel)->GetCapabilities(&context, request, &reply),
               "GetCapabilities"));
  ASSIGN_OR_RETURN(const Abilities made, Understand(reply));
  absl::MutexLock lock(&mutex_);
  abilities_ = made;
  good_until_ = SteadyNow() + kAbilitiesLife;
  return made;
}

absl::Status WithRetries(absl::Time deadline, const std::function<absl::Status()>& call) {
  for (int tries = 0;; ++tries) {
    absl::Status status = call();
    if (status.ok() || tries + 1 == kTries) return status;
    const absl::Duration pause = PauseAfter(status, tries);
    if (SteadyNow() + pause >= deadline) return status;
    absl::SleepFor(pause);
  }
}

}  // namespace kiln
