// The manifest of a process: which kernels it used, as `kiln warm` compiles them without the
// program. client_py/kiln/warm/manifest.py states the format, and writes that of Python programs.
//
// Thread safety: all of it may be used from any thread.
#ifndef KILN_CLIENT_CPP_MANIFEST_H_
#define KILN_CLIENT_CPP_MANIFEST_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "lang/digest.h"
#include "proto/source_map.pb.h"
#include "proto/unit.pb.h"

namespace kiln {

// A serialised CompileRequest as Session::Warm takes it: for any target, the same wherever the
// program lies. `unit` comes back as it was.
std::string RecordedKernel(proto::CompileUnit* unit, const proto::SourceMap& source_map);

class Manifest {
 public:
  struct Unit {
    std::string key;       // hex, under which the program got its artifact
    std::string recorded;  // RecordedKernel's
    std::string level;     // that the program asked for; "-": the machine's
    std::string kernel;
  };

  // The one that KILN_MANIFEST names, written when the process that first asked for it ends by
  // returning from main or by exit(); nullptr if the variable is not set. Lives for ever.
  static Manifest* OfProcess();

  explicit Manifest(std::string path);
  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;

  // The first unit of a key counts. `compiler` may be empty: not known.
  void Add(Unit unit, const Digest& compiler);
  // The bytes of the file. `program`: what the manifest calls it.
  std::string Bytes(absl::string_view program) const;
  // Writes the file, if anything was added; says on standard error what went wrong.
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
