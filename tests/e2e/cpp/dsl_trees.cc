// Trees of SNodes: sparse fields, lists, memory, and trees that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <kiln/dsl.hpp>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnTestArch;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TreeTest, SparseFields) {
  Tree tree;
  const SNode block = tree.root().pointer("ij", {8, 8});
  const SNode cells = block.dense("ij", {4, 4});
  const TreeField<float, 2> x(cells);
  const TreeField<Vec<float, 2>, 2> v(cells);
  x.set(1.5f, 5, 6);
  EXPECT_EQ(block.CountActive(), 1);
  EXPECT_EQ(x.get(5, 6), 1.5f);
  EXPECT_EQ(x.get(31, 31), 0);
  EXPECT_THAT(x.shape(), ElementsAre(32, 32));

  Kernel spread("spread", [&] {
    ForEach(x, [&](Int i, Int j) {
      If(x(i, j) > 0, [&] { x(i + 4, j) += x(i, j); });
      v(i, j) = Vector<float>(Cast<float>(i), Cast<float>(j));
    });
  });
  spread();
  EXPECT_EQ(x.get(9, 6), 1.5f);
  EXPECT_EQ(block.CountActive(), 2);
  EXPECT_THAT(v.get(7, 4), ElementsAre(7, 4));
  EXPECT_THAT(v.get(9, 6), ElementsAre(0, 0)) << "this block was made in the loop";

  Kernel halve("halve", [&] {
    ForEach(x, [&](Int i, Int j) {
      If(x(i, j) > 1.0, [&] { x(i, j) = x(i, j) * 0.5; });
      v(i, j) = x(i, j);
    });
  });
  halve();
  EXPECT_EQ(x.get(5, 6), 0.75f);
  EXPECT_THAT(v.get(9, 6), ElementsAre(0.75f, 0.75f));
  std::printf("KEY halve %s\n", halve.program().key().c_str());

  Kernel count("count", [&] {
    Var<int> sum = 0;
    ForEach(Cells<2>(block), [&](Int i, Int j) {
      sum += 1;
      If(i == 2, [&] { Deactivate(block, i, j); });
    });
    return sum;
  });
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(block.CountActive(), 1);
  Kernel ask("ask", [&](Value<int> i) {
    Activate(block, i, 7);
    return Cast<int>(IsActive(block, i, 7)) + 2 * Cast<int>(IsActive(block, 2, 1));
  });
  EXPECT_EQ(ask(7), 1);

  std::vector<float> all(32 * 32, 7);
  x.CopyTo(all.data());
  EXPECT_EQ(all[5 * 32 + 6], 0.75f);
  EXPECT_EQ(all[9 * 32 + 6], 0);
  all.assign(32 * 32, 2);
  x.CopyFrom(all.data());
  EXPECT_EQ(block.CountActive(), 64);
  block.DeactivateAll();
  EXPECT_EQ(x.get(5, 6), 0);
}

TEST(TreeTest, Lists) {
  Tree tree;
  const SNode list = tree.root().dense("i", {4}).dynamic("j", 8, 4);
  const TreeField<int, 2> x(list);
  Kernel fill("fill", [&](Value<int> n) {
    ForEach(Range(4), [&](Int i) { For(Range(n), [&](Int k) { Append(x, k * 10 + i, i); }); });
  });
  fill(3);
  EXPECT_EQ(x.get(2, 1), 12);
  Kernel length("length", [&](Value<int> i) { return Length(list, i); });
  EXPECT_EQ(length(1), 3);
  fill(7);
  EXPECT_EQ(length(1), 8) << "full";
  Kernel sum("sum", [&] {
    Var<int> all = 0;
    ForEach(x, [&](Int i, Int j) { all += x(i, j) + 100 * j; });
    return all;
  });
  int expected = 0;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 8; ++j) expected += (j < 3 ? j : j - 3) * 10 + i + 100 * j;
  }
  EXPECT_EQ(sum(), expected);
  EXPECT_EQ(list.CountActive(), 32);
  Kernel clear("clear", [&] { Deactivate(list, 2); });
  clear();
  EXPECT_EQ(length(2), 0);
}

TEST(TreeTest, TreesWithoutSparseSNodes) {
  Tree tree;
  const SNode blocks = tree.root().dense("ij", {2, 2}).dense("ij", {3, 3});
  const TreeField<double, 2> x(blocks), y(blocks);
  x.set(0.5, 4, 5);
  Kernel scale("scale", [&](Value<double> by) {
    ForEach(x, [&](Int i, Int j) { y(i, j) = by * x(i, j) + Cast<double>(i); });
  });
  scale(4);
  EXPECT_EQ(y.get(4, 5), 6);
  EXPECT_EQ(y.get(0, 5), 0);
  EXPECT_THAT(ErrorOf([&] { blocks.CountActive(); }),
              HasSubstr("dense (SNode 2) has no cells to activate"));
}

TEST(TreeTest, TreesThatAreWrong) {
  Tree tree;
  const SNode list = tree.root().dynamic("i", 8);
  const TreeField<float, 2> x(list);
  EXPECT_THAT(ErrorOf([&] { x.get(0, 0); }),
              HasSubstr("the SNodes above the field have 1 axes, expected 2"));
  EXPECT_THAT(ErrorOf([&] { TreeField<int, 1>(list).get(0); }), HasSubstr("can no longer grow"));

  const TreeField<float, 1> y(Tree().root().pointer("i", {8}));
  EXPECT_THAT(ErrorOf([&] { y.get(8); }), HasSubstr("index 8 of axis 0 of a field with 8"));
  EXPECT_THAT(ErrorOf([] { Tree().root().dense("ij", {8}); }),
              HasSubstr("dense: axes 'ij' with 1 extents"));
  EXPECT_THAT(ErrorOf([] { TreeField<int, 1>(Tree().root().dense("x", {8})).get(0); }),
              HasSubstr("axes 'x': expected letters from 'i' to 't'"));
  EXPECT_THAT(ErrorOf([] {
                const Tree bad;
                bad.root().dynamic("i", 8).pointer("i", {2});
                bad.Finish();
              }),
              HasSubstr("SNode"));
  const int line = __LINE__ + 1;  // of the macro
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { Append(y, 1); }); }),
              HasSubstr(__FILE__ ":" + std::to_string(line) +
                        ": append of a pointer SNode, which has no such op"));
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { Activate(y.parent(), 1, 2); }); }),
              HasSubstr("activate takes 1 indices, got 2"));
}

TEST(TreeTest, MemoryOfTrees) {
  Service service = OnTestArch();
  service.snode_memory_GB = 0.01;
  Use(service);
  Tree tree;
  const SNode block = tree.root().pointer("i", {64});
  const TreeField<float, 1> x(block.dense("i", {1 << 18}));  // 1 MiB each
  Use(OnTestArch());                                         // the tree keeps its limit
  Kernel touch("touch", [&](Value<int> n) { For(Range(n), [&](Int i) { x(i * (1 << 18)) = 1; }); });
  touch(6);
  EXPECT_EQ(block.CountActive(), 6);
  EXPECT_THAT(ErrorOf([&] {
                touch(64);
                Sync();
              }),
              HasSubstr("memory"));
}

}  // namespace
