// The tier with a server in this process: it finds stored entries, and any fault of the server is
// a miss or a status, never wrong bytes.
#include "server/remote/reapi/tier.h"

#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/remote/reapi/testing/fake_reapi.h"

namespace kiln {
namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(20); }
Place PlaceFor(int i) { return Place(Sha256Of(absl::StrCat("place ", i))); }

// Incompressible bytes, so that tests control the sizes of messages.
std::string Noise(size_t size, int seed = 1) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

class ReapiTierTest : public testing::Test {
 protected:
  ReapiTierTest() { Make(); }

  void Make(const std::string& instance = "", const std::string& token_file = "") {
    proto::Reapi config;
    config.set_address(fake_.address());
    config.set_instance(instance);
    config.set_token_file(token_file);
    auto made = MakeReapiTier(config);
    ASSERT_TRUE(made.ok()) << made.status();
    tier_ = *std::move(made);
  }
  // "": a miss.
  absl::StatusOr<std::string> Get(int i) {
    auto got = tier_->Get({PlaceFor(i)}, Soon());
    if (!got.ok()) return got.status();
    return (*got)[0];
  }
  absl::Status Put(int i, const std::string& entry) {
    return tier_->Put(PlaceFor(i), entry, Soon());
  }

  FakeReapi fake_;
  FakeReapi::Manner manner_;
  std::unique_ptr<RemoteTier> tier_;
};

TEST_F(ReapiTierTest, FindsStoredEntries) {
  EXPECT_EQ(*Get(1), "");
  ASSERT_TRUE(Put(1, "an entry").ok());
  EXPECT_EQ(*Get(1), "an entry");
  EXPECT_EQ(*Get(2), "");
  // The result contained the entry, so the tier did not read the storage.
  EXPECT_EQ(fake_.calls("BatchReadBlobs"), 0);
  EXPECT_EQ(fake_.calls("GetCapabilities"), 1);
}

TEST_F(ReapiTierTest, FindsManyEachAtItsPlace) {
  std::vector<Place> places;
  for (int i = 0; i < 100; ++i) {
    places.push_back(PlaceFor(i));
    if (i % 3 != 0) continue;
    ASSERT_TRUE(Put(i, absl::StrCat("entry ", i)).ok());
  }
  manner_.inlines = false;
  fake_.Behave(manner_);
  auto got = tier_->Get(places, Soon());
  ASSERT_TRUE(got.ok()) << got.status();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ((*got)[i], i % 3 == 0 ? absl::StrCat("entry ", i) : "");
  }
  EXPECT_EQ(fake_.calls("BatchReadBlobs"), 1);
}

// Sizes below, at and above the limit of a message, with and without compression.
TEST_F(ReapiTierTest, EntriesOfAllSizes) {
  for (const bool zstd : {false, true}) {
    for (const int64_t limit : {0, 10'000}) {
      manner_.zstd = zstd;
      manner_.batch_bytes = limit;
      manner_.inlines = false;
      fake_.Behave(manner_);
      Make("team/builds");
      const size_t edge = limit > 0 ? limit : (4 << 20);
      for (const size_t size :
           {size_t{1}, edge - 2000, edge - 256, edge - 1, edge, edge + 1, 3 * edge + 17}) {
        const int place = static_cast<int>(size) + (zstd ? 1 : 0);
        const std::string entry = Noise(size, place);
        ASSERT_TRUE(Put(place, entry).ok()) << Put(place, entry);
        EXPECT_TRUE(*Get(place) == entry) << size << " bytes";
      }
    }
  }
  for (const std::string& name : fake_.resources()) {
    EXPECT_EQ(name.rfind("team/builds/", 0), 0) << name;
  }
  EXPECT_GT(fake_.resources().size(), 0);
}

TEST_F(ReapiTierTest, AnEarlyAnswerToAnUploadIsSuccess) {
  for (const bool zstd : {false, true}) {
    const std::string entry = Noise(9 << 20, zstd ? 5 : 6);
    manner_.zstd = zstd;
    manner_.answers_early = false;
    fake_.Behave(manner_);
    Make();
    ASSERT_TRUE(Put(1, entry).ok());
    // Another client uploads the blob after the check, so the server has it during the upload.
    manner_.answers_early = manner_.lacks_all = true;
    fake_.Behave(manner_);
    const absl::Status status = Put(2, entry);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(*Get(2) == entry);
    manner_.lacks_all = false;
  }
}

TEST_F(ReapiTierTest, ExistingBlobsAreNotSentAgain) {
  const std::string entry = Noise(50'000);
  ASSERT_TRUE(Put(1, entry).ok());
  const int before = fake_.calls("BatchUpdateBlobs");
  ASSERT_TRUE(Put(1, entry).ok());
  EXPECT_EQ(fake_.calls("BatchUpdateBlobs"), before);
}

TEST_F(ReapiTierTest, AResultWithoutItsBlobIsAMiss) {
  for (const size_t size : {size_t{5000}, size_t{5} << 20}) {
    ASSERT_TRUE(Put(1, Noise(size)).ok());
    manner_.forgets_blobs = true;
    fake_.Behave(manner_);
    EXPECT_EQ(*Get(1), "");
    manner_.forgets_blobs = false;
    fake_.Behave(manner_);
  }
}

TEST_F(ReapiTierTest, RefusesBytesThatAreNotTheEntry) {
  ASSERT_TRUE(Put(1, Noise(5000)).ok());
  ASSERT_TRUE(Put(2, Noise(5 << 20)).ok());
  for (const bool zstd : {false, true}) {
    for (const bool inlines : {false, true}) {
      FakeReapi::Manner manner;
      manner.zstd = zstd;
      manner.inlines = inlines;
      manner.corrupts = true;
      fake_.Behave(manner);
      Make();
      EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kDataLoss);
      EXPECT_EQ(Get(2).status().code(), absl::StatusCode::kDataLoss);
    }
  }
  FakeReapi::Manner manner;
  manner.zstd = true;
  manner.inlines = false;
  manner.corrupts_zstd = true;
  fake_.Behave(manner);
  Make();
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Get(2).status().code(), absl::StatusCode::kDataLoss);
  manner.corrupts_zstd = false;
  manner.cuts_streams = true;
  fake_.Behave(manner);
  EXPECT_EQ(Get(2).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReapiTierTest, ADamagedEntryAffectsNoOther) {
  ASSERT_TRUE(Put(1, Noise(5000, 1)).ok());
  ASSERT_TRUE(Put(2, Noise(5000, 2)).ok());
  FakeReapi::Manner manner;
  manner.corrupts = true;
  fake_.Behave(manner);
  auto got = tier_->Get({PlaceFor(1), PlaceFor(3)}, Soon());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*got)[0], "");
  EXPECT_EQ((*got)[1], "");
}

