// Replies to look-ups, kept so that the same look-up of the same caller is answered here: to
// ask kilnd costs about as much as all that gRPC does. They hold as long as kilnd's edition
// (server/daemon/edition.h) stays, least recently used out first.
//
// Thread-safe.
#ifndef KILN_SERVER_DAEMON_SERVICE_REPLIES_H_
#define KILN_SERVER_DAEMON_SERVICE_REPLIES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "proto/service.pb.h"
#include "server/daemon/edition.h"
#include "server/daemon/service/callers.h"

namespace kiln {

class Replies {
 public:
  // `edition` is not owned. 0 bytes: keeps nothing.
  Replies(size_t max_bytes, const Edition* edition) : max_bytes_(max_bytes), edition_(edition) {}

  // What a look-up was asked by, and at which edition.
  struct Asked {
    std::string key;
    uint64_t edition = Edition::kOver;
  };
  // The reply that was given to the same request; else false, and `asked` is for Keep.
  bool Find(const Identity& caller, const grpc::ByteBuffer& request, Asked* asked,
            grpc::ByteBuffer* reply);
  // Keeps a reply in which everything that was asked for is found; others are kept by nobody,
  // since they do not stay true.
  void Keep(Asked asked, IdentityPtr caller, const grpc::ByteBuffer& request,
            const grpc::ByteBuffer& reply);

  // What was answered to a caller here, and not taken yet.
  struct Hits {
    IdentityPtr caller;
    proto::HitsRequest request;
  };
  std::vector<Hits> TakeHits();

 private:
  struct Item {
    std::string key;
    IdentityPtr caller;
    std::vector<std::string> digests;
    grpc::ByteBuffer reply;
    uint64_t answered = 0;  // times, not counted yet
  };
  using Order = std::list<Item>;  // most recent first

  // Forgets all when the edition is another.
  void Follow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Order::iterator item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(Item* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  const Edition* const edition_;
  absl::Mutex mutex_;
  uint64_t kept_of_ ABSL_GUARDED_BY(mutex_) = Edition::kOver;
  Order order_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Order::iterator> index_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Hits> hits_ ABSL_GUARDED_BY(mutex_);  // by caller
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVICE_REPLIES_H_
