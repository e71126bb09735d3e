#include "common/layout/prune_trees.h"

#include <functional>

#include "common/layout/tree_builder.h"
#include "common/unit/canonical.h"
#include "gtest/gtest.h"
#include "kiln/proto/unit.pb.h"

namespace kiln {
namespace {

TreeLayout LayoutOf(const TreeBuilder& tree) {
  auto layout = TreeLayout::Make(tree.tree());
  EXPECT_TRUE(layout.ok()) << layout.status();
  return *std::move(layout);
}

struct Numbers {
  int field = 0, node = 0;
};

proto::Type F32() {
  proto::Type type;
  type.set_scalar(proto::F32);
  return type;
}

// A unit with a field x and an SNode of one tree.
proto::CompileUnit UnitOf(const TreeLayout& layout, const Numbers& numbers,
                          std::vector<ReachedTree>* reached = nullptr) {
  proto::CompileUnit unit;
  *unit.add_trees() = layout.DescribeTree();
  auto field = DescribeTreeField({{&layout, 0, numbers.field}}, F32());
  EXPECT_TRUE(field.ok()) << field.status();
  *unit.add_storages() = *std::move(field);
  *unit.add_storages() = layout.DescribeNode(numbers.node, 0);
  const auto trees = PruneTrees(unit.mutable_storages(), unit.mutable_trees());
  EXPECT_TRUE(trees.ok()) << trees.status();
  for (const proto::Storage& storage : unit.storages()) {
    const absl::Status status = CheckStorage(storage, unit.trees());
    EXPECT_TRUE(status.ok()) << status << unit.DebugString();
  }
  for (const proto::TreePart& tree : unit.trees()) {
    const absl::Status status = CheckTree(tree);
    EXPECT_TRUE(status.ok()) << status << unit.DebugString();
  }
  if (reached != nullptr) *reached = *trees;
  return unit;
}

// root -> pointer (i, 8) -> bitmasked (i, 4) -> dense (i, 2) -> x, with what else is asked.
struct Shape {
  uint64_t pointer = 8, bitmasked = 4, dense = 2;
  uint32_t axis = 0;
  bool before = false, after = false, dynamic_beside = false, below_dense = false;
};

proto::CompileUnit Make(const Shape& shape, std::vector<ReachedTree>* reached = nullptr) {
  TreeBuilder tree;
  if (shape.before) tree.Place(tree.Add(proto::SNODE_DENSE, 0, {{0, 3}}), proto::I32);
  Numbers numbers;
  numbers.node = tree.Add(proto::SNODE_POINTER, 0, {{shape.axis, shape.pointer}});
  const int masked =
      tree.Add(proto::SNODE_BITMASKED, numbers.node, {{shape.axis, shape.bitmasked}});
  const int dense = tree.Add(proto::SNODE_DENSE, masked, {{shape.axis, shape.dense}});
  numbers.field = tree.Place(dense, proto::F32);
  if (shape.below_dense) tree.Place(dense, proto::F64);
  if (shape.after) tree.Place(0, proto::F64);
  if (shape.dynamic_beside) {
    tree.Place(tree.Add(proto::SNODE_DYNAMIC, 0, {{0, 32}}, 4), proto::U8);
  }
  return UnitOf(LayoutOf(tree), numbers, reached);
}

Digest KeyOf(const proto::CompileUnit& unit) {
  return UnitKey(CanonicalBytes(unit), Sha256Of("compiler"));
}

TEST(PruneTrees, KeepsThePathToReachedNodes) {
  std::vector<ReachedTree> reached;
  Shape shape;
  shape.before = true;
  const proto::CompileUnit unit = Make(shape, &reached);
  ASSERT_EQ(unit.trees_size(), 1);
  const proto::TreePart& tree = unit.trees(0);
  ASSERT_EQ(tree.nodes_size(), 4);
  EXPECT_EQ(tree.nodes(1).kind(), proto::SNODE_POINTER);
  EXPECT_EQ(tree.nodes(1).offset(), 0u);
  EXPECT_EQ(tree.nodes(0).cell_bytes(), 64u);
  EXPECT_EQ(tree.nodes(3).parent(), 2u);
  EXPECT_EQ(tree.nodes(2).mask_offset(), 32u);
  EXPECT_EQ(unit.storages(0).tree().components(0).node(), 3u);
  EXPECT_EQ(unit.storages(1).tree().node(), 1u);
  ASSERT_EQ(reached.size(), 1u);
  EXPECT_EQ(reached[0].nodes, (std::vector<uint32_t>{0, 3, 4, 5}));
  EXPECT_EQ(reached[0].root_offset, 16u);
}

TEST(PruneTrees, TheRestOfTheTreeChangesNoKey) {
  const Digest key = KeyOf(Make({}));
  const auto with = [](const std::function<void(Shape*)>& change) {
    Shape shape;
    change(&shape);
    return KeyOf(Make(shape));
  };
  EXPECT_EQ(with([](Shape* s) { s->before = true; }), key);
  EXPECT_EQ(with([](Shape* s) { s->after = true; }), key);
  EXPECT_EQ(with([](Shape* s) { s->dynamic_beside = true; }), key);
  EXPECT_EQ(with([](Shape* s) { s->before = s->after = true; }), key);
}

TEST(PruneTrees, GeometryIsInTheKey) {
  const Digest key = KeyOf(Make({}));
  const auto with = [](const std::function<void(Shape*)>& change) {
    Shape shape;
    change(&shape);
    return KeyOf(Make(shape));
  };
  EXPECT_NE(with([](Shape* s) { s->pointer = 9; }), key);
  EXPECT_NE(with([](Shape* s) { s->bitmasked = 5; }), key);
  EXPECT_NE(with([](Shape* s) { s->dense = 3; }), key);
  EXPECT_NE(with([](Shape* s) { s->axis = 1; }), key);
  EXPECT_NE(with([](Shape* s) { s->below_dense = true; }), key);
}

TEST(PruneTrees, TreesAreInOrderOfTheirFirstUse) {
  TreeBuilder first, second, third;
  const int x = first.Place(first.Add(proto::SNODE_POINTER, 0, {{0, 4}}), proto::F32);
  const int y = second.Place(second.Add(proto::SNODE_BITMASKED, 0, {{0, 4}}), proto::F32);
  third.Place(third.Add(proto::SNODE_DENSE, 0, {{0, 4}}), proto::F32);
  const TreeLayout a = LayoutOf(first), b = LayoutOf(second), c = LayoutOf(third);
  proto::CompileUnit unit;
  for (const TreeLayout* layout : {&a, &c, &b}) *unit.add_trees() = layout->DescribeTree();
  proto::Type vector = F32();
  vector.add_shape(2);
  // A vector whose components are in two trees.
  auto field = DescribeTreeField({{&b, 2, y}, {&a, 0, x}}, vector);
  ASSERT_TRUE(field.ok()) << field.status();
  *unit.add_storages() = *field;
  const auto reached = PruneTrees(unit.mutable_storages(), unit.mutable_trees());
  ASSERT_TRUE(reached.ok()) << reached.status();
  ASSERT_EQ(reached->size(), 2u);
  EXPECT_EQ((*reached)[0].tree, 2u);
  EXPECT_EQ((*reached)[1].tree, 0u);
  EXPECT_EQ(unit.trees(0).nodes(1).kind(), proto::SNODE_BITMASKED);
  EXPECT_EQ(unit.storages(0).tree().components(0).tree(), 0u);
  EXPECT_EQ(unit.storages(0).tree().components(1).tree(), 1u);
  EXPECT_TRUE(CheckStorage(unit.storages(0), unit.trees()).ok());
}

TEST(PruneTrees, RefusesUnknownNodes) {
  TreeBuilder maker;
  const int x = maker.Place(maker.Add(proto::SNODE_POINTER, 0, {{0, 4}}), proto::F32);
  const TreeLayout layout = LayoutOf(maker);
  const auto prune = [&](uint32_t tree, uint32_t node) {
    proto::CompileUnit unit;
    *unit.add_trees() = layout.DescribeTree();
    *unit.add_storages() = *DescribeTreeField({{&layout, 0, x}}, F32());
    unit.mutable_storages(0)->mutable_tree()->mutable_components(0)->set_tree(tree);
    unit.mutable_storages(0)->mutable_tree()->mutable_components(0)->set_node(node);
    return PruneTrees(unit.mutable_storages(), unit.mutable_trees()).status();
  };
  EXPECT_TRUE(prune(0, 1).ok());
  EXPECT_EQ(prune(1, 1).message(), "tree 1 does not exist");
  EXPECT_EQ(prune(0, 7).message(), "SNode 7 does not exist");
}

TEST(DescribeTreeField, ComponentsMayHaveOtherAxes) {
  TreeBuilder maker;
  const int x = maker.Place(maker.Add(proto::SNODE_POINTER, 0, {{0, 4}, {1, 8}}), proto::F32);
  const int y = maker.Place(maker.Add(proto::SNODE_POINTER, 0, {{1, 4}, {2, 8}}), proto::F32);
  const TreeLayout layout = LayoutOf(maker);
  proto::Type vector = F32();
  vector.add_shape(2);
  proto::CompileUnit unit;
  *unit.add_trees() = layout.DescribeTree();
  *unit.add_storages() = *DescribeTreeField({{&layout, 0, x}, {&layout, 0, y}}, vector);
  const proto::TreeStorage& tree = unit.storages(0).tree();
  const auto numbers = [](const auto& axes) { return std::vector<int>(axes.begin(), axes.end()); };
  EXPECT_EQ(numbers(tree.axes()), (std::vector<int>{0, 1}));
  EXPECT_EQ(tree.components(0).axes_size(), 0);
  EXPECT_EQ(numbers(tree.components(1).axes()), (std::vector<int>{1, 2}));
  EXPECT_TRUE(PruneTrees(unit.mutable_storages(), unit.mutable_trees()).ok());
  EXPECT_TRUE(CheckStorage(unit.storages(0), unit.trees()).ok());
}

TEST(DescribeTreeField, RefusesComponentsOfOtherShapes) {
  TreeBuilder maker;
  const int x = maker.Place(maker.Add(proto::SNODE_POINTER, 0, {{0, 4}}), proto::F32);
  const int y = maker.Place(maker.Add(proto::SNODE_POINTER, 0, {{0, 5}}), proto::F32);
  const int z = maker.Place(maker.Add(proto::SNODE_POINTER, 0, {{0, 4}, {1, 1}}), proto::F32);
  const TreeLayout layout = LayoutOf(maker);
  proto::Type vector = F32();
  vector.add_shape(2);
  EXPECT_EQ(DescribeTreeField({{&layout, 0, x}, {&layout, 0, y}}, vector).status().message(),
            "components of one field are in arrays of different shapes");
  EXPECT_EQ(DescribeTreeField({{&layout, 0, x}, {&layout, 0, z}}, vector).status().message(),
            "components of one field are in arrays of different shapes");
  EXPECT_EQ(DescribeTreeField({{&layout, 0, x}}, vector).status().message(),
            "an element of 2 scalars takes as many places, not 1");
}

}  // namespace
}  // namespace kiln
