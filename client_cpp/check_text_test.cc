#include "client_cpp/check_text.h"

#include "gtest/gtest.h"

namespace kiln {
namespace {

uint64_t Slot(int64_t number) { return static_cast<uint64_t>(number); }

TEST(CheckText, NamesIndicesAndShapes) {
  EXPECT_EQ(CheckText(proto::GLOBAL, {Slot(2), Slot(-1), 4, 5}),
            "Out of bound access: index (2, -1) of shape (4, 5)");
  EXPECT_EQ(CheckText(proto::SNODE_ACTIVATE, {7, 4}),
            "Out of bound access: index (7) of shape (4)");
  EXPECT_EQ(CheckText(proto::ELEMENT, {0, 3, 2, 2}),
            "Out of bound access to a (2, 2) matrix with index (0, 3)");
}

TEST(CheckText, TellsFullListsFromIndices) {
  EXPECT_EQ(CheckText(proto::SNODE_APPEND, {3, 3, 64}),
            "Append to a full list: all 64 cells at index (3) are in use");
  EXPECT_EQ(CheckText(proto::SNODE_APPEND, {9, 8}), "Out of bound access: index (9) of shape (8)");
}

TEST(CheckText, NamesOperands) {
  EXPECT_EQ(CheckText(proto::BINARY, {Slot(-7), 0, proto::OP_FLOORDIV}),
            "Division by zero: -7 by 0");
  EXPECT_EQ(CheckText(proto::BINARY, {2, Slot(-1), proto::OP_POW}),
            "Negative exponent in pow(int, int) is not allowed: 2 ** -1");
  EXPECT_EQ(CheckText(proto::BINARY, {1, 40, proto::OP_SHL}),
            "Shift by 40, which is out of range for 1's type");
  EXPECT_EQ(CheckText(proto::BINARY, {1, 2, proto::OP_ADD}), "Addition overflow: 1 + 2");
}

TEST(CheckText, OtherChecksHaveNoText) {
  EXPECT_EQ(CheckText(proto::BINARY, {}), kCheckFailed);
  EXPECT_EQ(CheckText(proto::BINARY, {1, 2, proto::OP_LT}), kCheckFailed);
  EXPECT_EQ(CheckText(proto::RANGE_FOR, {1, 2}), kCheckFailed);
}

}  // namespace
}  // namespace kiln
