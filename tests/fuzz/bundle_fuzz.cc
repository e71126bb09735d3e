// Parses arbitrary bytes as a bundle. The parser must not crash, and an accepted bundle must be the
// same after writing it again. Each input is also tried with a correct header and correct
// checksums, of its entries as well, because nearly every input would otherwise fail the first
// comparison.
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/artifact/bundle.h"
#include "common/base/bytes.h"

namespace {

// The last parts of a bundle and of an entry: the signer with its signature, and the checksum.
constexpr size_t kSigner = 8 + sizeof(kiln::Signature), kChecksum = sizeof(kiln::Digest::bytes);

void Check(absl::string_view bytes) {
  absl::StatusOr<kiln::BundleView> bundle = kiln::DecodeBundle(bytes);
  if (!bundle.ok()) return;
  std::string again;
  kiln::BundleWriter writer([&](absl::string_view piece) {
    again.append(piece.data(), piece.size());
    return absl::OkStatus();
  });
  for (const auto& record : bundle->records) {
    if (!writer.Add(record.bytes).ok()) std::abort();
  }
  if (!writer.Finish(nullptr).ok()) std::abort();
  // All but the signer is the same.
  const size_t same = bytes.size() - kChecksum - kSigner;
  if (again.size() != bytes.size() || again.compare(0, same, bytes.data(), same) != 0) std::abort();
}

// Writes the checksum behind the signer at `signer_at`, over this and all bytes before it.
void RepairChecksum(char* bytes, size_t signer_at) {
  const kiln::Digest content = kiln::Sha256Of(absl::string_view(bytes, signer_at));
  const kiln::Digest sum = kiln::Sha256()
                               .Update(content.view())
                               .Update(absl::string_view(bytes + signer_at, kSigner))
                               .Finish();
  std::memcpy(bytes + signer_at + kSigner, sum.bytes.data(), kChecksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Check(bytes);
  constexpr size_t kHeader = 16, kEnd = 16 + kSigner + kChecksum;
  if (size < kHeader + kEnd) return 0;
  std::memcpy(&bytes[0], kiln::kBundleMagic, 8);
  kiln::PutU32(kiln::kBundleVersion, &bytes[8]);
  kiln::PutU32(0, &bytes[12]);
  const size_t end = size - kEnd;
  uint64_t records = 0;
  for (size_t at = kHeader; at + 8 < end; ++records) {
    const uint64_t length = 1 + kiln::GetU64(&bytes[at]) % (end - at - 8);
    kiln::PutU64(length, &bytes[at]);
    at += 8;
    if (length >= kiln::kTrailerSize) {
      char* entry = &bytes[at];
      const size_t body = length - kiln::kTrailerSize;
      const uint64_t payload = kiln::GetU64(entry + body) % (body + 1);
      kiln::PutU64(payload, entry + body);
      kiln::PutU64(body - payload, entry + body + 8);
      kiln::PutU32(kiln::kEntryVersion, entry + body + 56);
      kiln::PutU32(kiln::kEntryMagic, entry + body + 60);
      RepairChecksum(entry, body + 64);
    }
    at += length;
  }
  kiln::PutU64(0, &bytes[end]);
  kiln::PutU64(records, &bytes[end + 8]);
  RepairChecksum(&bytes[0], end + 16);
  Check(bytes);
  return 0;
}
