#include "common/artifact/entry.h"

#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_payload.h"
#include "common/artifact/target_proto.h"
#include "common/base/bytes.h"
#include "common/base/deterministic.h"

namespace kiln {
namespace {

// Offsets within the trailer; entry.h has the table.
constexpr size_t kPayloadSizeAt = 0;
constexpr size_t kInfoSizeAt = 8;
constexpr size_t kKeyAt = 16;
constexpr size_t kAbiAt = 48;
constexpr size_t kVersionAt = 56;
constexpr size_t kMagicAt = 60;
constexpr size_t kSignerAt = 64;
constexpr size_t kSignatureAt = 72;
constexpr size_t kChecksumAt = 136;
static_assert(kSignatureAt + sizeof(Signature) == kChecksumAt, "trailer layout");
static_assert(kChecksumAt + sizeof(Digest::bytes) == kTrailerSize, "trailer layout");

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("cache entry: ", parts...));
}

// The checksum covers the signer block, so that a damaged signature is detected without keys.
Digest Checksum(const Digest& content, absl::string_view signer_block) {
  return Sha256().Update(content.view()).Update(signer_block).Finish();
}

// What is wrong with code for another device than CPUs, without its text; "" for all other code.
std::string CheckDeviceCode(const EntryView& entry, CudaPayload* cuda) {
  if (!entry.info.target().has_cuda()) return "";
  const Target target = TargetOf(entry.info.target());
  if (target.empty()) return "for levels that do not belong together";
  return CheckCudaPayload({entry.payload.data(), entry.payload.size()}, target, cuda);
}

std::string SignedText(const Digest& content) {
  return absl::StrCat(kSignedPrefix, content.view());
}

}  // namespace

std::string EncodeEntry(const Key& key, absl::string_view payload,
                        const proto::ArtifactInfo& info) {
  const std::string info_bytes = DeterministicBytes(info);
  char trailer[kChecksumAt] = {};
  PutU64(payload.size(), trailer + kPayloadSizeAt);
  PutU64(info_bytes.size(), trailer + kInfoSizeAt);
  std::memcpy(trailer + kKeyAt, key.bytes.data(), key.bytes.size());
  PutU64(info.target().runtime_abi(), trailer + kAbiAt);
  PutU32(kEntryVersion, trailer + kVersionAt);
  PutU32(kEntryMagic, trailer + kMagicAt);

  std::string entry;
  entry.reserve(payload.size() + info_bytes.size() + kTrailerSize);
  entry.append(payload.data(), payload.size());
  entry.append(info_bytes);
  entry.append(trailer, kSignerAt);
  const absl::string_view signer_block(trailer + kSignerAt, kChecksumAt - kSignerAt);
  // A hash of a hash: a signature covers the content's digest, so signing needs one pass over the
  // bytes.
  const Digest checksum = Checksum(Sha256Of(entry), signer_block);
  absl::StrAppend(&entry, signer_block, checksum.view());
  return entry;
}

absl::StatusOr<EntryTrailer> ReadTrailer(absl::string_view trailer) {
  if (trailer.size() != kTrailerSize) return Bad(trailer.size(), " bytes of trailer");
  if (GetU32(trailer.data() + kMagicAt) != kEntryMagic) return Bad("wrong magic");
  const uint32_t version = GetU32(trailer.data() + kVersionAt);
  if (version != kEntryVersion) return Bad("format version ", version, ", not ", kEntryVersion);
  EntryTrailer fields;
  fields.payload_size = GetU64(trailer.data() + kPayloadSizeAt);
  fields.info_size = GetU64(trailer.data() + kInfoSizeAt);
  std::memcpy(fields.key.bytes.data(), trailer.data() + kKeyAt, fields.key.bytes.size());
  fields.signer = GetU64(trailer.data() + kSignerAt);
  return fields;
}

absl::StatusOr<EntryView> DecodeEntry(absl::string_view bytes, const Key* expected) {
  if (bytes.size() < kTrailerSize) return Bad(bytes.size(), " bytes are too few");
  if (bytes.size() > kMaxEntrySize) return Bad(bytes.size(), " bytes are too many");
  const size_t body = bytes.size() - kTrailerSize;
  const char* trailer = bytes.data() + body;

  // Check the cheap fields first, so that foreign and torn files are not hashed.
  absl::StatusOr<EntryTrailer> fields = ReadTrailer(bytes.substr(body));
  if (!fields.ok()) return fields.status();
  const uint64_t payload_size = fields->payload_size, info_size = fields->info_size;
  // Subtracts instead of adding: the sizes may be any numbers.
  if (payload_size > body || info_size != body - payload_size) {
    return Bad("sizes ", payload_size, " + ", info_size, " do not fill ", body, " bytes");
  }

  EntryView view;
  view.key = fields->key;
  if (expected != nullptr && view.key != *expected) {
    return Bad("holds key ", view.key.Hex(), ", not ", expected->Hex());
  }
  view.content = Sha256Of(bytes.substr(0, body + kSignerAt));
  const Digest checksum =
      Checksum(view.content, bytes.substr(body + kSignerAt, kChecksumAt - kSignerAt));
  if (checksum.view() != bytes.substr(body + kChecksumAt)) return Bad("checksum does not match");
  view.signer = fields->signer;
  std::memcpy(view.signature.data(), trailer + kSignatureAt, view.signature.size());

  view.payload = bytes.substr(0, payload_size);
  if (!view.info.ParseFromArray(bytes.data() + payload_size, static_cast<int>(info_size))) {
    return Bad("artifact info does not parse");
  }
  // The trailer repeats it. Two values mean that one of them was changed.
  if (view.info.target().runtime_abi() != GetU64(trailer + kAbiAt)) {
    return Bad("runtime ABI differs between trailer and artifact info");
  }
  CudaPayload cuda;
  const std::string problem = CheckDeviceCode(view, &cuda);
  if (!problem.empty()) return Bad("CUDA code: ", problem);
  return view;
}

absl::Status CheckText(const EntryView& entry) {
  CudaPayload cuda;
  std::string problem = CheckDeviceCode(entry, &cuda);
  if (problem.empty() && entry.info.target().has_cuda()) {
    problem = CheckCudaPtx(cuda, TargetOf(entry.info.target()));
  }
  return problem.empty() ? absl::OkStatus() : Bad("CUDA code: ", problem);
}

void SignEntry(const SigningKey& key, std::string* bytes) {
  char* trailer = &(*bytes)[bytes->size() - kTrailerSize];
  const Digest content =
      Sha256Of(absl::string_view(*bytes).substr(0, bytes->size() - kTrailerSize + kSignerAt));
  const Signature signature = key.Sign(SignedText(content));
  PutU64(key.public_key().id(), trailer + kSignerAt);
  std::memcpy(trailer + kSignatureAt, signature.data(), signature.size());
  const Digest checksum =
      Checksum(content, absl::string_view(trailer + kSignerAt, kChecksumAt - kSignerAt));
  std::memcpy(trailer + kChecksumAt, checksum.bytes.data(), checksum.bytes.size());
}

absl::Status CheckSigner(const EntryView& entry, const TrustedKeys& trusted) {
  return trusted.Check(SignedText(entry.content), entry.signer, entry.signature);
}

Place PlaceOf(absl::string_view tenant, const Key& key) {
  const Digest& digest = key;
  // The usual case has no hash to compute, and its files are named by their keys.
  if (tenant.empty()) return Place(digest);
  return Place(Sha256().Update("Kiln tenant\n").Update(key.view()).Update(tenant).Finish());
}

}  // namespace kiln
