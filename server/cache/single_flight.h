// Runs one piece of work per key, however many callers request it at once.
//
// The first caller starts the work; callers that come while it runs wait for the same result. A
// caller leaves at its deadline or when its client disconnects; when the last one leaves, the work
// is cancelled. A caller may start work without waiting for it (a warm-up); the first caller that
// joins and waits raises its priority. Thread-safe.
#ifndef KILN_SERVER_CACHE_SINGLE_FLIGHT_H_
#define KILN_SERVER_CACHE_SINGLE_FLIGHT_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/digest.h"

namespace kiln {

template <typename Value>
class SingleFlight {
 public:
  using Result = absl::StatusOr<std::shared_ptr<const Value>>;
  // Ends the flight; called exactly once, from any thread, perhaps within Start.
  using Done = std::function<void(Result)>;
  // Controls of running work; both may be called after its end, and may be null.
  struct Control {
    std::function<void()> cancel;          // no caller is left
    std::function<void()> raise_priority;  // a caller waits for it now
  };
  // Starts the work and returns at once.
  using Start = std::function<Control(Done)>;

  struct Outcome {
    Result result;
    bool joined;  // another caller had started the work
  };

  // `gone` is polled and returns whether the client has disconnected; `waits`: the caller waits for
  // the result.
  Outcome Do(const Digest& key, absl::Time deadline, const std::function<bool()>& gone,
             const Start& start, bool waits = true) {
    bool joined = true;
    std::shared_ptr<Flight> flight;
    std::function<void()> raise_priority;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<Flight>& slot = flights_[key];
      if (slot == nullptr) {
        slot = std::make_shared<Flight>();
        joined = false;
      }
      flight = slot;
      ++flight->waiters;
      if (waits) raise_priority = RaisePriority(*flight);
    }
    if (!joined) {
      Control control = start([this, key, flight](Result r) { Finish(key, flight, std::move(r)); });
      absl::MutexLock lock(&mutex_);
      if (!flight->done) flight->control = std::move(control);
      // A caller joined before there was a Control.
      if (!waits && flight->raised) raise_priority = flight->control.raise_priority;
    }
    if (raise_priority) raise_priority();
    return {Wait(key, flight, deadline, gone), joined};
  }

  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return flights_.size();
  }

 private:
  struct Flight {
    int waiters = 0;
    bool done = false;
    bool raised = false;
    Result result = absl::UnknownError("not finished");
    Control control;
  };

  static constexpr absl::Duration kAskIfGone = absl::Milliseconds(50);

  // The function to call, without the lock, for the first caller that waits.
  static std::function<void()> RaisePriority(Flight& flight) {
    if (std::exchange(flight.raised, true)) return nullptr;
    return flight.control.raise_priority;
  }

  Result Wait(const Digest& key, const std::shared_ptr<Flight>& flight, absl::Time deadline,
              const std::function<bool()>& gone) {
    std::function<void()> cancel;
    Result left = absl::DeadlineExceededError("the request's deadline passed while compiling");
    {
      absl::MutexLock lock(&mutex_);
      while (!flight->done) {
        const absl::Time now = SteadyNow();
        if (now >= deadline) break;
        if (mutex_.AwaitWithTimeout(absl::Condition(&flight->done),
                                    std::min(deadline - now, kAskIfGone))) {
          break;
        }
        mutex_.Unlock();
        const bool is_gone = gone && gone();
        mutex_.Lock();
        if (is_gone) {
          left = absl::CancelledError("the client went away");
          break;
        }
      }
      --flight->waiters;
      if (flight->done) return flight->result;
      if (flight->waiters > 0) return left;
      // From here on a new caller starts a new flight.
      Erase(key, flight);
      cancel = std::exchange(flight->control, Control()).cancel;
    }
    if (cancel) cancel();
    return left;
  }

  void Finish(const Digest& key, const std::shared_ptr<Flight>& flight, Result result) {
    Control unneeded;  // may own the work, which owns the flight: destroying it breaks the cycle
    absl::MutexLock lock(&mutex_);
    unneeded = std::exchange(flight->control, Control());
    flight->result = std::move(result);
    flight->done = true;
    Erase(key, flight);
  }

  void Erase(const Digest& key, const std::shared_ptr<Flight>& flight)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto it = flights_.find(key);
    if (it != flights_.end() && it->second == flight) flights_.erase(it);
  }

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Digest, std::shared_ptr<Flight>> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_SINGLE_FLIGHT_H_
