#include "server/grpc_front/outbox.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/wire/error_detail.h"

namespace kiln {
namespace {

// Per caller; all together have four times as much (quotas.h).
constexpr size_t kMostOfCaller = size_t{32} << 20;
// gRPC's approximate memory per call, besides the reply.
constexpr size_t kCallBytes = size_t{16} << 10;
// Long calls per caller.
constexpr int kMostCalls = 128;
constexpr absl::Duration kTakeLimit = absl::Seconds(30);
constexpr absl::Duration kComeAgain = absl::Milliseconds(250);

absl::Status OverQuota(const std::string& message) {
  absl::Status status = absl::ResourceExhaustedError(message);
  SetPart(&status, "quota");
  SetRetryAfter(&status, kComeAgain);
  return status;
}

}  // namespace

Quotas::Options Outbox::QuotasOfReplies() {
  Quotas::Options options;
  options.bytes_in_flight = kMostOfCaller;
  options.running = kMostCalls;
  return options;
}

Quotas::Account& Outbox::Letter::AccountOf(const Identity& caller) {
  if (account_ == nullptr) account_ = outbox_->quotas_.Of(caller.key);
  return *account_;
}

absl::Status Outbox::Letter::Linger(const Identity& caller) {
  if (AccountOf(caller).TakeRun(&hold_).ok()) return absl::OkStatus();
  return OverQuota(absl::StrCat("more than ", kMostCalls, " calls of one caller at once"));
}

absl::Status Outbox::Letter::Reserve(const Identity& caller, size_t bytes) {
  if (AccountOf(caller).TryBytes(bytes + kCallBytes, &hold_)) return absl::OkStatus();
  return OverQuota(absl::StrCat("replies of more than ", kMostOfCaller, " bytes are undelivered"));
}

void Outbox::Letter::Post(grpc::ServerContext* context) {
  absl::MutexLock lock(&outbox_->mutex_);
  context_ = context;
  posted_ = SteadyNow();
  before_ = outbox_->last_;
  (before_ == nullptr ? outbox_->first_ : before_->after_) = this;
  outbox_->last_ = this;
}

void Outbox::Letter::Taken() {
  if (context_ != nullptr) {
    absl::MutexLock lock(&outbox_->mutex_);
    (before_ == nullptr ? outbox_->first_ : before_->after_) = after_;
    (after_ == nullptr ? outbox_->last_ : after_->before_) = before_;
    context_ = nullptr;
  }
  hold_ = Quotas::Hold();
}

void Outbox::Sweep() {
  const absl::Time old = SteadyNow() - kTakeLimit;
  absl::MutexLock lock(&mutex_);
  for (Letter* letter = first_; letter != nullptr && letter->posted_ < old;
       letter = letter->after_) {
    // Closes the connection too: its partly sent bytes take memory.
    guests_->CutOff(letter->context_->peer());
    letter->context_->TryCancel();
  }
}

}  // namespace kiln
