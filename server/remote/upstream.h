// Another kilnd, over gRPC: a tier that is read by Lookup, and a remote compiler for its misses.
// Entries are never put there: it stores what it compiled itself.
//
// Keys are comparable only if both compilers are identical. Capabilities is asked first; a kilnd
// with another compiler or protocol is not used.
#ifndef KILN_SERVER_REMOTE_UPSTREAM_H_
#define KILN_SERVER_REMOTE_UPSTREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kiln/proto/config.pb.h"
#include "kiln/proto/service.grpc.pb.h"
#include "server/remote/grpc_endpoint.h"
#include "server/remote/remote_tier.h"

namespace kiln {

// Shared by the two classes below. Thread-safe.
class UpstreamKilnd {
 public:
  // `compiler` is our own: 32 bytes.
  static absl::StatusOr<std::shared_ptr<UpstreamKilnd>> Make(const proto::Upstream& config,
                                                             std::string compiler);

  // Calls `method` with a stub and a context prepared for `deadline`, if the upstream is
  // compatible. FailedPrecondition names the difference.
  absl::Status Call(
      absl::string_view what, absl::Time deadline,
      const std::function<grpc::Status(proto::Kiln::Stub*, grpc::ClientContext*)>& method);
  // Whether it answers now; a failure is detected within two seconds.
  absl::Status GivesSign();
  absl::Duration compile_limit() const { return compile_limit_; }

 private:
  UpstreamKilnd(std::unique_ptr<GrpcEndpoint> endpoint, proto::Tls tls, std::string compiler,
                absl::Duration compile_limit);
  absl::Status CheckEqual(proto::Kiln::Stub* stub, absl::Time deadline);

  const std::unique_ptr<GrpcEndpoint> endpoint_;
  const proto::Tls tls_;
  const std::string compiler_;
  const absl::Duration compile_limit_;
  absl::Mutex mutex_;
  absl::Status fits_ ABSL_GUARDED_BY(mutex_);
  absl::Time ask_again_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

class UpstreamTier : public RemoteTier {
 public:
  explicit UpstreamTier(std::shared_ptr<UpstreamKilnd> kilnd) : kilnd_(std::move(kilnd)) {}

  absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Place> places,
                                               absl::Time deadline) override;
  absl::Status Put(const Place& place, absl::string_view entry, absl::Time deadline) override;

 private:
  const std::shared_ptr<UpstreamKilnd> kilnd_;
};

class UpstreamDelegate : public Delegate {
 public:
  explicit UpstreamDelegate(std::shared_ptr<UpstreamKilnd> kilnd) : kilnd_(std::move(kilnd)) {}

  absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request, const Key& key,
                                              absl::Time deadline) override;

 private:
  const std::shared_ptr<UpstreamKilnd> kilnd_;
  absl::Mutex mutex_;
  // When units for CUDA are given to it again: it compiled one in vain, with another toolkit.
  absl::Time cuda_again_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_UPSTREAM_H_
