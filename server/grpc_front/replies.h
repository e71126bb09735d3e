// A cache of replies to look-ups, so that a caller's repeated look-up is answered in this process:
// asking kilnd costs about as much as all of gRPC's work. Entries are valid while kilnd's
// generation (server/front/generation.h) does not change. Evicts the least recently used first.
//
// Thread-safe.
#ifndef KILN_SERVER_GRPC_FRONT_REPLIES_H_
#define KILN_SERVER_GRPC_FRONT_REPLIES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "kiln/proto/service.pb.h"
#include "server/front/generation.h"
#include "server/grpc_front/callers.h"

namespace kiln {

class Replies {
 public:
  // `generation` is not owned. 0 bytes: caches nothing.
  Replies(size_t max_bytes, const Generation* generation)
      : max_bytes_(max_bytes), generation_(generation) {}

  // The key of a look-up, and the generation at which it was made.
  struct Asked {
    std::string key;
    uint64_t generation = Generation::kOver;
  };
  // Finds the reply to an equal request; else returns false and fills in `asked` for Keep.
  bool Find(const Identity& caller, const grpc::ByteBuffer& request, Asked* asked,
            grpc::ByteBuffer* reply);
  // Caches a reply that found everything requested; other replies are not cached, because a miss
  // does not stay true.
  void Keep(Asked asked, IdentityPtr caller, const grpc::ByteBuffer& request,
            const grpc::ByteBuffer& reply);

  // Hits answered here that kilnd has not been told of.
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
    uint64_t answered = 0;  // hits, not yet counted
  };
  using Order = std::list<Item>;  // most recent first

  // Drops everything if the generation has changed.
  void Follow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Order::iterator item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(Item* item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  const Generation* const generation_;
  absl::Mutex mutex_;
  uint64_t kept_of_ ABSL_GUARDED_BY(mutex_) = Generation::kOver;
  Order order_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Order::iterator> index_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Hits> hits_ ABSL_GUARDED_BY(mutex_);  // by caller
};

}  // namespace kiln

#endif  // KILN_SERVER_GRPC_FRONT_REPLIES_H_
