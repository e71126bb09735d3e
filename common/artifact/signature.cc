#include "common/artifact/signature.h"

#include <errno.h>
#include <nettle/eddsa.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/bytes.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/home/folder.h"

namespace kiln {
namespace {

static_assert(sizeof(Signature) == ED25519_SIGNATURE_SIZE, "RFC 8032");

// Ten thousand keys; a device or a log named by mistake is refused.
constexpr uint64_t kMaxKeyFileBytes = 1 << 20;

const uint8_t* Raw(absl::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

absl::Status CheckName(absl::string_view name) {
  bool good = !name.empty() && name.size() <= 64;
  for (const char c : name) {
    good = good && (absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-');
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError("a key's name has 1 to 64 letters, digits, '.', '_' or '-'");
}

// Parses NAME ':' base64. No message quotes the line, which may be a secret.
absl::Status ParseLine(absl::string_view line, std::string* name, std::array<uint8_t, 32>* bytes) {
  line = absl::StripAsciiWhitespace(line);
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError("a key has the form NAME:BASE64");
  }
  RETURN_IF_ERROR(CheckName(line.substr(0, colon)));
  std::string raw;
  if (!absl::Base64Unescape(line.substr(colon + 1), &raw) || raw.size() != bytes->size()) {
    return absl::InvalidArgumentError("what follows a key's name is the base64 of 32 bytes");
  }
  *name = std::string(line.substr(0, colon));
  std::memcpy(bytes->data(), raw.data(), raw.size());
  return absl::OkStatus();
}

std::string LineOf(const std::string& name, const std::array<uint8_t, 32>& bytes) {
  const absl::string_view raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return absl::StrCat(name, ":", absl::Base64Escape(raw));
}

bool IsKey(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  return !line.empty() && line[0] != '#';
}

}  // namespace

absl::StatusOr<PublicKey> PublicKey::Parse(absl::string_view line) {
  PublicKey key;
  RETURN_IF_ERROR(ParseLine(line, &key.name_, &key.point_));
  return key;
}

// Of the point, not the name: a renamed key still verifies what it signed.
KeyId PublicKey::id() const {
  const Digest digest = Sha256Of({reinterpret_cast<const char*>(point_.data()), point_.size()});
  const KeyId id = GetU64(reinterpret_cast<const char*>(digest.bytes.data()));
  // 0 means "not signed".
  return id == 0 ? 1 : id;
}

std::string PublicKey::Text() const { return LineOf(name_, point_); }

bool PublicKey::Verifies(absl::string_view message, const Signature& signature) const {
  return ed25519_sha512_verify(point_.data(), message.size(), Raw(message), signature.data()) == 1;
}

absl::StatusOr<SigningKey> SigningKey::Generate(const std::string& name) {
  RETURN_IF_ERROR(CheckName(name));
  SigningKey key;
  if (getrandom(key.seed_.data(), key.seed_.size(), 0) != static_cast<ssize_t>(key.seed_.size())) {
    return absl::ErrnoToStatus(errno, "getrandom");
  }
  key.public_key_.name_ = name;
  ed25519_sha512_public_key(key.public_key_.point_.data(), key.seed_.data());
  return key;
}

absl::StatusOr<SigningKey> SigningKey::Parse(absl::string_view line) {
  SigningKey key;
  RETURN_IF_ERROR(ParseLine(line, &key.public_key_.name_, &key.seed_));
  ed25519_sha512_public_key(key.public_key_.point_.data(), key.seed_.data());
  return key;
}

absl::StatusOr<SigningKey> SigningKey::ReadFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, path);
  // Containers mount secrets as root's files that a group of the container's user may read.
  const mode_t others = info.st_uid == 0 && geteuid() != 0 ? 037 : 077;
  if ((info.st_mode & others) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": others may read this secret key; chmod 600 it"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadOwnFile(path, kMaxKeyFileBytes));
  absl::StatusOr<SigningKey> key = absl::InvalidArgumentError("holds no key");
  int keys = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // Counts all keys but parses one: the error for several must not depend on which of them is
    // good.
    if (IsKey(line) && ++keys == 1) key = Parse(line);
  }
  if (keys > 1) key = absl::InvalidArgumentError("holds more than one key");
  if (key.ok()) return key;
  return absl::Status(key.status().code(), absl::StrCat(path, ": ", key.status().message()));
}

std::string SigningKey::Text() const { return LineOf(public_key_.name_, seed_); }

Signature SigningKey::Sign(absl::string_view message) const {
  Signature signature;
  ed25519_sha512_sign(public_key_.point_.data(), seed_.data(), message.size(), Raw(message),
                      signature.data());
  return signature;
}

void TrustedKeys::Add(PublicKey key) {
  const KeyId id = key.id();
  // The same key under another name: the last line counts.
  keys_.insert_or_assign(id, std::move(key));
}

absl::Status TrustedKeys::AddFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadOwnFile(path, kMaxKeyFileBytes));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (!IsKey(line)) continue;
    absl::StatusOr<PublicKey> key = PublicKey::Parse(line);
    if (!key.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", key.status().message()));
    }
    Add(*std::move(key));
  }
  return absl::OkStatus();
}

std::vector<std::string> TrustedKeys::Lines() const {
  std::vector<std::string> lines;
  lines.reserve(keys_.size());
  for (const auto& [id, key] : keys_) lines.push_back(key.Text());
  // The map's order differs between runs, and callers compare and print these.
  std::sort(lines.begin(), lines.end());
  return lines;
}

absl::Status TrustedKeys::Check(absl::string_view message, KeyId signer,
                                const Signature& signature) const {
  if (signer == 0) return absl::PermissionDeniedError("is not signed");
  // The id chooses the key; the signature alone proves anything.
  const auto it = keys_.find(signer);
  if (it == keys_.end()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "is signed by key ", absl::Hex(signer, absl::kZeroPad16), ", which is not trusted here"));
  }
  if (!it->second.Verifies(message, signature)) {
    return absl::PermissionDeniedError(
        absl::StrCat("has a signature of key ", it->second.name(), " that does not fit"));
  }
  return absl::OkStatus();
}

}  // namespace kiln
