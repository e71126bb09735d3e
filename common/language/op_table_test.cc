#include "common/language/op_table.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace kiln {
namespace {

TEST(OpTable, EveryOpHasARow) {
  const auto* descriptor = proto::Op_descriptor();
  std::set<std::string> spellings;
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const int number = descriptor->value(i)->number();
    const OpInfo* row = FindOp(number);
    if (number == proto::OP_NONE) {
      EXPECT_EQ(row, nullptr);
      continue;
    }
    ASSERT_NE(row, nullptr) << descriptor->value(i)->name();
    // The table must equal the options in the .proto.
    const proto::OpFacts& facts = descriptor->value(i)->options().GetExtension(proto::op);
    EXPECT_EQ(row->op, number);
    EXPECT_EQ(row->spelling, facts.spelling());
    EXPECT_EQ(row->arity, static_cast<int>(facts.arity()));
    EXPECT_EQ(row->family, facts.family());
    EXPECT_EQ(row->result, facts.result());
    EXPECT_EQ(row->operands, facts.operands());
    EXPECT_EQ(row->python, facts.python());
    EXPECT_TRUE(spellings.insert(row->spelling).second) << row->spelling << " twice";
  }
}

TEST(OpTable, EveryNodeKindHasARow) {
  const auto* descriptor = proto::NodeKind_descriptor();
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const int number = descriptor->value(i)->number();
    if (number == proto::NODE_NONE) continue;
    const NodeInfo* row = FindNode(number);
    ASSERT_NE(row, nullptr) << descriptor->value(i)->name();
    const proto::NodeFacts& facts = descriptor->value(i)->options().GetExtension(proto::node);
    EXPECT_EQ(row->kind, number);
    EXPECT_EQ(row->spelling, facts.spelling());
    EXPECT_EQ(row->min_operands, facts.min_operands());
    EXPECT_EQ(row->max_operands, facts.max_operands());
    EXPECT_EQ(row->blocks, static_cast<int>(facts.blocks()));
    EXPECT_EQ(row->has_value, facts.has_value());
    EXPECT_EQ(row->is_address, facts.is_address());
    EXPECT_EQ(row->is_terminator, facts.is_terminator());
  }
}

TEST(OpTable, NumbersWithoutARowAreNull) {
  for (const int number : {-1, 0, 39, 49, 1 << 20, -(1 << 30)}) {
    EXPECT_EQ(FindOp(number), nullptr) << number;
  }
  for (const int number : {-1, 0, 19, 1 << 20}) EXPECT_EQ(FindNode(number), nullptr) << number;
}

}  // namespace
}  // namespace kiln
