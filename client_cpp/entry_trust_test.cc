#include "client_cpp/entry_trust.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

class EntryTrustTest : public testing::Test {
 protected:
  EntryTrustTest() {
    std::string pattern = testing::TempDir() + "/trust-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    setenv("KILN_TRUSTED_KEYS", absl::StrCat(dir_, "/keys").c_str(), 1);
    entry_ = EncodeEntry(Key(Sha256Of("a kernel")), "code", proto::ArtifactInfo());
  }
  ~EntryTrustTest() override {
    unsetenv("KILN_TRUSTED_KEYS");
    std::filesystem::remove_all(dir_);
  }

  // Writes a list with the key so many times that reading it takes some milliseconds.
  void Trust(const SigningKey& key) const {
    std::ofstream file(dir_ + "/keys");
    for (int i = 0; i < 5000; ++i) file << key.public_key().Text() << '\n';
  }
  Home MakeHome() const { return *Home::Find(dir_ + "/home"); }
  EntryView Entry() const { return *DecodeEntry(entry_); }

  std::string dir_;
  std::string entry_;
};

TEST_F(EntryTrustTest, AsksForATrustedKey) {
  const SigningKey ours = *SigningKey::Generate("ours");
  const SigningKey theirs = *SigningKey::Generate("theirs");
  Trust(ours);
  const EntryTrust trust(MakeHome());
  EXPECT_TRUE(absl::IsPermissionDenied(trust.Check(Entry())));
  SignEntry(theirs, &entry_);
  EXPECT_TRUE(absl::IsPermissionDenied(trust.Check(Entry())));
  SignEntry(ours, &entry_);
  EXPECT_TRUE(trust.Check(Entry()).ok());
}

TEST_F(EntryTrustTest, TrustsNothingWithoutAListOfKeys) {
  const EntryTrust trust(MakeHome());
  EXPECT_TRUE(absl::IsPermissionDenied(trust.Check(Entry())));
}

// A child has only the thread that forked, so it must not wait for another one that reads the keys.
TEST_F(EntryTrustTest, WorksInAChildForkedWhileAnotherThreadReadsTheKeys) {
  const SigningKey key = *SigningKey::Generate("ours");
  Trust(key);
  SignEntry(key, &entry_);
  for (int round = 0; round < 5; ++round) {
    const EntryTrust trust(MakeHome());
    std::atomic<bool> reads{false};
    std::thread reader([&] {
      reads = true;
      EXPECT_TRUE(trust.Check(Entry()).ok());
    });
    while (!reads) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // ends a child that hangs
      _exit(trust.Check(Entry()).ok() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    reader.join();
  }
}

}  // namespace
}  // namespace kiln
