// The cache directory as clients use it: maps and loads entries in place, without the daemon.
//
// Thread safety: all methods; several processes may use one directory.
#ifndef KILN_CLIENT_CPP_DISK_TIER_H_
#define KILN_CLIENT_CPP_DISK_TIER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client_cpp/entry_trust.h"
#include "client_cpp/loaded_artifact.h"
#include "common/artifact/entry.h"
#include "common/artifact/hit_mark.h"
#include "common/base/digest.h"
#include "common/home/home.h"

namespace kiln {

class DiskTier {
 public:
  struct Mode {
    bool read_only = false;  // deletes, records and stores nothing
    bool foreign = false;    // others can replace the directory: each entry must be signed
  };
  // `trust` is not owned.
  DiskTier(Home home, const EntryTrust* trust, Mode mode)
      : home_(std::move(home)), trust_(trust), mode_(mode) {}

  // The kernel of `key`. Checks its entry in full, and its signature if one is needed; NotFound
  // otherwise. Deletes an own entry that is damaged. Records a hit in the hit log. `cuda`, here and
  // below: as for LoadBytes.
  absl::StatusOr<LoadedArtifact> Load(const Key& key, Device* cuda) const;

  // The kernel of an entry that the daemon or a worker sent, and may have written. It is loaded
  // from the entry's file if that holds the same bytes, so that all processes share the pages.
  // Otherwise it is loaded from a private copy. `entry` is `bytes` decoded. Records no hit.
  absl::StatusOr<LoadedArtifact> LoadSent(absl::string_view bytes, const EntryView& entry,
                                          Device* cuda) const;

  // Records, for the daemon's counters, that a compilation ran without it.
  void NoteFallback() const { Log(FallbackMark()); }
  // The description of the whole entry of `key`, whatever machine it is for; NotFound otherwise.
  absl::StatusOr<proto::ArtifactInfo> Check(const Key& key) const;
  // The same for its bytes. Records a hit in the hit log.
  absl::StatusOr<std::string> Read(const Key& key) const;
  // Marks the entry of `key` as just used, for eviction.
  void Touch(const Key& key) const;

  // Stores `entry`: writes aside, then renames. Reports a failure once per process.
  void Store(const Key& key, absl::string_view entry) const;

 private:
  void NoteHit(const Key& key) const { Log(PlaceOf(key)); }
  // Appends to the log of hits.
  void Log(const Digest& hit) const;
  void Remove(const Key& key) const;
  const Home home_;
  const EntryTrust* const trust_;
  const Mode mode_;
};

// Writes the file of an entry whose place is `place`: writes aside, then renames.
absl::Status WriteEntryFile(const Home& home, const Place& place, absl::string_view entry);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_DISK_TIER_H_
