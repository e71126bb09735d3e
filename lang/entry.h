// The form in which an artifact is kept and sent: one file that is at once a
// loadable shared object and a self-describing cache entry.
//
//   [ ELF .so | other payload ][ ArtifactInfo bytes ][ trailer ]
//
// ELF loaders ignore what follows the sections, so the client maps the cache
// file itself; nothing is copied. The trailer is fixed-size and last, so a
// truncated file is never mistaken for a whole one.
//
// Trailer, little-endian, kTrailerSize bytes:
//   0  payload size   u64
//   8  info size      u64
//   16 key            32 bytes
//   48 runtime ABI    u64
//   56 format version u32
//   60 magic          u32  "KLNE"
//   64 SHA-256 of everything before this field, trailer start included
//
// Thread safety: pure functions.
#ifndef KILN_LANG_ENTRY_H_
#define KILN_LANG_ENTRY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lang/digest.h"
#include "proto/artifact.pb.h"

namespace kiln {

inline constexpr uint32_t kEntryVersion = 1;
inline constexpr uint32_t kEntryMagic = 0x454e4c4b;  // "KLNE"
inline constexpr size_t kTrailerSize = 96;
inline constexpr size_t kMaxEntrySize = size_t{256} << 20;

// A checked view into the bytes of an entry, which it does not own.
struct EntryView {
  absl::string_view payload;  // the .so
  proto::ArtifactInfo info;
  Digest key;
};

// Makes the bytes of an entry.
std::string EncodeEntry(const Digest& key, absl::string_view payload,
                        const proto::ArtifactInfo& info);

// Checks and takes apart `bytes`. With `expected`, also that it is the entry of
// that key. Any doubt (sizes, magic, version, checksum, unparsable info) is
// DataLoss with the reason; never reads outside `bytes`.
absl::StatusOr<EntryView> DecodeEntry(absl::string_view bytes, const Digest* expected = nullptr);

}  // namespace kiln

#endif  // KILN_LANG_ENTRY_H_
