#include "common/base/digest.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(Digest, KnownValues) {
  // FIPS 180-4 examples.
  const std::pair<const char*, const char*> cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  for (const auto& [text, hex] : cases) EXPECT_EQ(Sha256Of(text).Hex(), hex);
}

TEST(Digest, PiecesEqualTheWhole) {
  const std::string text(1000, 'x');
  for (const size_t cut : {0u, 1u, 63u, 64u, 65u, 999u, 1000u}) {
    Sha256 hash;
    hash.Update(text.substr(0, cut)).Update(text.substr(cut));
    EXPECT_EQ(hash.Finish(), Sha256Of(text)) << cut;
    EXPECT_EQ(hash.Finish(), Sha256Of("")) << "starts afresh";
  }
}

TEST(Digest, TextAndBack) {
  const Digest digest = Sha256Of("kiln");
  EXPECT_EQ(*Digest::FromHex(digest.Hex()), digest);
  EXPECT_EQ(*Digest::FromBytes(digest.view()), digest);
  EXPECT_FALSE(digest.empty());
  EXPECT_TRUE(Digest().empty());
}

TEST(Digest, RefusesOtherText) {
  const std::string hex = Sha256Of("").Hex();
  std::string upper = hex;
  upper[0] = 'E';
  std::string foreign = hex;
  foreign[10] = 'g';
  for (const std::string& bad : {std::string(), hex.substr(1), hex + "0", upper, foreign}) {
    EXPECT_FALSE(Digest::FromHex(bad).ok()) << bad;
  }
  EXPECT_FALSE(Digest::FromBytes("short").ok());
}

}  // namespace
}  // namespace kiln
