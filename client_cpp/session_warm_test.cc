// Sessions of `kiln warm`: recorded kernels, other targets, manifests.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client_cpp/session.h"
#include "client_cpp/testing/session_fixture.h"
#include "gtest/gtest.h"
#include "runtime/cpu/glibc.h"
#include "runtime/cpu/host_target.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

TEST_F(SessionTest, WarmMakesEntriesAndLoadsNothing) {
  options_.server = "off";
  auto session = Make();
  for (const char* tier : {"compiled", "disk"}) {
    auto outcome = session->Warm(Recorded(1), HostTarget());
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->kernel, nullptr);
    EXPECT_EQ(outcome->tier, tier);
    EXPECT_DOUBLE_EQ(outcome->compile_seconds, 1.5);
    EXPECT_EQ(outcome->digest, OnlyEntry().stem().string());
  }
  EXPECT_EQ(session->stats().kernels, 0u);
  // Requesting an entry marks it as used.
  const auto now = fs::last_write_time(OnlyEntry());
  fs::last_write_time(OnlyEntry(), now - std::chrono::hours(1));
  EXPECT_EQ(session->Warm(Recorded(1), HostTarget())->tier, "disk");
  EXPECT_GE(fs::last_write_time(OnlyEntry()), now);
  EXPECT_EQ(Tier(*Make(), 1), "disk") << "the key is that which a program asks for";
  // Warm also compiles for other CPU levels; this machine does not use those entries.
  for (const Target target : {Target::Cpu(1), Target::Cpu(4)}) {
    if (target == HostTarget()) continue;
    EXPECT_EQ(session->Warm(Recorded(2), target)->tier, "compiled");
    EXPECT_EQ(session->Warm(Recorded(2), target)->tier, "disk");
  }
  EXPECT_EQ(Tier(*Make(), 2), "compiled");
}

// The key under which a program with glibc 2.`glibc` looks for a kernel of one op.
std::string DigestOf(SessionOptions options, uint32_t glibc, proto::Op op) {
  options.glibc = glibc;
  proto::CompileUnit unit;
  unit.mutable_options()->set_fast_math(true);
  unit.mutable_kernel()->mutable_body()->add_nodes()->set_op(op);
  return (*Session::Create(options))->Compile(unit, {}, {})->digest;
}

TEST_F(SessionTest, MachinesWithAnOldAndANewGlibcShareWhatIsEqual) {
  options_.server = "off";
  EXPECT_EQ(DigestOf(options_, 31, proto::OP_SIN), DigestOf(options_, 41, proto::OP_SIN));
  EXPECT_NE(DigestOf(options_, 31, proto::OP_TANH), DigestOf(options_, 41, proto::OP_TANH));
  EXPECT_EQ(DigestOf(options_, 36, proto::OP_TANH), DigestOf(options_, 41, proto::OP_TANH));
}

// Sums of CPUs always are deterministic. What is recorded keeps the option, for other targets.
TEST_F(SessionTest, CpusShareKernelsWithAndWithoutDeterministicSums) {
  options_.server = "off";
  options_.returns_recorded = true;
  proto::CompileUnit unit;
  unit.mutable_options()->set_fast_math(true);
  unit.mutable_kernel()->mutable_body()->add_nodes()->set_op(proto::OP_SIN);
  auto session = Make();
  const std::string without = session->Compile(unit, {}, {})->digest;
  unit.mutable_options()->set_deterministic(true);
  const auto with = session->Compile(unit, {}, {});
  EXPECT_EQ(with->digest, without);
  proto::CompileRequest recorded;
  ASSERT_TRUE(recorded.ParseFromString(with->recorded));
  proto::CompileUnit kept;
  ASSERT_TRUE(kept.ParseFromString(recorded.unit()));
  EXPECT_TRUE(kept.options().deterministic());
  EXPECT_EQ(session->Warm(recorded, HostTarget())->digest, without);
}

TEST_F(SessionTest, KilnGlibcNamesTheOldestMachine) {
  EXPECT_EQ(Make()->glibc(), HostGlibc());
  setenv("KILN_GLIBC", "2.31", 1);
  EXPECT_EQ(Make()->glibc(), 31u);
  setenv("KILN_GLIBC", "old", 1);
  EXPECT_EQ(Session::Create(options_).status().message(),
            "KILN_GLIBC=old: expected a version such as 2.31");
  unsetenv("KILN_GLIBC");
}

TEST_F(SessionTest, WarmJobsRunAfterInteractiveOnes) {
  setenv("KILN_FAKE", "priority", 1);
  auto session = Make();
  EXPECT_EQ(session->Warm(Recorded(1), HostTarget())->tier, "compiled to warm");
  EXPECT_EQ(Tier(*session, 2), "compiled");
}

TEST_F(SessionTest, WarmReportsDiagnostics) {
  options_.server = "off";
  proto::CompileRequest nonsense;
  nonsense.set_unit("nonsense");
  EXPECT_FALSE(Make()->Warm(nonsense, HostTarget()).ok());
  setenv("KILN_FAKE", "diagnose", 1);
  auto outcome = Make()->Warm(Recorded(1), HostTarget());
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->diagnostics.size(), 1u);
  EXPECT_EQ(EntryFiles(), 0);
}

TEST_F(SessionTest, TheManifestOfAProgramIsWrittenAtItsEnd) {
  options_.server = "off";
  const std::string path = root_ + "/manifest";
  std::ofstream(path) << "of an earlier run";
  std::ifstream reader(path);
  const pid_t child = fork();
  if (child == 0) {
    setenv("KILN_MANIFEST", path.c_str(), 1);
    static auto& session = *new std::shared_ptr<Session>(Make());  // as in a program
    Tier(*session, 1);
    Tier(*session, 2);
    Tier(*Make(), 1);  // another session, the same kernel
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      Tier(*session, 3);
      std::exit(0);  // must not write its parent's manifest
    }
    waitpid(grandchild, nullptr, 0);
    if (ReadAll(path) != "of an earlier run") std::exit(1);
    std::exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::string earlier;
  EXPECT_TRUE(std::getline(reader, earlier));
  EXPECT_EQ(earlier, "of an earlier run") << "the file was replaced, not overwritten";
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line) && words.size() < 6;) {
    words.push_back(line.substr(0, line.find(' ')));
    EXPECT_NE(line.find(words.size() == 2 ? "program - session_test" : " "), std::string::npos);
  }
  const std::vector<std::string> expected = {"kiln-manifest", "program", "compiler",
                                             "unit",          "unit",    "recorded"};
  EXPECT_EQ(words, expected);
}

}  // namespace
}  // namespace kiln
