#include "server/cache/disk_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lang/entry.h"

namespace kiln {
namespace {

constexpr absl::Duration kWritePause = absl::Seconds(30);
constexpr int64_t kAbandonedSeconds = 3600;

absl::Status ErrnoStatus(int error, absl::string_view what) {
  return absl::Status(absl::ErrnoToStatusCode(error), absl::StrCat(what, ": ", strerror(error)));
}

// Exactly `size` bytes from the file, or an error.
absl::Status ReadWhole(int fd, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, out + done, size - done, done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read");
    if (n == 0) return absl::DataLossError("file shorter than its size");
    done += n;
  }
  return absl::OkStatus();
}

absl::Status WriteWhole(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write");
    bytes.remove_prefix(n);
  }
  return absl::OkStatus();
}

// What is on disk is what was meant: quotas and odd file systems may cut writes
// short without saying so.
absl::Status ReadBack(int fd, const std::string& bytes) {
  std::string block(std::min(bytes.size(), size_t{64} << 10), '\0');
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, "fstat");
  if (static_cast<uint64_t>(st.st_size) != bytes.size()) {
    return absl::DataLossError("written file has another size");
  }
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = pread(fd, &block[0], std::min(block.size(), bytes.size() - at), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || memcmp(block.data(), bytes.data() + at, n) != 0) {
      return absl::DataLossError("written file reads back differently");
    }
    at += n;
  }
  return absl::OkStatus();
}

// Calls `visit` for each name in `dir` but . and ..
template <typename Visit>
void ForEachName(const std::string& dir, Visit visit) {
  DIR* handle = opendir(dir.c_str());
  if (handle == nullptr) return;
  while (const dirent* entry = readdir(handle)) {
    if (entry->d_name[0] != '.') visit(dirfd(handle), entry->d_name);
  }
  closedir(handle);
}

bool IsShard(absl::string_view name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

// The key in an entry's file name; nothing for other files.
absl::StatusOr<Digest> KeyOfName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".so")) return absl::NotFoundError("not an entry");
  return Digest::FromHex(name);
}

int64_t Now() { return absl::ToUnixSeconds(absl::Now()); }

}  // namespace

DiskStore::DiskStore(Home home, DiskOptions options)
    : home_(std::move(home)), options_(std::move(options)) {}

Found DiskStore::Get(const Digest& key) {
  absl::StatusOr<std::string> bytes = Read(key);
  if (!bytes.ok()) {
    if (absl::IsNotFound(bytes.status())) {
      absl::MutexLock lock(&mutex_);
      Forget(key);
    } else if (absl::IsDataLoss(bytes.status())) {
      Discard(key, bytes.status());
    } else {
      Warn(absl::StrCat("cannot read the cache: ", bytes.status().message()));
    }
    return {nullptr, name()};
  }
  const uint64_t size = bytes->size();
  absl::StatusOr<EntryPtr> entry = CheckEntry(key, *std::move(bytes));
  if (!entry.ok()) {
    Discard(key, entry.status());
    return {nullptr, name()};
  }
  Note(key, size, (*entry)->compile_seconds);
  return {*std::move(entry), name()};
}

absl::Status DiskStore::Put(const Digest& key, EntryPtr entry) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Now() < write_again_) {
      return absl::UnavailableError("the disk tier refused a write a moment ago");
    }
  }
  absl::Status status = Write(key, entry->bytes);
  if (!status.ok()) {
    {
      absl::MutexLock lock(&mutex_);
      write_again_ = absl::Now() + kWritePause;
    }
    Warn(absl::StrCat("cannot write to the cache ", home_.CacheDir(),
                      ", going on without: ", status.message()));
    return status;
  }
  Note(key, entry->bytes.size(), entry->compile_seconds);
  bool over;
  {
    absl::MutexLock lock(&mutex_);
    over = bytes_ > options_.max_bytes;
  }
  if (over && options_.over_budget) options_.over_budget();
  return absl::OkStatus();
}

bool DiskStore::Contains(const Digest& key) const {
  return access(home_.EntryPath(key).c_str(), F_OK) == 0;
}

