#include "client_cpp/launcher.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/slot.h"
#include "runtime/test_artifact.h"
#include "runtime/tree/test_tree.h"

namespace kiln {
namespace {

std::shared_ptr<const LoadedKernel> Load(const KernelInfo& info) {
  auto kernel = LoadedKernel::FromBytes(TestKernelBytes(), info);
  EXPECT_TRUE(kernel.ok()) << kernel.error().text;
  return *kernel;
}

TEST(LauncherTest, ValuesAndResults) {
  KernelInfo info = TestInfo();
  AddSerial(&info, "add_one");
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 0, 0, proto::I64});
  info.results = {proto::I64};
  Launcher launch(Load(info));
  EXPECT_TRUE(absl::IsFailedPrecondition(launch.Run()));
  EXPECT_TRUE(launch.Set(ParamId(0), 4).Run().ok());
  EXPECT_EQ(launch.result<int64_t>(), 5);
  EXPECT_TRUE(launch.Set(ParamId(0), -3.7).Run().ok());
  EXPECT_EQ(launch.result<int64_t>(), -2);
  EXPECT_TRUE(absl::IsFailedPrecondition(launch.Set(ParamId(1), 1).Run()));
}

// An instance of which nodes 7 and 9 have the format "WHAT {value}".
std::shared_ptr<const Instance> WithTexts(const KernelInfo& info, const std::string& what) {
  InstanceTexts texts;
  proto::Format format;
  proto::Format::Piece* piece = format.add_pieces();
  piece->set_text(what);
  piece->set_type(texts.types.GetScalar(proto::I32).number());
  format.set_end("\n");
  (*texts.source_map.mutable_formats())[7] = format;
  format.clear_end();
  (*texts.source_map.mutable_formats())[9] = format;
  CompileOutcome outcome;
  outcome.kernel = Load(info);
  return std::make_shared<Instance>(std::move(outcome), std::vector<bool>(), std::move(texts));
}

TEST(LauncherTest, PrintsReachTheHook) {
  KernelInfo info = TestInfo();
  AddRange(&info, "print_each", 3, 3);
  Launcher launch(WithTexts(info, "i is "));
  std::string printed;
  launch.OnPrint([&](absl::string_view text) { absl::StrAppend(&printed, text); });
  EXPECT_TRUE(launch.Run().ok());
  EXPECT_EQ(printed, "i is 0\ni is 1\ni is 2\n");
}

TEST(LauncherTest, PrintsWithoutAHookReachStandardOutput) {
  KernelInfo info = TestInfo();
  AddRange(&info, "print_each", 2, 2);
  testing::internal::CaptureStdout();
  EXPECT_TRUE(Launcher(WithTexts(info, "i is ")).Run().ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "i is 0\ni is 1\n");
}

TEST(LauncherTest, AFailureHasATextForHookAndStatus) {
  KernelInfo info = TestInfo();
  AddRange(&info, "fail_from", 1000, 1000);
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 0, 0, proto::I64});
  Launcher launch(WithTexts(info, "not above "));
  std::vector<LaunchFailure> failures;
  launch.OnFailure([&](const LaunchFailure& failure) { failures.push_back(failure); });
  EXPECT_TRUE(launch.Set(ParamId(0), 2000).Run().ok());
  EXPECT_TRUE(failures.empty());
  const absl::Status status = launch.Set(ParamId(0), 999).Run();
  EXPECT_EQ(status, absl::AbortedError("not above 999"));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].text, "not above 999");
  EXPECT_EQ(failures[0].node, NodeNumber(9));
  EXPECT_EQ(failures[0].values, std::vector<uint64_t>{999});
}

TEST(LauncherTest, FieldsAreBasesThenExtent) {
  KernelInfo info = TestInfo();
  AddRange(&info, "count_up", 0, 1, "count_up_bounds");
  info.arguments.push_back({ArgumentSlot::Kind::kBase});
  info.arguments.push_back({ArgumentSlot::Kind::kExtent});
  Launcher launch(Load(info));
  auto field = *Field<int32_t>::Create({1000});
  ASSERT_TRUE(launch.Bind(ParamId(0), field).Run().ok());
  EXPECT_EQ(field.ToVector(), std::vector<int32_t>(1000, 1));
  std::vector<int32_t> array(10);
  ASSERT_TRUE(launch.Bind(ParamId(0), array.data(), {array.size()}).Run().ok());
  EXPECT_EQ(array, std::vector<int32_t>(10, 1));
}

