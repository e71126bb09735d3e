// Entries as files under <home>/cache, the tier that clients read directly and
// that outlives the daemon. Several processes may use one directory.
//
// The directory is the truth: a lookup opens the file, whether or not the index
// knows it. The index (sizes and last uses, for eviction and statistics) is made
// by Scan in the background, so opening a store costs nothing however full it is.
//
// A file is written aside, read back, and renamed. It is not fsync'ed by
// default: a file torn by a power cut fails its checksum and is a miss, and
// compiling again is cheaper than a sync of every entry.
#ifndef KILN_SERVER_CACHE_DISK_STORE_H_
#define KILN_SERVER_CACHE_DISK_STORE_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "lang/home.h"
#include "server/cache/artifact_store.h"

namespace kiln {

struct DiskOptions {
  uint64_t max_bytes = uint64_t{2} << 30;
  bool sync = false;                             // fsync before the rename
  std::function<void(const std::string&)> warn;  // told once per kind of trouble
  std::function<void()> over_budget;             // told when Maintain has work
};

class DiskStore : public ArtifactStore {
 public:
  DiskStore(Home home, DiskOptions options);

  absl::string_view name() const override { return "disk"; }
  Found Get(const Digest& key) override;
  absl::Status Put(const Digest& key, EntryPtr entry) override;
  bool Contains(const Digest& key) const override;
  void Remove(const Digest& key) override;
  StoreStats Clear() override;
  StoreStats stats() const override;

  // Brings the index in line with the directory, which other processes change too,
  // and removes abandoned temporary files. Slow for a full cache: the first one is
  // for a background thread.
  void Scan();
  // Blocks until the first Scan has ended, or `timeout`; says which.
  bool AwaitScan(absl::Duration timeout) const;

  // Notes that a client used `key`; returns the seconds that compiling it took
  // (0 when the entry is gone).
  double Touch(const Digest& key);

  // Evicts down to nine tenths of the budget if it is exceeded, and writes last
  // uses to the files' times, where the next daemon finds them.
  void Maintain();

 private:
  struct Item {
    uint64_t size = 0;
    int64_t last_use = 0;  // Unix seconds
    float seconds = -1;    // compile seconds; -1: not read yet
    bool touched = false;  // last_use is newer than the file's time
  };

  absl::Status Write(const Digest& key, const std::string& bytes);
  absl::StatusOr<std::string> Read(const Digest& key) const;
  void Discard(const Digest& key, const absl::Status& why);
  void Note(const Digest& key, uint64_t size, double seconds);
  void Forget(const Digest& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Warn(const std::string& message);
  void Evict();

  const Home home_;
  const DiskOptions options_;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Digest, Item> index_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t corrupt_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  bool scanned_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time write_again_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::flat_hash_map<std::string, bool> warned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_DISK_STORE_H_
