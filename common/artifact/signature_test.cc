#include "common/artifact/signature.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "gtest/gtest.h"

namespace kiln {
namespace {

// RFC 8032, section 7.1, test 2: seed, public key, message, signature.
constexpr char kSeed[] = "t:TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=";
constexpr char kPoint[] = "t:PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
const Signature kSignature = {
    0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64, 0x25, 0x40,
    0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76, 0x22, 0x23, 0xeb, 0xdb, 0x69, 0xda,
    0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99, 0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c,
    0x38, 0x7b, 0x2e, 0xae, 0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00};

std::string FileWith(const std::string& text, mode_t mode) {
  std::string path = testing::TempDir() + "/key";
  unlink(path.c_str());
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return path;
}

TEST(Signature, AgreesWithTheStandard) {
  const auto secret = SigningKey::Parse(kSeed);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->public_key().Text(), kPoint);
  EXPECT_EQ(secret->Sign("\x72"), kSignature);
  const auto open = PublicKey::Parse(kPoint);
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_TRUE(open->Verifies("\x72", kSignature));
  EXPECT_FALSE(open->Verifies("\x73", kSignature));
}

TEST(Signature, DetectsAnyFlippedBit) {
  const auto key = PublicKey::Parse(kPoint);
  for (size_t bit = 0; bit < 8 * kSignature.size(); ++bit) {
    Signature bad = kSignature;
    bad[bit / 8] ^= 1 << bit % 8;
    EXPECT_FALSE(key->Verifies("\x72", bad)) << bit;
  }
}

TEST(Signature, KeysRoundTripThroughText) {
  const auto key = SigningKey::Generate("builders-2026");
  ASSERT_TRUE(key.ok());
  EXPECT_NE(key->Text(), SigningKey::Generate("builders-2026")->Text());
  const auto again = SigningKey::Parse(key->Text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->Text(), key->Text());
  EXPECT_TRUE(key->public_key().Verifies("m", again->Sign("m")));
  EXPECT_NE(key->public_key().id(), 0u);
}

TEST(Signature, BadLinesAreNamedButNotQuoted) {
  for (const char* bad :
       {"", "no colon", ":AAAA", "sp ace:AAAA", "k:AAAA", "k:not base64 at all"}) {
    const auto status = SigningKey::Parse(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(status.message().find("base64 at all"), absl::string_view::npos);
    EXPECT_FALSE(PublicKey::Parse(bad).ok());
  }
  EXPECT_FALSE(SigningKey::Generate("").ok());
}

TEST(Signature, SecretsAreReadFromPrivateFilesOnly) {
  const std::string text = std::string("# ours\n\n") + kSeed + "\n";
  EXPECT_TRUE(SigningKey::ReadFile(FileWith(text, 0600)).ok());
  EXPECT_EQ(SigningKey::ReadFile(FileWith(text, 0640)).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_FALSE(SigningKey::ReadFile(FileWith("", 0600)).ok());
  EXPECT_FALSE(SigningKey::ReadFile(FileWith(text + text, 0600)).ok());
  EXPECT_FALSE(SigningKey::ReadFile("/nowhere/key").ok());
}

TEST(Signature, MountedSecretsAreReadByTheirGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, which owns mounted secrets";
  constexpr uid_t kUser = 65534;
  char folder[] = "/tmp/kiln-secret-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/key";
  std::ofstream(path) << kSeed << "\n";
  ASSERT_EQ(chmod(folder, 0755), 0);
  ASSERT_EQ(chown(path.c_str(), 0, kUser), 0);
  const auto read_by_user = [&](mode_t mode) {
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(setegid(kUser), 0);
    EXPECT_EQ(seteuid(kUser), 0);
    const absl::Status status = SigningKey::ReadFile(path).status();
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(setegid(0), 0);
    return status;
  };
  EXPECT_TRUE(read_by_user(0440).ok()) << read_by_user(0440);
  EXPECT_EQ(read_by_user(0444).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(read_by_user(0460).code(), absl::StatusCode::kPermissionDenied);
  unlink(path.c_str());
  rmdir(folder);
}

TEST(TrustedKeys, AcceptOnlyTheirOwnSignatures) {
  const auto old_key = SigningKey::Generate("old");
  const auto new_key = SigningKey::Generate("new");
  const auto other = SigningKey::Generate("other");
  TrustedKeys trusted;
  EXPECT_TRUE(trusted.empty());
  ASSERT_TRUE(trusted
                  .AddFile(FileWith(old_key->public_key().Text() + "\n# rotation\n" +
                                        new_key->public_key().Text() + "\n",
                                    0644))
                  .ok());
  EXPECT_EQ(trusted.size(), 2u);
  for (const auto* key : {&*old_key, &*new_key}) {
    EXPECT_TRUE(trusted.Check("m", key->public_key().id(), key->Sign("m")).ok());
  }
  const auto refused = [&](KeyId id, const Signature& signature) {
    const absl::Status status = trusted.Check("m", id, signature);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    return std::string(status.message());
  };
  EXPECT_EQ(refused(0, Signature{}), "is not signed");
  EXPECT_NE(refused(other->public_key().id(), other->Sign("m")).find("not trusted"),
            std::string::npos);
  EXPECT_NE(refused(new_key->public_key().id(), other->Sign("m")).find("does not fit"),
            std::string::npos);
  const absl::Status bad = trusted.AddFile(FileWith(std::string(kPoint) + "\nbad\n", 0644));
  EXPECT_NE(bad.message().find("key:2: "), absl::string_view::npos) << bad;
}

}  // namespace
}  // namespace kiln
