#include "common/artifact/bundle.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

std::string Entry(int number, const std::string& tenant = "") {
  proto::ArtifactInfo info;
  info.set_kernel(absl::StrCat("k", number));
  info.set_tenant(tenant);
  return EncodeEntry(Key(Sha256Of(absl::StrCat(number))), absl::StrCat("payload ", number), info);
}

// Entries in the order of their places.
std::vector<std::string> Entries(int count) {
  std::vector<std::string> entries;
  for (int i = 0; i < count; ++i) entries.push_back(Entry(i));
  std::sort(entries.begin(), entries.end(), [](const std::string& a, const std::string& b) {
    return DecodeEntry(a)->key < DecodeEntry(b)->key;
  });
  return entries;
}

std::string Bundle(const std::vector<std::string>& entries, const SigningKey* key = nullptr) {
  std::string bytes;
  BundleWriter writer([&](absl::string_view piece) {
    bytes.append(piece.data(), piece.size());
    return absl::OkStatus();
  });
  for (const std::string& entry : entries) EXPECT_TRUE(writer.Add(entry).ok());
  EXPECT_TRUE(writer.Finish(key).ok());
  EXPECT_EQ(writer.entries(), entries.size());
  return bytes;
}

TEST(Bundle, ContainsTheAddedEntries) {
  const std::vector<std::string> entries = Entries(20);
  const std::string bytes = Bundle(entries);
  const absl::StatusOr<BundleView> bundle = DecodeBundle(bytes);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  ASSERT_EQ(bundle->records.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(bundle->records[i].bytes, entries[i]);
    EXPECT_EQ(bundle->records[i].place, PlaceOf(DecodeEntry(entries[i])->key));
  }
  EXPECT_EQ(Bundle(entries), bytes);  // the same entries make the same bytes
  EXPECT_TRUE(DecodeBundle(Bundle({}))->records.empty());
}

TEST(Bundle, EntriesOfTenantsHaveSeparatePlaces) {
  const std::string entry = Entry(1, "team");
  const std::string bytes = Bundle({entry});
  EXPECT_EQ(DecodeBundle(bytes)->records[0].place, PlaceOf("team", DecodeEntry(entry)->key));
}

TEST(Bundle, RefusesEntriesOutOfOrderTwiceOrDamaged) {
  std::vector<std::string> entries = Entries(2);
  BundleWriter writer([](absl::string_view) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsDataLoss(writer.Add("no entry")));
  EXPECT_TRUE(writer.Add(entries[1]).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(writer.Add(entries[1])));
  EXPECT_TRUE(absl::IsInvalidArgument(writer.Add(entries[0])));
}

TEST(Bundle, DetectsEveryFlippedByteAndEveryTruncation) {
  const absl::StatusOr<SigningKey> key = SigningKey::Generate("tester");
  ASSERT_TRUE(key.ok());
  const std::string whole = Bundle(Entries(3), &*key);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char bit : {1, 64}) {
      std::string bytes = whole;
      bytes[at] ^= bit;
      EXPECT_TRUE(absl::IsDataLoss(DecodeBundle(bytes).status())) << "byte " << at;
    }
    EXPECT_FALSE(DecodeBundle(absl::string_view(whole).substr(0, at)).ok()) << at << " bytes";
  }
  EXPECT_FALSE(DecodeBundle(whole + "x").ok());
  EXPECT_TRUE(DecodeBundle(whole).ok());
}

TEST(Bundle, IsTrustedBySignature) {
  const absl::StatusOr<SigningKey> key = SigningKey::Generate("builders");
  const absl::StatusOr<SigningKey> other = SigningKey::Generate("builders");
  ASSERT_TRUE(key.ok() && other.ok());
  TrustedKeys trusted;
  trusted.Add(key->public_key());
  const std::vector<std::string> entries = Entries(2);
  const std::string with = Bundle(entries, &*key), foreign = Bundle(entries, &*other);
  const std::string without = Bundle(entries);
  EXPECT_EQ(Bundle(entries, &*key), with);
  EXPECT_TRUE(CheckBundleSigner(*DecodeBundle(with), trusted).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CheckBundleSigner(*DecodeBundle(foreign), trusted)));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckBundleSigner(*DecodeBundle(without), trusted)));
}

}  // namespace
}  // namespace kiln
