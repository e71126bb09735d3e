// SHA-256 digests: keys and places of entries, ids of compilers.
#ifndef KILN_COMMON_BASE_DIGEST_H_
#define KILN_COMMON_BASE_DIGEST_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

// A SHA-256 value. Ordered and hashable; printed as 64 lower-case hex digits.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  std::string Hex() const;
  absl::string_view view() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool empty() const { return *this == Digest(); }

  // From 32 raw bytes; InvalidArgument for any other length.
  static absl::StatusOr<Digest> FromBytes(absl::string_view raw);
  // From 64 hex digits.
  static absl::StatusOr<Digest> FromHex(absl::string_view hex);

  friend bool operator==(const Digest& a, const Digest& b) { return a.bytes == b.bytes; }
  friend bool operator!=(const Digest& a, const Digest& b) { return !(a == b); }
  friend bool operator<(const Digest& a, const Digest& b) { return a.bytes < b.bytes; }
  template <typename H>
  friend H AbslHashValue(H h, const Digest& d) {
    uint64_t prefix;
    std::memcpy(&prefix, d.bytes.data(), sizeof prefix);
    return H::combine(std::move(h), prefix);
  }
};

// A digest of one kind of things. Kinds neither convert to each other nor compare with each other.
template <typename Kind>
struct DigestOf : Digest {
  DigestOf() = default;
  explicit DigestOf(const Digest& digest) : Digest(digest) {}
  template <typename Other>
  explicit DigestOf(const DigestOf<Other>& other) = delete;

  static absl::StatusOr<DigestOf> FromBytes(absl::string_view raw) {
    return Typed(Digest::FromBytes(raw));
  }
  static absl::StatusOr<DigestOf> FromHex(absl::string_view hex) {
    return Typed(Digest::FromHex(hex));
  }

 private:
  static absl::StatusOr<DigestOf> Typed(const absl::StatusOr<Digest>& digest) {
    if (!digest.ok()) return digest.status();
    return DigestOf(*digest);
  }
};
template <typename A, typename B, typename = std::enable_if_t<!std::is_same_v<A, B>>>
bool operator==(const DigestOf<A>& a, const DigestOf<B>& b) = delete;
template <typename A, typename B, typename = std::enable_if_t<!std::is_same_v<A, B>>>
bool operator!=(const DigestOf<A>& a, const DigestOf<B>& b) = delete;

// What an entry is: the digest of its unit and compiler (UnitKey in common/unit/canonical.h).
using Key = DigestOf<struct KeyKind>;
// Where every tier stores an entry: PlaceOf(tenant, key) in common/artifact/entry.h. A key in its
// stead would be the place of an entry without a tenant.
using Place = DigestOf<struct PlaceKind>;

// Incremental SHA-256. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256() = default;
  Sha256& Update(absl::string_view data);
  // Returns the digest of all updates; the object then starts afresh.
  Digest Finish();

 private:
  alignas(8) unsigned char state_[256];  // nettle's sha256_ctx
};

Digest Sha256Of(absl::string_view data);

}  // namespace kiln

#endif  // KILN_COMMON_BASE_DIGEST_H_
