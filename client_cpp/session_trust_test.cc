// Sessions that may not write, and entries that need a signature.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "client_cpp/notes.h"
#include "client_cpp/session.h"
#include "client_cpp/testing/session_fixture.h"
#include "common/artifact/entry.h"
#include "common/artifact/signature.h"
#include "common/home/home.h"
#include "gtest/gtest.h"
#include "runtime/cpu/host_target.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// No operation may change files below the home.
class ReadOnlyTest : public SessionTest {
 protected:
  // Path -> values that change when a process writes to the file.
  std::map<std::string, std::string> Snapshot() const {
    std::map<std::string, std::string> found;
    if (!fs::exists(options_.home)) return found;
    for (const auto& file : fs::recursive_directory_iterator(options_.home)) {
      struct stat info = {};
      EXPECT_EQ(lstat(file.path().c_str(), &info), 0);
      found[file.path().string()] =
          absl::StrCat(info.st_mode, " ", info.st_size, " ", info.st_mtim.tv_sec, ".",
                       info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec);
    }
    return found;
  }
};

TEST_F(ReadOnlyTest, AnAbsentHomeStaysAbsent) {
  options_.read_only = true;
  EXPECT_EQ(Tier(*Make(), 1), "compiled") << "by a worker of the process's own";
  EXPECT_EQ(Tier(*Make(), 1), "compiled") << "and forgotten";
  EXPECT_FALSE(fs::exists(options_.home));
}

