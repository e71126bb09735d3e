#include "server/remote/blocking_pool.h"

#include <pthread.h>

#include <utility>

namespace kiln {
namespace {

constexpr size_t kStackBytes = size_t{512} << 10;

}  // namespace

bool BlockingPool::Do(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  // Each queued task has an idle thread that will take it, or gets a new one.
  if (idle_ <= queue_.size() && threads_ < max_threads_) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, Thread, this) == 0) ++threads_, ++idle_;
    pthread_attr_destroy(&attributes);
  }
  if (threads_ == 0 || queue_.size() >= max_queue_ + idle_) return false;
  queue_.push_back(std::move(task));
  return true;
}

void* BlockingPool::Thread(void* pool) {
  static_cast<BlockingPool*>(pool)->Work();
  return nullptr;
}

void BlockingPool::Work() {
  auto has_task = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !queue_.empty(); };
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_task));
      --idle_;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
    task = nullptr;  // releases what it owns before the next wait
    absl::MutexLock lock(&mutex_);
    ++idle_;
  }
}

}  // namespace kiln
