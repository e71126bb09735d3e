// A mutex for code in programs that fork.
//
// absl::Mutex keeps state of all mutexes of a process under locks of its own. A child that was
// forked while another thread held one of those would wait for ever at its first absl::Mutex, even
// a new one. This one has no state but its own: a child may use every mutex that it makes, and
// every one that no thread held when it forked.
#ifndef KILN_CLIENT_CPP_MUTEX_H_
#define KILN_CLIENT_CPP_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace kiln {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // The names that std::condition_variable_any calls.
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_MUTEX_H_
