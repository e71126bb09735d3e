// A bundle: many entries in one file, to carry a cache from one machine to another.
//
//   0   magic "KILNBNDL"
//   8   format version u32
//   12  zero u32
//   16  records, in ascending order of their places (common/artifact/entry.h), no place twice:
//         size u64, not 0
//         `size` bytes of a whole entry, as stored
//       zero u64: no more records
//       number of records u64
//       signer u64, the key that signed the bundle (common/artifact/signature.h); 0: unsigned
//       signature 64 bytes, over kBundlePrefix and the content digest
//       checksum, SHA-256 of content digest, signer and signature
//
// Integers are little-endian. The content digest is the SHA-256 of everything before the signer.
// Except for the signer, nothing in it depends on when, where or by whom it was written: the same
// entries give the same bytes.
//
// An entry's own signature stays unchanged. The bundle's signature vouches for every entry in it,
// signed or not.
//
// Thread safety: a writer is for one thread; functions are pure.
#ifndef KILN_COMMON_ARTIFACT_BUNDLE_H_
#define KILN_COMMON_ARTIFACT_BUNDLE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/artifact/entry.h"
#include "common/artifact/signature.h"
#include "common/base/digest.h"

namespace kiln {

inline constexpr char kBundleMagic[] = "KILNBNDL";
inline constexpr uint32_t kBundleVersion = 1;
inline constexpr char kBundlePrefix[] = "Kiln bundle 1\n";
inline constexpr size_t kMaxBundleSize = size_t{4} << 30;

// Writes a bundle piece by piece, in bounded memory.
class BundleWriter {
 public:
  using Sink = std::function<absl::Status(absl::string_view)>;
  explicit BundleWriter(Sink sink) : sink_(std::move(sink)) {}

  // Adds an entry. DataLoss if it is damaged; InvalidArgument if its place is not after the
  // previous one's; else the sink's error.
  absl::Status Add(absl::string_view entry);
  // Ends the bundle; signs it with `key` unless that is null.
  absl::Status Finish(const SigningKey* key);
  uint64_t entries() const { return entries_; }

 private:
  absl::Status Begin();
  absl::Status Write(absl::string_view bytes);

  const Sink sink_;
  Sha256 content_;
  Place last_;
  uint64_t entries_ = 0;
  bool begun_ = false;
};

// A checked view into a bundle's bytes, which it does not own.
struct BundleView {
  struct Record {
    Place place;
    absl::string_view bytes;  // of the entry
    EntryView entry;
  };
  std::vector<Record> records;
  Digest content;
  KeyId signer = 0;
  Signature signature{};
};

// Checks all of `bytes`, each entry included. Any doubt is DataLoss with the reason; never reads
// outside `bytes`.
absl::StatusOr<BundleView> DecodeBundle(absl::string_view bytes);

// OK if one of `trusted` signed the bundle; PermissionDenied with the reason otherwise.
absl::Status CheckBundleSigner(const BundleView& bundle, const TrustedKeys& trusted);

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_BUNDLE_H_
