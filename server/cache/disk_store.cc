#include "server/cache/disk_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "lang/clock.h"
#include "lang/entry.h"

namespace kiln {
namespace {

constexpr std::chrono::seconds kWritePause(30);
constexpr int64_t kAbandonedSeconds = 3600;
// Times of files change without their directory's: now and then all are looked at.
constexpr absl::Duration kWholeScanAge = absl::Minutes(5);
// A directory that changed so lately may have changed again at the same time.
constexpr int64_t kSettledNanos = 2'000'000'000;
constexpr absl::Duration kScanPatience = absl::Seconds(2);
// Of the budget, in percent: where eviction in the background begins, and ends.
constexpr uint64_t kHighWater = 98;
constexpr uint64_t kLowWater = 96;

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

int64_t NanosOf(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Differs between processes, also of other machines and of other lives.
std::string RandomName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = absl::GetCurrentTimeNanos() ^ (static_cast<uint64_t>(getpid()) << 48);
  }
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

absl::Status SyncDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  const int failed = fsync(fd);
  const int error = errno;
  close(fd);
  return failed == 0 ? absl::OkStatus() : ErrnoStatus(error, path);
}

}  // namespace

DiskStore::DiskStore(Home home, DiskOptions options)
    : home_(std::move(home)), options_(std::move(options)), own_(RandomName()) {}

Found DiskStore::Get(const Digest& key) {
  absl::StatusOr<std::string> bytes = Read(key);
  if (!bytes.ok()) {
    if (absl::IsNotFound(bytes.status())) {
      absl::MutexLock lock(&mutex_);
      Forget(key);
    } else if (absl::IsDataLoss(bytes.status())) {
      Discard(key, bytes.status());
    } else {
      Warn("read", absl::StrCat("cannot read the cache: ", bytes.status().message()));
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
  if (options_.read_only) return absl::FailedPreconditionError("the disk tier is read-only");
  {
    absl::MutexLock lock(&mutex_);
    if (std::chrono::steady_clock::now() < write_again_) {
      return absl::UnavailableError("the disk tier refused a write a moment ago");
    }
    // Only who knows what there is keeps within a budget; a look-up never waits for it.
    auto known = [this]()
                     ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return state_ != State::kScanning; };
    mutex_.AwaitWithTimeout(absl::Condition(&known), kScanPatience);
  }
  const uint64_t size = entry->bytes.size();
  absl::Status status = MakeRoom(size);
  if (!status.ok()) return status;
  status = Write(key, entry->bytes);
  bool crowded;
  {
    absl::MutexLock lock(&mutex_);
    reserved_ -= size;
    if (!status.ok()) write_again_ = std::chrono::steady_clock::now() + kWritePause;
    crowded = bytes_ + reserved_ + size > options_.max_bytes / 100 * kHighWater;
  }
  if (!status.ok()) {
    Warn("write", absl::StrCat("cannot write to the cache ", home_.CacheDir(),
                               ", going on without: ", status.message()));
    return status;
  }
  Note(key, size, entry->compile_seconds);
  if (crowded && options_.over_budget) options_.over_budget();
  return absl::OkStatus();
}

bool DiskStore::Contains(const Digest& key) const {
  return access(home_.EntryPath(key).c_str(), F_OK) == 0;
}

void DiskStore::Remove(const Digest& key) {
  if (options_.read_only) return;
  unlink(home_.EntryPath(key).c_str());
  absl::MutexLock lock(&mutex_);
  Forget(key);
}

StoreStats DiskStore::Clear() {
  StoreStats removed;
  if (options_.read_only) return removed;
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
  for (Shard& shard : shards_) shard = Shard();
  by_use_.clear();
  bytes_ = 0;
  return removed;
}

StoreStats DiskStore::stats() const {
  absl::MutexLock lock(&mutex_);
  StoreStats stats;
  stats.entries = by_use_.size();
  stats.bytes = bytes_;
  stats.evictions = evictions_;
  stats.corrupt = corrupt_;
  return stats;
}

void DiskStore::Scan() {
  absl::MutexLock scan_lock(&scan_mutex_);
  const absl::Time now = SteadyNow();
  const bool whole = now - whole_scan_ > kWholeScanAge;
  {
    absl::MutexLock lock(&mutex_);
    if (state_ == State::kFresh) state_ = State::kScanning;
  }
  if (whole) {
    whole_scan_ = now;
    if (!options_.read_only) RemoveAbandoned();
  }
  for (int number = 0; number < 256; ++number) ScanShard(number, whole);
  absl::MutexLock lock(&mutex_);
  state_ = State::kScanned;
}

void DiskStore::RemoveAbandoned() {
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  ForEachName(home_.TempDir(), [&](int dir, const char* file) {
    struct stat st;
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        std::abs(st.st_mtime - now) > kAbandonedSeconds) {
      unlinkat(dir, file, 0);
    }
  });
}

