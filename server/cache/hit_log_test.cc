#include "server/cache/hit_log.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "server/cache/counters.h"
#include "server/cache/test_entry.h"

namespace kiln {
namespace {

class HitLogTest : public testing::Test {
 protected:
  HitLogTest() : path_(testing::TempDir() + "/hits-" + std::to_string(getpid())) {
    std::filesystem::remove(path_);
  }
  ~HitLogTest() override { std::filesystem::remove(path_); }
  void Append(absl::string_view bytes) {
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
  }
  const std::string path_;
};

TEST_F(HitLogTest, ContinuesAtItsLastPosition) {
  HitLog log(path_, 0);
  EXPECT_TRUE(log.ReadNew().empty());
  Append(TestPlace(1).view());
  Append(TestPlace(2).view());
  EXPECT_EQ(log.ReadNew(), (std::vector<Place>{TestPlace(1), TestPlace(2)}));
  EXPECT_TRUE(log.ReadNew().empty());
  Append(TestPlace(3).view());
  HitLog next_life(path_, log.offset());
  EXPECT_EQ(next_life.ReadNew(), std::vector<Place>{TestPlace(3)});
}

TEST_F(HitLogTest, WaitsForAWholeRecord) {
  HitLog log(path_, 0);
  Append(TestPlace(1).view().substr(0, 20));
  EXPECT_TRUE(log.ReadNew().empty());
  Append(TestPlace(1).view().substr(20));
  EXPECT_EQ(log.ReadNew(), std::vector<Place>{TestPlace(1)});
}

TEST_F(HitLogTest, RestartsAfterATruncation) {
  HitLog log(path_, 320);
  Append(TestPlace(1).view());
  EXPECT_EQ(log.ReadNew(), std::vector<Place>{TestPlace(1)});
}

TEST_F(HitLogTest, TruncatesALongLogAfterReadingIt) {
  std::string many;
  while (many.size() <= HitLog::kMaxLogBytes) many.append(std::string(TestPlace(1).view()));
  Append(many);
  HitLog log(path_, 0);
  EXPECT_EQ(log.ReadNew().size(), many.size() / 32);
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
  Append(TestPlace(2).view());
  EXPECT_EQ(log.ReadNew(), std::vector<Place>{TestPlace(2)});
}

TEST_F(HitLogTest, TruncatesAnImpossibleLogUnread) {
  Append(TestPlace(1).view());
  std::filesystem::resize_file(path_, uint64_t{1} << 40);  // without blocks
  HitLog log(path_, 0);
  EXPECT_TRUE(log.ReadNew().empty());
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
  Append(TestPlace(2).view());
  EXPECT_EQ(log.ReadNew(), std::vector<Place>{TestPlace(2)});
}

TEST_F(HitLogTest, CountersAreSavedAndLoaded) {
  Counters counters;
  counters.Hit("disk", 0.25);
  counters.Hit("disk", 0.5);
  counters.Miss();
  counters.Compiled(/*with_errors=*/true);
  ASSERT_TRUE(Counters::Save(path_, counters.Totals(), 640).ok());
  Counters next_life;
  EXPECT_EQ(next_life.Load(path_), 640u);
  EXPECT_EQ(next_life.Totals().hits(), 2u);
  EXPECT_EQ(next_life.Totals().hits_by_tier().at("disk"), 2u);
  EXPECT_EQ(next_life.Totals().seconds_saved(), 0.75);
  EXPECT_EQ(next_life.Totals().errors(), 1u);
  EXPECT_EQ(Counters().Load("/nonexistent"), 0u);
}

}  // namespace
}  // namespace kiln
