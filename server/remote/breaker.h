// Keeps away from a server that fails: after some failures in a row nothing is asked
// of it for a while, then one request tries it again.
//
//   closed  --failures-->  open  --pause over, one request-->  half open
//      ^                     ^                                    |
//      +------success--------+--------------failure---------------+
//
// Thread-safe.
#ifndef KILN_SERVER_REMOTE_BREAKER_H_
#define KILN_SERVER_REMOTE_BREAKER_H_

#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln {

class Breaker {
 public:
  struct Options {
    int failures = 3;                                // in a row, until it opens
    absl::Duration pause = absl::Milliseconds(500);  // doubled by each failed trial
    absl::Duration max_pause = absl::Seconds(15);
    std::function<absl::Time()> now;  // default: a clock that nobody sets
    // Told once a change, in words: "… is not used: …", "… is used again".
    std::function<void(const std::string&)> log;
  };

  Breaker(std::string name, Options options);

  // Whether to ask now. While open, one caller a pause is let through.
  bool Allow();
  // How the request ended. What is the server's own answer is a success, however
  // unwelcome: NotFound, InvalidArgument. FailedPrecondition (it is another than we need)
  // opens at once. Answers whether it was a failure of the server's.
  //
  // Failures are in a row among requests of one `kind`: a server that answers short questions
  // in time, and never an entry, is no use.
  bool Report(const absl::Status& status, int kind = 0);

  bool open() const { return !why().ok(); }
  // The failure that opened it; OK while it is closed.
  absl::Status why() const;

 private:
  void Open(const absl::Status& status, int kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const Options options_;
  mutable absl::Mutex mutex_;
  std::map<int, int> failures_ ABSL_GUARDED_BY(mutex_);  // in a row, by kind
  int opened_by_ ABSL_GUARDED_BY(mutex_) = 0;            // a kind
  absl::Status why_ ABSL_GUARDED_BY(mutex_);             // OK: closed
  bool trial_ ABSL_GUARDED_BY(mutex_) = false;           // one request is under way
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);
  absl::Time again_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_BREAKER_H_
