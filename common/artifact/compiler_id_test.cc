#include "common/artifact/compiler_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "gtest/gtest.h"

namespace kiln {
namespace {

using absl::StatusCode;

class CompilerId : public testing::Test {
 protected:
  CompilerId() {
    std::string pattern = testing::TempDir() + "/id-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    record_ = dir_ + "/compiler-id";
    worker_ = dir_ + "/worker";
    library_ = dir_ + "/lib llvm";  // paths may hold spaces
    WriteFile(library_, "library");
    toolkit_ = dir_ + "/tool kit";
    setenv("KILN_CUDA_TOOLKIT", toolkit_.c_str(), 1);
    Answer(toolkit_);
  }
  ~CompilerId() override { unsetenv("KILN_CUDA_TOOLKIT"); }
  // The worker says that it is of this toolkit, whose linker is absent.
  void Answer(const std::string& toolkit) {
    WriteWorker("echo '" + ids_.cpu.Hex() + " " + ids_.cuda.Hex() + " " + toolkit +
                "'; echo \"$0\"; echo '" + library_ + "'; echo '- " + toolkit + "-linker'");
  }
  void WriteFile(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
  }
  void WriteWorker(const std::string& body) { WriteFile(worker_, "#!/bin/sh\n" + body + "\n"); }

  const CompilerIds ids_{Sha256Of("compiler"), Sha256Of("with a toolkit")};
  std::string dir_, record_, worker_, library_, toolkit_;
};

TEST_F(CompilerId, IsAskedOnceThenRead) {
  EXPECT_EQ(ReadCompilerId(record_, worker_).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(*GetCompilerId(record_, worker_), ids_);
  EXPECT_EQ(*ReadCompilerId(record_, worker_), ids_);
}

TEST_F(CompilerId, AnyChangedFileInvalidatesTheRecord) {
  for (const std::string& file : {library_, worker_}) {
    ASSERT_TRUE(WriteCompilerId(record_, {ids_, {worker_, library_}}).ok());
    ASSERT_EQ(*ReadCompilerId(record_, worker_), ids_);
    WriteFile(file, "#!/bin/sh\n# longer than before\nexit 1\n");
    EXPECT_EQ(ReadCompilerId(record_, worker_).status().code(), StatusCode::kNotFound) << file;
  }
  unlink(library_.c_str());
  EXPECT_FALSE(WriteCompilerId(record_, {ids_, {worker_, library_}}).ok());
}

TEST_F(CompilerId, AnExchangedLinkInvalidatesTheRecord) {
  const std::string link = dir_ + "/link";
  WriteFile(dir_ + "/other", "another library");
  ASSERT_EQ(symlink(library_.c_str(), link.c_str()), 0);
  ASSERT_TRUE(WriteCompilerId(record_, {ids_, {worker_, link}}).ok());
  ASSERT_EQ(*ReadCompilerId(record_, worker_), ids_);
  unlink(link.c_str());
  ASSERT_EQ(symlink((dir_ + "/other").c_str(), link.c_str()), 0);
  EXPECT_EQ(ReadCompilerId(record_, worker_).status().code(), StatusCode::kNotFound);
}

TEST_F(CompilerId, AToolkitThatAppearsInvalidatesTheRecord) {
  ASSERT_EQ(*GetCompilerId(record_, worker_), ids_);
  ASSERT_EQ(*ReadCompilerId(record_, worker_), ids_);
  WriteFile(toolkit_ + "-linker", "library");
  EXPECT_EQ(ReadCompilerId(record_, worker_).status().code(), StatusCode::kNotFound);
}

// A daemon's clients take its record as it is. What compiles itself has a toolkit of its own.
TEST_F(CompilerId, IsOfOneToolkit) {
  ASSERT_EQ(*GetCompilerId(record_, worker_), ids_);
  EXPECT_EQ(*ReadCompilerId(record_, worker_, toolkit_), ids_);
  EXPECT_EQ(ReadCompilerId(record_, worker_, "/other").status().code(), StatusCode::kNotFound);
  setenv("KILN_CUDA_TOOLKIT", "/other", 1);
  EXPECT_EQ(*ReadCompilerId(record_, worker_), ids_);
  Answer("/other");
  EXPECT_EQ(*GetCompilerId(record_, worker_), ids_);
  EXPECT_EQ(ReadCompilerId(record_, worker_, toolkit_).status().code(), StatusCode::kNotFound);
}

TEST_F(CompilerId, AnotherWorkerIsAnotherCompiler) {
  ASSERT_TRUE(WriteCompilerId(record_, {ids_, {worker_}}).ok());
  EXPECT_EQ(ReadCompilerId(record_, library_).status().code(), StatusCode::kNotFound);
}

TEST_F(CompilerId, DamagedRecordsAreIgnored) {
  ASSERT_TRUE(WriteCompilerId(record_, {ids_, {worker_, library_}}).ok());
  std::ifstream in(record_);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    WriteFile(record_, whole.substr(0, size));
    EXPECT_FALSE(ReadCompilerId(record_, worker_).ok()) << size;
  }
}

TEST_F(CompilerId, OtherKindsOfFilesAreNoRecords) {
  const std::string elsewhere = dir_ + "/elsewhere";
  ASSERT_TRUE(WriteCompilerId(elsewhere, {ids_, {worker_}}).ok());
  for (const char* target : {elsewhere.c_str(), "/dev/zero"}) {
    ASSERT_EQ(symlink(target, record_.c_str()), 0);
    EXPECT_FALSE(ReadCompilerId(record_, worker_).ok()) << target;
    unlink(record_.c_str());
  }
  ASSERT_EQ(mkfifo(record_.c_str(), 0600), 0);
  EXPECT_FALSE(ReadCompilerId(record_, worker_).ok());
  EXPECT_EQ(*GetCompilerId(record_, worker_), ids_) << "which replaces it";
  EXPECT_EQ(*ReadCompilerId(record_, worker_), ids_);
  ASSERT_EQ(truncate(record_.c_str(), off_t{1} << 40), 0);
  EXPECT_FALSE(ReadCompilerId(record_, worker_).ok());
}

TEST_F(CompilerId, WorkersThatDoNotAnswer) {
  for (const char* body : {"exit 1", "true", "echo nonsense; echo x", "kill -9 $$"}) {
    WriteWorker(body);
    EXPECT_FALSE(AskCompilerId(worker_).ok()) << body;
  }
  EXPECT_FALSE(AskCompilerId(dir_ + "/missing").ok());
}

TEST_F(CompilerId, ARecordThatCannotBeWrittenIsNoError) {
  EXPECT_EQ(*GetCompilerId(dir_ + "/no/such/dir/id", worker_), ids_);
}

}  // namespace
}  // namespace kiln
