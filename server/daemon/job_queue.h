// Jobs in the order in which they are to run: those that somebody waits for first, and every
// eighth one that nobody waits for, if there are any, so that warming up always gets on.
//
// Within each kind tenants take turns, a tenant's callers take turns at its turns, and a
// caller's jobs run as they came. So who sends many waits behind who sends few.
//
// Not thread-safe.
#ifndef KILN_SERVER_DAEMON_JOB_QUEUE_H_
#define KILN_SERVER_DAEMON_JOB_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <string>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"

namespace kiln {

// Whose a job is.
struct JobOwner {
  std::string tenant;
  std::string caller;
  friend bool operator==(const JobOwner& a, const JobOwner& b) {
    return std::tie(a.tenant, a.caller) == std::tie(b.tenant, b.caller);
  }
};

// `Job` is copied, and equal only to itself: a shared pointer.
template <typename Job>
class JobQueue {
 public:
  // Whether one more job of that owner may run now.
  using May = absl::FunctionRef<bool(const JobOwner&)>;

  void Push(Job job, const JobOwner& owner, bool warm) {
    (warm ? warm_ : interactive_).Push(std::move(job), owner);
  }

  // Whose job Pop would take; null: there is none that may run. `stay`, if not null, is the
  // tenant that goes first, whoever's turn it is.
  const JobOwner* Next(May may, const std::string* stay) const {
    const Choice choice = Choose(may, stay);
    return choice.queue == nullptr ? nullptr : &choice.queue->owner;
  }
  absl::optional<Job> Pop(May may, const std::string* stay) {
    const Choice choice = Choose(may, stay);
    if (choice.queue == nullptr) return absl::nullopt;
    if (!interactive_.empty() && !warm_.empty()) passed_ = choice.warm ? 0 : passed_ + 1;
    return (choice.warm ? warm_ : interactive_).Take(*choice.queue);
  }

  // Somebody waits for it after all. Nothing, where it is not among the warm ones.
  void Hurry(const Job& job) {
    JobOwner owner;
    if (warm_.Remove(job, &owner)) interactive_.Push(job, owner);
  }

  // Whether it was there.
  bool Remove(const Job& job) {
    JobOwner owner;
    return interactive_.Remove(job, &owner) || warm_.Remove(job, &owner);
  }

  // Takes out the last job of whoever has most that are as urgent, if that is at least two more
  // than `owner` has: it makes room for one of the owner's.
  absl::optional<Job> MakeRoomFor(const JobOwner& owner, bool warm) {
    return (warm ? warm_ : interactive_).MakeRoomFor(owner);
  }

  bool empty() const { return interactive_.empty() && warm_.empty(); }
  size_t size() const { return interactive_.size() + warm_.size(); }
  size_t warm() const { return warm_.size(); }

 private:
  static constexpr int kShare = 8;

  struct Queue {  // of one caller; never empty
    JobOwner owner;
    std::deque<Job> jobs;
  };

  // Jobs of one kind.
  class Line {
   public:
    void Push(Job job, const JobOwner& owner) {
      ++size_;
      for (std::list<Queue>& tenant : tenants_) {
        if (tenant.front().owner.tenant != owner.tenant) continue;
        for (Queue& queue : tenant) {
          if (queue.owner == owner) return queue.jobs.push_back(std::move(job));
        }
        tenant.push_back({owner, {std::move(job)}});
        return;
      }
      tenants_.push_back({{owner, {std::move(job)}}});
    }

    const Queue* Next(May may, const std::string* stay) const {
      const Queue* next = nullptr;
      for (const std::list<Queue>& tenant : tenants_) {
        const bool stays = stay != nullptr && tenant.front().owner.tenant == *stay;
        if (next != nullptr && !stays) continue;
        for (const Queue& queue : tenant) {
          if (!may(queue.owner)) continue;
          if (stays) return &queue;
          next = &queue;
          break;
        }
      }
      return next;
    }

    // The first job of `from`; its caller and its tenant then come after all others.
    Job Take(const Queue& from) {
      const auto tenant = std::find_if(tenants_.begin(), tenants_.end(), [&](const auto& queues) {
        return queues.front().owner.tenant == from.owner.tenant;
      });
      const auto queue = std::find_if(tenant->begin(), tenant->end(),
                                      [&](const Queue& own) { return &own == &from; });
      Job job = std::move(queue->jobs.front());
      queue->jobs.pop_front();
      --size_;
      tenant->splice(tenant->end(), *tenant, queue);
      tenants_.splice(tenants_.end(), tenants_, tenant);
      DropEmpty();
      return job;
    }

    bool Remove(const Job& job, JobOwner* owner) {
      for (std::list<Queue>& tenant : tenants_) {
        for (Queue& queue : tenant) {
          const auto at = std::find(queue.jobs.begin(), queue.jobs.end(), job);
          if (at == queue.jobs.end()) continue;
          *owner = queue.owner;
          queue.jobs.erase(at);
          --size_;
          DropEmpty();
          return true;
        }
      }
      return false;
    }

    absl::optional<Job> MakeRoomFor(const JobOwner& owner) {
      Queue* longest = nullptr;
      size_t own = 0;
      for (std::list<Queue>& tenant : tenants_) {
        for (Queue& queue : tenant) {
          if (queue.owner == owner) own = queue.jobs.size();
          if (longest == nullptr || queue.jobs.size() > longest->jobs.size()) longest = &queue;
        }
      }
      if (longest == nullptr || longest->jobs.size() < own + 2) return absl::nullopt;
      Job job = std::move(longest->jobs.back());
      longest->jobs.pop_back();
      --size_;
      return job;
    }

    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }

   private:
    void DropEmpty() {
      for (std::list<Queue>& tenant : tenants_) {
        tenant.remove_if([](const Queue& queue) { return queue.jobs.empty(); });
      }
      tenants_.remove_if([](const std::list<Queue>& tenant) { return tenant.empty(); });
    }

    std::list<std::list<Queue>> tenants_;  // whose turn it is first; so within each
    size_t size_ = 0;
  };

  struct Choice {
    const Queue* queue;
    bool warm;
  };
  Choice Choose(May may, const std::string* stay) const {
    const bool turn = !interactive_.empty() && !warm_.empty() && passed_ + 1 >= kShare;
    if (turn) {
      if (const Queue* queue = warm_.Next(may, stay)) return {queue, true};
    }
    if (const Queue* queue = interactive_.Next(may, stay)) return {queue, false};
    return {warm_.Next(may, stay), true};
  }

  Line interactive_;
  Line warm_;
  int passed_ = 0;  // interactive jobs taken while warm ones waited
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_JOB_QUEUE_H_
