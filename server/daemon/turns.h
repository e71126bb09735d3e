// Threads that take turns at waiting for events. As long as these are quickly dealt with there
// is one at work: what it waited for it deals with itself, and nobody has to be woken. A second
// one joins in where events come faster than that, and one takes over from a thread that must
// wait for something else.
#ifndef KILN_SERVER_DAEMON_TURNS_H_
#define KILN_SERVER_DAEMON_TURNS_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace kiln {

class Turns;

// A thread's, while it deals with an event.
class Turn {
 public:
  explicit Turn(Turns* owner) : owner_(owner) {}
  // From now on another thread waits for events, and this one may take its time, until it has
  // dealt with its event. False where there are too many that do, or none more can be made.
  // Costs nothing the second time.
  bool HandOver();

 private:
  friend class Turns;
  Turns* const owner_;
  bool waits_ = true;  // for events
  int at_once_ = 0;    // events in a row that there was no waiting for
};

// What events are of.
class Tag {
 public:
  virtual void Happened(bool ok, Turn* turn) = 0;

 protected:
  ~Tag() = default;
};

// A step of an object that goes on with `next`.
template <typename Object>
class Step final : public Tag {
 public:
  Step(Object* object, void (Object::*next)(bool ok, Turn* turn)) : object_(object), next_(next) {}
  void Happened(bool ok, Turn* turn) override { (object_->*next_)(ok, turn); }

 private:
  Object* const object_;
  void (Object::* const next_)(bool ok, Turn* turn);
};

// Where events come from: gRPC's completion queue, or an epoll. Thread-safe.
class Events {
 public:
  // Waits for the next one. False: there are no more, which everyone who waits is told.
  virtual bool Next(Tag** tag, bool* ok) = 0;

 protected:
  ~Events() = default;
};

// Thread-safe.
class Turns {
 public:
  // `events` are not owned; `most` threads at once.
  Turns(Events* events, int most) : events_(events), most_(most) {}
  // After the end of the events: waits until all that came are dealt with.
  ~Turns();

  // False where no thread can be made. At once if it was done before.
  bool Start();

 private:
  friend class Turn;
  static void* Thread(void* self);
  void Work();
  bool Recruit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForEvent(Turn* turn);
  // Whether there is a turn for a thread that has none.
  bool Rest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Events* const events_;
  const int most_;
  absl::Mutex mutex_;
  int threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int resting_ ABSL_GUARDED_BY(mutex_) = 0;
  int wanted_ ABSL_GUARDED_BY(mutex_) = 0;   // of those that rest
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // for events, those that were called for included
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_TURNS_H_
