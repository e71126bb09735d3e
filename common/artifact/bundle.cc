#include "common/artifact/bundle.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

constexpr size_t kHeaderSize = 16;
constexpr size_t kVersionAt = 8;
constexpr size_t kZeroAt = 12;
// The parts of a bundle after its last record: zero size, number of records, signer block,
// checksum.
constexpr size_t kSignerBlockSize = 8 + sizeof(Signature);
constexpr size_t kEndSize = 8 + 8 + kSignerBlockSize + sizeof(Digest::bytes);

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("no bundle that this Kiln reads: ", parts...));
}

std::string U64(uint64_t value) {
  std::string bytes(8, '\0');
  PutU64(value, &bytes[0]);
  return bytes;
}

std::string SignedText(const Digest& content) {
  return absl::StrCat(kBundlePrefix, content.view());
}

Place PlaceOfEntry(const EntryView& entry) { return PlaceOf(entry.info.tenant(), entry.key); }

absl::Status CheckHeader(absl::string_view bytes) {
  if (bytes.size() < kHeaderSize + kEndSize) return Bad(bytes.size(), " bytes are too few");
  if (bytes.size() > kMaxBundleSize) return Bad(bytes.size(), " bytes are too many");
  if (bytes.substr(0, kVersionAt) != kBundleMagic) return Bad("wrong magic");
  const uint32_t version = GetU32(bytes.data() + kVersionAt);
  if (version != kBundleVersion) return Bad("format version ", version, ", not ", kBundleVersion);
  if (GetU32(bytes.data() + kZeroAt) != 0) return Bad("a field that must be 0 is not");
  return absl::OkStatus();
}

}  // namespace

absl::Status BundleWriter::Begin() {
  begun_ = true;
  char header[kHeaderSize] = {};
  std::memcpy(header, kBundleMagic, kVersionAt);
  PutU32(kBundleVersion, header + kVersionAt);
  return Write({header, sizeof header});
}

absl::Status BundleWriter::Write(absl::string_view bytes) {
  content_.Update(bytes);
  return sink_(bytes);
}

absl::Status BundleWriter::Add(absl::string_view entry) {
  ASSIGN_OR_RETURN(const EntryView view, DecodeEntry(entry));
  const Place place = PlaceOfEntry(view);
  // One order for each set of entries, so that equal bundles have equal bytes; and no duplicates.
  if (entries_ > 0 && !(last_ < place)) {
    return absl::InvalidArgumentError("the entries of a bundle come in order of their places");
  }
  if (!begun_) RETURN_IF_ERROR(Begin());
  last_ = place;
  ++entries_;
  RETURN_IF_ERROR(Write(U64(entry.size())));
  return Write(entry);
}

absl::Status BundleWriter::Finish(const SigningKey* key) {
  if (!begun_) RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(Write(U64(0)));
  RETURN_IF_ERROR(Write(U64(entries_)));
  const Digest content = content_.Finish();
  std::string block(kSignerBlockSize, '\0');
  if (key != nullptr) {
    const Signature signature = key->Sign(SignedText(content));
    PutU64(key->public_key().id(), &block[0]);
    std::memcpy(&block[8], signature.data(), signature.size());
  }
  const Digest checksum = Sha256().Update(content.view()).Update(block).Finish();
  RETURN_IF_ERROR(sink_(block));
  return sink_(checksum.view());
}

absl::StatusOr<BundleView> DecodeBundle(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckHeader(bytes));
  // Check the checksum first. Errors found afterwards are then errors of the writer.
  const size_t signer_at = bytes.size() - sizeof(Digest::bytes) - kSignerBlockSize;
  const absl::string_view block = bytes.substr(signer_at, kSignerBlockSize);
  BundleView bundle;
  bundle.content = Sha256Of(bytes.substr(0, signer_at));
  const Digest checksum = Sha256().Update(bundle.content.view()).Update(block).Finish();
  if (checksum.view() != bytes.substr(signer_at + kSignerBlockSize)) {
    return Bad("checksum does not match");
  }
  bundle.signer = GetU64(block.data());
  std::memcpy(bundle.signature.data(), block.data() + 8, bundle.signature.size());

  const size_t end = bytes.size() - kEndSize;  // of the records
  size_t at = kHeaderSize;
  while (at < end) {
    if (end - at < 8) return Bad("its last record is cut off");
    const uint64_t size = GetU64(bytes.data() + at);
    at += 8;
    // 0 ends the records, and must not occur before the end.
    if (size == 0 || size > end - at) return Bad("a record of ", size, " bytes");
    BundleView::Record record;
    record.bytes = bytes.substr(at, size);
    at += size;
    ASSIGN_OR_RETURN(record.entry, DecodeEntry(record.bytes));
    record.place = PlaceOfEntry(record.entry);
    if (!bundle.records.empty() && !(bundle.records.back().place < record.place)) {
      return Bad("its entries are not in order");
    }
    bundle.records.push_back(std::move(record));
  }
  if (GetU64(bytes.data() + end) != 0) return Bad("its records do not end");
  const uint64_t count = GetU64(bytes.data() + end + 8);
  if (count != bundle.records.size()) {
    return Bad("it says ", count, " entries and holds ", bundle.records.size());
  }
  return bundle;
}

absl::Status CheckBundleSigner(const BundleView& bundle, const TrustedKeys& trusted) {
  return trusted.Check(SignedText(bundle.content), bundle.signer, bundle.signature);
}

}  // namespace kiln
