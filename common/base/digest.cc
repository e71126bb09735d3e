#include "common/base/digest.h"

#include <nettle/sha2.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

sha256_ctx* Context(unsigned char* state) { return reinterpret_cast<sha256_ctx*>(state); }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Digest::Hex() const { return absl::BytesToHexString(view()); }

absl::StatusOr<Digest> Digest::FromBytes(absl::string_view raw) {
  Digest digest;
  if (raw.size() != digest.bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a digest has 32 bytes, not ", raw.size()));
  }
  std::memcpy(digest.bytes.data(), raw.data(), raw.size());
  return digest;
}

absl::StatusOr<Digest> Digest::FromHex(absl::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a digest has 64 hexadecimal digits, not ", hex.size()));
  }
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    // Refuse upper-case digits, so that each digest has only one file name.
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError("a digest has lower-case hexadecimal digits only");
    }
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

Sha256::Sha256() {
  static_assert(sizeof(sha256_ctx) <= sizeof(state_) && alignof(sha256_ctx) <= 8,
                "state_ must hold nettle's context");
  sha256_init(Context(state_));
}

Sha256& Sha256::Update(absl::string_view data) {
  sha256_update(Context(state_), data.size(), reinterpret_cast<const uint8_t*>(data.data()));
  return *this;
}

Digest Sha256::Finish() {
  Digest digest;
  sha256_digest(Context(state_), digest.bytes.size(), digest.bytes.data());
  return digest;
}

Digest Sha256Of(absl::string_view data) { return Sha256().Update(data).Finish(); }

}  // namespace kiln
