#include "server/front/quotas.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/wire/error_detail.h"

namespace kiln {
namespace {

// All callers together may have this multiple of one caller's bytes in flight.
// So that one caller at its limit leaves room for three others.
constexpr uint64_t kAllTogether = 4;
constexpr absl::Duration kLookAgain = absl::Milliseconds(5);
constexpr absl::Duration kComeAgain = absl::Milliseconds(250);

absl::Status OverQuota(const std::string& message, absl::Duration after) {
  absl::Status status = absl::ResourceExhaustedError(message);
  SetPart(&status, "quota");
  SetRetryAfter(&status, after);
  return status;
}

}  // namespace

Quotas::Options Quotas::FromConfig(const proto::Limits& limits) {
  Options options;
  if (limits.running() != 0) options.running = static_cast<int>(limits.running());
  if (limits.bytes_in_flight() != 0) options.bytes_in_flight = limits.bytes_in_flight();
  options.compiles_per_minute = limits.compiles_per_minute();
  return options;
}

Quotas::Hold& Quotas::Hold::operator=(Hold&& other) noexcept {
  // Of what it held before.
  Release();
  account_ = std::exchange(other.account_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  running_ = std::exchange(other.running_, 0);
  return *this;
}

void Quotas::Hold::Release() {
  if (account_ == nullptr) return;
  account_->bytes_ -= bytes_;
  account_->quotas_->all_bytes_ -= bytes_;
  account_->running_ -= running_;
  account_ = nullptr;
  bytes_ = 0;
  running_ = 0;
}

bool Quotas::Account::TryBytes(uint64_t bytes, Hold* hold) {
  const uint64_t limit = quotas_->options_.bytes_in_flight;
  // Adds first and takes back if it was too much: without a lock, testing first would let two pass.
  const uint64_t own = bytes_ += bytes;
  const uint64_t all = quotas_->all_bytes_ += bytes;
  // A caller with nothing else in flight may continue; otherwise a request above the limit never
  // could.
  if ((own <= limit || own == bytes) && (all <= kAllTogether * limit || all == bytes)) {
    hold->account_ = this;
    hold->bytes_ += bytes;
    return true;
  }
  bytes_ -= bytes;
  quotas_->all_bytes_ -= bytes;
  return false;
}

absl::Status Quotas::Account::TakeBytes(uint64_t bytes, absl::Time deadline,
                                        const std::function<bool()>& gone, Hold* hold) {
  while (!TryBytes(bytes, hold)) {
    if (gone()) return absl::CancelledError("the client went away");
    if (SteadyNow() >= deadline) {
      return OverQuota(
          absl::StrCat("requests or replies of more than ", quotas_->options_.bytes_in_flight,
                       " bytes at once (limits.bytes_in_flight)"),
          kComeAgain);
    }
    absl::SleepFor(kLookAgain);
  }
  return absl::OkStatus();
}

absl::Status Quotas::Account::TakeRun(Hold* hold) {
  // As with bytes.
  if (++running_ > quotas_->options_.running) {
    --running_;
    return OverQuota(absl::StrCat("more than ", quotas_->options_.running,
                                  " requests of one caller at once (limits.running)"),
                     kComeAgain);
  }
  hold->account_ = this;
  ++hold->running_;
  return absl::OkStatus();
}

// A burst may use a minute's quota; it then refills at a constant rate.
void Quotas::Account::Refill(absl::Time now) {
  const double limit = quotas_->options_.compiles_per_minute;
  const double minutes = absl::ToDoubleMinutes(now - filled_);
  compiles_ = std::min(limit, compiles_ + std::max(0.0, minutes) * limit);
  filled_ = now;
}

absl::Status Quotas::Account::CheckCompiles(absl::Time now) {
  const uint32_t limit = quotas_->options_.compiles_per_minute;
  if (limit == 0) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  Refill(now);
  if (compiles_ >= 1) return absl::OkStatus();
  return OverQuota(absl::StrCat("more than ", limit,
                                " compilations of one caller in a minute "
                                "(limits.compiles_per_minute)"),
                   absl::Minutes((1 - compiles_) / limit) + absl::Milliseconds(1));
}

void Quotas::Account::CountCompile(absl::Time now) {
  if (quotas_->options_.compiles_per_minute == 0) return;
  absl::MutexLock lock(&mutex_);
  Refill(now);
  // May become negative: the limit is checked before, and compilations that began together all
  // count.
  compiles_ -= 1;
}

std::shared_ptr<Quotas::Account> Quotas::Of(const std::string& caller) {
  absl::MutexLock lock(&mutex_);
  if (accounts_.size() >= sweep_at_) {
    // Forgets accounts of callers that left, unless that would give them a full minute's quota
    // again.
    const absl::Time old = SteadyNow() - absl::Minutes(1);
    for (auto at = accounts_.begin(); at != accounts_.end();) {
      bool idle = at->second.use_count() == 1;
      if (idle) {
        absl::MutexLock account_lock(&at->second->mutex_);
        idle = at->second->filled_ < old;
      }
      at = idle ? accounts_.erase(at) : std::next(at);
    }
    // At twice the number that is left, so that sweeps cost a constant time for each new account.
    sweep_at_ = std::max<size_t>(64, 2 * accounts_.size());
  }
  std::shared_ptr<Account>& account = accounts_[caller];
  if (account == nullptr) account.reset(new Account(this));
  return account;
}

size_t Quotas::accounts() const {
  absl::MutexLock lock(&mutex_);
  return accounts_.size();
}

}  // namespace kiln