TEST_F(ReadOnlyTest, UsesExistingEntriesAndAddsNone) {
  options_.server = "off";
  Tier(*Make(), 1);
  Tier(*Make(), 2);
  const fs::path damaged = OnlyEntry();
  fs::resize_file(damaged, fs::file_size(damaged) - 1);
  options_.server = "";
  options_.read_only = true;
  const auto before = Snapshot();
  auto session = Make();
  EXPECT_TRUE(session->read_only());
  std::multiset<std::string> tiers = {Tier(*session, 1), Tier(*session, 2)};
  EXPECT_EQ(tiers, (std::multiset<std::string>{"compiled", "disk"}));
  EXPECT_EQ(Tier(*session, 3), "compiled");
  EXPECT_EQ(session->Prefetch({Key(Sha256Of("no such key"))}), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(session->Warm(Recorded(4), HostTarget()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(session->ClearCache().status()));
  // Inspecting a kernel's stages adds nothing.
  proto::CompileRequest shown = Recorded(4);
  shown.mutable_report()->set_print_ir(true);
  EXPECT_TRUE(session->Warm(shown, HostTarget()).ok());
  EXPECT_EQ(Snapshot(), before) << "no daemon either";
}

TEST_F(ReadOnlyTest, DoesNotChangeAHomeThatOthersCanWrite) {
  options_.server = "off";
  Tier(*Make(), 1);
  options_.server = "";
  ASSERT_EQ(chmod(options_.home.c_str(), 0777), 0);
  const auto before = Snapshot();
  auto session = Make();
  EXPECT_TRUE(session->read_only());
  EXPECT_NE(session->own_home().message().find(options_.home + " (mode 0777): make it yours"),
            std::string::npos)
      << session->own_home();
  EXPECT_EQ(Tier(*session, 1), "compiled") << "the entry is not signed";
  EXPECT_TRUE(absl::IsFailedPrecondition(session->Warm(Recorded(4), HostTarget()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(session->ClearCache().status()));
  EXPECT_EQ(Snapshot(), before) << "no daemon either";
  options_.strict = true;
  const absl::Status refused = Make()->Compile(Unit(1), {}, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_NE(refused.message().find("others may write to"), std::string::npos) << refused;
}

TEST_F(ReadOnlyTest, DoesNotReadNotesOfOtherUsers) {
  const Home home = *Home::Find(options_.home);
  ASSERT_TRUE(WriteNote(home, "warm/ab/cd", "text").ok()) << "makes the home, too";
  EXPECT_EQ(ReadNote(home, "warm/ab/cd").value_or(""), "text");
  ASSERT_TRUE(WriteNote(home, "warm/ab/cd", "other").ok());
  EXPECT_EQ(ReadNote(home, "warm/ab/cd").value_or(""), "other");
  EXPECT_TRUE(absl::IsNotFound(ReadNote(home, "warm/ab/none").status()));
  const std::string folder = options_.home + "/warm/ab";
  fs::create_symlink("cd", folder + "/link");
  EXPECT_FALSE(ReadNote(home, "warm/ab/link").ok());
  for (const std::string& open : {folder + "/cd", folder, options_.home}) {
    const fs::perms before = fs::status(open).permissions();
    ASSERT_EQ(chmod(open.c_str(), 0777), 0);
    EXPECT_TRUE(absl::IsPermissionDenied(ReadNote(home, "warm/ab/cd").status())) << open;
    fs::permissions(open, before);
  }
  fs::resize_file(folder + "/cd", uintmax_t{1} << 40);  // without blocks
  EXPECT_TRUE(absl::IsDataLoss(ReadNote(home, "warm/ab/cd").status()));
}

TEST_F(ReadOnlyTest, TheEnvironmentMakesItReadOnly) {
  setenv("KILN_CACHE", "read-only", 1);
  EXPECT_TRUE(Make()->read_only());
  setenv("KILN_CACHE", "read-write", 1);
  EXPECT_FALSE(Make()->read_only());
  setenv("KILN_CACHE", "readonly", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Session::Create(options_).status()));
  unsetenv("KILN_CACHE");
}

// Signs the only entry by a key that the home trusts.
class SignedEntryTest : public SessionTest {
 protected:
  void TearDown() override {
    unsetenv("KILN_REQUIRE_SIGNED");
    SessionTest::TearDown();
  }
  void SignOnlyEntry(const SigningKey& key) const {
    const fs::path path = OnlyEntry();
    std::ifstream in(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    SignEntry(key, &bytes);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void Trust(const SigningKey& key) const {
    std::ofstream(options_.home + "/trusted.keys") << key.public_key().Text() << "\n";
  }
  const SigningKey key_ = *SigningKey::Generate("builders");
};

TEST_F(SignedEntryTest, OthersFilesNeedASignature) {
  options_.server = "off";
  EXPECT_EQ(Tier(*Make(), 1), "compiled");
  EXPECT_EQ(Tier(*Make(), 1), "disk");
  ASSERT_EQ(chmod((options_.home + "/cache").c_str(), 0777), 0);  // anyone may write here
  EXPECT_EQ(Tier(*Make(), 1), "compiled");
  EXPECT_EQ(EntryFiles(), 1);
  SignOnlyEntry(key_);
  EXPECT_EQ(Tier(*Make(), 1), "compiled") << "the key is not trusted";
  SignOnlyEntry(key_);
  Trust(key_);
  EXPECT_EQ(Tier(*Make(), 1), "disk");
  // Damaged files of other users are not deleted.
  std::ofstream(OnlyEntry(), std::ios::binary) << "damaged";
  auto session = Make();
  EXPECT_FALSE(session->Fetch(*Key::FromHex(OnlyEntry().stem().string())).ok());
  EXPECT_EQ(EntryFiles(), 1);
}

// A builder signs for all its tenants, and one of them may have taken over its worker.
TEST_F(SignedEntryTest, OtherTenantsEntriesAreNotRun) {
  options_.server = "off";
  EXPECT_EQ(Tier(*Make(), 1), "compiled");
  const fs::path path = OnlyEntry();
  const std::string own = ReadAll(path);
  const absl::StatusOr<EntryView> view = DecodeEntry(own);
  ASSERT_TRUE(view.ok()) << view.status();
  proto::ArtifactInfo info = view->info;
  info.set_tenant("team-b");
  const std::string theirs = EncodeEntry(view->key, view->payload, info);
  Trust(key_);
  for (const int mode : {0777, 0700}) {
    std::ofstream(path, std::ios::binary) << theirs;
    SignOnlyEntry(key_);
    ASSERT_EQ(chmod((options_.home + "/cache").c_str(), mode), 0);
    auto session = Make();
    EXPECT_FALSE(session->Fetch(view->key).ok()) << mode;
    EXPECT_EQ(Tier(*session, 1), "compiled") << mode;
  }
  EXPECT_EQ(Tier(*Make(), 1), "disk") << "an own file is replaced";
}

TEST_F(SignedEntryTest, RequireSignedAppliesToAllFiles) {
  EXPECT_EQ(Tier(*Make(), 1), "compiled");
  options_.server = "off";
  EXPECT_EQ(Tier(*Make(), 1), "compiled");
  EXPECT_EQ(Tier(*Make(), 1), "disk");
  setenv("KILN_REQUIRE_SIGNED", "1", 1);
  EXPECT_EQ(Tier(*Make(), 1), "compiled");
  SignOnlyEntry(key_);
  Trust(key_);
  EXPECT_EQ(Tier(*Make(), 1), "disk");
  // If the daemon sends unsigned entries, this process's own worker compiles.
  options_.server = "";
  setenv("KILN_FAKE", "remember", 1);
  EXPECT_EQ(Tier(*Make(), 2), "compiled");
  EXPECT_EQ(EntryFiles(), 1) << "no reader would accept it";
}

}  // namespace
}  // namespace kiln
