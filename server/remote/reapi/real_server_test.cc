// The client with an independent server: the one that KILN_TEST_REAPI names (HOST:PORT, or
// HOST:PORT/INSTANCE), otherwise BuildGrid, which testing/buildgrid_cluster.py starts if
// KILN_TEST_BGD or PATH has its program "bgd". Without either, the tests are skipped.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/artifact/compiler_id.h"
#include "common/artifact/entry.h"
#include "common/unit/canonical.h"
#include "gtest/gtest.h"
#include "kiln/proto/unit.pb.h"
#include "server/remote/reapi/execution.h"
#include "server/remote/reapi/server.h"
#include "server/remote/reapi/storage.h"
#include "server/remote/reapi/tier.h"

namespace kiln {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string FindBgd() {
  if (const char* named = getenv("KILN_TEST_BGD"); named != nullptr) return named;
  const char* path = getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const std::string program = absl::StrCat(folder, "/bgd");
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

std::string InRunfiles(const std::string& path) {
  const char* runfiles = getenv("TEST_SRCDIR");
  return absl::StrCat(runfiles == nullptr ? "." : runfiles, "/kiln/", path);
}

// One server for all tests.
class RealServer {
 public:
  static RealServer& Get() {
    static RealServer server;
    return server;
  }
  ~RealServer() {
    if (child_ <= 0) return;
    close(keep_alive_);  // the script then stops its processes
    waitpid(child_, nullptr, 0);
  }
  const proto::Reapi& config() const { return config_; }  // without an address: there is none
  // The things that the started server lacks for running actions, as text.
  const std::string& lacks() const { return lacks_; }

 private:
  RealServer() {
    const char* named = getenv("KILN_TEST_REAPI");
    const std::pair<std::string, std::string> said =
        absl::StrSplit(named != nullptr ? named : Start(), absl::MaxSplits(' ', 1));
    const std::string& where = said.first;
    lacks_ = said.second;
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(where, absl::MaxSplits('/', 1));
    config_.set_address(parts.first);
    config_.set_instance(parts.second);
  }

  // Starts a server. Returns HOST:PORT/INSTANCE and what it lacks; empty if that is impossible.
  std::string Start() {
    const std::string bgd = FindBgd();
    if (bgd.empty()) return "";
    const std::string python = bgd.substr(0, bgd.rfind('/')) + "/python";
    const std::string script = InRunfiles("server/remote/reapi/testing/buildgrid_cluster.py");
    const std::string folder = testing::TempDir() + "/buildgrid";
    int input[2], output[2];
    if (pipe(input) != 0 || pipe(output) != 0) return "";
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      dup2(input[0], 0);
      dup2(output[1], 1);
      for (const int fd : {input[0], input[1], output[0], output[1]}) close(fd);
      execl(python.c_str(), python.c_str(), script.c_str(), folder.c_str(), nullptr);
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    keep_alive_ = input[1];
    char line[256] = "";
    std::FILE* said = fdopen(output[0], "r");
    if (fgets(line, sizeof line, said) == nullptr) ADD_FAILURE() << "BuildGrid does not start";
    return std::string(absl::StripAsciiWhitespace(absl::StripPrefix(line, "ready ")));
  }

