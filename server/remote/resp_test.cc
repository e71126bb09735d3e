#include "server/remote/resp.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(RespTest, CommandsAreArraysOfStrings) {
  std::string out;
  AppendRespCommand({"SET", "k", absl::string_view("\0\r\n", 3)}, &out);
  EXPECT_EQ(out, std::string("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n\0\r\n\r\n", 29));
}

TEST(RespTest, RepliesComeInAnyPieces) {
  const std::string stream = "+OK\r\n$-1\r\n:42\r\n-ERR no\r\n$4\r\na\r\nb\r\n$0\r\n\r\n";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    RespReader reader(100);
    std::vector<RedisValue> values;
    for (size_t at = 0; at < stream.size(); at += piece) {
      reader.Feed(absl::string_view(stream).substr(at, piece));
      while (true) {
        auto value = reader.Next();
        ASSERT_TRUE(value.ok()) << value.status();
        if (!value->has_value()) break;
        values.push_back(**std::move(value));
      }
    }
    ASSERT_EQ(values.size(), 6u);
    EXPECT_EQ(values[0].text, "OK");
    EXPECT_EQ(values[1].kind, RedisValue::kNil);
    EXPECT_EQ(values[2].integer, 42);
    EXPECT_EQ(values[3].kind, RedisValue::kError);
    EXPECT_EQ(values[4].text, "a\r\nb");
    EXPECT_EQ(values[5].kind, RedisValue::kText);
    EXPECT_EQ(values[5].text, "");
  }
}

TEST(RespTest, GarbageIsDataLoss) {
  for (const char* bytes :
       {"HTTP/1.1 400\r\n", "\r\n", "$x\r\n", "$-2\r\n", "$101\r\n", ":x\r\n", "$2\r\nabcd",
        "*1\r\n:1\r\n", "$9223372036854775807\r\n", "$99999999999999999999\r\n"}) {
    RespReader reader(100);
    reader.Feed(bytes);
    EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
  RespReader endless(100);
  endless.Feed(std::string(5000, '+'));
  EXPECT_EQ(endless.Next().status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace kiln
