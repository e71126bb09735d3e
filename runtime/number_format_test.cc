#include "runtime/number_format.h"

#include <cmath>
#include <cstring>

#include "gtest/gtest.h"

namespace kiln {
namespace {

template <typename T>
std::string Format(SlotScalar scalar, T value, std::string_view spec = "") {
  uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);
  std::string text;
  AppendNumber(scalar, slot, ParseNumberSpec(spec), &text);
  return text;
}

TEST(NumberFormatTest, ByType) {
  EXPECT_EQ(Format<uint8_t>(SlotScalar::kU1, 1), "1");
  EXPECT_EQ(Format<int8_t>(SlotScalar::kI8, -3), "-3");
  EXPECT_EQ(Format<uint64_t>(SlotScalar::kU64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(Format<uint16_t>(SlotScalar::kF16, FloatToHalf(1.5f)), "1.500000");
  EXPECT_EQ(Format(SlotScalar::kF32, 0.1f), "0.100000");
  EXPECT_EQ(Format(SlotScalar::kF64, 0.1), "0.100000000000");
  EXPECT_EQ(Format(SlotScalar::kF64, -std::nan("")), "nan");
}

TEST(NumberFormatTest, BySpec) {
  EXPECT_EQ(Format<int8_t>(SlotScalar::kI8, -1, "x"), "ff");
  EXPECT_EQ(Format<int32_t>(SlotScalar::kI32, 7, "03d"), "007");
  EXPECT_EQ(Format<int32_t>(SlotScalar::kI32, 65, "c"), "A");
  EXPECT_EQ(Format(SlotScalar::kF64, 2.75, "d"), "2");
  EXPECT_EQ(Format(SlotScalar::kF64, 0.5, ".2f"), "0.50");
  // Nothing that would make printf read or write something else.
  EXPECT_EQ(Format<int32_t>(SlotScalar::kI32, 7, "*nl"), "7");
  EXPECT_EQ(Format(SlotScalar::kF64, 1e308, ".100000f").size(), 65536u);
}

}  // namespace
}  // namespace kiln
