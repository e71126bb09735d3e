// Which compiler the workers are: the id that every key contains.
//
// The worker's files are looked at again at every greeting, so a rebuilt worker
// or an upgraded LLVM is noticed while the daemon runs. Thread-safe.
#ifndef KILN_SERVER_DAEMON_COMPILER_IDENTITY_H_
#define KILN_SERVER_DAEMON_COMPILER_IDENTITY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "lang/digest.h"

namespace kiln {

class CompilerIdentity {
 public:
  // `changed` is called when the id is not what it was.
  CompilerIdentity(std::string record_path, std::string worker, std::function<void()> changed)
      : record_path_(std::move(record_path)),
        worker_(std::move(worker)),
        changed_(std::move(changed)) {}

  // The id as last seen, empty if there is none yet. Waits for nobody who looks.
  Digest Latest() const;
  // The same, but looks if there is none yet.
  absl::StatusOr<Digest> Known();
  // The id as the files are now. Runs the worker where there is no valid record.
  // A failure names the worker's path.
  absl::StatusOr<Digest> Look();

 private:
  absl::StatusOr<Digest> Find() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string record_path_;
  const std::string worker_;
  const std::function<void()> changed_;
  absl::Mutex mutex_;  // of who looks
  mutable absl::Mutex id_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  Digest id_ ABSL_GUARDED_BY(id_mutex_);  // empty: not known
  // What was asked where the record cannot be kept: files and their stamps.
  std::vector<std::string> asked_files_ ABSL_GUARDED_BY(mutex_);
  std::string asked_stamp_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILER_IDENTITY_H_
