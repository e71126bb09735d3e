// The identity of the workers' compiler: the ids, of which every key contains one.
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
#include "common/artifact/compiler_ids.h"

namespace kiln {

class CompilerIdentity {
 public:
  // Calls `changed` when one differs from the previous one.
  CompilerIdentity(std::string record_path, std::string worker, std::function<void()> changed)
      : record_path_(std::move(record_path)),
        worker_(std::move(worker)),
        changed_(std::move(changed)) {}

  // The last known ids, empty before the first. Never blocks on a check.
  CompilerIds Latest() const;
  // The last known ids; checks if there is none yet.
  absl::StatusOr<CompilerIds> Known();
  // Checks the files and returns their ids. Runs the worker if there is no valid record. An error
  // names the worker's path.
  absl::StatusOr<CompilerIds> Look();

 private:
  absl::StatusOr<CompilerIds> Find() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string record_path_;
  const std::string worker_;
  const std::function<void()> changed_;
  absl::Mutex mutex_;  // held during a check
  mutable absl::Mutex id_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  CompilerIds ids_ ABSL_GUARDED_BY(id_mutex_);  // empty: unknown
  // The result of a check whose record cannot be stored: files and their stamps.
  std::vector<std::string> asked_files_ ABSL_GUARDED_BY(mutex_);
  std::string asked_stamp_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_COMPILER_IDENTITY_H_
