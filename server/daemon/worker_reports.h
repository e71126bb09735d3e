// What workers say of themselves when they start.
#ifndef KILN_SERVER_DAEMON_WORKER_REPORTS_H_
#define KILN_SERVER_DAEMON_WORKER_REPORTS_H_

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

// Logs and counts the gaps in their sandbox, each once, and keeps what they make code for CUDA
// with. Thread-safe.
class WorkerReports {
 public:
  void Note(const proto::HelloReply& worker);
  // Of the last worker that started; "" before the first.
  std::string cuda_toolchain() const;

 private:
  mutable absl::Mutex mutex_;
  std::set<std::string> known_ ABSL_GUARDED_BY(mutex_);  // gaps
  std::string cuda_toolchain_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WORKER_REPORTS_H_
