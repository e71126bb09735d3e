// Why a kernel had to be compiled: how its key differs from the kernel's earlier keys since the
// daemon started. Thread-safe.
#ifndef KILN_SERVER_DAEMON_COMPILING_MISS_REASONS_H_
#define KILN_SERVER_DAEMON_COMPILING_MISS_REASONS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "kiln/proto/artifact.pb.h"

namespace kiln {

class MissReasons {
 public:
  // Records that the kernel of `info` was compiled, and returns the reason. "new": no kernel of the
  // name was compiled before. "again": an equal key was, and its entry is gone. Otherwise it is the
  // first part of the key that differs from the nearest earlier key: "compiler", "target",
  // "options", "code", "storage", "tree".
  std::string Explain(const proto::ArtifactInfo& info);

 private:
  using Parts = std::vector<std::pair<std::string, uint64_t>>;

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::deque<Parts>> earlier_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_COMPILING_MISS_REASONS_H_
