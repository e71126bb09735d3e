#include "client_cpp/offline_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "lang/entry.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const std::string& path, uint64_t offset = 0) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  return {std::istreambuf_iterator<char>(in), {}};
}

// Calls `visit(path, size)` for every file two levels below the cache directory.
void ForEachFile(const Home& home, const std::function<void(const fs::path&, uint64_t)>& visit) {
  std::error_code error;
  for (const auto& dir : fs::directory_iterator(home.CacheDir(), error)) {
    for (const auto& file : fs::directory_iterator(dir.path(), error)) {
      const uint64_t size = file.file_size(error);
      if (!error) visit(file.path(), size);
    }
  }
}

double SecondsOf(const Home& home, const Digest& key) {
  const std::string bytes = ReadFile(home.EntryPath(key));
  auto entry = DecodeEntry(bytes, &key);
  return entry.ok() ? entry->info.compile_seconds() : 0;
}

}  // namespace

proto::StatsReply OfflineStats(const Home& home) {
  proto::SavedStats saved;
  if (!saved.ParseFromString(ReadFile(home.StatsPath()))) saved.Clear();
  proto::StatsReply stats = saved.totals();
  std::error_code error;
  const uint64_t log_size = fs::file_size(home.HitLogPath(), error);
  // A log shorter than what was read of it has been cut since.
  const uint64_t from = !error && log_size >= saved.hit_log_offset() ? saved.hit_log_offset() : 0;
  const std::string log = ReadFile(home.HitLogPath(), from);
  std::map<Digest, uint64_t> hits;
  for (size_t at = 0; at + 32 <= log.size(); at += 32) {
    ++hits[*Digest::FromBytes(absl::string_view(log).substr(at, 32))];
  }
  for (const auto& [key, count] : hits) {
    stats.set_hits(stats.hits() + count);
    (*stats.mutable_hits_by_tier())["disk"] += count;
    stats.set_seconds_saved(stats.seconds_saved() + count * SecondsOf(home, key));
  }
  uint64_t entries = 0, bytes = 0;
  ForEachFile(home, [&](const fs::path& path, uint64_t size) {
    if (path.extension() != ".so") return;
    ++entries;
    bytes += size;
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
  ForEachFile(home, [&](const fs::path& path, uint64_t size) {
    if (unlink(path.c_str()) != 0 || path.extension() != ".so") return;
    reply.set_entries(reply.entries() + 1);
    reply.set_bytes(reply.bytes() + size);
  });
  return reply;
}

}  // namespace kiln
