// How many workers one caller may have. A caller, or a tenant, that is alone may have all of them.
// While others are active, or were recently, it leaves one free, so that their jobs need not wait
// for a job that may take minutes.
//
// With a single worker, callers take turns instead (job_queue.h).
//
// Not thread-safe.
#ifndef KILN_SERVER_DAEMON_WORKERS_SHARES_H_
#define KILN_SERVER_DAEMON_WORKERS_SHARES_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "server/daemon/workers/job_queue.h"

namespace kiln {

class Shares {
 public:
  explicit Shares(int workers) : most_(workers > 1 ? workers - 1 : 1) {}

  // A job of `owner` arrived; left without running; began to run; ended.
  void Came(const JobOwner& owner, absl::Time now) { ++Seen(owner, now).waiting; }
  void Left(const JobOwner& owner, absl::Time now) { --Seen(owner, now).waiting; }
  void Began(const JobOwner& owner, absl::Time now);
  void Ended(const JobOwner& owner, absl::Time now) { --Seen(owner, now).running; }

  // Whether one more job of `owner` may run.
  bool May(const JobOwner& owner, absl::Time now) const;
  // Whether jobs of several tenants arrived recently.
  bool several_tenants(absl::Time now) const;

 private:
  struct State {
    int waiting = 0;
    int running = 0;
    absl::Time seen = absl::InfinitePast();
    bool Around(absl::Time now) const;
  };
  using Callers = std::map<std::string, State>;

  State& Seen(const JobOwner& owner, absl::Time now);
  static State Sum(const Callers& callers);

  const int most_;
  std::map<std::string, Callers> tenants_;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_WORKERS_SHARES_H_
