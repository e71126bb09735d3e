// The identity of the workers' compiler: the id that every key contains.
//
// It is checked against the worker's files at every greeting, so the running daemon notices a
// rebuilt worker or an upgraded LLVM. Thread-safe.
#ifndef KILN_SERVER_DAEMON_COMPILING_COMPILER_IDENTITY_H_
#define KILN_SERVER_DAEMON_COMPILING_COMPILER_IDENTITY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/digest.h"

namespace kiln {

class CompilerIdentity {
 public:
  // Calls `changed` when the id differs from the previous one.
  CompilerIdentity(std::string record_path, std::string worker, std::function<void()> changed)
      : record_path_(std::move(record_path)),
        worker_(std::move(worker)),
        changed_(std::move(changed)) {}

  // The last known id, empty before the first. Never blocks on a check.
  Digest Latest() const;
  // The last known id; checks if there is none yet.
  absl::StatusOr<Digest> Known();
  // Checks the files and returns their id. Runs the worker if there is no valid record. An error
  // names the worker's path.
  absl::StatusOr<Digest> Look();

 private:
  absl::StatusOr<Digest> Find() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string record_path_;
  const std::string worker_;
  const std::function<void()> changed_;
  absl::Mutex mutex_;  // held during a check
  mutable absl::Mutex id_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  Digest id_ ABSL_GUARDED_BY(id_mutex_);  // empty: unknown
  // The result of a check whose record cannot be stored: files and their stamps.
  std::vector<std::string> asked_files_ ABSL_GUARDED_BY(mutex_);
  std::string asked_stamp_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_COMPILER_IDENTITY_H_
