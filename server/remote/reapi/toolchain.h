// The files that a machine needs to run kiln-worker, as the input of an action: the program, its
// shared libraries and its loader. Of the other machine only the kernel (and the libm that the
// linker reads) is used.
#ifndef KILN_SERVER_REMOTE_REAPI_TOOLCHAIN_H_
#define KILN_SERVER_REMOTE_REAPI_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/remote/reapi/blob.h"

namespace kiln {

// A file's bytes, mapped, with their digest.
class MappedBlob {
 public:
  static absl::StatusOr<std::shared_ptr<const MappedBlob>> Make(const std::string& path);
  ~MappedBlob();
  MappedBlob(const MappedBlob&) = delete;
  MappedBlob& operator=(const MappedBlob&) = delete;

  BlobView view() const { return {digest_, data_}; }
  // Whether the file at the path is the one that was mapped.
  bool current() const;

 private:
  MappedBlob() = default;

  std::string path_;
  int64_t stamp_[4] = {};  // of the file: device, inode, size, time of change
  absl::string_view data_;
  reapi::Digest digest_;
};

// The input root without the job's own files, and the command line that starts the worker in it.
struct Toolchain {
  std::vector<std::shared_ptr<const MappedBlob>> files;
  std::vector<Blob> directories;  // below the root
  reapi::Directory root;          // without the job's files
  std::vector<std::string> command;
};

// Finds and hashes the files once, and again after one of them changes. Thread-safe.
class ToolchainFinder {
 public:
  explicit ToolchainFinder(std::string worker) : worker_(std::move(worker)) {}

  // NotFound and similar errors name the file. FailedPrecondition: a library that the loader cannot
  // find either.
  absl::StatusOr<std::shared_ptr<const Toolchain>> Find();

 private:
  const std::string worker_;
  absl::Mutex mutex_;
  std::shared_ptr<const Toolchain> found_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REAPI_TOOLCHAIN_H_
