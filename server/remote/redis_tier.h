// Entries and leases in Redis.
//
//   PREFIX:2:e:{HEX}         an entry, at its place: 'E' and its bytes; or, over
//                            512 KiB, 'C' and "SIZE COUNT ID" of its chunks
//   PREFIX:2:c:{HEX}:ID:N    chunk N of the entry whose bytes have the digest ID
//   PREFIX:2:l:{HEX}         the lease: a random token; or, for a second, a mark that
//                            compiling gives no entry
//
// 2 is the version of the entry format (common/artifact/entry.h): different versions use different
// keys. The braces keep an entry's keys in one slot of a cluster. Chunks are written before the
// value that names them, and their names contain the entry's digest, so two writers of one key do
// not mix. A missing chunk is a miss. All keys expire; a hit renews them.
#ifndef KILN_SERVER_REMOTE_REDIS_TIER_H_
#define KILN_SERVER_REMOTE_REDIS_TIER_H_

#include <memory>
#include <string>
#include <vector>

#include "server/remote/redis_client.h"
#include "server/remote/remote_tier.h"

namespace kiln {

class RedisTier : public RemoteTier {
 public:
  // `client` is shared with the leases. A read-only tier renews nothing.
  RedisTier(std::shared_ptr<RedisClient> client, const proto::Redis& config, bool read_only);

  absl::StatusOr<std::vector<std::string>> Get(absl::Span<const Place> places,
                                               absl::Time deadline) override;
  absl::Status Put(const Place& place, absl::string_view entry, absl::Time deadline) override;

 private:
  // The value of each key, empty if it is missing; renews their time to live.
  absl::StatusOr<std::vector<std::string>> GetValues(absl::Span<const std::string> keys,
                                                     absl::Time deadline);
  // Empty if a chunk is missing or damaged.
  absl::StatusOr<std::string> GetChunks(const Place& place, absl::string_view index,
                                        absl::Time deadline);
  std::string Key(absl::string_view kind, const Place& place) const;

  const std::shared_ptr<RedisClient> client_;
  const std::string prefix_;
  const std::string ttl_;
  const bool read_only_;
};

class RedisLeases : public Leases {
 public:
  RedisLeases(std::shared_ptr<RedisClient> client, const proto::Redis& config);

  absl::StatusOr<Answer> Acquire(const Place& place, absl::Duration ttl) override;
  absl::Status Renew(const Place& place, const std::string& token, absl::Duration ttl) override;
  absl::Status Release(const Place& place, const std::string& token, bool fruitless) override;

 private:
  std::string Key(const Place& place) const;

  const std::shared_ptr<RedisClient> client_;
  const std::string prefix_;
};

}  // namespace kiln

#endif  // KILN_SERVER_REMOTE_REDIS_TIER_H_
