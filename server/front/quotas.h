// Quotas of each caller, so that none takes the daemon from the others. A caller is a process of
// this user, or an identity that a front states.
//
// Thread-safe. Takes no lock while callers are far from their limits, except in CheckCompiles and
// CountCompile.
#ifndef KILN_SERVER_FRONT_QUOTAS_H_
#define KILN_SERVER_FRONT_QUOTAS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/proto/config.pb.h"

namespace kiln {

class Quotas {
 public:
  struct Options {
    int running = 64;                  // requests at once
    uint32_t compiles_per_minute = 0;  // 0: no limit
    uint64_t bytes_in_flight = uint64_t{256} << 20;
  };
  // Replaces zeros by the defaults.
  static Options FromConfig(const proto::Limits& limits);

  class Account;
  // A request's share of the account, until the request ends.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept;
    ~Hold() { Release(); }

   private:
    friend class Account;
    void Release();

    Account* account_ = nullptr;
    uint64_t bytes_ = 0;
    int running_ = 0;
  };

  // One caller's quotas. ResourceExhausted has part "quota" and says when to retry.
  class Account {
   public:
    // Takes room for a request of `bytes`, if the caller and all callers together have it. A single
    // request always has room.
    bool TryBytes(uint64_t bytes, Hold* hold);
    // Waits for that room until the deadline, or until `gone`.
    absl::Status TakeBytes(uint64_t bytes, absl::Time deadline, const std::function<bool()>& gone,
                           Hold* hold);
    // Counts one more request to compile that is being answered.
    absl::Status TakeRun(Hold* hold);
    // Whether the caller may begin one more compilation; counts one that began.
    absl::Status CheckCompiles(absl::Time now);
    void CountCompile(absl::Time now);

   private:
    friend class Quotas;
    friend class Hold;
    explicit Account(Quotas* quotas) : quotas_(quotas) {}
    void Refill(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

    Quotas* const quotas_;
    std::atomic<int> running_{0};
    std::atomic<uint64_t> bytes_{0};
    absl::Mutex mutex_;
    double compiles_ ABSL_GUARDED_BY(mutex_) = 0;  // compilations that may begin now
    absl::Time filled_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  };

  explicit Quotas(const Options& options) : options_(options) {}

  // The account of that name; usable as long as `this` lives.
  std::shared_ptr<Account> Of(const std::string& caller);
  size_t accounts() const;

 private:
  const Options options_;
  std::atomic<uint64_t> all_bytes_{0};
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Account>> accounts_ ABSL_GUARDED_BY(mutex_);
  size_t sweep_at_ ABSL_GUARDED_BY(mutex_) = 64;
};

}  // namespace kiln

#endif  // KILN_SERVER_FRONT_QUOTAS_H_
