// The format in which artifacts are stored and sent: one file that is both a loadable shared object
// and a self-describing cache entry.
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
//   64 signer         u64  the key that signed it (common/artifact/signature.h); 0: unsigned
//   72 signature      64 bytes, over kSignedPrefix and the content digest
//   136 checksum      SHA-256 of content digest, signer and signature
// The content digest is the SHA-256 of everything before the signer: payload, info
// (target and tenant are in it), key, ABI. Signing changes neither.
//
// Thread safety: pure functions.
#ifndef KILN_COMMON_ARTIFACT_ENTRY_H_
#define KILN_COMMON_ARTIFACT_ENTRY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/artifact/signature.h"
#include "common/base/digest.h"
#include "kiln/proto/artifact.pb.h"

namespace kiln {

inline constexpr uint32_t kEntryVersion = 2;
inline constexpr uint32_t kEntryMagic = 0x454e4c4b;  // "KLNE"
inline constexpr size_t kTrailerSize = 168;
inline constexpr char kSignedPrefix[] = "Kiln entry 2\n";
inline constexpr size_t kMaxEntrySize = size_t{256} << 20;

// A checked view into the bytes of an entry, which it does not own.
struct EntryView {
  absl::string_view payload;  // the .so, or what cuda_payload.h describes
  proto::ArtifactInfo info;
  Key key;
  Digest content;  // the digest that a signature covers
  KeyId signer = 0;
  Signature signature{};
};

// Makes the bytes of an unsigned entry.
std::string EncodeEntry(const Key& key, absl::string_view payload, const proto::ArtifactInfo& info);

// The unchecked fields of a trailer.
struct EntryTrailer {
  uint64_t payload_size = 0;
  uint64_t info_size = 0;
  Key key;
  KeyId signer = 0;
};

// Reads the last kTrailerSize bytes of an entry. DataLoss for another magic or version; checks
// nothing else, for lists whose content need not be verified.
absl::StatusOr<EntryTrailer> ReadTrailer(absl::string_view trailer);

// Checks and parses `bytes`. With `expected`, also that it is the entry of that key. Any doubt
// (sizes, magic, version, checksum, unparsable info, a cubin of another form or device than the
// info's target) is DataLoss with the reason; never reads outside `bytes`.
absl::StatusOr<EntryView> DecodeEntry(absl::string_view bytes, const Key* expected = nullptr);

// Of a whole entry for CUDA: DataLoss if its PTX is no text, or for another level than its target.
// For entries from outside, because uncompressing takes longer than all that DecodeEntry does.
absl::Status CheckText(const EntryView& entry);

// Signs the whole entry `bytes` in place, replacing any signature. Requires: DecodeEntry accepts
// them.
void SignEntry(const SigningKey& key, std::string* bytes);

// OK if one of `trusted` signed the entry; PermissionDenied with the reason otherwise.
absl::Status CheckSigner(const EntryView& entry, const TrustedKeys& trusted);

// The place of an entry of `tenant`: its key for the tenant without a name, else a digest of both,
// so that tenants are separate. An entry at another place than PlaceOf(entry.info.tenant(),
// entry.key) counts as damaged.
Place PlaceOf(absl::string_view tenant, const Key& key);
// Without a tenant: in a user's own home.
inline Place PlaceOf(const Key& key) { return PlaceOf("", key); }

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_ENTRY_H_
