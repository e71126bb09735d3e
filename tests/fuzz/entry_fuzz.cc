// Parses arbitrary bytes as a cache entry. The parser must not crash, and an accepted entry must be
// the same after writing it again. Each input is also tried with correct sizes and a correct
// checksum, because nearly every input would otherwise fail the first comparison.
#include <cstdlib>
#include <string>

#include "common/artifact/entry.h"
#include "common/base/bytes.h"

namespace {

void Check(absl::string_view bytes) {
  absl::StatusOr<kiln::EntryView> entry = kiln::DecodeEntry(bytes);
  if (!entry.ok()) return;
  if (entry->payload.data() != bytes.data() || entry->payload.size() > bytes.size()) std::abort();
  const std::string again = kiln::EncodeEntry(entry->key, entry->payload, entry->info);
  if (!kiln::DecodeEntry(again, &entry->key).ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Check(bytes);
  if (size < kiln::kTrailerSize) return 0;
  const size_t body = size - kiln::kTrailerSize;
  char* trailer = &bytes[body];
  const uint64_t payload = kiln::GetU64(trailer) % (body + 1);
  kiln::PutU64(payload, trailer);
  kiln::PutU64(body - payload, trailer + 8);
  kiln::PutU32(kiln::kEntryVersion, trailer + 56);
  kiln::PutU32(kiln::kEntryMagic, trailer + 60);
  const absl::string_view all(bytes);
  const kiln::Digest content = kiln::Sha256Of(all.substr(0, body + 64));
  const kiln::Digest sum =
      kiln::Sha256().Update(content.view()).Update(all.substr(body + 64, 72)).Finish();
  bytes.replace(body + 136, 32, sum.view().data(), 32);
  Check(bytes);
  return 0;
}
