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
    WriteWorker("echo " + id_.Hex() + "; echo \"$0\"; echo '" + library_ + "'");
  }
  void WriteFile(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
  }
  void WriteWorker(const std::string& body) { WriteFile(worker_, "#!/bin/sh\n" + body + "\n"); }

  const Digest id_ = Sha256Of("compiler");
  std::string dir_, record_, worker_, library_;
};

TEST_F(CompilerId, IsAskedOnceThenRead) {
  EXPECT_EQ(ReadCompilerId(record_, worker_).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(*GetCompilerId(record_, worker_), id_);
  EXPECT_EQ(*ReadCompilerId(record_, worker_), id_);
}

TEST_F(CompilerId, AnyChangedFileInvalidatesTheRecord) {
  for (const std::string& file : {library_, worker_}) {
    ASSERT_TRUE(WriteCompilerId(record_, {id_, {worker_, library_}}).ok());
    ASSERT_EQ(*ReadCompilerId(record_, worker_), id_);
    WriteFile(file, "#!/bin/sh\n# longer than before\nexit 1\n");
    EXPECT_EQ(ReadCompilerId(record_, worker_).status().code(), StatusCode::kNotFound) << file;
  }
  unlink(library_.c_str());
  EXPECT_FALSE(WriteCompilerId(record_, {id_, {worker_, library_}}).ok());
}

TEST_F(CompilerId, AnotherWorkerIsAnotherCompiler) {
  ASSERT_TRUE(WriteCompilerId(record_, {id_, {worker_}}).ok());
  EXPECT_EQ(ReadCompilerId(record_, library_).status().code(), StatusCode::kNotFound);
}

TEST_F(CompilerId, DamagedRecordsAreIgnored) {
  ASSERT_TRUE(WriteCompilerId(record_, {id_, {worker_, library_}}).ok());
  std::ifstream in(record_);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    WriteFile(record_, whole.substr(0, size));
    EXPECT_FALSE(ReadCompilerId(record_, worker_).ok()) << size;
  }
}

TEST_F(CompilerId, WorkersThatDoNotAnswer) {
  for (const char* body : {"exit 1", "true", "echo nonsense; echo x", "kill -9 $$"}) {
    WriteWorker(body);
    EXPECT_FALSE(AskCompilerId(worker_).ok()) << body;
  }
  EXPECT_FALSE(AskCompilerId(dir_ + "/missing").ok());
}

TEST_F(CompilerId, ARecordThatCannotBeWrittenIsNoError) {
  EXPECT_EQ(*GetCompilerId(dir_ + "/no/such/dir/id", worker_), id_);
}

}  // namespace
}  // namespace kiln
