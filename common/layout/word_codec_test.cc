// Bit-exact cases; the numbers are what the reference writes and reads.
#include "common/layout/word_codec.h"

#include <cstring>

#include "gtest/gtest.h"

namespace kiln {
namespace {

proto::QuantNumber Number(proto::QuantType::Kind kind, uint32_t bits, bool is_signed,
                          uint32_t offset, double scale = 0, uint32_t exponent_bits = 0) {
  proto::QuantNumber number;
  number.mutable_quant()->set_kind(kind);
  number.mutable_quant()->set_bits(bits);
  number.mutable_quant()->set_is_signed(is_signed);
  number.mutable_quant()->set_scale(scale);
  number.mutable_quant()->set_exponent_bits(exponent_bits);
  number.set_bit_offset(offset);
  return number;
}

WordCodec Codec(const proto::QuantNumber& number, Scalar compute, uint32_t bits = 32) {
  proto::Word word;
  word.set_bits(bits);
  *word.add_components() = number;
  return WordCodec(word, compute);
}

uint32_t Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FloatOf(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

uint64_t I32(int64_t value) { return static_cast<uint32_t>(value); }

TEST(WordCodec, IntegersKeepTheirLowBits) {
  const WordCodec codec = Codec(Number(proto::QuantType::QUANT_INT, 5, true, 3), proto::I32);
  const struct {
    int64_t written, digits, read;
  } cases[] = {{0, 0, 0},     {15, 15, 15},   {16, 16, -16}, {31, 31, -1},
               {-17, 15, 15}, {-16, 16, -16}, {100, 4, 4},   {-100, 28, -4}};
  for (const auto& c : cases) {
    const uint64_t word = codec.Write(0xffffffff, 0, 0, I32(c.written));
    EXPECT_EQ(word, 0xffffff07u | static_cast<uint64_t>(c.digits) << 3) << c.written;
    EXPECT_EQ(static_cast<uint32_t>(codec.Read(word, 0, 0)), I32(c.read)) << c.written;
  }
  const WordCodec wide = Codec(Number(proto::QuantType::QUANT_INT, 64, true, 0), proto::I32, 64);
  EXPECT_EQ(wide.Write(0, 0, 0, I32(-2)), ~uint64_t{1});
  const WordCodec narrow = Codec(Number(proto::QuantType::QUANT_INT, 4, false, 0), proto::U32);
  EXPECT_EQ(narrow.Write(0, 0, 8, 0x1f), 0xf00u);
  EXPECT_EQ(narrow.Read(0xf00, 0, 8), 15u);
}

TEST(WordCodec, FixedPointRoundsHalvesAwayFromZero) {
  const WordCodec codec =
      Codec(Number(proto::QuantType::QUANT_FIXED, 7, true, 0, 0.0625), proto::F32);
  const struct {
    float written;
    uint64_t digits;
    float read;
  } cases[] = {{1, 0x10, 1},           {-1, 0x70, -1},         {3.9F, 0x3e, 3.875F},
               {4, 0x40, -4},          {4.1F, 0x42, -3.875F},  {-5, 0x30, 3},
               {0.030625F, 0, 0},      {0.03125F, 1, 0.0625F}, {-0.03125F, 0x7f, -0.0625F},
               {0.15625F, 3, 0.1875F}, {100, 0x40, -4},        {1e30F, 0, 0}};
  for (const auto& c : cases) {
    const uint64_t word = codec.Write(0, 0, 0, Bits(c.written));
    EXPECT_EQ(word, c.digits) << c.written;
    EXPECT_EQ(FloatOf(codec.Read(word, 0, 0)), c.read) << c.written;
  }
}

TEST(WordCodec, FloatsOfFewBits) {
  auto number = Number(proto::QuantType::QUANT_FLOAT, 10, true, 5, 0, 5);
  const WordCodec codec = Codec(number, proto::F32);
  for (float exact : {0.0F, 1.0F, -1.0F, 0.5F, 1.5F, -100.25F, 65408.0F}) {
    EXPECT_EQ(FloatOf(codec.Read(codec.Write(0, 0, 0, Bits(exact)), 0, 0)), exact);
  }
  const auto stored = [&](float value) {
    return FloatOf(codec.Read(codec.Write(~uint64_t{0}, 0, 0, Bits(value)), 0, 0));
  };
  EXPECT_EQ(stored(1.3F), 1.30078125F);
  EXPECT_EQ(stored(1e-20F), 0);
  EXPECT_EQ(stored(-1e30F), -131072 * (1 - 0x1p-10F));  // the largest
}

TEST(WordCodec, SharedExponentsRescaleTheOthers) {
  proto::Word word;
  word.set_bits(64);
  for (uint32_t offset : {5u, 15u}) {
    auto number = Number(proto::QuantType::QUANT_FLOAT, offset == 5 ? 10 : 12, true, offset, 0, 5);
    number.set_shared_exponent(true);
    *word.add_components() = number;
    *word.add_sharers() = number;
  }
  const WordCodec codec(word, proto::F32);
  uint64_t bits = codec.Write(0, 0, 0, Bits(1.5F));
  bits = codec.Write(bits, 1, 0, Bits(100.25F));
  EXPECT_EQ(bits, 0x32200d5u);
  EXPECT_EQ(FloatOf(codec.Read(bits, 0, 0)), 1.5F);
  EXPECT_EQ(FloatOf(codec.Read(bits, 1, 0)), 100.25F);
  // At once, so that neither is measured by what the other one was.
  const uint64_t both[] = {Bits(0.125F), Bits(0.25F)};
  const uint64_t small = codec.WriteAll(codec.Write(bits, 0, 0, Bits(1e4F)), 0, both);
  EXPECT_EQ(FloatOf(codec.Read(small, 0, 0)), 0.125F);
  EXPECT_EQ(FloatOf(codec.Read(small, 1, 0)), 0.25F);
  bits = codec.Write(bits, 0, 0, Bits(1e30F));
  EXPECT_EQ(FloatOf(codec.Read(bits, 0, 0)), 131072 * (1 - 0x1p-9F));
  EXPECT_EQ(FloatOf(codec.Read(bits, 1, 0)), 128);
}

}  // namespace
}  // namespace kiln
