// A small file whose content may be replaced while we run: a token, a certificate.
#ifndef KILN_SERVER_REMOTE_WATCHED_FILE_H_
#define KILN_SERVER_REMOTE_WATCHED_FILE_H_

#include <sys/stat.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace kiln {

// Thread-safe. With an empty path the content is empty.
class WatchedFile {
 public:
  explicit WatchedFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // The current content; rereads the file if it was replaced or has changed. NotFound and similar
  // errors name the path; a file of more than 1 MiB is InvalidArgument.
  absl::StatusOr<std::string> Read();
  // As Read, without surrounding white space. InvalidArgument if the rest is empty or contains
  // white space.
  absl::StatusOr<std::string> ReadSecret();

 private:
  const std::string path_;
  absl::Mutex mutex_;
  struct stat seen_ ABSL_GUARDED_BY(mutex_) {};
  std::string content_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_WATCHED_FILE_H_
