// Collects the manifest of a C++ program while it runs, if KILN_MANIFEST names a file for it.
// Python programs' manifests come from client_py/kiln/warm/program.py.
//
// Thread safety: all functions may be used from any thread.
#ifndef KILN_CLIENT_CPP_MANIFEST_RECORDER_H_
#define KILN_CLIENT_CPP_MANIFEST_RECORDER_H_

#include <sys/types.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "client_cpp/manifest.h"
#include "client_cpp/mutex.h"
#include "common/base/digest.h"

namespace kiln {

class ManifestRecorder {
 public:
  // Of the manifest that KILN_MANIFEST names; nullptr if the variable is not set. Written when the
  // process that first called this returns from main or calls exit(). Lives forever.
  static ManifestRecorder* OfProcess();

  explicit ManifestRecorder(std::string path);
  ManifestRecorder(const ManifestRecorder&) = delete;
  ManifestRecorder& operator=(const ManifestRecorder&) = delete;

  // Keeps the first unit of each key. `recorded`: RecordedKernel's bytes; the unit's name of them
  // is filled in. `compiler` may be empty: unknown.
  void Add(Manifest::Unit unit, std::string recorded, const Digest& compiler);
  // What was added. `program`: its name in the manifest.
  Manifest Made(absl::string_view program) const;
  // Replaces the file, if anything was added; reports errors on standard error.
  void Write() const;

 private:
  const std::string path_;
  const pid_t pid_;
  mutable Mutex mutex_;
  Manifest made_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> keys_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MANIFEST_RECORDER_H_
