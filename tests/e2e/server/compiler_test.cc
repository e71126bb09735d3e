// The daemon with the real compiler: from a unit to machine code.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/artifact/cuda_payload.h"
#include "common/artifact/entry.h"
#include "common/unit/canonical.h"
#include "google/protobuf/text_format.h"
#include "kiln/proto/unit.pb.h"
#include "runtime/abi_digest.h"
#include "runtime/cuda_abi_digest.h"
#include "tests/e2e/server/daemon_fixture.h"

namespace kiln {
namespace {

// x[i] = a * sin(i) over a field, with another constant and so another key for each `seed`.
std::string Unit(int seed, uint64_t other_abi = 0) {
  const std::string text = absl::StrCat(R"(
    kernel {
      types {} types { scalar: F32 } types { scalar: I32 }
      body {
        params { kind: PARAM_STORAGE storage: 0 }
        params { kind: PARAM_VALUE type: 1 }
        nodes {}
        nodes { kind: STRUCT_FOR index: 0 blocks: 1 }
        nodes { kind: LOOP_INDEX type: 2 operands: 1 }
        nodes { kind: PARAM type: 1 index: 1 }
        nodes { kind: CAST_TO op: OP_CAST type: 1 operands: 2 }
        nodes { kind: UNARY op: OP_SIN type: 1 operands: 4 }
        nodes { kind: BINARY op: OP_MUL type: 1 operands: 3 operands: 5 }
        nodes { kind: GLOBAL type: 1 operands: 2 index: 0 }
        nodes { kind: STORE operands: 7 operands: 6 }
        blocks { nodes: 1 }
        blocks { nodes: 2 nodes: 3 nodes: 4 nodes: 5 nodes: 6 nodes: 7 nodes: 8 }
      }
    }
    storages {
      element { scalar: F32 }
      dense { num_axes: 1 digits { stride: )",
                                        4 * (seed + 1), R"( } components {} num_bases: 1 }
    }
    target { cpu: X86_64_V3 }
    options { fast_math: true opt_level: 3 default_int: I32 default_float: F32 })");
  proto::CompileUnit unit;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &unit));
  unit.mutable_target()->set_runtime_abi(kRuntimeAbi + other_abi);
  return CanonicalBytes(unit);
}

class CompilerTest : public DaemonTest {
 protected:
  CompilerTest() {
    const std::string test_worker = TestWorkerPath();
    worker_ = test_worker.substr(0, test_worker.rfind("/testing/")) + "/kiln-worker";
  }
  static absl::StatusOr<proto::CompileReply> Compile(TestClient* client, int seed) {
    proto::CompileRequest request;
    request.set_unit(Unit(seed));
    request.set_name(absl::StrCat("sine ", seed));
    return client->Call<proto::CompileReply>(FrameType::kCompile, request);
  }
};

TEST_F(CompilerTest, MakesALoadableObject) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  absl::StatusOr<proto::CompileReply> reply = Compile(&client, 0);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->diagnostics_size(), 0) << reply->diagnostics(0).message();
  absl::StatusOr<EntryView> entry = DecodeEntry(reply->entry());
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->payload.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_GE(entry->info.tasks_size(), 1);
  EXPECT_EQ(Compile(&client, 0)->tier(), "memory");
}

// The unit for sm_90, whose sine is libdevice's.
std::string CudaUnit(int seed) {
  proto::CompileUnit unit;
  EXPECT_TRUE(unit.ParseFromString(Unit(seed)));
  unit.mutable_target()->mutable_cuda()->set_virtual_arch(90);
  unit.mutable_target()->mutable_cuda()->set_real_arch(90);
  unit.mutable_target()->set_runtime_abi(kCudaAbi);
  return CanonicalBytes(unit);
}

// The toolkit's libraries are read before workers give up reading files: here, locked ones make
// machine code. Two of them make the same.
TEST_F(CompilerTest, LockedWorkersMakeCodeForCuda) {
  if (access("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc", R_OK) != 0) {
    GTEST_SKIP() << "no CUDA toolkit in /usr/local/cuda";
  }
  std::string first;
  for (int daemon = 0; daemon < 2; ++daemon) {
    ASSERT_EQ(Start(), 0);
    TestClient client = Client();
    proto::CompileRequest request;
    request.set_unit(CudaUnit(0));
    const auto reply = client.Call<proto::CompileReply>(FrameType::kCompile, request);
    ASSERT_TRUE(reply.ok()) << reply.status();
    const absl::StatusOr<EntryView> entry = DecodeEntry(reply->entry());
    ASSERT_TRUE(entry.ok()) << entry.status();
    EXPECT_EQ(entry->info.target().cuda().real_arch(), 90u);
    CudaPayload payload;
    ASSERT_EQ(UnpackCudaPayload({entry->payload.data(), entry->payload.size()}, &payload), "");
    EXPECT_EQ(payload.cubin.substr(1, 3), "ELF");
    if (daemon == 0) first = std::string(entry->payload);
    EXPECT_TRUE(entry->payload == first);
    EXPECT_EQ(client.Stats()->worker_deaths(), 0u);
    // Counted on from daemon to daemon: the second has compiled as well.
    EXPECT_EQ(client.Stats()->compiles(), daemon + 1u);
    Stop();
    std::filesystem::remove(EntryPath(*reply));
  }
}