void DiskStore::Remove(const Digest& key) {
  unlink(home_.EntryPath(key).c_str());
  absl::MutexLock lock(&mutex_);
  Forget(key);
}

StoreStats DiskStore::Clear() {
  StoreStats removed;
  ForEachName(home_.CacheDir(), [&](int dir, const char* shard) {
    if (!IsShard(shard)) return;
    ForEachName(absl::StrCat(home_.CacheDir(), "/", shard), [&](int shard_dir, const char* file) {
      struct stat st;
      if (fstatat(shard_dir, file, &st, AT_SYMLINK_NOFOLLOW) != 0) return;
      if (unlinkat(shard_dir, file, 0) != 0) return;
      ++removed.entries;
      removed.bytes += st.st_size;
    });
    unlinkat(dir, shard, AT_REMOVEDIR);
  });
  absl::MutexLock lock(&mutex_);
  index_.clear();
  bytes_ = 0;
  return removed;
}

StoreStats DiskStore::stats() const {
  absl::MutexLock lock(&mutex_);
  StoreStats stats;
  stats.entries = index_.size();
  stats.bytes = bytes_;
  stats.evictions = evictions_;
  stats.corrupt = corrupt_;
  return stats;
}

void DiskStore::Scan() {
  const int64_t start = Now();
  ForEachName(home_.TempDir(), [&](int dir, const char* file) {
    struct stat st;
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        st.st_mtime < start - kAbandonedSeconds) {
      unlinkat(dir, file, 0);
    }
  });
  absl::flat_hash_set<Digest> present;
  ForEachName(home_.CacheDir(), [&](int, const char* shard) {
    if (!IsShard(shard)) return;
    std::vector<std::pair<Digest, Item>> items;
    ForEachName(absl::StrCat(home_.CacheDir(), "/", shard), [&](int dir, const char* file) {
      struct stat st;
      absl::StatusOr<Digest> key = KeyOfName(file);
      if (!key.ok() || fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) != 0) return;
      Item item;
      item.size = st.st_size;
      item.last_use = st.st_mtime;
      items.emplace_back(*key, item);
      present.insert(*key);
    });
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, item] : items) {
      if (index_.emplace(key, item).second) bytes_ += item.size;
    }
  });
  absl::MutexLock lock(&mutex_);
  // What others deleted; what came while we looked is spared.
  absl::erase_if(index_, [&](const auto& entry) {
    const bool gone = !present.contains(entry.first) && entry.second.last_use < start - 1;
    if (gone) bytes_ -= entry.second.size;
    return gone;
  });
  scanned_ = true;
}

bool DiskStore::AwaitScan(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&scanned_), timeout);
}

double DiskStore::Touch(const Digest& key) {
  {
    absl::MutexLock lock(&mutex_);
    if (auto it = index_.find(key); it != index_.end() && it->second.seconds >= 0) {
      it->second.last_use = Now();
      it->second.touched = true;
      return it->second.seconds;
    }
  }
  // The first hit of this life: its cost is in the file.
  absl::StatusOr<std::string> bytes = Read(key);
  if (!bytes.ok()) return 0;
  absl::StatusOr<EntryView> view = DecodeEntry(*bytes, &key);
  if (!view.ok()) {
    Discard(key, view.status());
    return 0;
  }
  Note(key, bytes->size(), view->info.compile_seconds());
  return view->info.compile_seconds();
}

void DiskStore::Maintain() {
  Evict();
  std::vector<std::pair<Digest, int64_t>> touched;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, item] : index_) {
      if (!item.touched) continue;
      item.touched = false;
      touched.emplace_back(key, item.last_use);
    }
  }
  for (const auto& [key, seconds] : touched) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    utimensat(AT_FDCWD, home_.EntryPath(key).c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
}

