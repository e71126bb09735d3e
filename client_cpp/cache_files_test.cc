#include "client_cpp/cache_files.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client_cpp/disk_tier.h"
#include "common/artifact/cuda_payload.h"
#include "common/artifact/entry.h"
#include "common/artifact/target_proto.h"
#include "gtest/gtest.h"
#include "runtime/cpu/host_target.h"
#include "runtime/loaded_kernel.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

class CacheFilesTest : public testing::Test {
 protected:
  CacheFilesTest() {
    std::string pattern = testing::TempDir() + "/bundles-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    from_ = std::make_unique<Home>(*Home::Find(dir_ + "/from"));
    to_ = std::make_unique<Home>(*Home::Find(dir_ + "/to"));
    options_.trusted = &trusted_;
  }
  ~CacheFilesTest() override { fs::remove_all(dir_); }

  static proto::Target Here() {
    proto::Target target;
    SetTarget(HostTarget(), &target);
    target.set_runtime_abi(RuntimeAbi());
    return target;
  }
  // Stores an entry in `from_`; signs it if there is a key.
  std::string Make(int number, const SigningKey* key = nullptr, size_t size = 100,
                   const proto::Target& target = Here(), const std::string& libmvec = "") {
    proto::ArtifactInfo info;
    if (!libmvec.empty()) (*info.mutable_needs())["libmvec.so.1"] = libmvec;
    info.set_kernel(absl::StrCat("kernel", number));
    *info.mutable_target() = target;
    const Key digest(Sha256Of(absl::StrCat(number)));
    const std::string payload =
        target.has_cuda() ? PackCudaPayload("", "ptx") : std::string(size, 'x');
    std::string bytes = EncodeEntry(digest, payload, info);
    if (key != nullptr) SignEntry(*key, &bytes);
    EXPECT_TRUE(WriteEntryFile(*from_, PlaceOf(digest), bytes).ok());
    return from_->EntryPath(PlaceOf(digest));
  }
  std::vector<std::string> Files(const Home& home) const {
    std::vector<std::string> files;
    for (const auto& file : fs::recursive_directory_iterator(home.CacheDir())) {
      if (file.path().extension() == ".so") files.push_back(file.path());
    }
    return files;
  }
  std::string Bundle() const { return dir_ + "/a.bundle"; }
  static std::string Read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string dir_;
  std::unique_ptr<Home> from_, to_;
  const SigningKey key_ = *SigningKey::Generate("builders");
  TrustedKeys trusted_;
  ImportOptions options_;
};

TEST_F(CacheFilesTest, HeadsAreReadWithoutTheRest) {
  const std::string path = Make(1, &key_);
  const absl::StatusOr<EntryHead> head = ReadEntryHead(path);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->key, Sha256Of("1"));
  EXPECT_EQ(head->signer, key_.public_key().id());
  EXPECT_EQ(head->payload_bytes, 100u);
  EXPECT_EQ(head->info.kernel(), "kernel1");
  std::ofstream(path) << "short";
  EXPECT_FALSE(ReadEntryHead(path).ok());
  EXPECT_FALSE(ReadEntryHead(dir_ + "/none").ok());
}

TEST_F(CacheFilesTest, FilesAreVerified) {
  const std::string path = Make(1, &key_);
  EXPECT_TRUE(VerifyEntryFile(path, nullptr).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(VerifyEntryFile(path, &trusted_)));
  trusted_.Add(key_.public_key());
  EXPECT_TRUE(VerifyEntryFile(path, &trusted_).ok());
  fs::rename(path, fs::path(path).replace_filename(std::string(64, 'a') + ".so"));
  EXPECT_TRUE(absl::IsDataLoss(VerifyEntryFile(Files(*from_)[0], nullptr)));
}

TEST_F(CacheFilesTest, ExportAfterImportYieldsTheSameBytes) {
  for (int i = 0; i < 30; ++i) Make(i, &key_);
  const absl::StatusOr<ExportResult> out = ExportBundle(Files(*from_), Bundle(), nullptr);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->entries, 30u);
  EXPECT_EQ(out->bytes, fs::file_size(Bundle()));
  trusted_.Add(key_.public_key());
  absl::StatusOr<ImportResult> in = ImportBundle(*to_, Bundle(), options_);
  ASSERT_TRUE(in.ok()) << in.status();
  EXPECT_EQ(in->imported, 30u);
  EXPECT_TRUE(in->refused.empty());
  in = ImportBundle(*to_, Bundle(), options_);
  EXPECT_EQ(in->present, 30u);
  ASSERT_TRUE(ExportBundle(Files(*to_), dir_ + "/again", nullptr).ok());
  EXPECT_EQ(Read(dir_ + "/again"), Read(Bundle()));
}

