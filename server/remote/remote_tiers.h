// Everything that kilnd-remote asks of other machines: tiers in order, each with its deadline and
// its breaker; leases; remote compilers. Servers' failures end here: each is a miss.
//
// All methods may be called from any thread, and block: Fetch with a lease as long as another
// machine compiles, the others as long as the tiers' deadlines allow.
#ifndef KILN_SERVER_REMOTE_REMOTE_TIERS_H_
#define KILN_SERVER_REMOTE_REMOTE_TIERS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kiln/proto/remote.pb.h"
#include "server/remote/breaker.h"
#include "server/remote/held_leases.h"
#include "server/remote/make_tier.h"
#include "server/remote/remote_tier.h"

namespace kiln {

class RemoteTiers {
 public:
  using Log = std::function<void(const std::string&)>;

  // Reports a tier that cannot be created (such as an invalid address) to `log` and omits it; the
  // others are used.
  RemoteTiers(const proto::Configure& config, Log log);
  ~RemoteTiers();

  proto::ConfigureReply Describe() const;
  proto::FetchReply Fetch(const proto::FetchRequest& request);
  proto::StoreReply Store(const proto::StoreRequest& request);
  void Release(const proto::ReleaseRequest& request);
  // Without a CompileReply if no remote compiler succeeded.
  proto::DelegateReply Delegate(const proto::DelegateRequest& request);

  // Ends all waits, and releases all leases, so that other machines need not wait for them to
  // expire.
  void Stop();

 private:
  // One server, with the limits on our requests to it.
  struct Server {
    std::string name;
    std::string upstream;  // its address, if it is an upstream
    bool configured = false;
    bool reads = true;
    std::atomic<bool> writes{true};  // until the server refuses our writes
    std::atomic<bool> full{false};   // it refused the last write for want of room
    absl::Duration get_limit;
    absl::Duration put_limit;
    MadeTier made;
    std::unique_ptr<Breaker> breaker;
  };

  using AskedList = google::protobuf::RepeatedPtrField<proto::Asked>;

  // Reports a server that cannot be created.
  absl::StatusOr<std::unique_ptr<Server>> MakeServer(absl::StatusOr<MadeTier> made,
                                                     const proto::Tier& tier, std::string name);
  // Reports the request that began at `start` to the breaker, and adds it to `asked`.
  static void Note(Server& server, proto::Asked::What what, absl::Time start,
                   const absl::Status& status, AskedList* asked);
  // The entries at `places`; empty if absent, all empty after a failure.
  static std::vector<std::string> Get(Server& server, absl::Span<const Place> places,
                                      AskedList* asked);
  void Put(Server& server, const Place& place, absl::string_view entry, AskedList* asked);
  static absl::StatusOr<proto::CompileReply> Compile(Server& server,
                                                     const proto::CompileRequest& job,
                                                     const Key& key, absl::Time deadline,
                                                     AskedList* asked);
  // Fills in those results that are still empty.
  static void Find(Server& server, absl::Span<const Place> places, proto::FetchReply* reply);
  // The upstream that a client named, which may be one of `servers_`. A failure: there are too
  // many, or it cannot be created.
  absl::StatusOr<Server*> Named(const proto::Upstream& upstream);
  // Waits until the entry arrives or the lease is ours.
  void WaitOrTake(const Place& place, absl::Time deadline, proto::FetchReply* reply);
  absl::StatusOr<Leases::Answer> TakeLease(const Place& place, AskedList* asked);

  const Log log_;
  std::vector<std::unique_ptr<Server>> servers_;
  Server* lease_server_ = nullptr;  // null: no server has leases
  absl::Duration lease_ttl_;
  std::unique_ptr<HeldLeases> held_;
  std::atomic<bool> stopping_{false};

  const proto::Configure config_;
  absl::Mutex named_mutex_;
  // Keyed by the request.
  std::map<std::string, absl::StatusOr<std::unique_ptr<Server>>> named_
      ABSL_GUARDED_BY(named_mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REMOTE_TIERS_H_
