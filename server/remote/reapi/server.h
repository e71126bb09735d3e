// One Remote Execution API server: its capabilities, and the calls that all its users share.
#ifndef KILN_SERVER_REMOTE_REAPI_SERVER_H_
#define KILN_SERVER_REMOTE_REAPI_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/grpc_endpoint.h"
#include "server/remote/reapi/blob.h"

namespace kiln {

// Thread-safe.
class ReapiServer {
 public:
  // The server's capabilities, as far as they matter here.
  struct Abilities {
    bool update = false;           // takes action results
    bool execute = false;          // runs actions
    size_t batch_bytes = 0;        // of the blobs in one call
    size_t blob_bytes = SIZE_MAX;  // of one blob
    bool zstd = false;             // in ByteStream, and in the answers to batches
    bool zstd_updates = false;     // in batches that are sent
  };

  // InvalidArgument for invalid addresses and instance names.
  static absl::StatusOr<std::unique_ptr<ReapiServer>> Make(const proto::Reapi& config);

  const std::string& instance() const { return instance_; }
  const std::string& address() const { return endpoint_->address(); }
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel() { return endpoint_->channel(); }
  // Sets deadline, token and the name of the tool.
  absl::Status Prepare(grpc::ClientContext* context, absl::Time deadline);
  // Cached for a few minutes. FailedPrecondition: not of version 2, or without SHA-256.
  absl::StatusOr<Abilities> abilities(absl::Time deadline);

 private:
  ReapiServer(std::string instance, std::unique_ptr<GrpcEndpoint> endpoint)
      : instance_(std::move(instance)), endpoint_(std::move(endpoint)) {}

  const std::string instance_;
  const std::unique_ptr<GrpcEndpoint> endpoint_;
  absl::Mutex mutex_;
  Abilities abilities_ ABSL_GUARDED_BY(mutex_);
  absl::Time good_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// Calls `call` until it succeeds, fails for good, or the next attempt would come too late.
// Transient failures (Unavailable, Aborted, any with a RetryInfo) are retried after the pause that
// the server requests, else after one that grows from 100 ms.
absl::Status WithRetries(absl::Time deadline, const std::function<absl::Status()>& call);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_SERVER_H_