TEST_F(ReapiTierTest, AReadOnlyServerIsReadAndNotWritten) {
  ASSERT_TRUE(Put(1, "an entry").ok());
  const size_t before = fake_.blobs();
  manner_.update_enabled = false;
  fake_.Behave(manner_);
  Make();
  EXPECT_EQ(Put(2, "another").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(fake_.blobs(), before);  // not even blobs
  EXPECT_EQ(*Get(1), "an entry");
  manner_.update_enabled = manner_.refuses_updates = true;
  fake_.Behave(manner_);
  Make();
  EXPECT_EQ(Put(2, "another").code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(ReapiTierTest, RefusesIncompatibleServersWithAReason) {
  manner_.functions = {reapi::DigestFunction::BLAKE3};
  fake_.Behave(manner_);
  EXPECT_EQ(Get(1).status().message(), "the server's storage does not use SHA-256");
  manner_.functions = {reapi::DigestFunction::SHA1, reapi::DigestFunction::SHA256};
  manner_.api_major = 3;
  fake_.Behave(manner_);
  EXPECT_EQ(Get(1).status().message(),
            "the server speaks version 3 of the Remote Execution API at least; expected 2");
  manner_.api_major = 2;
  manner_.blob_bytes = 1000;
  fake_.Behave(manner_);
  EXPECT_EQ(Put(1, Noise(1001)).message(), "a blob of 1001 bytes; the server takes 1000");
  EXPECT_TRUE(Put(1, Noise(1000)).ok());
}

TEST_F(ReapiTierTest, RetriesStoresWhenTheServerSaysWhen) {
  ASSERT_TRUE(Put(1, "an entry").ok());  // capabilities are known
  const std::string entry = Noise(100);
  manner_.failures = 3;
  fake_.Behave(manner_);
  EXPECT_TRUE(Put(2, entry).ok());
  EXPECT_EQ(*Get(2), entry);
  manner_.failures = 100;
  fake_.Behave(manner_);
  EXPECT_EQ(Put(3, entry).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ReapiTierTest, AServerThatHangsCostsTheDeadline) {
  manner_.hangs = true;
  fake_.Behave(manner_);
  const absl::Time start = absl::Now();
  auto got = tier_->Get({PlaceFor(1)}, start + absl::Milliseconds(150));
  EXPECT_EQ(got.status().code(), absl::StatusCode::kDeadlineExceeded) << got.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST_F(ReapiTierTest, AMissingServerIsUnavailableAndFoundLater) {
  proto::Reapi config;
  {
    FakeReapi gone;
    config.set_address(gone.address());
  }
  auto tier = MakeReapiTier(config);
  ASSERT_TRUE(tier.ok());
  const absl::Time start = absl::Now();
  auto got = (*tier)->Get({PlaceFor(1)}, start + absl::Seconds(5));
  EXPECT_EQ(got.status().code(), absl::StatusCode::kUnavailable) << got.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST_F(ReapiTierTest, TokensAreSentAndReadAgain) {
  const std::string path = absl::StrCat(testing::TempDir(), "/token");
  manner_.token = "one";
  fake_.Behave(manner_);
  Make("", path);
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kNotFound);  // the file
  std::ofstream(path) << "two\n";
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kUnauthenticated);
  std::ofstream(path) << "one and more\n";
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kInvalidArgument);
  std::ofstream(path) << "one\n";
  EXPECT_EQ(*Get(1), "");
}

TEST(MakeReapiTierTest, SaysWhatIsWrong) {
  const auto refusal = [](const char* address, const char* instance, const char* token, bool tls) {
    proto::Reapi config;
    config.set_address(address);
    config.set_instance(instance);
    config.set_token_file(token);
    if (tls) config.mutable_tls()->set_enabled(true);
    return std::string(MakeReapiTier(config).status().message());
  };
  EXPECT_EQ(refusal("", "", "", false), "address: expected HOST:PORT of the server");
  EXPECT_EQ(refusal("cache.example:9092", "", "/token", false),
            "token_file: the token would travel in the clear to cache.example:9092; add tls { "
            "enabled: true }");
  EXPECT_EQ(refusal("127.example:9092", "", "/token", false).substr(0, 10), "token_file");
  EXPECT_EQ(refusal("cache.example:9092", "", "/token", true), "");
  EXPECT_EQ(refusal("127.0.0.1:9092", "a/blobs", "", false),
            "instance: \"a/blobs\" has a part \"blobs\", which no instance may have");
}

}  // namespace
}  // namespace kiln
