#include "common/artifact/entry.h"

#include "common/artifact/cuda_payload.h"
#include "common/artifact/target_proto.h"
#include "common/base/bytes.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

proto::ArtifactInfo Info() {
  proto::ArtifactInfo info;
  info.mutable_target()->set_cpu(proto::X86_64_V3);
  info.mutable_target()->set_runtime_abi(0x1122334455667788);
  info.add_tasks()->set_symbol("task0");
  (*info.mutable_needs())["libm"] = "2.29";
  (*info.mutable_needs())["libmvec"] = "2.22";
  return info;
}

const Key kKey(Sha256Of("key"));
const char kPayload[] = "\177ELF payload";

std::string Good() { return EncodeEntry(kKey, kPayload, Info()); }

// Updates the checksum of changed bytes, as an attacker would.
std::string Resealed(std::string bytes) {
  constexpr size_t kSignerBlock = 72;
  bytes.resize(bytes.size() - 32);
  const Digest content = Sha256Of(absl::string_view(bytes).substr(0, bytes.size() - kSignerBlock));
  const std::string sealed =
      std::string(content.view()) + bytes.substr(bytes.size() - kSignerBlock);
  return bytes + std::string(Sha256Of(sealed).view());
}

TEST(Entry, RoundTrips) {
  const std::string bytes = Good();
  const auto view = DecodeEntry(bytes, &kKey);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->payload, kPayload);
  EXPECT_EQ(view->payload.data(), bytes.data()) << "the loader finds the ELF header first";
  EXPECT_EQ(view->info.SerializeAsString().size(), Info().SerializeAsString().size());
  EXPECT_EQ(view->info.tasks(0).symbol(), "task0");
  EXPECT_EQ(view->key, kKey);
  EXPECT_EQ(bytes, Good()) << "equal contents, equal bytes";
}

TEST(Entry, EmptyPayload) {
  const std::string bytes = EncodeEntry(kKey, "", {});
  EXPECT_EQ(bytes.size(), kTrailerSize);
  EXPECT_TRUE(DecodeEntry(bytes).ok());
}

// Of code for CUDA, the form is checked as well: it may be whole and of no use.
TEST(Entry, CodeForCudaIsOfItsTarget) {
  proto::ArtifactInfo info;
  const auto problem = [&](const std::string& payload) {
    const std::string bytes = EncodeEntry(kKey, payload, info);
    const auto view = DecodeEntry(bytes);
    const absl::Status status = view.ok() ? CheckText(*view) : view.status();
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    return std::string(status.message());
  };
  constexpr char kPtx[] = "//\n.target sm_80\n";
  SetTarget(Target::CudaPtx(80), info.mutable_target());
  EXPECT_EQ(problem(PackCudaPayload("", kPtx)), "");
  EXPECT_EQ(problem("text"), "cache entry: CUDA code: shorter than the header of CUDA code");
  EXPECT_EQ(problem(PackCudaPayload("", "text")),
            "cache entry: CUDA code: its PTX is not for compute_80");
  SetTarget(Target::Cuda(80), info.mutable_target());
  EXPECT_EQ(problem(PackCudaPayload("text", kPtx)),
            "cache entry: CUDA code: its machine code is not an ELF file");
  info.mutable_target()->mutable_cuda()->set_virtual_arch(75);
  EXPECT_EQ(problem(PackCudaPayload("", kPtx)),
            "cache entry: CUDA code: for levels that do not belong together");
}

TEST(Entry, OtherKeyIsRefused) {
  const Key other(Sha256Of("other"));
  EXPECT_EQ(DecodeEntry(Good(), &other).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Entry, DetectsAnyFlippedBit) {
  const std::string good = Good();
  for (size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_EQ(DecodeEntry(bad, &kKey).status().code(), absl::StatusCode::kDataLoss)
          << "byte " << at << " bit " << bit;
    }
  }
}

TEST(Entry, DetectsAnyOtherLength) {
  const std::string good = Good();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeEntry(good.substr(0, size)).ok()) << size;
    EXPECT_FALSE(DecodeEntry(good.substr(good.size() - size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeEntry(good + "x").ok());
  EXPECT_FALSE(DecodeEntry(good + good).ok());
}

TEST(Entry, ResealedNonsenseIsRefused) {
  const std::string good = Good();
  const size_t trailer = good.size() - kTrailerSize;
  const struct {
    const char* what;
    size_t at;
    uint64_t value;
  } cases[] = {
      {"payload of all bytes", trailer, ~uint64_t{0}},
      {"info of all bytes", trailer + 8, ~uint64_t{0}},
      {"sum overflows", trailer + 8, ~uint64_t{0} - sizeof kPayload + 1},
      {"payload larger than the file", trailer, good.size()},
      {"another ABI than the info states", trailer + 48, 1},
      {"later version", trailer + 56, uint64_t{kEntryMagic} << 32 | (kEntryVersion + 1)},
      {"info that does not parse", trailer - 8, ~uint64_t{0}},
  };
  for (const auto& c : cases) {
    std::string bad = good;
    PutU64(c.value, &bad[c.at]);
    EXPECT_EQ(DecodeEntry(Resealed(bad)).status().code(), absl::StatusCode::kDataLoss) << c.what;
  }
}

TEST(Entry, SignedAndCheckedByTrustedKeys) {
  const auto ours = SigningKey::Generate("ours");
  const auto theirs = SigningKey::Generate("theirs");
  ASSERT_TRUE(ours.ok() && theirs.ok());
  TrustedKeys trusted;
  trusted.Add(ours->public_key());

  std::string bytes = Good();
  EXPECT_FALSE(CheckSigner(*DecodeEntry(bytes), trusted).ok()) << "it is not signed";
  SignEntry(*theirs, &bytes);
  ASSERT_TRUE(DecodeEntry(bytes, &kKey).ok());
  EXPECT_FALSE(CheckSigner(*DecodeEntry(bytes), trusted).ok());
  SignEntry(*ours, &bytes);
  ASSERT_TRUE(DecodeEntry(bytes, &kKey).ok());
  EXPECT_TRUE(CheckSigner(*DecodeEntry(bytes), trusted).ok());
  EXPECT_EQ(bytes.size(), Good().size()) << "signing changes no sizes";
  EXPECT_EQ(DecodeEntry(bytes)->content, DecodeEntry(Good())->content);

  // An attacker who computes checksums still cannot move a signature to other content.
  for (size_t at = 0; at + kTrailerSize < bytes.size(); ++at) {
    std::string bad = bytes;
    bad[at] ^= 1;
    const auto view = DecodeEntry(Resealed(bad));
    EXPECT_TRUE(!view.ok() || !CheckSigner(*view, trusted).ok()) << at;
  }
}

TEST(Entry, DetectsAnyFlippedBitOfASignedEntry) {
  std::string good = Good();
  SignEntry(*SigningKey::Generate("k"), &good);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(DecodeEntry(bad).ok()) << bit;
  }
}

TEST(Entry, TenantsHaveSeparatePlaces) {
  EXPECT_EQ(PlaceOf("", kKey).bytes, kKey.bytes);
  EXPECT_NE(PlaceOf("a", kKey).bytes, kKey.bytes);
  EXPECT_NE(PlaceOf("a", kKey), PlaceOf("b", kKey));
}

}  // namespace
}  // namespace kiln
