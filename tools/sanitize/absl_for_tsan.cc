// ThreadSanitizer does not see that Abseil's locks order anything: the system's Abseil is
// not built with it, and locks by system calls of its own. These come before the library's
// functions of the same names, call them, and say what they did.
#include <dlfcn.h>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" void __tsan_acquire(void* at);
extern "C" void __tsan_release(void* at);

namespace {

// The library's own, by its mangled name after the namespace's.
template <typename Function>
Function* Real(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

}  // namespace

// The function that the library's `name` stands for, looked up once.
#define REAL(function_type, name) \
  static auto* const real = Real<function_type>("_ZN4absl7debian3" name)
#define REAL_CONST(function_type, name) \
  static auto* const real = Real<function_type>("_ZNK4absl7debian3" name)

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  REAL(void(Mutex*), "5Mutex4LockEv");
  real(this);
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  REAL(bool(Mutex*), "5Mutex7TryLockEv");
  const bool locked = real(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Unlock() {
  REAL(void(Mutex*), "5Mutex6UnlockEv");
  __tsan_release(this);
  real(this);
}

void Mutex::ReaderLock() {
  REAL(void(Mutex*), "5Mutex10ReaderLockEv");
  real(this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  REAL(void(Mutex*), "5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  real(this);
}

// While it waits the lock is somebody else's.
void Mutex::Await(const Condition& condition) {
  REAL(void(Mutex*, const Condition&), "5Mutex5AwaitERKNS0_9ConditionE");
  __tsan_release(this);
  real(this, condition);
  __tsan_acquire(this);
}

void Mutex::LockWhen(const Condition& condition) {
  REAL(void(Mutex*, const Condition&), "5Mutex8LockWhenERKNS0_9ConditionE");
  real(this, condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, absl::Duration timeout) {
  REAL(bool(Mutex*, const Condition&, absl::Duration),
       "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  __tsan_release(this);
  const bool is_true = real(this, condition, timeout);
  __tsan_acquire(this);
  return is_true;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, absl::Time deadline) {
  REAL(bool(Mutex*, const Condition&, absl::Time),
       "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  __tsan_release(this);
  const bool is_true = real(this, condition, deadline);
  __tsan_acquire(this);
  return is_true;
}

void Notification::Notify() {
  REAL(void(Notification*), "12Notification6NotifyEv");
  __tsan_release(this);
  real(this);
}

void Notification::WaitForNotification() const {
  REAL_CONST(void(const Notification*), "12Notification19WaitForNotificationEv");
  real(this);
  __tsan_acquire(const_cast<Notification*>(this));
}

bool Notification::WaitForNotificationWithTimeout(absl::Duration timeout) const {
  REAL_CONST(bool(const Notification*, absl::Duration),
             "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool notified = real(this, timeout);
  if (notified) __tsan_acquire(const_cast<Notification*>(this));
  return notified;
}

bool BlockingCounter::DecrementCount() {
  REAL(bool(BlockingCounter*), "15BlockingCounter14DecrementCountEv");
  __tsan_release(this);
  return real(this);
}

void BlockingCounter::Wait() {
  REAL(void(BlockingCounter*), "15BlockingCounter4WaitEv");
  real(this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
