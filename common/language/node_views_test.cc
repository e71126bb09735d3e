#include "common/language/node_views.h"

#include <type_traits>
#include <vector>

#include "common/language/op_table.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

proto::Node MakeNode(proto::NodeKind kind, const std::vector<uint32_t>& operands) {
  proto::Node node;
  node.set_kind(kind);
  node.mutable_operands()->Add(operands.begin(), operands.end());
  return node;
}

TEST(NodeViews, NameOperandsInOrder) {
  const proto::Node extract = MakeNode(proto::EXTRACT, {7, 8, 9});
  const ExtractNode view(10, extract);
  EXPECT_EQ(view.id(), 10u);
  EXPECT_EQ(view.tensor(), 7u);
  EXPECT_EQ(view.indices(), (std::vector<uint32_t>{8, 9}));
}

TEST(NodeViews, AnOptionalOperandThatIsMissingIsNoNode) {
  const proto::Node zeroed = MakeNode(proto::LOCAL, {}), initialised = MakeNode(proto::LOCAL, {3});
  EXPECT_EQ(LocalNode(1, zeroed).initial(), 0u);
  EXPECT_EQ(LocalNode(1, initialised).initial(), 3u);
}

TEST(NodeViews, NameAttributesAndTheIndex) {
  proto::Node pick = MakeNode(proto::PICK, {2});
  for (const int64_t attribute : {5, -3, 1}) pick.add_attributes(attribute);
  EXPECT_EQ(PickNode(4, pick).first(), 5);
  EXPECT_EQ(PickNode(4, pick).strides(), (std::vector<int64_t>{-3, 1}));
  proto::Node loop;
  loop.set_kind(proto::STRUCT_FOR);
  loop.set_index(6);
  EXPECT_EQ(StructForNode(1, loop).param(), 6u);
  EXPECT_EQ(StructForNode(1, loop).config(), 0);
  loop.add_attributes(2);
  EXPECT_EQ(StructForNode(1, loop).config(), 2);
}

TEST(NodeViews, NameBlocks) {
  proto::Node branch = MakeNode(proto::IF, {1});
  branch.add_blocks(4);
  branch.add_blocks(5);
  EXPECT_EQ(IfNode(2, branch).then_block(), 4u);
  EXPECT_EQ(IfNode(2, branch).else_block(), 5u);
}

TEST(NodeViews, EveryKindIsVisitedByItsOwnView) {
  for (int kind = 1; kind < proto::NodeKind_ARRAYSIZE; ++kind) {
    if (FindNode(kind) == nullptr) continue;
    const proto::Node node = MakeNode(static_cast<proto::NodeKind>(kind), {});
    const auto seen = VisitNode(3, node, [](const auto& view) {
      static_assert(!std::is_same_v<std::decay_t<decltype(view)>, NodeView>);
      return view.kind();
    });
    EXPECT_EQ(seen, kind);
  }
  const proto::Node sum = MakeNode(proto::BINARY, {1, 2});
  const bool is_binary = VisitNode(3, sum, [](const auto& view) {
    return std::is_same_v<std::decay_t<decltype(view)>, BinaryNode>;
  });
  EXPECT_TRUE(is_binary);
}

}  // namespace
}  // namespace kiln
