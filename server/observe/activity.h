// The daemon's recent activity, for display: the last requests to compile, the slowest
// compilations, the connected clients. Serving does not depend on it. Thread-safe.
#ifndef KILN_SERVER_OBSERVE_ACTIVITY_H_
#define KILN_SERVER_OBSERVE_ACTIVITY_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kiln/proto/service.pb.h"

namespace kiln {

class Activity {
 public:
  struct Client {
    explicit Client(std::string name) : name(std::move(name)) {}
    const std::string name;
    std::atomic<uint32_t> connections{0};
    std::atomic<uint32_t> running{0};
    std::atomic<uint64_t> requests{0};
  };

  // One connection of a client. The client is removed with its last session.
  class Session {
   public:
    Session(Activity* owner, std::shared_ptr<Client> client);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    Client& client() { return *client_; }

   private:
    Activity* const owner_;
    const std::shared_ptr<Client> client_;
  };

  std::unique_ptr<Session> Enter(const std::string& name);

  // Records a request to compile that ended. `record.unit` may hold the unit; it is kept for a
  // while, so that the dashboard can compile it again.
  void Note(proto::RequestRecord record);

  proto::RecentReply Recent(const proto::RecentRequest& request) const;
  uint32_t clients() const;

 private:
  using Records = std::deque<std::shared_ptr<proto::RequestRecord>>;

  // Both lists share their records. One bound covers the units' bytes of both.
  void Rank(const std::shared_ptr<proto::RequestRecord>& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepUnit(const std::shared_ptr<proto::RequestRecord>& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Records recent_ ABSL_GUARDED_BY(mutex_);   // newest first
  Records slowest_ ABSL_GUARDED_BY(mutex_);  // slowest first, one a key
  Records with_unit_ ABSL_GUARDED_BY(mutex_);
  uint64_t unit_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<Client>> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_OBSERVE_ACTIVITY_H_