void DiskStore::Evict() {
  std::vector<std::pair<int64_t, Digest>> oldest;
  uint64_t excess;
  {
    absl::MutexLock lock(&mutex_);
    if (bytes_ <= options_.max_bytes) return;
    excess = bytes_ - options_.max_bytes / 10 * 9;
    oldest.reserve(index_.size());
    for (const auto& [key, item] : index_) oldest.emplace_back(item.last_use, key);
  }
  std::sort(oldest.begin(), oldest.end());
  for (const auto& [last_use, key] : oldest) {
    if (excess == 0) break;
    // A process that has the file mapped keeps it: unlinking takes only the name.
    const bool gone = unlink(home_.EntryPath(key).c_str()) == 0 || errno == ENOENT;
    absl::MutexLock lock(&mutex_);
    auto it = index_.find(key);
    if (it == index_.end()) continue;
    excess -= std::min(excess, it->second.size);
    if (gone) {
      ++evictions_;
      Forget(key);
    }
  }
}

absl::Status DiskStore::Write(const Digest& key, const std::string& bytes) {
  const std::string path = home_.EntryPath(key);
  uint64_t sequence;
  {
    absl::MutexLock lock(&mutex_);
    sequence = ++sequence_;
  }
  const std::string temp =
      absl::StrCat(home_.TempDir(), "/", key.Hex().substr(0, 16), ".", getpid(), ".", sequence);
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int fd = open(temp.c_str(), flags, 0600);
  if (fd < 0 && errno == ENOENT) {  // someone removed the directories
    absl::Status made = home_.Create();
    if (!made.ok()) return made;
    fd = open(temp.c_str(), flags, 0600);
  }
  if (fd < 0) return ErrnoStatus(errno, temp);
  auto cleanup = absl::MakeCleanup([&] { unlink(temp.c_str()); });

  absl::Status status = WriteWhole(fd, bytes);
  if (status.ok() && options_.sync && fsync(fd) != 0) status = ErrnoStatus(errno, "fsync");
  if (status.ok()) status = ReadBack(fd, bytes);
  if (close(fd) != 0) status.Update(ErrnoStatus(errno, "close"));
  if (!status.ok()) return status;

  const std::string shard = path.substr(0, path.rfind('/'));
  if (rename(temp.c_str(), path.c_str()) != 0) {
    if (errno != ENOENT) return ErrnoStatus(errno, path);
    if (mkdir(shard.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, shard);
    if (rename(temp.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
  }
  std::move(cleanup).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<std::string> DiskStore::Read(const Digest& key) const {
  const std::string path = home_.EntryPath(key);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(path);
    if (errno == ELOOP) return absl::DataLossError("a symbolic link in place of an entry");
    return ErrnoStatus(errno, path);
  }
  auto cleanup = absl::MakeCleanup([fd] { close(fd); });
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(st.st_mode)) return absl::DataLossError("not a regular file");
  if (st.st_uid != geteuid()) return absl::DataLossError("another user's file");
  if (st.st_size < static_cast<off_t>(kTrailerSize) ||
      st.st_size > static_cast<off_t>(kMaxEntrySize)) {
    return absl::DataLossError("a size that no entry has");
  }
  std::string bytes(st.st_size, '\0');
  absl::Status status = ReadWhole(fd, &bytes[0], bytes.size());
  if (!status.ok()) return status;
  return bytes;
}

void DiskStore::Discard(const Digest& key, const absl::Status& why) {
  unlink(home_.EntryPath(key).c_str());
  {
    absl::MutexLock lock(&mutex_);
    ++corrupt_;
    Forget(key);
  }
  if (options_.warn) {
    options_.warn(absl::StrCat("deleted the damaged entry ", key.Hex(), ": ", why.message()));
  }
}

void DiskStore::Note(const Digest& key, uint64_t size, double seconds) {
  absl::MutexLock lock(&mutex_);
  Item& item = index_[key];
  bytes_ += size - item.size;
  item.size = size;
  item.last_use = Now();
  item.seconds = static_cast<float>(seconds);
  item.touched = true;
}

void DiskStore::Forget(const Digest& key) {
  auto it = index_.find(key);
  if (it == index_.end()) return;
  bytes_ -= it->second.size;
  index_.erase(it);
}

void DiskStore::Warn(const std::string& message) {
  {
    absl::MutexLock lock(&mutex_);
    if (!warned_.emplace(message, true).second) return;
  }
  if (options_.warn) options_.warn(message);
}

}  // namespace kiln
