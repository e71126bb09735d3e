#include "server/events/event_loop.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace kiln {
namespace {

constexpr size_t kStackBytes = size_t{512} << 10;
// A thread that rests for this time exits.
constexpr absl::Duration kPatience = absl::Seconds(30);
// An event that arrives within this time was already pending: it only had to be read and decoded.
constexpr absl::Duration kAtOnce = absl::Microseconds(30);
// After this number of pending events in a row another thread joins.
constexpr int kManyAtOnce = 16;

// With few cores, one core is used better by one thread than two by several.
int MostWaiting() {
  static const int most =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 4, 1, 8);
  return most;
}

}  // namespace

bool LoopThread::HandOver() {
  // A handler may say so more than once.
  if (!waits_) return true;
  absl::MutexLock lock(&owner_->mutex_);
  if (!owner_->Recruit()) return false;
  waits_ = false;
  --owner_->waiting_;
  return true;
}

EventLoop::~EventLoop() {
  absl::MutexLock lock(&mutex_);
  auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return threads_ == 0; };
  mutex_.Await(absl::Condition(&done));
}

bool EventLoop::Start() {
  absl::MutexLock lock(&mutex_);
  return threads_ > 0 || Recruit();
}

bool EventLoop::Recruit() {
  // A resting thread is woken; only if none is left does a new one start.
  if (resting_ > wanted_) {
    ++wanted_;
    ++waiting_;
    return true;
  }
  if (threads_ >= most_) return false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, Thread, this);
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  ++threads_;
  ++waiting_;
  return true;
}

void* EventLoop::Thread(void* self) {
  static_cast<EventLoop*>(self)->Work();
  return nullptr;
}

void EventLoop::Work() {
  LoopThread thread(this);
  absl::MutexLock lock(&mutex_);
  // After a hand-over, the thread rests until it is wanted again.
  while (!ending_ && (thread.waits_ || (thread.waits_ = Rest()))) {
    mutex_.Unlock();
    WaitForEvent(&thread);
    mutex_.Lock();
    if (!thread.waits_) continue;
    // This thread had to wait for its event, so fewer threads suffice: it rests.
    if (thread.at_once_ == 0 && waiting_ > 1) {
      thread.waits_ = false;
      --waiting_;
    } else if (thread.at_once_ >= kManyAtOnce && waiting_ < MostWaiting()) {
      thread.at_once_ = 0;
      Recruit();
    }
  }
  --threads_;
}

void EventLoop::WaitForEvent(LoopThread* thread) {
  Tag* tag;
  bool ok;
  const absl::Time begin = SteadyNow();
  // The queue has ended: all threads leave.
  if (!events_->Next(&tag, &ok)) {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    return;
  }
  thread->at_once_ = SteadyNow() - begin < kAtOnce ? thread->at_once_ + 1 : 0;
  tag->Happened(ok, thread);
}

bool EventLoop::Rest() {
  auto called = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return wanted_ > 0 || ending_; };
  ++resting_;
  mutex_.AwaitWithTimeout(absl::Condition(&called), kPatience);
  --resting_;
  if (wanted_ == 0) return false;
  --wanted_;
  return true;
}

}  // namespace kiln
