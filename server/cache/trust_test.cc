#include "server/cache/trust.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_payload.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "gtest/gtest.h"
#include "server/cache/test_entry.h"

namespace kiln {
namespace {

class TrustTest : public testing::Test {
 protected:
  TrustTest() {
    std::string pattern = testing::TempDir() + "/trust-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.warn = [this](const std::string& message) { warnings_.push_back(message); };
  }
  ~TrustTest() override { std::filesystem::remove_all(dir_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(dir_, "/", name);
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    return path;
  }
  std::string Signed(int number, const SigningKey& key) {
    std::string bytes = TestEntry(number)->bytes;
    SignEntry(key, &bytes);
    return bytes;
  }

  const SigningKey ours_ = *SigningKey::Generate("ours");
  const SigningKey other_ = *SigningKey::Generate("other");
  std::string dir_;
  TrustOptions options_;
  std::vector<std::string> warnings_;
};

TEST_F(TrustTest, TrustsNoKeyByDefault) {
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      trust.Admit(TestPlace(1), TestEntry(1)->bytes, "tier redis").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(
      trust.Admit(TestPlace(1), Signed(1, other_), "tier redis").status()));
  EXPECT_EQ(trust.count(Trust::kUnsigned), 1u);
  EXPECT_EQ(trust.count(Trust::kUntrusted), 1u);
  EXPECT_EQ(trust.count(Trust::kAdmitted), 0u);
}

TEST_F(TrustTest, AcceptsEntriesSignedByTrustedKeys) {
  options_.key_files = {
      File("keys", absl::StrCat("# whose builds we run\n\n", ours_.public_key().Text(), "\n"))};
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  const absl::StatusOr<EntryPtr> entry = trust.Admit(TestPlace(1), Signed(1, ours_), "a bundle");
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ((*entry)->bytes, Signed(1, ours_));
  EXPECT_FALSE(trust.Admit(TestPlace(1), Signed(1, other_), "a bundle").ok());
  EXPECT_EQ(trust.count(Trust::kAdmitted), 1u);
  // The first refusal of each source and reason is logged.
  EXPECT_FALSE(trust.Admit(TestPlace(1), Signed(1, other_), "a bundle").ok());
  EXPECT_FALSE(trust.Admit(TestPlace(1), Signed(1, other_), "tier redis").ok());
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_NE(warnings_[0].find("of a bundle: is signed by key"), std::string::npos) << warnings_[0];
}

TEST_F(TrustTest, ATrustedEntryAtAnotherPlaceIsDamaged) {
  options_.key_files = {File("keys", ours_.public_key().Text())};
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  EXPECT_TRUE(absl::IsDataLoss(trust.Admit(TestPlace(2), Signed(1, ours_), "x").status()));
  EXPECT_TRUE(absl::IsDataLoss(trust.Admit(TestPlace(1), "no entry", "x").status()));
  EXPECT_EQ(trust.count(Trust::kDamaged), 2u);
}

TEST_F(TrustTest, EveryFlippedByteOfASignedEntryIsRefused) {
  options_.key_files = {File("keys", ours_.public_key().Text())};
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  const std::string whole = Signed(1, ours_);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] ^= 4;
    EXPECT_FALSE(trust.Admit(TestPlace(1), bytes, "x").ok()) << "byte " << at;
  }
}

// An attacker can correct the checksum of a changed entry, but not its signature.
TEST_F(TrustTest, AChangedEntryWithAFittingChecksumIsRefused) {
  options_.key_files = {File("keys", ours_.public_key().Text())};
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  const absl::StatusOr<EntryView> genuine = DecodeEntry(Signed(1, ours_));
  std::string forged = EncodeEntry(TestKey(1), "another program", genuine->info);
  SignEntry(other_, &forged);
  // The signer block of the genuine entry with the content of the forged one.
  const std::string block =
      Signed(1, ours_).substr(Signed(1, ours_).size() - kTrailerSize + 64, 72);
  const size_t body = forged.size() - kTrailerSize;
  forged.replace(body + 64, 72, block);
  const Digest content = Sha256Of(absl::string_view(forged).substr(0, body + 64));
  forged.replace(body + 136, 32,
                 std::string(Sha256().Update(content.view()).Update(block).Finish().view()));
  ASSERT_TRUE(DecodeEntry(forged).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(trust.Admit(TestPlace(1), forged, "x").status()));
}

TEST_F(TrustTest, SignsItsOwnEntriesAndAcceptsThem) {
  options_.signing_key_file = File("secret", ours_.Text());
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  const absl::StatusOr<EntryPtr> entry = trust.Vouch(TestPlace(1), TestEntry(1)->bytes);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(DecodeEntry((*entry)->bytes)->signer, ours_.public_key().id());
  EXPECT_TRUE(trust.Admit(TestPlace(1), (*entry)->bytes, "tier redis").ok());
  EXPECT_FALSE(trust.Vouch(TestPlace(2), TestEntry(1)->bytes).ok());
}

TEST_F(TrustTest, WithoutAKeyItsOwnEntriesStayUnsigned) {
  Trust trust;
  const EntryPtr made = TestEntry(1);
  EXPECT_EQ((*trust.Vouch(TestPlace(1), made->bytes))->bytes, made->bytes);
}

TEST_F(TrustTest, AcceptingUnsignedStillChecksThatEntriesAreWhole) {
  options_.accept_unsigned = true;
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  EXPECT_TRUE(trust.Admit(TestPlace(1), TestEntry(1)->bytes, "x").ok());
  EXPECT_FALSE(trust.Admit(TestPlace(2), TestEntry(1)->bytes, "x").ok());
}

TEST_F(TrustTest, BadKeyFilesAreNamed) {
  options_.key_files = {File("keys", "nonsense")};
  absl::Status status = Trust().Load(options_);
  EXPECT_NE(status.message().find("/keys:1:"), absl::string_view::npos) << status;
  options_.key_files.clear();
  options_.signing_key_file = File("secret", ours_.Text());
  chmod(options_.signing_key_file.c_str(), 0644);
  status = Trust().Load(options_);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
}

TEST_F(TrustTest, RefusesCodeForAnotherDeviceThanItSays) {
  options_.accept_unsigned = true;
  Trust trust;
  ASSERT_TRUE(trust.Load(options_).ok());
  proto::ArtifactInfo info;
  SetTarget(Target::CudaPtx(80), info.mutable_target());
  const auto admit = [&](const char* ptx) {
    return trust
        .Admit(TestPlace(1), EncodeEntry(TestKey(1), PackCudaPayload("", ptx), info), "tier redis")
        .status();
  };
  EXPECT_TRUE(admit("//\n.target sm_80\n").ok());
  EXPECT_TRUE(absl::IsDataLoss(admit("//\n.target sm_90\n")));
  EXPECT_EQ(trust.count(Trust::kDamaged), 1u);
}

}  // namespace
}  // namespace kiln
