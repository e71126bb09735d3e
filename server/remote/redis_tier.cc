#include "server/remote/redis_tier.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// Each use renews it: what was not used for a month is not used again.
constexpr uint32_t kDefaultTtlSeconds = 30 * 24 * 3600;
constexpr size_t kMaxChunks = (kMaxEntrySize + kRedisChunk - 1) / kRedisChunk;
// Chunks per pipelined call. The limit bounds the memory in use.
constexpr size_t kChunksAtOnce = 16;
// The time limit of lease commands: short commands to a server that has just answered.
constexpr absl::Duration kLeaseLimit = absl::Milliseconds(500);

// Only the holder of the token may change the lease. These are scripts because the comparison and
// the change must be one atomic step: the lease may expire in between.
constexpr absl::string_view kRenewScript =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) "
    "else return 0 end";
constexpr absl::string_view kReleaseScript =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) "
    "else return 0 end";
constexpr absl::string_view kFruitlessScript =
    "if redis.call('get',KEYS[1])==ARGV[1] then "
    "return redis.call('set',KEYS[1],ARGV[2],'PX',ARGV[3]) else return 0 end";
// Replaces the lease, long enough for all waiting machines to see it.
constexpr absl::string_view kFruitless = "fruitless";
constexpr absl::string_view kFruitlessMs = "1000";

std::string PrefixOf(const proto::Redis& config) {
  return absl::StrCat(config.prefix().empty() ? "kiln" : config.prefix(), ":", kEntryVersion);
}

std::string MakeToken() {
  char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return "";
  char host[64] = "";
  gethostname(host, sizeof host - 1);
  // The rest of the token is for people who inspect Redis.
  return absl::StrCat(absl::BytesToHexString(absl::string_view(bytes, sizeof bytes)), " ", host,
                      " ", getpid());
}

struct ChunkIndex {
  size_t size = 0;
  size_t count = 0;
  std::string id;
};

bool ParseIndex(absl::string_view text, ChunkIndex* out) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &out->size) ||
      !absl::SimpleAtoi(words[1], &out->count)) {
    return false;
  }
  out->id = std::string(words[2]);
  // The text comes from a server that others write to: sizes are checked before memory is
  // allocated.
  return out->size <= kMaxEntrySize && out->count >= 1 && out->count <= kMaxChunks &&
         out->id.size() == 64 && out->count == (out->size + kRedisChunk - 1) / kRedisChunk;
}

}  // namespace

RedisTier::RedisTier(std::shared_ptr<RedisClient> client, const proto::Redis& config,
                     bool read_only)
    : client_(std::move(client)),
      prefix_(PrefixOf(config)),
      ttl_(absl::StrCat(config.ttl_seconds() == 0 ? kDefaultTtlSeconds : config.ttl_seconds())),
      read_only_(read_only) {}

std::string RedisTier::Key(absl::string_view kind, const Place& place) const {
  // The braces keep all keys of one place on one server of a proxied cluster.
  return absl::StrCat(prefix_, ":", kind, ":{", place.Hex(), "}");
}

absl::StatusOr<std::vector<std::string>> RedisTier::GetValues(absl::Span<const std::string> keys,
                                                              absl::Time deadline) {
  // Replies per key.
  const size_t step = read_only_ ? 1 : 2;
  std::vector<RedisClient::Command> commands;
  for (const std::string& key : keys) {
    commands.push_back({"GET", key});
    // A use extends the entry's life, so Redis drops what is not used. A replica refuses the
    // command.
    if (!read_only_) commands.push_back({"EXPIRE", key, ttl_});
  }
  ASSIGN_OR_RETURN(std::vector<RedisValue> replies, client_->Run(commands, deadline));
  std::vector<std::string> values;
  values.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    RedisValue& reply = replies[i * step];
    // Something else has the key: a miss, as any value that is not an entry.
    if (reply.kind == RedisValue::kError && absl::StartsWith(reply.text, "WRONGTYPE")) {
      reply = RedisValue();
    }
    RETURN_IF_ERROR(StatusOf(reply));
    values.push_back(std::move(reply.text));
  }
  return values;
}

absl::StatusOr<std::vector<std::string>> RedisTier::Get(absl::Span<const Place> places,
                                                        absl::Time deadline) {
  std::vector<std::string> keys;
  keys.reserve(places.size());
  for (const Place& place : places) keys.push_back(Key("e", place));
  ASSIGN_OR_RETURN(std::vector<std::string> values, GetValues(keys, deadline));
  for (size_t i = 0; i < values.size(); ++i) {
    std::string& value = values[i];
    if (value.empty()) continue;
    if (value[0] == 'E') {
      value.erase(0, 1);
    } else if (value[0] == 'C') {
      ASSIGN_OR_RETURN(value, GetChunks(places[i], absl::string_view(value).substr(1), deadline));
    } else {
      // An unknown mark: a later version wrote it, or something else has this key. Both are misses.
      value.clear();
    }
  }
  return values;
}