TEST_F(CompilerTest, LinksAModuleOfTwoLevels) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  proto::LinkRequest link;
  link.set_tables(std::string(16, 't'));
  link.set_symbol("kiln_module_v1");
  for (const proto::CpuLevel cpu : {proto::X86_64_V2, proto::X86_64_V3}) {
    proto::CompileUnit unit;
    ASSERT_TRUE(unit.ParseFromString(Unit(0)));
    unit.mutable_target()->set_cpu(cpu);
    unit.mutable_options()->set_relocatable(true);
    proto::CompileRequest request;
    request.set_unit(CanonicalBytes(unit));
    absl::StatusOr<proto::CompileReply> made =
        client.Call<proto::CompileReply>(FrameType::kCompile, request);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(client.Call<proto::CompileReply>(FrameType::kCompile, request)->tier(), "memory");
    absl::StatusOr<EntryView> entry = DecodeEntry(made->entry());
    ASSERT_TRUE(entry.ok()) << entry.status();
    link.add_objects(std::string(entry->payload));
    auto* fixup = link.add_fixups();
    fixup->set_offset(8 * static_cast<uint32_t>(link.objects_size() - 1));
    fixup->set_symbol(entry->info.tasks(0).symbol());
  }
  for (const auto form : {proto::LinkRequest::SHARED, proto::LinkRequest::OBJECT}) {
    link.set_form(form);
    const auto module = client.Call<proto::LinkReply>(FrameType::kLink, link);
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(module->file().substr(1, 3), "ELF");
    EXPECT_EQ(client.Call<proto::LinkReply>(FrameType::kLink, link)->file(), module->file());
    EXPECT_GT(module->needs().size(), 0u);
  }
  link.mutable_fixups(1)->set_symbol("absent");
  const absl::Status refused = client.Call<proto::LinkReply>(FrameType::kLink, link).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "'absent'")) << refused;
  EXPECT_EQ(client.Stats()->worker_deaths(), 0u);
}

TEST_F(CompilerTest, ManyClientsOneCompileEach) {
  ASSERT_EQ(Start(), 0);
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int i = 0; i < 64; ++i) {
    clients.emplace_back([&, i] {
      TestClient client = Client();
      good += Compile(&client, i % 2).ok();
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 64);
  EXPECT_EQ(Client().Stats()->compiles(), 2u);
}

TEST_F(CompilerTest, ABadUnitIsRefusedAndTheWorkerLives) {
  ASSERT_EQ(Start({"--workers=1"}), 0);
  TestClient client = Client();
  proto::CompileUnit unit;
  ASSERT_TRUE(unit.ParseFromString(Unit(0)));
  unit.mutable_kernel()->mutable_body()->mutable_nodes(8)->set_operands(0, 99);
  proto::CompileRequest request;
  request.set_unit(CanonicalBytes(unit));
  EXPECT_TRUE(absl::IsInvalidArgument(
      client.Call<proto::CompileReply>(FrameType::kCompile, request).status()));
  EXPECT_TRUE(Compile(&client, 0).ok());
  EXPECT_EQ(client.Stats()->worker_deaths(), 0u);
}

TEST_F(CompilerTest, RefusesToCompileForAnotherRuntime) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  proto::CompileRequest request;
  request.set_unit(Unit(0, /*other_abi=*/1));
  const absl::Status refused =
      client.Call<proto::CompileReply>(FrameType::kCompile, request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_NE(refused.message().find("runtime"), absl::string_view::npos) << refused;
  EXPECT_TRUE(Compile(&client, 0).ok());
}

TEST_F(CompilerTest, ReportsStagesOfCachedKernels) {
  ASSERT_EQ(Start(), 0);
  TestClient client = Client();
  ASSERT_TRUE(Compile(&client, 0).ok());
  proto::CompileRequest request;
  request.set_unit(Unit(0));
  request.mutable_report()->set_print_ir(true);
  absl::StatusOr<proto::CompileReply> reply =
      client.Call<proto::CompileReply>(FrameType::kCompile, request);
  ASSERT_TRUE(reply.ok());
  EXPECT_GT(reply->stages_size(), 2);
  EXPECT_EQ(reply->tier(), "compiled");
}

}  // namespace
}  // namespace kiln
