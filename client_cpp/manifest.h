// The manifest of a process: the kernels that it used, for `kiln warm` to compile without the
// program. client_py/kiln/warm/manifest.py specifies the format, and writes Python programs'
// manifests.
//
// Thread safety: all functions may be used from any thread.
#ifndef KILN_CLIENT_CPP_MANIFEST_H_
#define KILN_CLIENT_CPP_MANIFEST_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/artifact/target.h"
#include "common/base/digest.h"
#include "proto/source_map.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

// A serialised CompileRequest for Session::Warm: independent of the target and of the program's
// path. Leaves `unit` as it was.
std::string RecordedKernel(proto::CompileUnit* unit, const proto::SourceMap& source_map);

class Manifest {
 public:
  struct Unit {
    std::string key;       // hex; the program got its artifact under it
    std::string recorded;  // RecordedKernel's
    Target target;         // requested by the program; empty: the machine's
    std::string kernel;
  };

  // The manifest that KILN_MANIFEST names; nullptr if the variable is not set. Written when the
  // process that first called this returns from main or calls exit(). Lives forever.
  static Manifest* OfProcess();

  explicit Manifest(std::string path);
  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;

  // Keeps the first unit of each key. `compiler` may be empty: unknown.
  void Add(Unit unit, const Digest& compiler);
  // The bytes of the file. `program`: its name in the manifest.
  std::string Bytes(absl::string_view program) const;
  // Writes the file, if anything was added; reports errors on standard error.
  void Write() const;

 private:
  const std::string path_;
  const pid_t pid_;
  mutable absl::Mutex mutex_;
  std::vector<Unit> units_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> keys_ ABSL_GUARDED_BY(mutex_);
  Digest compiler_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MANIFEST_H_
