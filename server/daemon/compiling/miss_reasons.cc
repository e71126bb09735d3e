#include "server/daemon/compiling/miss_reasons.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace kiln {
namespace {

constexpr size_t kMaxKernels = 4096;
constexpr size_t kMaxVersions = 8;  // of one kernel

// "storage 3" is a storage.
std::string Kind(absl::string_view part) { return std::string(part.substr(0, part.find(' '))); }

}  // namespace

std::string MissReasons::Explain(const proto::ArtifactInfo& info) {
  Parts parts;
  for (const proto::KeyPart& part : info.key_parts())
    parts.emplace_back(part.name(), part.digest());

  absl::MutexLock lock(&mutex_);
  // Forgetting only makes a reason less precise.
  if (earlier_.size() > kMaxKernels) earlier_.clear();
  std::deque<Parts>& versions = earlier_[info.kernel()];
  std::string reason = "new";
  size_t least = SIZE_MAX;
  for (const Parts& old : versions) {
    size_t differing =
        parts.size() > old.size() ? parts.size() - old.size() : old.size() - parts.size();
    std::string first =
        differing > 0 ? Kind((parts.size() > old.size() ? parts : old).back().first) : "again";
    for (size_t i = std::min(parts.size(), old.size()); i-- > 0;) {
      if (parts[i] == old[i]) continue;
      ++differing;
      first = Kind(parts[i].first);
    }
    if (differing < least) {
      least = differing;
      reason = std::move(first);
    }
  }
  versions.push_front(std::move(parts));
  if (versions.size() > kMaxVersions) versions.pop_back();
  return reason;
}

}  // namespace kiln
