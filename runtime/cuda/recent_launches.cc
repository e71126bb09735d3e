#include "runtime/cuda/recent_launches.h"

#include <algorithm>
#include <cstddef>

namespace kiln::cuda {
namespace {

// So many launches are named when the device fails.
constexpr size_t kNamed = 8;

}  // namespace

void RecentLaunches::Note(const NamesInErrors& kernels) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (last_.size() < kNamed) {
    last_.push_back(kernels);
  } else {
    last_[count_ % kNamed] = kernels;
  }
  ++count_;
}

void RecentLaunches::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_.clear();
  count_ = 0;
}

std::string RecentLaunches::Text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (count_ == 0) return "";
  std::vector<std::string> names;
  for (const NamesInErrors& kernels : last_) {
    for (const std::string& name : *kernels) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return names.size() == 1 && count_ <= kNamed
             ? ", in kernel " + list
             : ", in a kernel launched since the last ti.sync(); the last ones are " + list;
}

}  // namespace kiln::cuda
