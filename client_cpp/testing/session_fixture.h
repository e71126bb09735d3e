// What tests of the session share.
#ifndef KILN_CLIENT_CPP_TESTING_SESSION_FIXTURE_H_
#define KILN_CLIENT_CPP_TESTING_SESSION_FIXTURE_H_

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "client_cpp/launcher.h"
#include "client_cpp/recorded_kernel.h"
#include "client_cpp/session.h"
#include "common/home/home.h"
#include "common/unit/canonical.h"
#include "gtest/gtest.h"

namespace kiln {

// A session's home and fakes of its programs (fake_kiln.cc), which the client starts like the real
// ones.
class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char dir[] = "/tmp/kiln-session-XXXXXX";
    root_ = mkdtemp(dir);
    const std::string fake = std::filesystem::canonical("client_cpp/fake_kiln");
    std::filesystem::create_directory(root_ + "/bin");
    // Copies instead of links, so that the home records their ids like those of real programs.
    std::filesystem::copy_file(fake, root_ + "/bin/kilnd");
    std::filesystem::copy_file(fake, root_ + "/bin/kiln-worker");
    options_.home = root_ + "/home";
    options_.bin_dir = root_ + "/bin";
    setenv("KILN_FAKE_SO", std::filesystem::canonical("runtime/testdata/test_kernel.so").c_str(),
           1);
    unsetenv("KILN_FAKE");
    unsetenv("KILN_SERVER");
    unsetenv("KILN_GLIBC");
  }

  void TearDown() override {
    std::ifstream file(options_.home + "/fake.pid");
    if (pid_t pid = 0; file >> pid) kill(pid, SIGKILL);
    unlink(Home::Find(options_.home)->SocketPath()->c_str());
    std::filesystem::remove_all(root_);
  }

  std::shared_ptr<Session> Make() {
    auto session = Session::Create(options_);
    EXPECT_TRUE(session.ok()) << session.status();
    return *session;
  }

  // A different unit for each `n`.
  static proto::CompileUnit Unit(uint32_t n) {
    proto::CompileUnit unit;
    unit.mutable_options()->set_ad_stack_size(n);
    return unit;
  }

  // The recorded kernel of unit `n`, as in a manifest.
  static proto::CompileRequest Recorded(uint32_t n) {
    proto::CompileRequest recorded;
    proto::SourceMap source_map;
    source_map.set_kernel("k");
    EXPECT_TRUE(recorded.ParseFromString(RecordedKernel(CanonicalBytes(Unit(n)), source_map)));
    return recorded;
  }

  // Compiles unit `n`, expects a working kernel, and returns the tier.
  static std::string Tier(Session& session, uint32_t n) {
    auto outcome = session.Compile(Unit(n), {}, {});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok() || outcome->kernel == nullptr) return "none";
    Launcher launch(outcome->kernel);
    EXPECT_TRUE(launch.Set(ParamId(0), 41).Run().ok());
    EXPECT_EQ(launch.result<int64_t>(), 42);
    return outcome->tier;
  }

  int EntryFiles() const {
    int count = 0;
    if (!std::filesystem::exists(options_.home + "/cache")) return 0;
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(options_.home + "/cache")) {
      count += file.path().extension() == ".so";
    }
    return count;
  }

  static std::string SharedObject() { return std::getenv("KILN_FAKE_SO"); }

  static std::string ReadAll(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path OnlyEntry() const {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(options_.home + "/cache")) {
      if (file.path().extension() == ".so") return file.path();
    }
    return {};
  }

  std::string root_;
  SessionOptions options_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_TESTING_SESSION_FIXTURE_H_
