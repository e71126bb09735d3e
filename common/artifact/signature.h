// Ed25519 signatures (RFC 8032): who made an entry or a bundle, so that bytes from
// outside of the user's own directory can be trusted.
//
// Keys are one line of text: NAME ':' base64. A secret key holds the 32-byte seed,
// a public key the 32-byte point. NAME is for people; what is compared is the key.
//
//   builders-2026:n2P…=     in a file of its own (secret, mode 0600), or one line
//                           of a list of trusted keys; empty lines and # are ignored
//
// Rotation: trust the new key beside the old one, sign with the new one, drop the
// old one when what it signed has expired.
//
// Thread safety: const methods.
#ifndef KILN_COMMON_ARTIFACT_SIGNATURE_H_
#define KILN_COMMON_ARTIFACT_SIGNATURE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kiln {

using Signature = std::array<uint8_t, 64>;

// The first 8 bytes of the public key's SHA-256: tells which of the trusted keys to
// try. Never 0, which stands for "unsigned".
using KeyId = uint64_t;

class PublicKey {
 public:
  // InvalidArgument saying what is wrong with the line, without quoting it.
  static absl::StatusOr<PublicKey> Parse(absl::string_view line);

  const std::string& name() const { return name_; }
  KeyId id() const;
  std::string Text() const;
  bool Verifies(absl::string_view message, const Signature& signature) const;

 private:
  friend class SigningKey;
  std::string name_;
  std::array<uint8_t, 32> point_{};
};

class SigningKey {
 public:
  // A fresh key from the system's random source. InvalidArgument for a name that is
  // empty or has characters other than letters, digits, '.', '_' and '-'.
  static absl::StatusOr<SigningKey> Generate(const std::string& name);
  static absl::StatusOr<SigningKey> Parse(absl::string_view line);
  // PermissionDenied when others may read the file, or it is not own (common/home/folder.h). Root's
  // file may be readable by its group, as a mounted secret is.
  static absl::StatusOr<SigningKey> ReadFile(const std::string& path);

  const PublicKey& public_key() const { return public_key_; }
  // The secret: for the file only.
  std::string Text() const;
  Signature Sign(absl::string_view message) const;

 private:
  std::array<uint8_t, 32> seed_{};
  PublicKey public_key_;
};

// The keys whose signatures count.
class TrustedKeys {
 public:
  void Add(PublicKey key);
  // Adds every line of a file; an error names the file and the line. PermissionDenied when it is
  // not own (common/home/folder.h): who can write there decides whose code runs.
  absl::Status AddFile(const std::string& path);

  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  // The keys' texts, in an order that depends on them alone.
  std::vector<std::string> Lines() const;
  // OK, or PermissionDenied: no signature, a key that is not trusted, a signature that
  // does not fit.
  absl::Status Check(absl::string_view message, KeyId signer, const Signature& signature) const;

 private:
  absl::flat_hash_map<KeyId, PublicKey> keys_;
};

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_SIGNATURE_H_