absl::StatusOr<std::string> RedisTier::GetChunks(const Place& place, absl::string_view index,
                                                 absl::Time deadline) {
  ChunkIndex chunks;
  if (!ParseIndex(index, &chunks)) return std::string();
  std::string entry;
  for (size_t from = 0; from < chunks.count; from += kChunksAtOnce) {
    std::vector<std::string> keys;
    for (size_t i = from; i < std::min(from + kChunksAtOnce, chunks.count); ++i) {
      keys.push_back(absl::StrCat(Key("c", place), ":", chunks.id, ":", i));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> values, GetValues(keys, deadline));
    for (const std::string& value : values) {
      // A chunk has expired, or chunks of two entries are mixed: a miss.
      if (value.empty() || entry.size() + value.size() > chunks.size) return std::string();
      entry += value;
    }
  }
  // The signature or hash in the entry would fail too, but as damage, which is counted and logged.
  if (entry.size() != chunks.size) return std::string();
  return entry;
}

absl::Status RedisTier::Put(const Place& place, absl::string_view entry, absl::Time deadline) {
  std::string value;
  // Large values block Redis for all its clients while they are sent.
  if (entry.size() <= kRedisChunk) {
    value = absl::StrCat("E", entry);
  } else {
    const ChunkIndex chunks = {entry.size(), (entry.size() + kRedisChunk - 1) / kRedisChunk,
                               Sha256Of(entry).Hex()};
    // Chunks first, then the index that names them. The content's hash is part of their keys, so a
    // reader of the old index never gets new chunks.
    for (size_t i = 0; i < chunks.count; ++i) {
      const std::string key = absl::StrCat(Key("c", place), ":", chunks.id, ":", i);
      RETURN_IF_ERROR(
          client_
              ->Run({"SET", key, entry.substr(i * kRedisChunk, kRedisChunk), "EX", ttl_}, deadline)
              .status());
    }
    value = absl::StrCat("C", chunks.size, " ", chunks.count, " ", chunks.id);
  }
  return client_->Run({"SET", Key("e", place), value, "EX", ttl_}, deadline).status();
}

RedisLeases::RedisLeases(std::shared_ptr<RedisClient> client, const proto::Redis& config)
    : client_(std::move(client)), prefix_(PrefixOf(config)) {}

std::string RedisLeases::Key(const Place& place) const {
  return absl::StrCat(prefix_, ":l:{", place.Hex(), "}");
}

absl::StatusOr<Leases::Answer> RedisLeases::Acquire(const Place& place, absl::Duration ttl) {
  // Random, so that a holder whose lease expired cannot release its successor's.
  const std::string token = MakeToken();
  if (token.empty()) return absl::UnavailableError("no randomness for a lease");
  const std::string key = Key(place);
  const std::string milliseconds = absl::StrCat(absl::ToInt64Milliseconds(ttl));
  // In one round trip: if the SET fails, the GET tells whether the key is a lease or the mark.
  const RedisClient::Command commands[] = {{"SET", key, token, "NX", "PX", milliseconds},
                                           {"GET", key}};
  ASSIGN_OR_RETURN(const std::vector<RedisValue> replies,
                   client_->Run(commands, SteadyNow() + kLeaseLimit));
  for (const RedisValue& reply : replies) RETURN_IF_ERROR(StatusOf(reply));
  // SET with NX answers nil if the key exists.
  if (replies[0].kind != RedisValue::kNil) return Answer{token, false};
  return Answer{"", replies[1].text == kFruitless};
}

absl::Status RedisLeases::Renew(const Place& place, const std::string& token, absl::Duration ttl) {
  const std::string key = Key(place);
  const std::string milliseconds = absl::StrCat(absl::ToInt64Milliseconds(ttl));
  ASSIGN_OR_RETURN(const RedisValue reply,
                   client_->Run({"EVAL", kRenewScript, "1", key, token, milliseconds},
                                SteadyNow() + kLeaseLimit));
  if (reply.integer == 1) return absl::OkStatus();
  return absl::NotFoundError("the lease was lost");
}

absl::Status RedisLeases::Release(const Place& place, const std::string& token, bool fruitless) {
  const std::string key = Key(place);
  RedisClient::Command command = {"EVAL", kReleaseScript, "1", key, token};
  if (fruitless) command = {"EVAL", kFruitlessScript, "1", key, token, kFruitless, kFruitlessMs};
  return client_->Run(command, SteadyNow() + kLeaseLimit).status();
}

}  // namespace kiln
