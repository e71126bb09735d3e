#include "client_cpp/offline_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "common/artifact/entry.h"
#include "common/home/folder.h"

namespace kiln {
namespace {

// Reads a file of the home; "" if the home is not own.
std::string ReadFile(const Home& home, const char* name, uint64_t offset = 0) {
  const absl::StatusOr<Folder> folder = home.Open();
  if (!folder.ok()) return "";
  const absl::StatusOr<FolderFile> file = folder->OpenFile(name, O_RDONLY);
  if (!file.ok() || !file->own.ok()) return "";
  std::string bytes = ReadWhole(file->fd.get(), file->info.st_size).value_or("");
  // If the file is shorter than the part that was read before, it was truncated meanwhile.
  return offset <= bytes.size() ? bytes.substr(offset) : bytes;
}

// Calls `visit(shard, name, info)` for the file of each entry.
void ForEachEntry(const Home& home,
                  absl::FunctionRef<void(const Folder&, const char*, const struct stat&)> visit) {
  const absl::StatusOr<Folder> cache = home.OpenCache();
  if (!cache.ok()) return;
  cache->ForEachName([&](const char* name) {
    if (!Home::IsShardName(name)) return;
    const absl::StatusOr<Folder> shard = cache->Enter(name);
    if (!shard.ok()) return;
    shard->ForEachName([&](const char* file) {
      struct stat info;
      if (Home::PlaceOfEntryName(file).ok() &&
          fstatat(shard->fd(), file, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        visit(*shard, file, info);
      }
    });
  });
}

double SecondsOf(const Home& home, const Place& place) {
  const absl::StatusOr<Folder> shard = home.OpenShard(place);
  if (!shard.ok()) return 0;
  const absl::StatusOr<FolderFile> file = shard->OpenFile(Home::EntryName(place), O_RDONLY);
  if (!file.ok() || static_cast<uint64_t>(file->info.st_size) > kMaxEntrySize) return 0;
  const std::string bytes = ReadWhole(file->fd.get(), file->info.st_size).value_or("");
  auto entry = DecodeEntry(bytes);
  return entry.ok() && PlaceOf(entry->key) == place ? entry->info.compile_seconds() : 0;
}

}  // namespace

proto::StatsReply OfflineStats(const Home& home) {
  proto::SavedStats saved;
  if (!saved.ParseFromString(ReadFile(home, "stats"))) saved.Clear();
  proto::StatsReply stats = saved.totals();
  const std::string log = ReadFile(home, "hits.log", saved.hit_log_offset());
  std::map<Place, uint64_t> hits;
  // Records of 32 bytes; a partial one at the end is being written.
  for (size_t at = 0; at + 32 <= log.size(); at += 32) {
    ++hits[*Place::FromBytes(absl::string_view(log).substr(at, 32))];
  }
  for (const auto& [place, count] : hits) {
    stats.set_hits(stats.hits() + count);
    (*stats.mutable_hits_by_tier())["disk"] += count;
    stats.set_seconds_saved(stats.seconds_saved() + count * SecondsOf(home, place));
  }
  uint64_t entries = 0, bytes = 0;
  ForEachEntry(home, [&](const Folder&, const char*, const struct stat& info) {
    ++entries;
    bytes += info.st_size;
  });
  stats.set_entries(entries);
  stats.set_bytes(bytes);
  stats.set_waiting(0);
  stats.set_pid(0);
  stats.set_uptime_seconds(0);
  return stats;
}

proto::ClearReply OfflineClear(const Home& home) {
  proto::ClearReply reply;
  ForEachEntry(home, [&](const Folder& shard, const char* name, const struct stat& info) {
    // Nothing is deleted in a directory that others can exchange.
    if (!shard.own().ok() || unlinkat(shard.fd(), name, 0) != 0) return;
    reply.set_entries(reply.entries() + 1);
    reply.set_bytes(reply.bytes() + info.st_size);
  });
  return reply;
}

}  // namespace kiln
