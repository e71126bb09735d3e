// What clients hit without asking the daemon: they append 32-byte digests to
// one file (O_APPEND, one write a hit), the daemon reads on from where it was.
//
// A log over kMaxLogBytes that is read to its end is cut to nothing; a hit
// appended in that very moment may be lost, which costs one count.
#ifndef KILN_SERVER_CACHE_HIT_LOG_H_
#define KILN_SERVER_CACHE_HIT_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lang/digest.h"

namespace kiln {

class HitLog {
 public:
  static constexpr uint64_t kMaxLogBytes = 1 << 20;

  // Starts at `offset`, what an earlier life had read.
  HitLog(std::string path, uint64_t offset) : path_(std::move(path)), offset_(offset) {}

  // The digests appended since the last call; none if the log cannot be read.
  // Not thread-safe.
  std::vector<Digest> ReadNew();
  uint64_t offset() const { return offset_; }

 private:
  const std::string path_;
  uint64_t offset_;
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_HIT_LOG_H_
