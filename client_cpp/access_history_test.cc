#include "client_cpp/access_history.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/test_artifact.h"

namespace kiln {
namespace {

constexpr uint64_t kArray = 1 << 20, kOther = 1 << 21;

// The gradient of a kernel with the argument slots: an i32, an i8, an address. `accesses` are of
// the field in text format.
std::shared_ptr<const Instance> Gradient(const std::string& name, const std::string& accesses) {
  KernelInfo info = TestInfo();
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 0, 0, proto::I32});
  info.arguments.push_back({ArgumentSlot::Kind::kValue, 1, 0, proto::I8});
  info.arguments.push_back({ArgumentSlot::Kind::kBase, 2, 0, 0});
  auto kernel = LoadedKernel::FromBytes(TestKernelBytes(), info);
  EXPECT_TRUE(kernel.ok()) << kernel.error().text;
  auto described = std::make_shared<proto::ArtifactInfo>();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(accesses, described.get()));
  CompileOutcome outcome;
  outcome.kernel = *kernel;
  outcome.info = std::move(described);
  InstanceTexts texts;
  texts.source_map.set_kernel(name);
  return std::make_shared<Instance>(std::move(outcome), std::vector<bool>(), std::move(texts));
}

class AccessHistoryTest : public testing::Test {
 protected:
  // The names of reader and writer; empty: no conflict.
  std::string Add(const std::shared_ptr<const Instance>& instance, int32_t a, int8_t b = 0,
                  uint64_t address = kArray) {
    const uint64_t slots[] = {static_cast<uint32_t>(a), static_cast<uint8_t>(b), address};
    const auto conflict = history_.Add(instance, slots);
    if (!conflict) return "";
    return conflict->reader->texts().source_map.kernel() + " " +
           conflict->writer->texts().source_map.kernel();
  }

  AccessHistory history_;
};

// Reads [argument], writes [argument + 1].
constexpr char kStep[] = R"(
  accesses { slot: 2 axes { first { argument: 1 factor: 1 } last { argument: 1 factor: 1 } } }
  accesses {
    writes: true slot: 2
    axes { first { argument: 1 factor: 1 number: 1 } last { argument: 1 factor: 1 number: 1 } }
  })";

TEST_F(AccessHistoryTest, StepsInOrderDoNotCollide) {
  const auto step = Gradient("step", kStep);
  for (int32_t t = 100; t >= -3; --t) EXPECT_EQ(Add(step, t), "") << t;
  // What these wrote is one box.
  EXPECT_EQ(Add(step, 101), "step step");
}

TEST_F(AccessHistoryTest, AConflictIsReportedOnce) {
  const auto step = Gradient("step", kStep);
  EXPECT_EQ(Add(step, 4), "");
  EXPECT_EQ(Add(step, 5), "step step");
  EXPECT_EQ(Add(step, 5), "");
}

TEST_F(AccessHistoryTest, OtherMemoryDoesNotCollide) {
  const auto step = Gradient("step", kStep);
  EXPECT_EQ(Add(step, 4), "");
  EXPECT_EQ(Add(step, 5, 0, kOther), "");
  const auto component = Gradient("component", "accesses { slot: 2 offset: 4 axes {} }");
  EXPECT_EQ(Add(component, 0), "");
  EXPECT_EQ(Add(component, 0, 0, kArray - 4), "component step");
}

TEST_F(AccessHistoryTest, ArgumentsHaveTheirSign) {
  const auto write = Gradient("write", R"(
      accesses { writes: true slot: 2 axes { first { number: -5 } last { number: -5 } } })");
  const auto read = Gradient("read", R"(
      accesses { slot: 2 axes { first { argument: 2 factor: 2 number: 1 }
                                last { argument: 2 factor: 2 number: 1 } } })");
  EXPECT_EQ(Add(write, 0), "");
  EXPECT_EQ(Add(read, 0, 3), "");
  EXPECT_EQ(Add(read, 0, -3), "read write");
}

TEST_F(AccessHistoryTest, EmptyIntervalsAreNoAccess) {
  const auto range = [](bool writes) {
    return std::string("accesses { slot: 2 writes: ") + (writes ? "true" : "false") +
           " axes { first { argument: 1 factor: 1 } last { argument: 2 factor: 1 } } }";
  };
  const auto write = Gradient("write", range(true)), read = Gradient("read", range(false));
  EXPECT_EQ(Add(write, 5, 4), "");
  EXPECT_EQ(Add(read, 0, 9), "");
  EXPECT_EQ(Add(write, 5, 5), "");
  EXPECT_EQ(Add(read, 9, 0), "");
  EXPECT_EQ(Add(read, 5, 9), "read write");
}

TEST_F(AccessHistoryTest, UnknownEndsReachFar) {
  const auto write = Gradient("write", "accesses { slot: 2 writes: true axes { last {} } }");
  EXPECT_EQ(Add(write, 0), "");
  const auto above = Gradient("above", "accesses { slot: 2 axes { first { number: 1 } } }");
  EXPECT_EQ(Add(above, 0), "");
  const auto from_zero = Gradient("from zero", "accesses { slot: 2 axes { first {} } }");
  EXPECT_EQ(Add(from_zero, 0), "from zero write");
}

TEST_F(AccessHistoryTest, OtherAxesOfOneArrayCollide) {
  const auto write = Gradient("write", "accesses { slot: 2 writes: true axes {} axes {} }");
  const auto read = Gradient("read", "accesses { slot: 2 axes { last {} } }");
  EXPECT_EQ(Add(write, 0), "");
  EXPECT_EQ(Add(read, 0), "read write");
}

TEST_F(AccessHistoryTest, ScatteredWritesAreAllRemembered) {
  const auto step = Gradient("step", kStep);
  for (int32_t t = 100; t >= 0; t -= 2) EXPECT_EQ(Add(step, t), "") << t;
  EXPECT_EQ(Add(step, 50), "");
  EXPECT_EQ(Add(step, 51), "step step");
}

TEST_F(AccessHistoryTest, SlotsThatDoNotExistAreIgnored) {
  const auto broken = Gradient("broken", R"(
      accesses { slot: 3 } accesses { slot: 2 axes { first { argument: 4 } } })");
  EXPECT_EQ(Add(broken, 0), "");
}

}  // namespace
}  // namespace kiln
