// Jobs in the order in which they are to run: those that somebody waits for first, and
// within each kind as they came. Every eighth is one that nobody waits for, if there are
// any, so that warming up always gets on.
//
// Not thread-safe.
#ifndef KILN_SERVER_DAEMON_JOB_QUEUE_H_
#define KILN_SERVER_DAEMON_JOB_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

namespace kiln {

// `Job` is copied, and equal only to itself: a shared pointer.
template <typename Job>
class JobQueue {
 public:
  void Push(Job job, bool warm) { (warm ? warm_ : interactive_).push_back(std::move(job)); }

  // Requires that there is one.
  Job Pop() {
    const bool both = !interactive_.empty() && !warm_.empty();
    const bool turn = both && ++passed_ >= kShare;
    if (turn) passed_ = 0;
    std::deque<Job>& from = interactive_.empty() || turn ? warm_ : interactive_;
    Job job = std::move(from.front());
    from.pop_front();
    return job;
  }

  // Somebody waits for it after all. Nothing, where it is not among the warm ones.
  void Hurry(const Job& job) {
    const auto at = std::find(warm_.begin(), warm_.end(), job);
    if (at == warm_.end()) return;
    interactive_.push_back(*at);
    warm_.erase(at);
  }

  // Whether it was there.
  bool Remove(const Job& job) {
    for (std::deque<Job>* queue : {&interactive_, &warm_}) {
      const auto at = std::find(queue->begin(), queue->end(), job);
      if (at == queue->end()) continue;
      queue->erase(at);
      return true;
    }
    return false;
  }

  bool empty() const { return interactive_.empty() && warm_.empty(); }
  size_t size() const { return interactive_.size() + warm_.size(); }
  size_t warm() const { return warm_.size(); }

 private:
  static constexpr int kShare = 8;

  std::deque<Job> interactive_;
  std::deque<Job> warm_;
  int passed_ = 0;  // interactive jobs taken while warm ones waited
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_JOB_QUEUE_H_
