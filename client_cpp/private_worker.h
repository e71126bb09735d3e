// A worker of this process's own: the compiler when there is no daemon, over the same frames that
// the daemon would use.
//
// Thread safety: all methods; jobs run one after the other.
#ifndef KILN_CLIENT_CPP_PRIVATE_WORKER_H_
#define KILN_CLIENT_CPP_PRIVATE_WORKER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client_cpp/connection.h"
#include "client_cpp/mutex.h"
#include "common/base/child_stderr.h"
#include "common/base/digest.h"

namespace kiln {

class PrivateWorker {
 public:
  explicit PrivateWorker(std::string bin_dir) : bin_dir_(std::move(bin_dir)) {}
  PrivateWorker(const PrivateWorker&) = delete;
  PrivateWorker& operator=(const PrivateWorker&) = delete;
  ~PrivateWorker();

  // Start the worker if necessary. Restart a worker that dies during a job once; a second death
  // is Unavailable. `compiler` becomes the id of its compiler.
  absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request,
                                              absl::Time deadline, CompilerIds* compiler);
  absl::StatusOr<proto::LinkReply> Link(const proto::LinkRequest& request, absl::Time deadline);

 private:
  absl::Status Run(FrameType type, const google::protobuf::MessageLite& request,
                   FrameType reply_type, google::protobuf::MessageLite* reply, absl::Time deadline,
                   CompilerIds* compiler);
  absl::Status Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last line of the dead worker's output, as the end of a message.
  std::string LastWords() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string bin_dir_;
  Mutex mutex_;
  std::unique_ptr<Connection> connection_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ChildStderr> said_ ABSL_GUARDED_BY(mutex_);  // the worker's standard error
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_PRIVATE_WORKER_H_
