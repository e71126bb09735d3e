#include "client_cpp/print_format.h"

#include <cstring>

#include "gtest/gtest.h"

namespace kiln {
namespace {

// `value` as a kernel sends it, shown by `spec`.
template <typename T>
std::string Shown(Scalar scalar, T value, const std::string& spec) {
  TypeTable types;
  proto::Format format;
  proto::Format::Piece* piece = format.add_pieces();
  piece->set_type(types.GetScalar(scalar).number());
  piece->set_spec(spec);
  uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);
  return RenderFormat(format, types, &slot, 1);
}

TEST(PrintFormatTest, ShowsNumbersByTheirSpecs) {
  EXPECT_EQ(Shown(proto::F32, 1.5f, ""), "1.500000");
  EXPECT_EQ(Shown(proto::F64, 1.5, ""), "1.500000000000");
  EXPECT_EQ(Shown(proto::F64, 1.5, "8.2f"), "    1.50");
  EXPECT_EQ(Shown(proto::I32, int32_t{-1}, "s"), "-1");
  EXPECT_EQ(Shown(proto::I32, int32_t{-1}, "08x"), "ffffffff");
  EXPECT_EQ(Shown(proto::I32, int32_t{7}, "lld"), "7");
}

TEST(PrintFormatTest, ShowsLongNumbersWhole) {
  const std::string digits = Shown(proto::F64, 1e308, ".400f");
  EXPECT_EQ(digits.size(), 309u + 1 + 400);
  EXPECT_EQ(digits.back(), '0');
  EXPECT_EQ(Shown(proto::I32, int32_t{5}, "600d"), std::string(599, ' ') + "5");
  EXPECT_EQ(Shown(proto::I32, int32_t{5}, "100000d").size(), size_t{1} << 16) << "and no more";
}

// Specs of C++ programs reach printf unchecked.
TEST(PrintFormatTest, IgnoresWhatFitsNoNumber) {
  EXPECT_EQ(Shown(proto::I32, int32_t{5}, "n"), "5");
  EXPECT_EQ(Shown(proto::I32, int32_t{5}, "*d"), "5");
  EXPECT_EQ(Shown(proto::F32, 2.0f, "%s%n"), "2.000000");
}

}  // namespace
}  // namespace kiln
