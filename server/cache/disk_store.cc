#include "server/cache/disk_store.h"

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
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/artifact/entry.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/home/folder.h"

namespace kiln {
namespace {

// A full disk is not freed within a second, and each attempt delays a compilation.
constexpr std::chrono::seconds kWritePause(30);
constexpr int64_t kAbandonedSeconds = 3600;
// A file's times change without its directory's, so occasionally a scan reads all files.
constexpr absl::Duration kWholeScanAge = absl::Minutes(5);
// A directory that changed this recently may change again with the same time stamp.
constexpr int64_t kSettledNanos = 2'000'000'000;
constexpr absl::Duration kScanPatience = absl::Seconds(2);
// In percent of the budget: where background eviction begins, and ends.
constexpr uint64_t kHighWater = 98;
constexpr uint64_t kLowWater = 96;

absl::Status ErrnoStatus(int error, absl::string_view what) {
  return absl::Status(absl::ErrnoToStatusCode(error), absl::StrCat(what, ": ", strerror(error)));
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

// Checks that the disk has the bytes written: quotas and unusual file systems may cut writes short
// silently.
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

// Whether `name` is of a partly written file: a daemon's (16 digits of the key, the daemon's own
// 16, a number) or a client's (the key, a process, a number).
bool IsTemporary(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  const auto is_digits = [](absl::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  };
  return parts.size() == 3 && (parts[0].size() == 16 || parts[0].size() == 64) &&
         is_digits(parts[0]) && is_digits(parts[1]) && is_digits(parts[2]);
}

// A foreign object in the place of an entry or its directory is not a failure of the disk.
bool IsInTheWay(const absl::Status& status) { return absl::IsFailedPrecondition(status); }

int64_t NanosOf(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Unique among processes, also of other machines and earlier runs.
std::string RandomName() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    number = absl::GetCurrentTimeNanos() ^ (static_cast<uint64_t>(getpid()) << 48);
  }
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

absl::Status Sync(const Folder& folder) {
  return fsync(folder.fd()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, folder.path());
}

}  // namespace

DiskStore::DiskStore(Home home, DiskOptions options)
    : home_(std::move(home)), options_(std::move(options)), own_(RandomName()) {}

Found DiskStore::Get(const Place& place) {
  absl::StatusOr<std::string> bytes = Read(place);
  if (!bytes.ok()) {
    // Another process may have deleted the file: the index must not count its bytes any longer.
    if (absl::IsNotFound(bytes.status())) {
      absl::MutexLock lock(&mutex_);
      Forget(place);
    } else if (absl::IsDataLoss(bytes.status())) {
      Discard(place, bytes.status());
    } else {
      Warn("read", absl::StrCat("cannot read the cache: ", bytes.status().message()));
    }
    return {nullptr, name()};
  }
  const uint64_t size = bytes->size();
  absl::StatusOr<EntryPtr> entry = CheckEntry(place, *std::move(bytes));
  if (!entry.ok()) {
    Discard(place, entry.status());
    return {nullptr, name()};
  }
  // Only after the check, so that a damaged file never counts as used.
  Note(place, size, (*entry)->compile_seconds);
  return {*std::move(entry), name()};
}

absl::Status DiskStore::Put(const Place& place, EntryPtr entry) {
  if (options_.read_only) return absl::FailedPreconditionError("the disk tier is read-only");
  {
    absl::MutexLock lock(&mutex_);
    // An error at once, instead of another wait for a disk that just failed.
    if (std::chrono::steady_clock::now() < write_again_) {
      return absl::UnavailableError("the disk tier refused a write a moment ago");
    }
    // Staying within a budget requires the index; a look-up never waits for it.
    auto known = [this]()
                     ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return state_ != State::kScanning; };
    mutex_.AwaitWithTimeout(absl::Condition(&known), kScanPatience);
  }
  const uint64_t size = entry->bytes.size();
  absl::Status status = MakeRoom(size);
  if (!status.ok()) return status;
  status = Write(place, entry->bytes);
  bool crowded;
  {
    absl::MutexLock lock(&mutex_);
    // Note, below, adds the bytes that are really there.
    reserved_ -= size;
    // A failing disk would delay every compilation, so writes pause.
    if (!status.ok() && !IsInTheWay(status)) {
      write_again_ = std::chrono::steady_clock::now() + kWritePause;
    }
    // The housekeeper evicts in the background from here on, so that writers rarely have to.
    crowded = bytes_ + reserved_ + size > options_.max_bytes / 100 * kHighWater;
  }
  if (!status.ok()) {
    const std::string what = IsInTheWay(status) ? place.Hex() : "write";
    Warn(what, absl::StrCat("cannot write to the cache ", home_.CacheDir(),
                            ", continuing without it: ", status.message()));
    return status;
  }
  Note(place, size, entry->compile_seconds);
  // Outside of the lock: it wakes the housekeeper, which takes it.
  if (crowded && options_.over_budget) options_.over_budget();
  return absl::OkStatus();
}

bool DiskStore::Contains(const Place& place) const {
  const absl::StatusOr<Folder> shard = OwnShard(place);
  return shard.ok() && faccessat(shard->fd(), Home::EntryName(place).c_str(), F_OK, 0) == 0;
}

void DiskStore::Remove(const Place& place) {
  if (options_.read_only) return;
  Unlink(place).IgnoreError();
  absl::MutexLock lock(&mutex_);
  Forget(place);
}

absl::StatusOr<Folder> DiskStore::OwnCache() const {
  ASSIGN_OR_RETURN(Folder cache, home_.OpenCache());
  RETURN_IF_ERROR(cache.own());
  return cache;
}

// Each step opens a directory relative to the one before and checks its owner. A path would be
// resolved again at each use, and others could exchange a directory in between.
absl::StatusOr<Folder> DiskStore::OwnShard(const Place& place) const {
  ASSIGN_OR_RETURN(const Folder cache, OwnCache());
  ASSIGN_OR_RETURN(Folder shard, cache.Enter(Home::ShardName(place)));
  RETURN_IF_ERROR(shard.own());
  return shard;
}

absl::Status DiskStore::Unlink(const Place& place) const {
  ASSIGN_OR_RETURN(const Folder shard, OwnShard(place));
  const std::string name = Home::EntryName(place);
  if (unlinkat(shard.fd(), name.c_str(), 0) == 0) return absl::OkStatus();
  // An empty directory in an entry's place contains no data and may be removed.
  if (errno == EISDIR && unlinkat(shard.fd(), name.c_str(), AT_REMOVEDIR) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, absl::StrCat(shard.path(), "/", name));
}

StoreStats DiskStore::Clear() {
  StoreStats removed;
  if (options_.read_only) return removed;
  if (const absl::StatusOr<Folder> cache = OwnCache(); cache.ok()) {
    cache->ForEachName([&](const char* name) {
      // Walks the directories and not the index, which may not know all files yet.
      if (Home::IsShardName(name)) ClearShard(*cache, name, &removed);
    });
  }
  absl::MutexLock lock(&mutex_);
  // Also the times of the directories, so that the next scan reads them all.
  for (Shard& shard : shards_) shard = Shard();
  by_use_.clear();
  bytes_ = 0;
  return removed;
}

void DiskStore::ClearShard(const Folder& cache, const char* name, StoreStats* removed) {
  const absl::StatusOr<Folder> shard = cache.Enter(name);
  if (!shard.ok() || !shard->own().ok()) return;
  shard->ForEachName([&](const char* file) {
    struct stat st;
    if (!Home::PlaceOfEntryName(file).ok() ||
        fstatat(shard->fd(), file, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        unlinkat(shard->fd(), file, 0) != 0) {
      return;
    }
    ++removed->entries;
    removed->bytes += st.st_size;
  });
  // Fails if a foreign file is left, which then keeps its directory.
  unlinkat(cache.fd(), name, AT_REMOVEDIR);
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
  // One scan at a time. `mutex_` is held only per shard, so look-ups go on meanwhile.
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
  const absl::StatusOr<Folder> cache = OwnCache();
  for (int number = 0; number < 256; ++number) ScanShard(cache, number, whole);
  absl::MutexLock lock(&mutex_);
  state_ = State::kScanned;
}

void DiskStore::RemoveAbandoned() {
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  const absl::StatusOr<Folder> cache = OwnCache();
  if (!cache.ok()) return;
  const absl::StatusOr<Folder> temp = cache->Enter("tmp");
  if (!temp.ok() || !temp->own().ok()) return;
  temp->ForEachName([&](const char* file) {
    struct stat st;
    if (IsTemporary(file) && fstatat(temp->fd(), file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        // A file of this name is being written, or its writer died. An hour is longer than any
        // write; the absolute value also finds files from a clock that was ahead.
        S_ISREG(st.st_mode) && std::abs(st.st_mtime - now) > kAbandonedSeconds) {
      unlinkat(temp->fd(), file, 0);
    }
  });
}

void DiskStore::ScanShard(const absl::StatusOr<Folder>& cache, int number, bool whole) {
  absl::StatusOr<Folder> folder =
      cache.ok() ? cache->Enter(absl::StrCat(absl::Hex(number, absl::kZeroPad2))) : cache.status();
  if (folder.ok() && !folder->own().ok()) folder = folder->own();
  // 0 also for a directory that is gone: its entries are then dropped from the index.
  const int64_t changed = folder.ok() ? NanosOf(folder->info().st_mtim) : 0;
  int64_t start;
  {
    absl::MutexLock lock(&mutex_);
    // The scan's time in the order of uses: what changes during the scan is newer than it.
    start = Tick();
    Shard& shard = shards_[number];
    // The directory's time changes when a file appears or vanishes, which is all that a short scan
    // needs.
    if (!whole && shard.changed == changed) return;
    const bool settled = std::abs(absl::GetCurrentTimeNanos() - changed) > kSettledNanos;
    shard.changed = settled ? changed : -1;
  }
  std::vector<std::pair<Place, struct stat>> files;
  if (folder.ok()) {
    folder->ForEachName([&](const char* file) {
      absl::StatusOr<Place> place = Home::PlaceOfEntryName(file);
      struct stat st;
      // An entry in the wrong shard would never be found by a look-up.
      if (!place.ok() || place->bytes[0] != number) return;
      if (fstatat(folder->fd(), file, &st, AT_SYMLINK_NOFOLLOW) == 0)
        files.emplace_back(*place, st);
    });
  }
  absl::flat_hash_set<Place> present;
  absl::MutexLock lock(&mutex_);
  Shard& shard = shards_[number];
  for (const auto& [place, info] : files) {
    present.insert(place);
    // A time in the future comes from a wrong clock: clamp it to now.
    const int64_t used = std::min(NanosOf(info.st_mtim), start);
    auto [it, is_new] = shard.items.try_emplace(place);
    // The index has newer information about our own writes and uses.
    if (!is_new && it->second.last_use >= start) continue;
    SetSize(&it->second, info.st_size);
    if (is_new || used > it->second.last_use) SetUse(place, &it->second, used);
  }
  // Drops entries that other processes deleted; keeps those written during the scan.
  std::vector<Place> gone;
  for (const auto& [place, item] : shard.items) {
    // Collected first: Forget erases from the map that this loop walks.
    if (item.last_use < start && !present.contains(place)) gone.push_back(place);
  }
  for (const Place& place : gone) Forget(place);
}

bool DiskStore::AwaitScan(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  auto scanned = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return state_ == State::kScanned; };
  return mutex_.AwaitWithTimeout(absl::Condition(&scanned), timeout);
}

double DiskStore::Touch(const Place& place) {
  {
    absl::MutexLock lock(&mutex_);
    // A scan knows size and time of a file, but not how long its entry took to compile (-1).
    if (Item* item = Find(place); item != nullptr && item->seconds >= 0) {
      SetUse(place, item, Tick());
      item->touched = true;
      return item->seconds;
    }
  }
  // The first hit in this run: reads the compile time from the file.
  const Found found = Get(place);
  return found.entry == nullptr ? 0 : found.entry->compile_seconds;
}

void DiskStore::Maintain() {
  Scan();
  if (options_.read_only) return;
  bool crowded;
  std::vector<std::pair<Place, int64_t>> touched;
  {
    absl::MutexLock lock(&mutex_);
    crowded = bytes_ + reserved_ > options_.max_bytes / 100 * kHighWater;
  }
  // Below the mark at which it began, so that it does not run again for each entry.
  if (crowded) EvictTo(options_.max_bytes / 100 * kLowWater);
  {
    absl::MutexLock lock(&mutex_);
    for (Shard& shard : shards_) {
      for (auto& [place, item] : shard.items) {
        if (!item.touched) continue;
        item.touched = false;
        touched.emplace_back(place, item.last_use);
      }
    }
  }
  // Record uses in the files' times, from which a later daemon learns the order for eviction. The
  // disk is slow, so this happens without the lock.
  for (const auto& [place, nanos] : touched) {
    const timespec time = {nanos / 1'000'000'000, nanos % 1'000'000'000};
    const timespec times[2] = {time, time};
    const absl::StatusOr<Folder> shard = OwnShard(place);
    if (!shard.ok()) continue;
    utimensat(shard->fd(), Home::EntryName(place).c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
}

absl::Status DiskStore::MakeRoom(uint64_t size) {
  if (size > options_.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "an entry of ", size, " bytes; the disk tier's budget is ", options_.max_bytes));
  }
  {
    absl::MutexLock lock(&mutex_);
    // Reserved before the room is made: concurrent writers must not count on the same room.
    reserved_ += size;
    if (bytes_ + reserved_ <= options_.max_bytes) return absl::OkStatus();
  }
  EvictTo(options_.max_bytes);
  return absl::OkStatus();
}

void DiskStore::EvictTo(uint64_t target) {
  absl::MutexLock evict_lock(&evict_mutex_);
  while (true) {
    Place place;
    {
      absl::MutexLock lock(&mutex_);
      // One entry at a time, without the lock while unlinking: a look-up never waits for the disk.
      if (bytes_ + reserved_ <= target || by_use_.empty()) return;
      place = by_use_.begin()->second;
    }
    // Unlinks the file before its room is reused. Processes that have mapped it keep their mapping.
    // If unlinking fails, the next scan finds the file again.
    Unlink(place).IgnoreError();
    absl::MutexLock lock(&mutex_);
    Forget(place);
    ++evictions_;
  }
}

// The directory in which files are made before they are renamed into a shard of `cache`. Without it
// nothing can be written, so an obstacle counts as a failure of the disk.
absl::StatusOr<Folder> DiskStore::OwnTemp(absl::StatusOr<Folder>* cache) const {
  const auto enter = [&]() -> absl::StatusOr<Folder> {
    *cache = OwnCache();
    RETURN_IF_ERROR(cache->status());
    return (*cache)->Enter("tmp");
  };
  absl::StatusOr<Folder> temp = enter();
  if (absl::IsNotFound(temp.status())) {  // another process removed the directories
    const absl::Status made = home_.Create();
    temp = made.ok() ? enter() : made;
  }
  if (temp.ok() && !temp->own().ok()) return temp->own();
  if (IsInTheWay(temp.status())) return absl::UnavailableError(temp.status().message());
  return temp;
}

// Writes the entry to a temporary file and renames it, so that readers never see a partial entry.
// With `sync`, the order is: file, then rename, then directory; so an acknowledged entry survives a
// crash.
absl::Status DiskStore::Write(const Place& place, const std::string& bytes) {
  absl::StatusOr<Folder> cache = absl::UnknownError("not opened");
  ASSIGN_OR_RETURN(const Folder temp, OwnTemp(&cache));
  uint64_t sequence;
  {
    absl::MutexLock lock(&mutex_);
    sequence = ++sequence_;
  }
  // The daemon's random name is part of it, since machines may share the directory.
  const std::string aside = absl::StrCat(place.Hex().substr(0, 16), ".", own_, ".", sequence);
  ASSIGN_OR_RETURN(FolderFile file, temp.OpenFile(aside, O_RDWR | O_CREAT | O_EXCL));
  auto cleanup = absl::MakeCleanup([&] { unlinkat(temp.fd(), aside.c_str(), 0); });

  const int fd = file.fd.get();
  absl::Status status = WriteWhole(fd, bytes);
  if (status.ok() && options_.sync && fsync(fd) != 0) status = ErrnoStatus(errno, "fsync");
  if (status.ok()) status = ReadBack(fd, bytes);
  // Network file systems report failed writes only here.
  if (close(file.fd.Release()) != 0) status.Update(ErrnoStatus(errno, "close"));
  if (!status.ok()) return status;

  const std::string shard_name = Home::ShardName(place);
  absl::StatusOr<Folder> shard = cache->Enter(shard_name);
  // Made on demand: a fresh cache has no shards, and Clear removes empty ones.
  if (absl::IsNotFound(shard.status())) {
    shard = cache->Make(shard_name);
    if (options_.sync) status.Update(Sync(*cache));
  }
  RETURN_IF_ERROR(shard.status());
  RETURN_IF_ERROR(shard->own());
  const std::string name = Home::EntryName(place);
  if (renameat(temp.fd(), aside.c_str(), shard->fd(), name.c_str()) != 0) {
    const std::string path = absl::StrCat(shard->path(), "/", name);
    if (errno != EISDIR) return ErrnoStatus(errno, path);
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a directory, in the place of an entry; remove it"));
  }
  // The name no longer exists; another file may soon have it.
  std::move(cleanup).Cancel();
  if (options_.sync) status.Update(Sync(*shard));
  return status;
}

absl::StatusOr<std::string> DiskStore::Read(const Place& place) const {
  absl::StatusOr<Folder> shard = OwnShard(place);
  // The shard's place holds no directory: there is no entry.
  if (absl::IsFailedPrecondition(shard.status())) return absl::NotFoundError(place.Hex());
  RETURN_IF_ERROR(shard.status());
  const absl::StatusOr<FolderFile> file = shard->OpenFile(Home::EntryName(place), O_RDONLY);
  if (absl::IsFailedPrecondition(file.status()))
    return absl::DataLossError(file.status().message());
  RETURN_IF_ERROR(file.status());
  if (!file->own.ok()) return absl::DataLossError(file->own.message());
  const off_t size = file->info.st_size;
  // Before memory is allocated for it: a damaged file may claim any size.
  if (size < static_cast<off_t>(kTrailerSize) || size > static_cast<off_t>(kMaxEntrySize)) {
    return absl::DataLossError("impossible size of an entry");
  }
  return ReadWhole(file->fd.get(), static_cast<uint64_t>(size));
}

void DiskStore::Discard(const Place& place, const absl::Status& why) {
  const absl::Status deleted =
      options_.read_only ? absl::PermissionDeniedError("read-only") : Unlink(place);
  {
    absl::MutexLock lock(&mutex_);
    ++corrupt_;
    Forget(place);
  }
  const std::string text = absl::StrCat(deleted.ok() ? "deleted" : "passed by",
                                        " the damaged entry ", place.Hex(), ": ", why.message());
  if (deleted.ok() && options_.warn) options_.warn(text);
  // The file stays, and each look-up finds it again.
  if (!deleted.ok()) Warn("damaged " + place.Hex(), text);
}

void DiskStore::Note(const Place& place, uint64_t size, double seconds) {
  absl::MutexLock lock(&mutex_);
  Item& item = shards_[place.bytes[0]].items[place];
  SetSize(&item, size);
  SetUse(place, &item, Tick());
  item.seconds = static_cast<float>(seconds);
  // Writes the time of use to the file later (Maintain), not at each hit.
  item.touched = true;
}

DiskStore::Item* DiskStore::Find(const Place& place) {
  auto& items = shards_[place.bytes[0]].items;
  auto it = items.find(place);
  return it == items.end() ? nullptr : &it->second;
}

void DiskStore::SetUse(const Place& place, Item* item, int64_t when) {
  by_use_.erase({item->last_use, place});
  item->last_use = when;
  by_use_.emplace(when, place);
}

void DiskStore::SetSize(Item* item, uint64_t size) {
  // Unsigned and possibly "negative": the sum wraps back to the right number.
  bytes_ += size - item->size;
  item->size = size;
}

int64_t DiskStore::Tick() {
  // Strictly increasing, even if the wall clock is set back. Uses of files need the wall clock's
  // scale.
  clock_ = std::max(clock_ + 1, absl::GetCurrentTimeNanos());
  return clock_;
}

void DiskStore::Forget(const Place& place) {
  auto& items = shards_[place.bytes[0]].items;
  auto it = items.find(place);
  if (it == items.end()) return;
  bytes_ -= it->second.size;
  by_use_.erase({it->second.last_use, place});
  items.erase(it);
}

void DiskStore::Warn(const std::string& kind, const std::string& message) {
  {
    absl::MutexLock lock(&mutex_);
    // Once for each kind: a full disk would fill the log as well.
    if (!warned_.insert(kind).second) return;
  }
  if (options_.warn) options_.warn(message);
}

}  // namespace kiln
