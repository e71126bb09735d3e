// A place that keeps entries (lang/entry.h) by where they belong (PlaceOf: the key,
// but for tenants). One behaviour an implementation: memory, disk, tiers put together.
//
// No lookup fails: whatever is wrong with what is kept (absent, unreadable,
// corrupt) is a miss. All methods may be called from any thread.
#ifndef KILN_SERVER_CACHE_ARTIFACT_STORE_H_
#define KILN_SERVER_CACHE_ARTIFACT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lang/digest.h"
#include "lang/entry.h"

namespace kiln {

// A whole entry that passed its check; immutable, shared by its readers.
struct StoredEntry {
  std::string bytes;
  double compile_seconds = 0;  // what making it cost: saved by every hit
};
using EntryPtr = std::shared_ptr<const StoredEntry>;

// Checks that `bytes` are an entry that belongs at `place`; DataLoss otherwise.
absl::StatusOr<EntryPtr> CheckEntry(const Digest& place, std::string bytes);
// The same for bytes that were checked but for their place; `view` is of them.
absl::StatusOr<EntryPtr> EntryAt(const Digest& place, const EntryView& view, std::string bytes);

// What a lookup found. `tier` names the store, for people and statistics.
struct Found {
  EntryPtr entry;  // null: a miss
  absl::string_view tier;
};

struct StoreStats {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t evictions = 0;
  uint64_t corrupt = 0;  // failed their check, deleted
};

class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  virtual absl::string_view name() const = 0;
  virtual Found Get(const Digest& key) = 0;
  // Keeps `entry`. A failure means only that it is not kept here.
  virtual absl::Status Put(const Digest& key, EntryPtr entry) = 0;
  // Cheap and without a check of the bytes: a later Get may still miss.
  virtual bool Contains(const Digest& key) const = 0;
  virtual void Remove(const Digest& key) = 0;
  // Removes everything; says what there was.
  virtual StoreStats Clear() = 0;
  virtual StoreStats stats() const = 0;
};

}  // namespace kiln

#endif  // KILN_SERVER_CACHE_ARTIFACT_STORE_H_
