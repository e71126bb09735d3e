// An event loop with several threads, as leader and followers: the thread that receives an event
// also handles it, so no other thread has to be woken. While events are handled quickly, one thread
// works. A second one joins if events arrive faster, and another takes over from a thread that must
// block.
#ifndef KILN_SERVER_EVENTS_EVENT_LOOP_H_
#define KILN_SERVER_EVENTS_EVENT_LOOP_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln {

class EventLoop;

// A thread of the loop, while it handles an event.
class LoopThread {
 public:
  explicit LoopThread(EventLoop* owner) : owner_(owner) {}
  // Hands the event loop to another thread, so that this one may block until it has handled its
  // event. False if too many threads block already, or none can be created. Free after the first
  // call.
  bool HandOver();

 private:
  friend class EventLoop;
  EventLoop* const owner_;
  bool waits_ = true;  // for events
  int at_once_ = 0;    // consecutive events that needed no waiting
};

// The receiver of an event.
class Tag {
 public:
  virtual void Happened(bool ok, LoopThread* thread) = 0;

 protected:
  ~Tag() = default;
};

// An event that calls `next` of an object.
template <typename Object>
class Step final : public Tag {
 public:
  Step(Object* object, void (Object::*next)(bool ok, LoopThread* thread))
      : object_(object), next_(next) {}
  void Happened(bool ok, LoopThread* thread) override { (object_->*next_)(ok, thread); }

 private:
  Object* const object_;
  void (Object::* const next_)(bool ok, LoopThread* thread);
};

// The source of events: gRPC's completion queue, or an epoll. Thread-safe.
class Events {
 public:
  // Waits for the next one. False, to every waiting thread: there are no more.
  virtual bool Next(Tag** tag, bool* ok) = 0;

 protected:
  ~Events() = default;
};

// Thread-safe.
class EventLoop {
 public:
  // `events` is not owned; `most` is the largest number of threads.
  EventLoop(Events* events, int most) : events_(events), most_(most) {}
  // Call after the end of the events: waits until all of them are handled.
  ~EventLoop();

  // False if no thread can be created. Idempotent.
  bool Start();

 private:
  friend class LoopThread;
  static void* Thread(void* self);
  void Work();
  bool Recruit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForEvent(LoopThread* thread);
  // Waits outside of the loop. True if the loop needs this thread again, false at its end.
  bool Rest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Events* const events_;
  const int most_;
  absl::Mutex mutex_;
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int resting_ ABSL_GUARDED_BY(mutex_) = 0;
  int wanted_ ABSL_GUARDED_BY(mutex_) = 0;   // of the resting threads
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // for events, including threads that were called back
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kiln

#endif  // KILN_SERVER_EVENTS_EVENT_LOOP_H_
