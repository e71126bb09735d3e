// Compiling on a cluster: a server in this process that really runs the commands, in a directory
// with the stored inputs and with an empty environment.
#include "server/remote/reapi/execution.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/compiler_id.h"
#include "common/artifact/entry.h"
#include "common/unit/canonical.h"
#include "gtest/gtest.h"
#include "kiln/proto/unit.pb.h"
#include "server/remote/reapi/testing/fake_reapi.h"

namespace kiln {
namespace {

std::string WorkerPath() {
  const char* directory = getenv("TEST_SRCDIR");
  return absl::StrCat(directory == nullptr ? "." : absl::StrCat(directory, "/kiln"),
                      "/server/worker/testing/fault-worker");
}

class ExecutionTest : public testing::Test {
 protected:
  ExecutionTest() {
    config_.mutable_server()->set_address(fake_.address());
    config_.mutable_server()->set_instance("main");
    (*config_.mutable_platform())["os"] = "linux";
    Make();
  }
  void Make() {
    auto made = MakeExecution(config_, WorkerPath());
    ASSERT_TRUE(made.ok()) << made.status();
    cluster_ = *std::move(made);
  }
  static proto::CompileRequest Request(const std::string& name) {
    proto::CompileUnit unit;
    unit.mutable_target()->set_cpu(proto::X86_64_V2);
    proto::CompileRequest request;
    request.set_unit(CanonicalBytes(unit));
    request.set_name(name);
    return request;
  }
  static Key KeyOf(const proto::CompileRequest& request) {
    static const CompilerIds ids = AskCompilerId(WorkerPath())->ids;
    return UnitKey(request.unit(), ids);
  }
  absl::StatusOr<proto::CompileReply> Compile(const proto::CompileRequest& request,
                                              absl::Duration limit = absl::Seconds(30)) {
    return cluster_->Compile(request, KeyOf(request), absl::Now() + limit);
  }

  FakeReapi fake_;
  FakeReapi::Manner manner_;
  proto::Execution config_;
  std::unique_ptr<Delegate> cluster_;
};

TEST_F(ExecutionTest, RunsTheWorkerThere) {
  proto::CompileRequest request = Request("kernel");
  request.set_tenant("team");
  const auto reply = Compile(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const Key key = KeyOf(request);
  const auto entry = DecodeEntry(reply->entry(), &key);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->payload,
            "\x7f"
            "ELF of kernel");
  EXPECT_EQ(entry->info.tenant(), "team");
  EXPECT_EQ(fake_.executed(), 1);
}

TEST_F(ExecutionTest, TheClusterFindsEarlierResults) {
  proto::CompileRequest request = Request("kernel");
  ASSERT_TRUE(Compile(request).ok());
  // Fields of one call alone must not change the action.
  request.set_deadline_ms(1234);
  request.set_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  request.set_priority(proto::PRIORITY_WARM);
  const int sent = fake_.calls("BatchUpdateBlobs");
  ASSERT_TRUE(Compile(request).ok());
  EXPECT_EQ(fake_.executed(), 1);
  EXPECT_EQ(fake_.calls("BatchUpdateBlobs"), sent);  // nothing was missing
  request.set_tenant("another");
  ASSERT_TRUE(Compile(request).ok());
  EXPECT_EQ(fake_.executed(), 2);
}

TEST_F(ExecutionTest, TheUsersMistakesAreInTheReply) {
  const auto reply = Compile(Request("error"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->entry(), "");
  ASSERT_EQ(reply->diagnostics_size(), 1);
  EXPECT_EQ(reply->diagnostics(0).message(), "the program is wrong");
}

TEST_F(ExecutionTest, ReportsFailuresOfTheWorkerWithItsText) {
  const auto failed = Compile(Request("fail"));
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(failed.status().message(), "the compiler failed"))
      << failed.status();
  const auto died = Compile(Request("die"));
  EXPECT_EQ(died.status().code(), absl::StatusCode::kInternal) << died.status();
}

TEST_F(ExecutionTest, ReconnectsToABrokenStream) {
  manner_.breaks_streams = true;
  fake_.Behave(manner_);
  const auto reply = Compile(Request("kernel"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(fake_.calls("Execute"), 1);
  EXPECT_EQ(fake_.calls("WaitExecution"), 1);
  EXPECT_EQ(fake_.executed(), 1);
}

TEST_F(ExecutionTest, SendsLostInputsAgain) {
  manner_.loses_inputs = true;
  fake_.Behave(manner_);
  const auto reply = Compile(Request("kernel"));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(fake_.calls("Execute"), 2);
}

TEST_F(ExecutionTest, AtTheDeadlineTheOperationIsCancelled) {
  // The inputs are stored already; the deadline applies to the operation.
  ASSERT_TRUE(Compile(Request("kernel")).ok());
  manner_.sleeps = true;
  fake_.Behave(manner_);
  const absl::Time start = absl::Now();
  const auto reply = Compile(Request("another kernel"), absl::Seconds(1));
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kDeadlineExceeded) << reply.status();
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_EQ(fake_.calls("CancelOperation"), 1);
}

TEST_F(ExecutionTest, AnotherCompilersResultIsRefused) {
  const auto reply = cluster_->Compile(Request("kernel"), Key(Sha256Of("another key")),
                                       absl::Now() + absl::Seconds(30));
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kFailedPrecondition) << reply.status();
}

TEST_F(ExecutionTest, RefusesDamagedOutputs) {
  ASSERT_TRUE(Compile(Request("kernel")).ok());
  manner_.corrupts = true;
  fake_.Behave(manner_);
  const auto reply = Compile(Request("kernel"));
  EXPECT_FALSE(reply.ok());
}

TEST_F(ExecutionTest, RefusesServersWithoutExecution) {
  manner_.executes = false;
  fake_.Behave(manner_);
  EXPECT_EQ(Compile(Request("kernel")).status().message(), "the server runs no actions");
}

TEST_F(ExecutionTest, NamesAMissingWorker) {
  auto made = MakeExecution(config_, "/nowhere/kiln-worker");
  ASSERT_TRUE(made.ok());
  const proto::CompileRequest request = Request("kernel");
  const auto reply = (*made)->Compile(request, KeyOf(request), absl::Now() + absl::Seconds(10));
  EXPECT_TRUE(absl::StrContains(reply.status().message(), "/nowhere/kiln-worker"))
      << reply.status();
}

}  // namespace
}  // namespace kiln
