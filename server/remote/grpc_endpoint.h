// A gRPC server: its channel, our credentials, and the translation of its errors.
#ifndef KILN_SERVER_REMOTE_GRPC_ENDPOINT_H_
#define KILN_SERVER_REMOTE_GRPC_ENDPOINT_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/proto/config.pb.h"
#include "server/remote/watched_file.h"

namespace kiln {

// Thread-safe.
class GrpcEndpoint {
 public:
  struct Options {
    std::string address;  // HOST:PORT, or unix:PATH
    proto::Tls tls;
    std::string token_file;  // "": none
    int max_message_bytes = 8 << 20;
  };

  // Does not connect yet. InvalidArgument: no address, a certificate without its key, or a token
  // that would travel unencrypted to another machine.
  static absl::StatusOr<std::unique_ptr<GrpcEndpoint>> Make(Options options);

  const std::string& address() const { return options_.address; }
  // The connection; a new one when a certificate file has changed. Fails for unreadable files.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel();
  // Sets the call's deadline and its token.
  absl::Status Prepare(grpc::ClientContext* context, absl::Time deadline);

 private:
  explicit GrpcEndpoint(Options options);

  const Options options_;
  WatchedFile token_;
  WatchedFile ca_;
  WatchedFile certificate_;
  WatchedFile key_;
  absl::Mutex mutex_;
  grpc::SslCredentialsOptions used_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

// Whether HOST:PORT, HOST or a socket's path denotes this machine, judged by name alone.
bool IsLocalAddress(absl::string_view address);

// Converts `status`, prefixed with `what`; its details become payloads keyed by the URL of their
// type.
absl::Status FromGrpc(const grpc::Status& status, absl::string_view what);

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_GRPC_ENDPOINT_H_
