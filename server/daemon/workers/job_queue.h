// Orders jobs: interactive ones, which a client waits for, come first. Every eighth job is a warm
// one, which no client waits for, so that warming always progresses.
//
// Within each kind tenants take turns, and the callers of a tenant share its turns; a caller's jobs
// run in order of arrival. A caller with many jobs thus waits behind a caller with few.
//
// Not thread-safe.
#ifndef KILN_SERVER_DAEMON_WORKERS_JOB_QUEUE_H_
#define KILN_SERVER_DAEMON_WORKERS_JOB_QUEUE_H_

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

// The owner of a job.
struct JobOwner {
  std::string tenant;
  std::string caller;
  friend bool operator==(const JobOwner& a, const JobOwner& b) {
    return std::tie(a.tenant, a.caller) == std::tie(b.tenant, b.caller);
  }
};

// `Job` is copyable and equal only to itself: a shared pointer.
template <typename Job>
class JobQueue {
 public:
  // Whether one more job of that owner may run now.
  using May = absl::FunctionRef<bool(const JobOwner&)>;

  void Push(Job job, const JobOwner& owner, bool warm) {
    (warm ? warm_ : interactive_).Push(std::move(job), owner);
  }

  // The owner of the job that Pop would take; null if no job may run. `stay`, if not null, is a
  // tenant that goes first, out of turn.
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

  // Makes a warm job interactive. Does nothing if the job is not a warm one.
  void RaisePriority(const Job& job) {
    JobOwner owner;
    if (warm_.Remove(job, &owner)) interactive_.Push(job, owner);
  }

  // Returns whether the job was in the queue.
  bool Remove(const Job& job) {
    JobOwner owner;
    return interactive_.Remove(job, &owner) || warm_.Remove(job, &owner);
  }

  // Makes room for a job of `owner`: removes the last job of the caller with most jobs of the same
  // kind, if it has at least two more than `owner`.
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

  // The jobs of one kind.
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

    // Takes the first job of `from`; its caller and its tenant then come last.
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

    std::list<std::list<Queue>> tenants_;  // in order of their turns; likewise within each
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

#endif  // KILN_SERVER_DAEMON_WORKERS_JOB_QUEUE_H_
