#include "server/daemon/workers/poison_list.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/wire/error_detail.h"

namespace kiln {

void PoisonList::Add(const Place& place, absl::string_view why, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (poisons_.insert_or_assign(place, Poison{std::string(why), now + refused_for_}).second) {
    order_.push_back(place);
  }
  while (order_.size() > limit_) {
    poisons_.erase(order_.front());
    order_.pop_front();
  }
}

absl::Status PoisonList::Check(const Place& place, absl::string_view name, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto at = poisons_.find(place);
  if (at == poisons_.end()) return absl::OkStatus();
  const absl::Duration left = at->second.until - now;
  if (left <= absl::ZeroDuration()) {
    poisons_.erase(at);
    order_.erase(std::find(order_.begin(), order_.end(), place));
    return absl::OkStatus();
  }
  absl::Status refused = absl::InternalError(absl::StrCat(
      "compiling ", name.empty() ? "a kernel" : name, " is refused for another ",
      absl::FormatDuration(absl::Ceil(left, absl::Seconds(1))), ": it ", at->second.why));
  SetPart(&refused, "kernel");
  SetRetryAfter(&refused, left);
  return refused;
}

size_t PoisonList::size() const {
  absl::MutexLock lock(&mutex_);
  return poisons_.size();
}

}  // namespace kiln