TEST_F(CacheFilesTest, UnsignedAndUntrustedEntriesAreRefused) {
  const SigningKey other = *SigningKey::Generate("other");
  Make(1);
  Make(2, &other);
  Make(3, &key_);
  trusted_.Add(key_.public_key());
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), nullptr).ok());
  absl::StatusOr<ImportResult> in = ImportBundle(*to_, Bundle(), options_);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(in->imported, 1u);
  ASSERT_EQ(in->refused.size(), 2u);
  for (const ImportResult::Refusal& refusal : in->refused) {
    EXPECT_STREQ(refusal.reason, refusal.kernel == "kernel1" ? "unsigned" : "untrusted");
  }
  EXPECT_EQ(Files(*to_).size(), 1u);
  // A trusted signature of the bundle vouches for all its entries.
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), &other).ok());
  EXPECT_EQ(ImportBundle(*to_, Bundle(), options_)->imported, 0u);
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), &key_).ok());
  EXPECT_EQ(ImportBundle(*to_, Bundle(), options_)->imported, 2u);
}

TEST_F(CacheFilesTest, AcceptUnsignedImportsUndamagedEntries) {
  Make(1);
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), nullptr).ok());
  options_.accept_unsigned = true;
  EXPECT_EQ(ImportBundle(*to_, Bundle(), options_)->imported, 1u);
}

TEST_F(CacheFilesTest, RefusesEntriesForOtherMachinesByName) {
  proto::Target other_abi = Here(), cuda = Here();
  other_abi.set_runtime_abi(RuntimeAbi() + 1);
  cuda.mutable_cuda()->set_virtual_arch(90);
  Make(1, nullptr, 100, other_abi);
  Make(2, nullptr, 100, cuda);
  Make(3);
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), nullptr).ok());
  options_.accept_unsigned = true;
  absl::StatusOr<ImportResult> in = ImportBundle(*to_, Bundle(), options_);
  EXPECT_EQ(in->imported, 1u);
  ASSERT_EQ(in->refused.size(), 2u);
  EXPECT_STREQ(in->refused[0].reason, "target");
  options_.any_target = true;  // for a directory that other machines read, too
  EXPECT_EQ(ImportBundle(*to_, Bundle(), options_)->imported, 2u);
}

TEST_F(CacheFilesTest, RefusesEntriesForANewerGlibcByName) {
  Make(1, nullptr, 100, Here(), "GLIBC_2.999");
  Make(2, nullptr, 100, Here(), "GLIBC_2.22");
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), nullptr).ok());
  options_.accept_unsigned = true;
  absl::StatusOr<ImportResult> in = ImportBundle(*to_, Bundle(), options_);
  EXPECT_EQ(in->imported, 1u);
  ASSERT_EQ(in->refused.size(), 1u);
  EXPECT_STREQ(in->refused[0].reason, "target");
  EXPECT_EQ(in->refused[0].text.find("needs libmvec.so.1 of glibc 2.999, this machine has 2."), 0u)
      << in->refused[0].text;
}

TEST_F(CacheFilesTest, ADamagedBundleImportsNothing) {
  for (int i = 0; i < 3; ++i) Make(i, &key_);
  trusted_.Add(key_.public_key());
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), &key_).ok());
  const std::string whole = Read(Bundle());
  ASSERT_TRUE(to_->Create().ok());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] ^= 8;
    std::ofstream(Bundle(), std::ios::binary) << bytes;
    EXPECT_TRUE(absl::IsDataLoss(ImportBundle(*to_, Bundle(), options_).status())) << at;
  }
  EXPECT_TRUE(Files(*to_).empty());
}

TEST_F(CacheFilesTest, ExportSkipsDamagedFilesAndImportRestoresThem) {
  for (int i = 0; i < 3; ++i) Make(i, &key_);
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), &key_).ok());
  std::ofstream(from_->EntryPath(Place(Sha256Of("1"))), std::ios::binary) << "damaged";
  const absl::StatusOr<ExportResult> out = ExportBundle(Files(*from_), dir_ + "/b", nullptr);
  EXPECT_EQ(out->entries, 2u);
  EXPECT_EQ(out->left_out.size(), 1u);
  trusted_.Add(key_.public_key());
  EXPECT_EQ(ImportBundle(*from_, Bundle(), options_)->imported, 1u);
  EXPECT_TRUE(VerifyEntryFile(from_->EntryPath(Place(Sha256Of("1"))), &trusted_).ok());
}

TEST_F(CacheFilesTest, AThousandKernelsTakeAtMostTwoSecondsBothWays) {
  for (int i = 0; i < 1000; ++i) Make(i, &key_, 20000);
  trusted_.Add(key_.public_key());
  const absl::Time start = absl::Now();
  ASSERT_TRUE(ExportBundle(Files(*from_), Bundle(), &key_).ok());
  EXPECT_EQ(ImportBundle(*to_, Bundle(), options_)->imported, 1000u);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  RecordProperty("seconds", absl::StrCat(seconds));
  std::printf("1000 kernels out and in: %.2f s\n", seconds);
  EXPECT_LE(seconds, 6);  // 2 on an idle machine
}

}  // namespace
}  // namespace kiln
