#include "server/worker/serve.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/artifact/entry.h"
#include "common/unit/canonical.h"
#include "common/wire/framing.h"
#include "common/wire/version.h"
#include "gtest/gtest.h"
#include "server/worker/self_id.h"

namespace kiln {
namespace {

// A worker on a thread, and the other end of its pipe.
class ServeTest : public testing::Test {
 protected:
  void Begin() {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fd_ = ends[0];
    options_.in = options_.out = ends[1];
    options_.compiler = Sha256Of("compiler");
    if (options_.compile == nullptr) {
      options_.compile = [](const proto::CompileRequest&, const proto::CompileUnit& unit) {
        Product product;
        product.payload = "code";
        *product.info.mutable_target() = unit.target();
        return product;
      };
    }
    options_.link = [](const proto::LinkRequest& request) -> absl::StatusOr<proto::LinkReply> {
      if (request.objects().empty()) return absl::InvalidArgumentError("no objects");
      proto::LinkReply reply;
      reply.set_file("a module of " + request.objects(0));
      return reply;
    };
    thread_ = std::thread([this] {
      end_ = Serve(options_);
      close(options_.in);
    });
  }
  absl::Status End() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    if (thread_.joinable()) thread_.join();
    return end_;
  }
  ~ServeTest() override { End().IgnoreError(); }

  absl::StatusOr<Frame> Ask(FrameType type, absl::string_view body) {
    if (absl::Status sent = WriteFrame(fd_, type, 3, body); !sent.ok()) return sent;
    return ReadFrame(fd_, absl::Now() + absl::Seconds(10));
  }
  static proto::CompileRequest Request() {
    proto::CompileUnit unit;
    unit.mutable_target()->set_runtime_abi(5);
    proto::CompileRequest request;
    request.set_unit(CanonicalBytes(unit));
    return request;
  }

  WorkerOptions options_;
  int fd_ = -1;
  std::thread thread_;
  absl::Status end_;
};

TEST_F(ServeTest, GreetsWarm) {
  bool warm = false;
  options_.warm_up = [&warm] {
    warm = true;
    return absl::OkStatus();
  };
  Begin();
  absl::StatusOr<Frame> frame = Ask(FrameType::kHello, proto::Hello().SerializeAsString());
  ASSERT_TRUE(frame.ok());
  EXPECT_TRUE(warm);
  proto::HelloReply reply;
  ASSERT_TRUE(ParseReply(*frame, FrameType::kHelloReply, &reply).ok());
  EXPECT_EQ(reply.protocol(), kProtocolVersion);
  EXPECT_EQ(reply.compiler(), Sha256Of("compiler").view());
  EXPECT_TRUE(End().ok());
}

TEST_F(ServeTest, MakesAnEntryUnderItsOwnDigest) {
  Begin();
  absl::StatusOr<Frame> frame = Ask(FrameType::kCompile, Request().SerializeAsString());
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->id, 3u);
  proto::CompileReply reply;
  ASSERT_TRUE(ParseReply(*frame, FrameType::kCompileReply, &reply).ok());
  const Key key = UnitKey(Request().unit(), Sha256Of("compiler"));
  EXPECT_EQ(reply.digest(), key.view());
  absl::StatusOr<EntryView> entry = DecodeEntry(reply.entry(), &key);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->payload, "code");
  EXPECT_EQ(entry->info.compiler(), Sha256Of("compiler").Hex());
  EXPECT_GT(entry->info.compile_seconds(), 0);
}

TEST_F(ServeTest, LeavesOutTextsThatDoNotFitInAFrame) {
  options_.compile = [](const proto::CompileRequest&, const proto::CompileUnit&) {
    Product product;
    for (const uint32_t bytes : {1u, kMaxFrameBytes / 4, kMaxFrameBytes, 0u, 1u}) {
      product.stages.emplace_back().set_ir(std::string(bytes, 'x'));
    }
    return product;
  };
  Begin();
  absl::StatusOr<Frame> frame = Ask(FrameType::kCompile, Request().SerializeAsString());
  ASSERT_TRUE(frame.ok()) << frame.status();
  proto::CompileReply reply;
  ASSERT_TRUE(ParseReply(*frame, FrameType::kCompileReply, &reply).ok());
  ASSERT_EQ(reply.stages_size(), 5);
  EXPECT_EQ(reply.stages(0).ir(), "x");
  EXPECT_EQ(reply.stages(1).ir().size(), kMaxFrameBytes / 4);
  EXPECT_EQ(reply.stages(2).ir().substr(0, 26), "; 83886080 bytes: too many");
  EXPECT_EQ(reply.stages(3).ir(), "");
  EXPECT_EQ(reply.stages(4).ir().substr(0, 19), "; 1 bytes: too many");
}