TEST(LauncherTest, AxesLongerThanIndicesAreRefused) {
  KernelInfo info = TestInfo();
  AddRange(&info, "count_up", 0, 1, "count_up_bounds");
  info.arguments.push_back({ArgumentSlot::Kind::kBase});
  info.arguments.push_back({ArgumentSlot::Kind::kExtent});
  Launcher launch(Load(info));
  int32_t one = 0;
  const absl::Status status = launch.Bind(ParamId(0), &one, {uint64_t{1} << 32}).Run();
  EXPECT_EQ(status, absl::InvalidArgumentError("axis 0 of the array for parameter 0 has 4294967296 "
                                               "indices, but indices are 32-bit integers"));
  EXPECT_EQ(one, 0);
}

TEST(LauncherTest, SlotsHoldTheScalarsBytesOnly) {
  EXPECT_EQ(SlotOf(proto::I8, int64_t{-1}), 0xffu);
  EXPECT_EQ(SlotOf(proto::U1, int64_t{7}), 1u);
  EXPECT_EQ(SlotOf(proto::F32, 1.0), 0x3f800000u);
  EXPECT_EQ(SlotOf(proto::F64, int64_t{1}), 0x3ff0000000000000u);
  EXPECT_EQ(SlotOf(proto::F16, 1.0), 0x3c00u);
  EXPECT_EQ(SlotOf(proto::U64, ~uint64_t{0}), ~uint64_t{0});
}

TEST(LauncherTest, TreesAreRootThenNodes) {
  TestTree t;
  const int pointer = t.Add(proto::SNODE_POINTER, 0, {{0, 100}});
  const int place = t.Place(pointer);
  const auto tree = t.Make();
  KernelInfo info = TreeInfo();
  AddRange(&info, "activate_cells", 100, 10);
  AddRange(&info, "deactivate_odd_cells", 100, 10);
  AddTreeTask(&info, TaskKind::kListgen);
  AddTreeTask(&info, TaskKind::kStruct, "bump_cells");
  Launcher launch(Load(info));
  EXPECT_TRUE(absl::IsFailedPrecondition(launch.Run()));
  KilnNode* const nodes[] = {nullptr, tree->node(pointer)};
  ASSERT_TRUE(launch.BindTree(0, tree->root(), nodes).Run().ok());
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(ReadI32(*tree, place, {i}), i % 2 == 0 ? i + 1000 : 0);
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(launch.BindTree(1, tree->root(), nodes).Run()));
}

TEST(LauncherTest, TreeSlotsFollowParameters) {
  TestTree t;
  t.Place(t.Add(proto::SNODE_POINTER, 0, {{0, 4}}));
  const auto tree = t.Make();
  KernelInfo info = TestInfo();
  AddSerial(&info, "add_one");
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 0, 0, proto::I64});
  for (const ArgumentSlot& slot : TreeInfo().arguments) info.arguments.push_back(slot);
  info.results = {proto::I64};
  Launcher launch(Load(info));
  EXPECT_TRUE(absl::IsFailedPrecondition(launch.Set(ParamId(0), 6).Run()));
  KilnNode* const nodes[] = {nullptr, nullptr};
  ASSERT_TRUE(launch.BindTree(0, tree->root(), nodes).Run().ok());
  EXPECT_EQ(launch.result<int64_t>(), 7);
}

TEST(LauncherTest, FailedChecksAreAborted) {
  KernelInfo info = TestInfo();
  AddRange(&info, "fail_from", 10, 1);
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 0, 0, proto::I64});
  Launcher launch(Load(info));
  EXPECT_TRUE(absl::IsAborted(launch.Set(ParamId(0), 5).Run()));
  EXPECT_TRUE(launch.Set(ParamId(0), 10).Run().ok());
}

}  // namespace
}  // namespace kiln