void DiskStore::ScanShard(int number, bool whole) {
  const std::string path = absl::StrCat(home_.CacheDir(), "/", absl::Hex(number, absl::kZeroPad2));
  struct stat st;
  const int64_t changed = stat(path.c_str(), &st) == 0 ? NanosOf(st.st_mtim) : 0;
  int64_t start;
  {
    absl::MutexLock lock(&mutex_);
    start = Tick();
    Shard& shard = shards_[number];
    if (!whole && shard.changed == changed) return;
    const bool settled = std::abs(absl::GetCurrentTimeNanos() - changed) > kSettledNanos;
    shard.changed = settled ? changed : -1;
  }
  std::vector<std::pair<Digest, struct stat>> files;
  ForEachName(path, [&](int dir, const char* file) {
    absl::StatusOr<Digest> key = KeyOfName(file);
    if (!key.ok() || key->bytes[0] != number) return;
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0) files.emplace_back(*key, st);
  });
  absl::flat_hash_set<Digest> present;
  absl::MutexLock lock(&mutex_);
  Shard& shard = shards_[number];
  for (const auto& [key, info] : files) {
    present.insert(key);
    // A time that is yet to come is of a clock that was wrong: now, at the latest.
    const int64_t used = std::min(NanosOf(info.st_mtim), start);
    auto [it, is_new] = shard.items.try_emplace(key);
    // What we wrote or used meanwhile, we know better.
    if (!is_new && it->second.last_use >= start) continue;
    SetSize(&it->second, info.st_size);
    if (is_new || used > it->second.last_use) SetUse(key, &it->second, used);
  }
  // What others deleted; what came while we looked is spared.
  std::vector<Digest> gone;
  for (const auto& [key, item] : shard.items) {
    if (item.last_use < start && !present.contains(key)) gone.push_back(key);
  }
  for (const Digest& key : gone) Forget(key);
}

bool DiskStore::AwaitScan(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  auto scanned = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return state_ == State::kScanned; };
  return mutex_.AwaitWithTimeout(absl::Condition(&scanned), timeout);
}

double DiskStore::Touch(const Digest& key) {
  {
    absl::MutexLock lock(&mutex_);
    if (Item* item = Find(key); item != nullptr && item->seconds >= 0) {
      SetUse(key, item, Tick());
      item->touched = true;
      return item->seconds;
    }
  }
  // The first hit of this life: its cost is in the file.
  const Found found = Get(key);
  return found.entry == nullptr ? 0 : found.entry->compile_seconds;
}

