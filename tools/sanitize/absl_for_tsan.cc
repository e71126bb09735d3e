// ThreadSanitizer does not see the order that Abseil's locks establish: the system's Abseil is not
// built with it, and makes its system calls itself. The functions below override the library's
// functions of the same names, call them, and report their effect.
//
// Other threads may evaluate a waiter's condition: any thread that unlocks does, inside the
// library. `inside` names the lock of such an evaluation.
#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" void __tsan_acquire(void* at);
extern "C" void __tsan_release(void* at);

// Suppresses reports about the system's libraries that these functions cannot prevent. Suppress no
// report about Kiln's code here.
extern "C" const char* __tsan_default_suppressions() {
  return
      // Abseil's table of the order of locks, which an internal spinlock protects.
      "called_from_lib:libabsl_graphcycles_internal.so\n"
      // Abseil's table of time zones, which threads find through an atomic in the library.
      "called_from_lib:libabsl_time_zone.so\n"
      // gRPC passes calls and their bytes between threads through its own atomics and pipes. This
      // suppresses reports for its threads, and for its templates in our files.
      "race:libgrpc.so\n"
      "race:libgrpc++.so\n"
      "race:libgpr.so\n"
      "race:^grpc::\n"
      "called_from_lib:libgrpc.so\n"
      "called_from_lib:libupb.so\n"
      // So it hands on connections' TLS, and statuses that it copies by itself.
      "called_from_lib:libssl.so\n"
      "called_from_lib:libcrypto.so\n"
      "called_from_lib:libabsl_status.so\n"
      // Texts of cords are shared, and counted by atomics in the library.
      "called_from_lib:libabsl_cord.so\n";
}

namespace {

// The library's own, by its mangled name after the namespace's.
template <typename Function>
Function* Real(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

thread_local absl::Mutex* inside = nullptr;

// For the length of a call into the library.
class Inside {
 public:
  explicit Inside(absl::Mutex* mutex) : before_(inside) { inside = mutex; }
  ~Inside() { inside = before_; }

 private:
  absl::Mutex* const before_;
};

}  // namespace

// The library's function `name`, looked up once.
#define REAL(function_type, name) \
  static auto* const real = Real<function_type>("_ZN4absl7debian3" name)
#define REAL_CONST(function_type, name) \
  static auto* const real = Real<function_type>("_ZNK4absl7debian3" name)

namespace absl {
ABSL_NAMESPACE_BEGIN

bool Condition::Eval() const {
  REAL_CONST(bool(const Condition*), "9Condition4EvalEv");
  absl::Mutex* const held = inside;
  if (held == nullptr) return real(this);
  __tsan_acquire(held);
  const bool is_true = real(this);
  __tsan_release(held);
  return is_true;
}

void Mutex::Lock() {
  REAL(void(Mutex*), "5Mutex4LockEv");
  const Inside call(this);
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
  const Inside call(this);
  __tsan_release(this);
  real(this);
}

void Mutex::ReaderLock() {
  REAL(void(Mutex*), "5Mutex10ReaderLockEv");
  const Inside call(this);
  real(this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  REAL(void(Mutex*), "5Mutex12ReaderUnlockEv");
  const Inside call(this);
  __tsan_release(this);
  real(this);
}

// While it waits, other threads may hold the lock.
void Mutex::Await(const Condition& condition) {
  REAL(void(Mutex*, const Condition&), "5Mutex5AwaitERKNS0_9ConditionE");
  const Inside call(this);
  __tsan_release(this);
  real(this, condition);
  __tsan_acquire(this);
}

void Mutex::LockWhen(const Condition& condition) {
  REAL(void(Mutex*, const Condition&), "5Mutex8LockWhenERKNS0_9ConditionE");
  const Inside call(this);
  __tsan_release(this);  // others look at the condition
  real(this, condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, absl::Duration timeout) {
  REAL(bool(Mutex*, const Condition&, absl::Duration),
       "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const Inside call(this);
  __tsan_release(this);
  const bool is_true = real(this, condition, timeout);
  __tsan_acquire(this);
  return is_true;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, absl::Time deadline) {
  REAL(bool(Mutex*, const Condition&, absl::Time),
       "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  const Inside call(this);
  __tsan_release(this);
  const bool is_true = real(this, condition, deadline);
  __tsan_acquire(this);
  return is_true;
}

// Copies of a status share a reference-counted text. The last one to drop it deletes it, after all
// others dropped it.
void Status::UnrefNonInlined(uintptr_t rep) {
  REAL(void(uintptr_t), "6Status15UnrefNonInlinedEm");
  __tsan_release(RepToPointer(rep));
  __tsan_acquire(RepToPointer(rep));
  real(rep);
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
