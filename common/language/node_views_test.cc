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
  const ExtractNode view(NodeId(10), extract);
  EXPECT_EQ(view.id(), NodeId(10));
  EXPECT_EQ(view.tensor(), NodeId(7));
  EXPECT_EQ(std::vector<NodeId>(view.indices().begin(), view.indices().end()),
            (std::vector<NodeId>{NodeId(8), NodeId(9)}));
}

TEST(NodeViews, AnOptionalOperandThatIsMissingIsNoNode) {
  const proto::Node zeroed = MakeNode(proto::LOCAL, {}), initialised = MakeNode(proto::LOCAL, {3});
  EXPECT_FALSE(LocalNode(NodeId(1), zeroed).initial());
  EXPECT_EQ(LocalNode(NodeId(1), initialised).initial(), NodeId(3));
}

TEST(NodeViews, NameAttributesAndTheIndex) {
  proto::Node pick = MakeNode(proto::PICK, {2});
  for (const int64_t attribute : {5, -3, 1}) pick.add_attributes(attribute);
  EXPECT_EQ(PickNode(NodeId(4), pick).first(), 5);
  EXPECT_EQ(PickNode(NodeId(4), pick).strides(), (std::vector<int64_t>{-3, 1}));
  proto::Node loop;
  loop.set_kind(proto::STRUCT_FOR);
  loop.set_index(6);
  EXPECT_EQ(StructForNode(NodeId(1), loop).param(), ParamId(6));
  EXPECT_EQ(StructForNode(NodeId(1), loop).config(), 0);
  loop.add_attributes(2);
  EXPECT_EQ(StructForNode(NodeId(1), loop).config(), 2);
}

TEST(NodeViews, NameParametersAndFunctions) {
  proto::Node hint = MakeNode(proto::LOOP_UNIQUE, {1});
  for (const int64_t param : {0, 4, -1}) hint.add_attributes(param);
  const LoopUniqueNode view(NodeId(2), hint);
  EXPECT_EQ(std::vector<ParamId>(view.params().begin(), view.params().end()),
            (std::vector<ParamId>{ParamId(0), ParamId(4), ParamId(~0u)}));
  proto::Node call = MakeNode(proto::CALL, {});
  EXPECT_EQ(CallNode(NodeId(2), call).function(), FunctionId(1)) << "the first after the body";
  call.set_index(~uint64_t{0});
  EXPECT_EQ(CallNode(NodeId(2), call).function(), FunctionId(~0u)) << "no function";
}

TEST(NodeViews, NameBlocks) {
  proto::Node branch = MakeNode(proto::IF, {1});
  branch.add_blocks(4);
  branch.add_blocks(5);
  EXPECT_EQ(IfNode(NodeId(2), branch).then_block(), BlockId(4));
  EXPECT_EQ(IfNode(NodeId(2), branch).else_block(), BlockId(5));
}

TEST(NodeViews, EveryKindIsVisitedByItsOwnView) {
  for (int kind = 1; kind < proto::NodeKind_ARRAYSIZE; ++kind) {
    if (FindNode(kind) == nullptr) continue;
    const proto::Node node = MakeNode(static_cast<proto::NodeKind>(kind), {});
    const auto seen = VisitNode(NodeId(3), node, [](const auto& view) {
      static_assert(!std::is_same_v<std::decay_t<decltype(view)>, NodeView>);
      return view.kind();
    });
    EXPECT_EQ(seen, kind);
  }
  const proto::Node sum = MakeNode(proto::BINARY, {1, 2});
  const bool is_binary = VisitNode(NodeId(3), sum, [](const auto& view) {
    return std::is_same_v<std::decay_t<decltype(view)>, BinaryNode>;
  });
  EXPECT_TRUE(is_binary);
}

}  // namespace
}  // namespace kiln