  proto::Reapi config_;
  std::string lacks_;
  pid_t child_ = -1;
  int keep_alive_ = -1;
};

std::string Noise(size_t size, int seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

class RealServerTest : public testing::Test {
 protected:
  void SetUp() override {
    const proto::Reapi& config = RealServer::Get().config();
    if (config.address().empty()) {
      GTEST_SKIP() << "no server: neither KILN_TEST_REAPI nor KILN_TEST_BGD is set, and PATH "
                      "has no bgd (BuildGrid)";
    }
    tier_ = *MakeReapiTier(config);
  }
  absl::Time Soon() { return absl::Now() + kPatience; }

  std::unique_ptr<RemoteTier> tier_;
};

TEST_F(RealServerTest, FindsStoredEntries) {
  // Use new names in each run, because the server may keep data.
  const std::string run = absl::StrCat(absl::ToUnixNanos(absl::Now()));
  for (const size_t size : {size_t{1}, size_t{20'000}, size_t{4193280 - 100}, size_t{4193280},
                            size_t{4193281}, size_t{9} << 20}) {
    const Place place(Sha256Of(absl::StrCat(run, " ", size)));
    auto got = tier_->Get({place}, Soon());
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ((*got)[0], "");
    const std::string entry = Noise(size, static_cast<int>(size));
    const absl::Status put = tier_->Put(place, entry, Soon());
    ASSERT_TRUE(put.ok()) << put;
    got = tier_->Get({place, Place(Sha256Of("nobody's"))}, Soon());
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE((*got)[0] == entry) << size;
    EXPECT_EQ((*got)[1], "");
    EXPECT_TRUE(tier_->Put(place, entry, Soon()).ok());
  }
}

TEST_F(RealServerTest, FindsManyInOneRequest) {
  std::vector<Place> places;
  for (int i = 0; i < 64; ++i) {
    places.emplace_back(Sha256Of(absl::StrCat("many ", i)));
    if (i % 4 != 0) continue;
    const absl::Status put = tier_->Put(places[i], absl::StrCat("entry ", i), Soon());
    ASSERT_TRUE(put.ok()) << put;
  }
  auto got = tier_->Get(places, Soon());
  ASSERT_TRUE(got.ok()) << got.status();
  for (int i = 0; i < 64; ++i) EXPECT_EQ((*got)[i], i % 4 == 0 ? absl::StrCat("entry ", i) : "");
}

TEST_F(RealServerTest, TheServerRefusesBytesWithAnotherDigest) {
  auto server = *ReapiServer::Make(RealServer::Get().config());
  ReapiStorage storage(server.get());
  const std::string bytes = "these bytes", others = "other bytes";
  const absl::Status status = storage.Upload({{BlobDigest(bytes + others), bytes}}, Soon());
  EXPECT_FALSE(status.ok());
  const auto got = storage.Download({BlobDigest("never stored")}, Soon());
  EXPECT_EQ(got[0].status().code(), absl::StatusCode::kNotFound) << got[0].status();
}

// BuildGrid runs actions if PostgreSQL is available.
TEST_F(RealServerTest, CompilesThere) {
  const proto::Reapi& config = RealServer::Get().config();
  const auto abilities = (*ReapiServer::Make(config))->abilities(Soon());
  ASSERT_TRUE(abilities.ok()) << abilities.status();
  if (!abilities->execute)
    GTEST_SKIP() << "the server runs no actions; " << RealServer::Get().lacks();
  const std::string worker = InRunfiles("server/worker/testing/fault-worker");
  proto::Execution execution;
  *execution.mutable_server() = config;
  (*execution.mutable_platform())["OSFamily"] = "linux";
  auto cluster = *MakeExecution(execution, worker);
  proto::CompileUnit unit;
  unit.mutable_target()->set_cpu(proto::X86_64_V2);
  proto::CompileRequest request;
  request.set_unit(CanonicalBytes(unit));
  request.set_name("kernel");
  const auto record = AskCompilerId(worker);
  ASSERT_TRUE(record.ok()) << record.status();
  const Key key = UnitKey(request.unit(), record->ids);
  const auto reply = cluster->Compile(request, key, Soon());
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto entry = DecodeEntry(reply->entry(), &key);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->info.kernel(), "kernel");
  // The second time, the result comes immediately from the cluster's own cache.
  const absl::Time start = absl::Now();
  EXPECT_TRUE(cluster->Compile(request, key, Soon()).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  request.set_name("fail");
  const auto failed = cluster->Compile(request, key, Soon());
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal) << failed.status();
}

}  // namespace
}  // namespace kiln
