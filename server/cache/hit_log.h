// Clients' hits without the daemon: each client appends 32-byte digests to one file (O_APPEND, one
// write per hit), and the daemon reads on from its last offset.
//
// A log over kMaxLogBytes is truncated after it was read to its end. A hit appended at that moment
// may be lost, which costs one count. A log over kMostLogBytes is truncated unread.
#ifndef KILN_SERVER_CACHE_HIT_LOG_H_
#define KILN_SERVER_CACHE_HIT_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"

namespace kiln {

class HitLog {
 public:
  static constexpr uint64_t kMaxLogBytes = 1 << 20;
  static constexpr uint64_t kMostLogBytes = 32 << 20;  // twice what clients write at most

  // Starts at `offset`, which an earlier daemon had reached.
  HitLog(std::string path, uint64_t offset) : path_(std::move(path)), offset_(offset) {}

  // The digests appended since the last call; none if the log cannot be read.
  // Not thread-safe.
  std::vector<Place> ReadNew();
  uint64_t offset() const { return offset_; }

 private:
  const std::string path_;
  uint64_t offset_;
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_HIT_LOG_H_