void DiskStore::Maintain() {
  Scan();
  if (options_.read_only) return;
  bool crowded;
  std::vector<std::pair<Digest, int64_t>> touched;
  {
    absl::MutexLock lock(&mutex_);
    crowded = bytes_ + reserved_ > options_.max_bytes / 100 * kHighWater;
  }
  if (crowded) EvictTo(options_.max_bytes / 100 * kLowWater);
  {
    absl::MutexLock lock(&mutex_);
    for (Shard& shard : shards_) {
      for (auto& [key, item] : shard.items) {
        if (!item.touched) continue;
        item.touched = false;
        touched.emplace_back(key, item.last_use);
      }
    }
  }
  for (const auto& [key, nanos] : touched) {
    const timespec time = {nanos / 1'000'000'000, nanos % 1'000'000'000};
    const timespec times[2] = {time, time};
    utimensat(AT_FDCWD, home_.EntryPath(key).c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
}

absl::Status DiskStore::MakeRoom(uint64_t size) {
  if (size > options_.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "an entry of ", size, " bytes; the disk tier's budget is ", options_.max_bytes));
  }
  {
    absl::MutexLock lock(&mutex_);
    reserved_ += size;
    if (bytes_ + reserved_ <= options_.max_bytes) return absl::OkStatus();
  }
  EvictTo(options_.max_bytes);
  return absl::OkStatus();
}

void DiskStore::EvictTo(uint64_t target) {
  absl::MutexLock evict_lock(&evict_mutex_);
  while (true) {
    Digest key;
    {
      absl::MutexLock lock(&mutex_);
      if (bytes_ + reserved_ <= target || by_use_.empty()) return;
      key = by_use_.begin()->second;
    }
    // Gone before its room is given to another. A process that has the file mapped keeps it:
    // unlinking takes only the name. What cannot be deleted is found again by the next scan.
    unlink(home_.EntryPath(key).c_str());
    absl::MutexLock lock(&mutex_);
    Forget(key);
    ++evictions_;
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
      absl::StrCat(home_.TempDir(), "/", key.Hex().substr(0, 16), ".", own_, ".", sequence);
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
    if (options_.sync) status.Update(SyncDirectory(home_.CacheDir()));
    if (rename(temp.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
  }
  std::move(cleanup).Cancel();
  if (options_.sync) status.Update(SyncDirectory(shard));
  return status;
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
  if (!options_.read_only) unlink(home_.EntryPath(key).c_str());
  {
    absl::MutexLock lock(&mutex_);
    ++corrupt_;
    Forget(key);
  }
  if (options_.warn) {
    options_.warn(absl::StrCat(options_.read_only ? "passed by" : "deleted", " the damaged entry ",
                               key.Hex(), ": ", why.message()));
  }
}

void DiskStore::Note(const Digest& key, uint64_t size, double seconds) {
  absl::MutexLock lock(&mutex_);
  Item& item = shards_[key.bytes[0]].items[key];
  SetSize(&item, size);
  SetUse(key, &item, Tick());
  item.seconds = static_cast<float>(seconds);
  item.touched = true;
}

DiskStore::Item* DiskStore::Find(const Digest& key) {
  auto& items = shards_[key.bytes[0]].items;
  auto it = items.find(key);
  return it == items.end() ? nullptr : &it->second;
}

void DiskStore::SetUse(const Digest& key, Item* item, int64_t when) {
  by_use_.erase({item->last_use, key});
  item->last_use = when;
  by_use_.emplace(when, key);
}

void DiskStore::SetSize(Item* item, uint64_t size) {
  bytes_ += size - item->size;
  item->size = size;
}

int64_t DiskStore::Tick() {
  clock_ = std::max(clock_ + 1, absl::GetCurrentTimeNanos());
  return clock_;
}

void DiskStore::Forget(const Digest& key) {
  auto& items = shards_[key.bytes[0]].items;
  auto it = items.find(key);
  if (it == items.end()) return;
  bytes_ -= it->second.size;
  by_use_.erase({it->second.last_use, key});
  items.erase(it);
}

void DiskStore::Warn(const char* kind, const std::string& message) {
  {
    absl::MutexLock lock(&mutex_);
    if (!warned_.insert(kind).second) return;
  }
  if (options_.warn) options_.warn(message);
}

}  // namespace kiln