TEST_F(ServeTest, RefusesInvalidRequestsAndContinues) {
  Begin();
  proto::CompileReply reply;
  absl::StatusOr<Frame> frame = Ask(FrameType::kCompile, "\xff\xff");
  EXPECT_TRUE(absl::IsInvalidArgument(ParseReply(*frame, FrameType::kCompileReply, &reply)));
  proto::CompileRequest request = Request();
  request.mutable_unit()->append("\xfa\x3f\x01z", 4);
  frame = Ask(FrameType::kCompile, request.SerializeAsString());
  EXPECT_TRUE(absl::IsInvalidArgument(ParseReply(*frame, FrameType::kCompileReply, &reply)));
  frame = Ask(FrameType::kLookup, "");
  EXPECT_TRUE(absl::IsUnimplemented(ParseReply(*frame, FrameType::kCompileReply, &reply)));
  frame = Ask(FrameType::kCompile, Request().SerializeAsString());
  EXPECT_TRUE(ParseReply(*frame, FrameType::kCompileReply, &reply).ok());
}

TEST_F(ServeTest, LinksModules) {
  Begin();
  proto::LinkRequest request;
  proto::LinkReply reply;
  absl::StatusOr<Frame> frame = Ask(FrameType::kLink, request.SerializeAsString());
  EXPECT_TRUE(absl::IsInvalidArgument(ParseReply(*frame, FrameType::kLinkReply, &reply)));
  frame = Ask(FrameType::kLink, "\xff\xff");
  EXPECT_TRUE(absl::IsInvalidArgument(ParseReply(*frame, FrameType::kLinkReply, &reply)));
  request.add_objects("code");
  frame = Ask(FrameType::kLink, request.SerializeAsString());
  ASSERT_TRUE(ParseReply(*frame, FrameType::kLinkReply, &reply).ok());
  EXPECT_EQ(reply.file(), "a module of code");
}

TEST_F(ServeTest, ExitsOnBytesThatAreNotAFrame) {
  Begin();
  ASSERT_EQ(write(fd_, "sixteen bytes..!", 16), 16);
  EXPECT_TRUE(absl::IsUnavailable(ReadFrame(fd_, absl::Now() + absl::Seconds(10)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(End()));
}

TEST_F(ServeTest, DiagnosticsMakeNoEntry) {
  options_.compile = [](const proto::CompileRequest&, const proto::CompileUnit&) {
    Product product;
    product.diagnostics.emplace_back().set_message("wrong");
    return product;
  };
  Begin();
  absl::StatusOr<Frame> frame = Ask(FrameType::kCompile, Request().SerializeAsString());
  proto::CompileReply reply;
  ASSERT_TRUE(ParseReply(*frame, FrameType::kCompileReply, &reply).ok());
  EXPECT_TRUE(reply.entry().empty());
  EXPECT_EQ(reply.diagnostics(0).message(), "wrong");
}

TEST(SelfId, IsTheSameTwiceAndNamesThisProgramFirst) {
  absl::StatusOr<CompilerIdRecord> self = IdentifySelf();
  ASSERT_TRUE(self.ok()) << self.status();
  EXPECT_EQ(self->ids, IdentifySelf()->ids);
  ASSERT_FALSE(self->files.empty());
  EXPECT_NE(self->files[0].find("worker_test"), std::string::npos);
}

// Code for CUDA is made by files of NVIDIA's toolkit, too; of code for CPUs, the id stays.
TEST(SelfId, TheToolkitIsOnlyInTheIdForCuda) {
  namespace fs = std::filesystem;
  const fs::path toolkit = fs::path(testing::TempDir()) / "toolkit";
  fs::remove_all(toolkit);
  fs::create_directories(toolkit / "lib64");
  fs::create_directories(toolkit / "nvvm" / "libdevice");
  setenv("KILN_CUDA_TOOLKIT", toolkit.c_str(), 1);
  const CompilerIdRecord none = *IdentifySelf();
  EXPECT_EQ(none.toolkit, toolkit);
  EXPECT_EQ(none.absent.size(), 3u);

  const fs::path libdevice = toolkit / "nvvm" / "libdevice" / "libdevice.10.bc";
  std::ofstream(libdevice) << "one";
  const CompilerIdRecord one = *IdentifySelf();
  EXPECT_EQ(one.ids.cpu, none.ids.cpu);
  EXPECT_NE(one.ids.cuda, none.ids.cuda);
  EXPECT_EQ(one.files.back(), libdevice);
  EXPECT_EQ(one.absent.size(), 2u);
  std::ofstream(libdevice) << "two";
  EXPECT_NE(IdentifySelf()->ids.cuda, one.ids.cuda);

  // Any library with a build id stands for nvJitLink.
  const fs::path linker = toolkit / "lib64" / "libnvJitLink.so.13";
  std::ofstream(linker) << "damaged";
  const absl::StatusOr<CompilerIdRecord> damaged = IdentifySelf();
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_EQ(damaged->ids.cpu, one.ids.cpu);
  EXPECT_NE(damaged->ids.cuda, one.ids.cuda);
  fs::copy_file("/proc/self/exe", linker, fs::copy_options::overwrite_existing);
  EXPECT_NE(IdentifySelf()->ids.cuda, one.ids.cuda);
  EXPECT_NE(IdentifySelf()->ids.cuda, damaged->ids.cuda);
  unsetenv("KILN_CUDA_TOOLKIT");
}

}  // namespace
}  // namespace kiln
