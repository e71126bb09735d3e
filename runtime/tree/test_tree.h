// Trees for tests, level by level.
#ifndef KILN_RUNTIME_TREE_TEST_TREE_H_
#define KILN_RUNTIME_TREE_TEST_TREE_H_

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/layout.h"
#include "common/layout/tree_builder.h"
#include "runtime/tree/tree.h"

namespace kiln {

using At = std::array<int64_t, kMaxIndices>;

class TestTree : public TreeBuilder {
 public:
  int Place(int parent, proto::Scalar scalar = proto::I32) {
    return TreeBuilder::Place(parent, scalar);
  }
  std::unique_ptr<Tree> Make(std::shared_ptr<MemoryBudget> budget = nullptr,
                             std::vector<std::string> names = {},
                             Executor* executor = nullptr) const {
    auto layout = TreeLayout::Make(tree());
    EXPECT_TRUE(layout.ok()) << layout.status();
    auto tree = Tree::Make(layout->shape(), {std::move(names), std::move(budget), executor});
    EXPECT_TRUE(tree.ok()) << tree.error().text;
    return tree.ok() ? *std::move(tree) : nullptr;
  }
};

inline int32_t ReadI32(Tree& tree, int place, const At& at) {
  auto address = tree.Locate(place, at.data(), CellAccess::kRead);
  EXPECT_TRUE(address.ok()) << address.error().text;
  return address.ok() ? *reinterpret_cast<int32_t*>(*address) : -1;
}

inline void WriteI32(Tree& tree, int place, const At& at, int32_t value) {
  auto address = tree.Locate(place, at.data(), CellAccess::kWrite);
  ASSERT_TRUE(address.ok()) << address.error().text;
  *reinterpret_cast<int32_t*>(*address) = value;
}

inline bool IsActive(Tree& tree, int node, const At& at) {
  auto active = tree.IsActive(node, at.data());
  EXPECT_TRUE(active.ok()) << active.error().text;
  return active.ok() && *active;
}

// The first `axes` indices of every element of a list.
inline std::vector<std::vector<int>> Indices(const ElementList& list, int axes) {
  std::vector<std::vector<int>> all;
  all.reserve(static_cast<size_t>(list.size()));
  for (int64_t i = 0; i < list.size(); ++i) {
    all.emplace_back(list.data()[i].at, list.data()[i].at + axes);
  }
  return all;
}

}  // namespace kiln

#endif  // KILN_RUNTIME_TREE_TEST_TREE_H_
