#include "server/daemon/service/slow_calls.h"

#include <pthread.h>

#include <utility>

#include "absl/time/time.h"

namespace kiln {
namespace {

constexpr size_t kStackBytes = size_t{512} << 10;
// An idle thread waits so long for work.
constexpr absl::Duration kPatience = absl::Seconds(30);

}  // namespace

SlowCalls::~SlowCalls() {
  absl::MutexLock lock(&mutex_);
  ending_ = true;
  auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return threads_ == 0; };
  mutex_.Await(absl::Condition(&done));
}

bool SlowCalls::Run(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (static_cast<int>(queue_.size()) >= idle_) {
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
  }
  queue_.push_back(std::move(work));
  return true;
}

void* SlowCalls::Thread(void* self) {
  static_cast<SlowCalls*>(self)->Work();
  return nullptr;
}

void SlowCalls::Work() {
  absl::MutexLock lock(&mutex_);
  auto wanted = [this]()
                    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !queue_.empty() || ending_; };
  while (true) {
    ++idle_;
    mutex_.AwaitWithTimeout(absl::Condition(&wanted), kPatience);
    --idle_;
    if (queue_.empty()) break;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    mutex_.Unlock();
    work();
    work = nullptr;
    mutex_.Lock();
  }
  --threads_;
}

}  // namespace kiln
