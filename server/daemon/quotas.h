// What one caller may ask of the daemon at once, so that none takes it from the others. A
// caller is a process of this user, or who a front says that it speaks for.
//
// Thread-safe; without a lock as long as nobody is near a limit, but for CheckCompiles and
// CountCompile.
#ifndef KILN_SERVER_DAEMON_QUOTAS_H_
#define KILN_SERVER_DAEMON_QUOTAS_H_

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
#include "proto/config.pb.h"

namespace kiln {

class Quotas {
 public:
  struct Options {
    int running = 64;                  // requests at once
    uint32_t compiles_per_minute = 0;  // 0: no limit
    uint64_t bytes_in_flight = uint64_t{256} << 20;
  };
  // With the defaults for what is 0.
  static Options FromConfig(const proto::Limits& limits);

  class Account;
  // What a request holds until its end.
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

  // One caller's. ResourceExhausted has part "quota" and says when to come again.
  class Account {
   public:
    // Whether the caller, and all together, have room for a request of `bytes`, which it takes.
    // A single request always has.
    bool TryBytes(uint64_t bytes, Hold* hold);
    // Waits until there is, for no longer than the deadline and while not `gone`.
    absl::Status TakeBytes(uint64_t bytes, absl::Time deadline, const std::function<bool()>& gone,
                           Hold* hold);
    // One more request to compile that is being answered.
    absl::Status TakeRun(Hold* hold);
    // Whether the caller may have one more compilation begun, and that one was.
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
    double compiles_ ABSL_GUARDED_BY(mutex_) = 0;  // that may begin now
    absl::Time filled_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  };

  explicit Quotas(const Options& options) : options_(options) {}

  // The account of that name; to be used no longer than `this` lives.
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

#endif  // KILN_SERVER_DAEMON_QUOTAS_H_
