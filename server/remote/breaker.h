// A circuit breaker: after several failures in a row no request goes to a server for a while; then
// one request tries it.
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
    std::function<absl::Time()> now;  // default: the steady clock
    // Called once per change, with text: "… is not used: …", "… is used again".
    std::function<void(const std::string&)> log;
  };

  Breaker(std::string name, Options options);

  // Whether to send a request now. While open, one caller per pause may.
  bool Allow();
  // Reports a request's result. The server's own answers count as successes, even NotFound and
  // InvalidArgument. FailedPrecondition (an incompatible server) opens at once. Returns whether the
  // result was a failure of the server.
  //
  // Failures count in a row per `kind` of request: a server that answers short requests in time,
  // but never delivers an entry, is useless.
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
  int opened_by_ ABSL_GUARDED_BY(mutex_) = 0;            // the kind whose failures opened it
  absl::Status why_ ABSL_GUARDED_BY(mutex_);             // OK: closed
  bool trial_ ABSL_GUARDED_BY(mutex_) = false;           // a trial request is in progress
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);
  absl::Time again_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_BREAKER_H_
