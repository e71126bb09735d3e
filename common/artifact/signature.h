// Ed25519 signatures (RFC 8032) of entries and bundles, so that bytes from outside of the user's
// own directory can be trusted.
//
// Keys are one line of text: NAME ':' base64. A secret key holds the 32-byte seed, a public key the
// 32-byte point. NAME is for people; only the key is compared.
//
//   builders-2026:n2P…=     in a file of its own (secret, mode 0600), or one line
//                           of a list of trusted keys; empty lines and # are ignored
//
// Rotation: trust the new key beside the old one, sign with the new one, remove the old one when
// everything that it signed has expired.
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

// The first 8 bytes of the public key's SHA-256: selects the trusted key to try. Never 0, which
// means "unsigned".
using KeyId = uint64_t;

class PublicKey {
 public:
  // InvalidArgument says what is wrong with the line, without quoting it.
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
  // A new key from the system's random source. InvalidArgument for a name that is empty or has
  // characters other than letters, digits, '.', '_' and '-'.
  static absl::StatusOr<SigningKey> Generate(const std::string& name);
  static absl::StatusOr<SigningKey> Parse(absl::string_view line);
  // PermissionDenied if others may read the file, or it is not own (common/home/folder.h). A file
  // of root may be readable by its group, as mounted secrets are.
  static absl::StatusOr<SigningKey> ReadFile(const std::string& path);

  const PublicKey& public_key() const { return public_key_; }
  // The text of the secret: for its file only.
  std::string Text() const;
  Signature Sign(absl::string_view message) const;

 private:
  std::array<uint8_t, 32> seed_{};
  PublicKey public_key_;
};

// A list of trusted keys.
class TrustedKeys {
 public:
  void Add(PublicKey key);
  // Adds every line of a file; an error names the file and the line. PermissionDenied if it is not
  // own (common/home/folder.h): a user who can write to it decides whose code runs.
  absl::Status AddFile(const std::string& path);

  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  // The keys' texts, in an order that depends only on the keys.
  std::vector<std::string> Lines() const;
  // OK, or PermissionDenied: no signature, an untrusted key, or a wrong signature.
  absl::Status Check(absl::string_view message, KeyId signer, const Signature& signature) const;

 private:
  absl::flat_hash_map<KeyId, PublicKey> keys_;
};

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_SIGNATURE_H_
