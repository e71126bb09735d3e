#include "runtime/tree/tree.h"

#include <gmock/gmock.h>

#include "runtime/tree/test_tree.h"

namespace kiln {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TreeTest, PointerCellsAreMadeByWritesAndReadAsZeroWithout) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 4}, {1, 4}});
  const int dense = t.Add(proto::SNODE_DENSE, block, {{0, 8}, {1, 8}});
  const int x = t.Place(dense);
  auto tree = t.Make();
  EXPECT_EQ(ReadI32(*tree, x, {9, 3}), 0);
  EXPECT_FALSE(IsActive(*tree, block, {1, 0}));
  EXPECT_EQ(tree->CountActive(dense), 0u);
  WriteI32(*tree, x, {9, 3}, 5);
  EXPECT_TRUE(IsActive(*tree, block, {1, 0}));
  EXPECT_FALSE(IsActive(*tree, block, {0, 0}));
  EXPECT_TRUE(IsActive(*tree, dense, {8, 0}));
  EXPECT_FALSE(IsActive(*tree, dense, {7, 0}));
  EXPECT_EQ(ReadI32(*tree, x, {9, 3}), 5);
  EXPECT_EQ(ReadI32(*tree, x, {9, 4}), 0);
  EXPECT_EQ(tree->CountActive(block), 1u);
  EXPECT_EQ(tree->CountActive(dense), 64u);
  EXPECT_EQ(tree->Stats(block).cells_made, 1u);
}

TEST(TreeTest, ReadsOfInactiveCellsYieldZeros) {
  TestTree t;
  const int outer = t.Add(proto::SNODE_POINTER, 0, {{0, 4}});
  const int inner = t.Add(proto::SNODE_POINTER, outer, {{0, 4}});
  const int x = t.Place(inner);
  auto tree = t.Make();
  auto ambient = tree->Locate(x, At{5}.data(), CellAccess::kRead);
  EXPECT_EQ(*ambient, tree->node(inner)->ambient);
  EXPECT_EQ(*tree->Locate(x, At{5}.data(), CellAccess::kFind), nullptr);
  ASSERT_TRUE(tree->Deactivate(inner, At{5}.data()).ok());
  tree->Collect();
  EXPECT_EQ(tree->Stats(inner).cells_collected, 0u);
  EXPECT_EQ(tree->node(0), nullptr);
  EXPECT_EQ(tree->node(x), nullptr);
}

TEST(TreeTest, IndicesBeyondTheNodeAreErrors) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{1, 4}});
  const int x = t.Place(t.Add(proto::SNODE_DENSE, block, {{1, 3}}));
  auto tree = t.Make(nullptr, {"", "grid"});
  for (const int64_t index : {int64_t{-1}, int64_t{12}, int64_t{1} << 40}) {
    EXPECT_EQ(tree->Locate(x, At{0, index}.data(), CellAccess::kWrite).error().code,
              ErrorCode::kOutOfRange);
  }
  EXPECT_THAT(tree->IsActive(block, At{0, 4}.data()).error().text,
              HasSubstr("index 4 along axis 1 of SNode 'grid' (pointer), which has 4 cells"));
  EXPECT_EQ(tree->CountActive(block), 0u);
}

TEST(TreeTest, BitmaskedKeepsItsDataWhenACellIsDeactivated) {
  TestTree t;
  const int mask = t.Add(proto::SNODE_BITMASKED, 0, {{0, 70}});
  const int x = t.Place(mask);
  auto tree = t.Make();
  WriteI32(*tree, x, {69}, 7);
  EXPECT_TRUE(IsActive(*tree, mask, {69}));
  EXPECT_FALSE(IsActive(*tree, mask, {68}));
  EXPECT_EQ(tree->node(mask)->changed, 1u);
  ASSERT_TRUE(tree->Deactivate(mask, At{69}.data()).ok());
  tree->Collect();
  EXPECT_FALSE(IsActive(*tree, mask, {69}));
  EXPECT_EQ(*tree->Locate(x, At{69}.data(), CellAccess::kFind), nullptr);
  EXPECT_EQ(ReadI32(*tree, x, {69}), 7);
}

class DynamicTest : public ::testing::TestWithParam<int> {};

TEST_P(DynamicTest, GrowsByAppendsAndByWrites) {
  TestTree t;
  const int dynamic = t.Add(proto::SNODE_DYNAMIC, 0, {{0, 50}}, GetParam());
  const int x = t.Place(dynamic);
  auto tree = t.Make();
  EXPECT_EQ(*tree->Length(dynamic, At{}.data()), 0);
  for (int i = 0; i < 20; ++i) {
    uint8_t* cell = nullptr;
    EXPECT_EQ(*tree->Append(dynamic, At{}.data(), &cell), i);
    *reinterpret_cast<int32_t*>(cell) = 100 + i;
  }
  WriteI32(*tree, x, {40}, 9);
  EXPECT_EQ(*tree->Length(dynamic, At{}.data()), 41);
  EXPECT_TRUE(IsActive(*tree, dynamic, {30}));
  EXPECT_FALSE(IsActive(*tree, dynamic, {41}));
  EXPECT_EQ(ReadI32(*tree, x, {19}), 119);
  EXPECT_EQ(ReadI32(*tree, x, {30}), 0);
  EXPECT_EQ(ReadI32(*tree, x, {49}), 0);
  for (int i = 41; i < 50; ++i) {
    uint8_t* cell;
    EXPECT_EQ(*tree->Append(dynamic, At{}.data(), &cell), i);
  }
  uint8_t* none;
  EXPECT_EQ(*tree->Append(dynamic, At{}.data(), &none), -1);
  EXPECT_EQ(*tree->Length(dynamic, At{}.data()), 50);
  // Deactivating any cell of a dynamic container deactivates all of them.
  ASSERT_TRUE(tree->Deactivate(dynamic, At{3}.data()).ok());
  EXPECT_EQ(*tree->Length(dynamic, At{}.data()), 0);
  EXPECT_EQ(ReadI32(*tree, x, {19}), 0);
  const uint64_t made = tree->Stats(dynamic).cells_made;
  tree->Collect(dynamic);
  EXPECT_EQ(tree->Stats(dynamic).cells_collected, made);
  WriteI32(*tree, x, {45}, 1);
  for (int i = 0; i < 45; ++i) EXPECT_EQ(ReadI32(*tree, x, {i}), 0);
}

INSTANTIATE_TEST_SUITE_P(Chunks, DynamicTest, ::testing::Values(1, 7, 8, 49, 50, 64));

TEST(TreeTest, CountersAreOfCellsAndChunks) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 8}});
  const int list = t.Add(proto::SNODE_DYNAMIC, block, {{1, 64}}, 8);
  const int x = t.Place(list);
  auto tree = t.Make();
  auto expect = [&](int node, uint64_t made, uint64_t collected, uint64_t peak) {
    const NodeStats stats = tree->Stats(node);
    EXPECT_EQ(stats.cells_made, made) << node;
    EXPECT_EQ(stats.cells_collected, collected) << node;
    EXPECT_EQ(stats.cells_peak, peak) << node;
  };
  auto write = [&](int64_t blocks, int64_t chunks) {
    for (int64_t i = 0; i < blocks; ++i) {
      for (int64_t c = 0; c < chunks; ++c) WriteI32(*tree, x, {i, 8 * c}, 1);
    }
  };
  write(4, 3);
  expect(block, 4, 0, 4);
  expect(list, 12, 0, 12);
  // All chunks of a deactivated list, directly or with the cell that contains it.
  tree->DeactivateAll(list);
  expect(list, 12, 0, 12);
  tree->Collect();
  expect(block, 4, 0, 4);
  expect(list, 12, 12, 12);
  write(5, 1);
  expect(list, 17, 12, 12);
  tree->DeactivateAll(block);
  tree->Collect();
  expect(block, 5, 5, 5);
  expect(list, 17, 17, 12);
  write(4, 4);
  expect(block, 9, 5, 5);
  expect(list, 33, 17, 16);
}

TEST(TreeTest, CollectedCellsAreZeroAndUsedAgain) {
  TestTree t;
  const int outer = t.Add(proto::SNODE_POINTER, 0, {{0, 64}});
  const int middle = t.Add(proto::SNODE_DENSE, outer, {{0, 2}});
  const int mask = t.Add(proto::SNODE_BITMASKED, middle, {{0, 3}});
  const int inner = t.Add(proto::SNODE_POINTER, mask, {{0, 5}});
  const int list = t.Add(proto::SNODE_DYNAMIC, inner, {{1, 100}}, 10);
  const int x = t.Place(list);
  const int y = t.Place(inner);
  auto tree = t.Make();
  uint64_t bytes = 0;
  for (int round = 0; round < 100; ++round) {
    for (int64_t i = 0; i < 64 * 30; i += 7) {
      EXPECT_EQ(ReadI32(*tree, y, {i}), 0);
      EXPECT_EQ(ReadI32(*tree, x, {i, 15}), 0);
      EXPECT_EQ(*tree->Length(list, At{i}.data()), 0);
      WriteI32(*tree, y, {i}, 1);
      WriteI32(*tree, x, {i, 15}, 2);
    }
    // Nodes below are collected with their cells, whatever the masks are.
    ASSERT_TRUE(tree->Deactivate(mask, At{1}.data()).ok());
    for (int64_t i = 0; i < 64; ++i) ASSERT_TRUE(tree->Deactivate(outer, At{i}.data()).ok());
    EXPECT_EQ(tree->CountActive(inner), 0u);
    tree->Collect(outer);
    if (round == 0) bytes = tree->Stats().cell_bytes;
  }
  EXPECT_EQ(tree->Stats().cell_bytes, bytes);
  for (const int node : {outer, inner, list}) {
    EXPECT_EQ(tree->Stats(node).cells_made, tree->Stats(node).cells_collected) << node;
    EXPECT_GT(tree->Stats(node).cells_made, 0u);
  }
}

TEST(TreeTest, MemoryDoesNotGrowOverTenThousandRounds) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 16}});
  const int x = t.Place(t.Add(proto::SNODE_DENSE, block, {{0, 100}}));
  auto tree = t.Make();
  uint64_t bytes = 0;
  for (int round = 0; round < 10'000; ++round) {
    for (int64_t i = 0; i < 16; ++i) WriteI32(*tree, x, {i * 100}, 1);
    EXPECT_EQ(tree->List(block, false)->size(), 16);
    tree->DeactivateAll(0);
    tree->Collect();
    if (round == 20) bytes = tree->Stats().cell_bytes + tree->Stats().list_bytes;
  }
  EXPECT_EQ(tree->Stats().cell_bytes + tree->Stats().list_bytes, bytes);
}

TEST(TreeTest, LargeCellsAreZeroAgain) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 4}});
  const int x = t.Place(t.Add(proto::SNODE_DENSE, block, {{0, 300'000}}));
  auto tree = t.Make();
  for (int round = 0; round < 3; ++round) {
    for (const int64_t i : {0, 299'999, 400'000}) {
      EXPECT_EQ(ReadI32(*tree, x, {i}), 0);
      WriteI32(*tree, x, {i}, 3);
    }
    tree->DeactivateAll(block);
    tree->Collect();
  }
  EXPECT_EQ(tree->Stats(block).cells_made, 6u);
}

TEST(TreeTest, DeactivateAllOfASubtreeLeavesTheRest) {
  TestTree t;
  const int top = t.Add(proto::SNODE_DENSE, 0, {{0, 2}});
  const int a = t.Add(proto::SNODE_POINTER, top, {{0, 4}});
  const int ax = t.Place(a);
  const int mask = t.Add(proto::SNODE_BITMASKED, top, {{0, 4}});
  const int b = t.Add(proto::SNODE_POINTER, mask, {{0, 2}});
  const int bx = t.Place(b);
  const int list = t.Add(proto::SNODE_DYNAMIC, mask, {{1, 8}}, 4);
  const int lx = t.Place(list);
  auto tree = t.Make();
  for (int64_t i = 0; i < 8; ++i) {
    WriteI32(*tree, ax, {i}, 1);
    WriteI32(*tree, bx, {2 * i}, 2);
    WriteI32(*tree, lx, {i, 5}, 3);
  }
  tree->DeactivateAll(mask);
  EXPECT_EQ(tree->CountActive(a), 8u);
  EXPECT_EQ(tree->CountActive(mask), 0u);
  EXPECT_EQ(tree->CountActive(b), 0u);
  EXPECT_EQ(ReadI32(*tree, bx, {4}), 0);
  EXPECT_EQ(*tree->Length(list, At{3}.data()), 0);
  tree->Collect();
  EXPECT_EQ(tree->Stats(b).cells_collected, 8u);
  EXPECT_EQ(tree->Stats(list).cells_collected, 8u);
  tree->DeactivateAll(top);
  EXPECT_EQ(tree->CountActive(a), 0u);
}

// Containers that threads share, and more containers than one batch records.
TEST(TreeTest, DeactivatesLargeContainersAndManyOfThem) {
  TestTree t;
  const int pointer = t.Add(proto::SNODE_POINTER, 0, {{0, 100'000}});
  t.Place(pointer);
  const int mask = t.Add(proto::SNODE_BITMASKED, 0, {{0, 300'001}});
  const int list = t.Add(proto::SNODE_DYNAMIC, mask, {{1, 2}}, 1);
  const int y = t.Place(list);
  const int many = t.Add(proto::SNODE_DENSE, 0, {{0, 70'000}});
  const int small = t.Add(proto::SNODE_POINTER, many, {{0, 64}});
  t.Place(small);
  auto tree = t.Make();
  auto activate = [&](int node, int64_t cells, int64_t step) {
    for (int64_t i = 0; i < cells; i += step) {
      ASSERT_TRUE(tree->Locate(node, At{i}.data(), CellAccess::kWrite).ok());
    }
  };
  activate(pointer, 100'000, 3);
  activate(y, 300'001, 100);
  activate(small, 70'000 * 64, 41);
  EXPECT_EQ(tree->CountActive(mask), 3001u);
  EXPECT_EQ(tree->CountActive(list), 3001u);
  tree->DeactivateAll(pointer);
  EXPECT_EQ(tree->CountActive(pointer), 0u);
  EXPECT_EQ(tree->CountActive(mask), 3001u);
  tree->DeactivateAll(0);
  EXPECT_EQ(tree->CountActive(mask), 0u);
  EXPECT_EQ(tree->CountActive(small), 0u);
  EXPECT_EQ(tree->List(mask, false)->size(), 0);
  // Cells that are no longer active are empty, too.
  for (int64_t i = 0; i < 300'001; i += 100) ASSERT_EQ(*tree->Length(list, At{i}.data()), 0) << i;
  tree->Collect();
  for (const int node : {pointer, list, small}) {
    EXPECT_EQ(tree->Stats(node).cells_collected, tree->Stats(node).cells_made) << node;
  }
  EXPECT_EQ(tree->Stats(small).cells_collected, (70'000u * 64 + 40) / 41);
}

TEST(TreeTest, CellsBelowAClearedBitmaskedCellStay) {
  TestTree t;
  const int mask = t.Add(proto::SNODE_BITMASKED, 0, {{0, 4}});
  const int b = t.Add(proto::SNODE_POINTER, mask, {{0, 2}});
  const int bx = t.Place(b);
  auto tree = t.Make();
  WriteI32(*tree, bx, {3}, 2);
  ASSERT_TRUE(tree->Deactivate(mask, At{1}.data()).ok());
  EXPECT_EQ(ReadI32(*tree, bx, {3}), 2);
  EXPECT_TRUE(IsActive(*tree, b, {3}));
  EXPECT_EQ(tree->List(b, false)->size(), 0);
  EXPECT_EQ(tree->CountActive(b), 0u);
}

TEST(TreeListTest, CellsComeInOrder) {
  TestTree t;
  const int outer = t.Add(proto::SNODE_POINTER, 0, {{0, 3}, {1, 3}});
  const int dense = t.Add(proto::SNODE_DENSE, outer, {{0, 2}});
  const int inner = t.Add(proto::SNODE_POINTER, dense, {{0, 2}, {1, 2}});
  const int x = t.Place(inner);
  auto tree = t.Make();
  // Physical extents: axis 0 is 12 long, axis 1 is 6.
  for (const At& at : {At{11, 5}, At{0, 0}, At{5, 1}, At{4, 3}, At{0, 5}}) {
    WriteI32(*tree, x, at, 1);
  }
  EXPECT_THAT(Indices(*tree->List(outer, false), 2),
              ElementsAre(std::vector{0, 0}, std::vector{0, 2}, std::vector{1, 0},
                          std::vector{1, 1}, std::vector{2, 2}));
  const auto cells = tree->List(inner, false);
  EXPECT_THAT(Indices(*cells, 2),
              ElementsAre(std::vector{0, 0}, std::vector{0, 5}, std::vector{5, 1},
                          std::vector{4, 3}, std::vector{11, 5}));
  for (int64_t i = 0; i < cells->size(); ++i) {
    const KilnElement& e = cells->data()[i];
    EXPECT_EQ(e.cell, *tree->Locate(inner, At{e.at[0], e.at[1]}.data(), CellAccess::kFind));
  }
  const auto slices = tree->List(inner, true);
  ASSERT_EQ(slices->size(), 5);
  EXPECT_EQ(slices->data()[2].begin, 0);
  EXPECT_EQ(slices->data()[2].count, 4);
  EXPECT_EQ(slices->data()[2].at[0], 4);
  EXPECT_EQ(slices->data()[2].at[1], 0);
}

TEST(TreeListTest, ListsAreKeptUntilTheNodeOrOneAboveChanges) {
  TestTree t;
  const int outer = t.Add(proto::SNODE_POINTER, 0, {{0, 8}});
  const int inner = t.Add(proto::SNODE_BITMASKED, outer, {{0, 64}});
  const int x = t.Place(inner);
  const int other = t.Add(proto::SNODE_POINTER, 0, {{0, 8}});
  const int y = t.Place(other);
  auto tree = t.Make();
  WriteI32(*tree, x, {3}, 1);
  const auto first = tree->List(inner, true);
  EXPECT_EQ(first->size(), 1);
  WriteI32(*tree, y, {3}, 1);
  WriteI32(*tree, x, {3}, 2);
  EXPECT_EQ(tree->List(inner, true), first);
  EXPECT_EQ(tree->List(outer, false)->size(), 1);  // built for the inner list
  EXPECT_EQ(tree->Stats().lists_made, 2u);
  EXPECT_EQ(tree->Stats().lists_kept, 2u);
  // Building one list must not mark the others as current.
  WriteI32(*tree, x, {64}, 1);
  EXPECT_EQ(tree->List(outer, false)->size(), 2);
  const auto second = tree->List(inner, true);
  EXPECT_EQ(second->size(), 2);
  // A launch that still uses a list keeps it unchanged.
  EXPECT_EQ(first->size(), 1);
  EXPECT_EQ(first->data()[0].at[0], 0);
  ASSERT_TRUE(tree->Deactivate(outer, At{0}.data()).ok());
  EXPECT_THAT(Indices(*tree->List(inner, true), 1), ElementsAre(std::vector{64}));
}

TEST(TreeListTest, SlicesOfABitmaskAreWholeNonEmptyWords) {
  TestTree t;
  const int mask = t.Add(proto::SNODE_BITMASKED, 0, {{0, 100'001}});
  const int x = t.Place(mask);
  auto tree = t.Make();
  for (const int64_t i : {0, 31, 5000, 100'000}) WriteI32(*tree, x, {i}, 1);
  const auto list = tree->List(mask, true);
  ASSERT_EQ(list->size(), 3);
  const KilnElement* e = list->data();
  EXPECT_EQ(e[0].begin, 0);
  EXPECT_EQ(e[0].count, 1024);
  EXPECT_EQ(e[1].begin, 4096);
  EXPECT_EQ(e[2].begin + e[2].count, 100'001);
  EXPECT_EQ(e[2].begin % 32, 0);
  EXPECT_EQ(e[2].cell, e[0].cell);
  EXPECT_EQ(tree->List(mask, false)->size(), 4);
}

TEST(TreeListTest, SmallContainersAreDividedForAllThreads) {
  TestTree t;
  const int pointer = t.Add(proto::SNODE_POINTER, 0, {{0, 1024}});
  const int x = t.Place(pointer);
  auto tree = t.Make();
  for (int64_t i = 0; i < 1024; ++i) WriteI32(*tree, x, {i}, 1);
  EXPECT_EQ(tree->List(pointer, true)->size(), 32);
}

TEST(TreeListTest, SlicesOfDynamicNodesStayInChunks) {
  TestTree t;
  const int dense = t.Add(proto::SNODE_DENSE, 0, {{0, 3}});
  const int dynamic = t.Add(proto::SNODE_DYNAMIC, dense, {{1, 10'000}}, 3000);
  const int x = t.Place(dynamic);
  auto tree = t.Make();
  WriteI32(*tree, x, {1, 6999}, 1);
  WriteI32(*tree, x, {2, 0}, 1);
  const auto list = tree->List(dynamic, true);
  std::vector<int32_t*> cells(7000);
  for (int64_t i = 0; i + 1 < list->size(); ++i) {
    const KilnElement& e = list->data()[i];
    EXPECT_EQ(e.at[0], 1);
    EXPECT_EQ(e.at[1], 0);
    EXPECT_EQ(e.begin / 3000, (e.begin + e.count - 1) / 3000);
    for (int c = 0; c < e.count; ++c) {
      cells[e.begin + c] = reinterpret_cast<int32_t*>(e.cell) + c;
      *cells[e.begin + c] += e.begin + c;
    }
  }
  EXPECT_EQ(ReadI32(*tree, x, {1, 6999}), 7000);
  for (int i = 0; i < 6999; ++i) EXPECT_EQ(ReadI32(*tree, x, {1, i}), i);
  EXPECT_EQ(list->data()[list->size() - 1].at[0], 2);
  EXPECT_EQ(tree->List(dynamic, false)->size(), 7001);
}

TEST(TreeListTest, LongListsDoNotDependOnThreads) {
  TestTree t;
  const int dense = t.Add(proto::SNODE_DENSE, 0, {{0, 10}});
  const int pointer = t.Add(proto::SNODE_POINTER, dense, {{0, 100}, {1, 1000}});
  const int mask = t.Add(proto::SNODE_BITMASKED, pointer, {{1, 2}});
  t.Place(mask);
  auto tree = t.Make();
  for (int64_t i = 0; i < 1'000'000; i += 3) {
    const At at = {i / 1000, i % 1000};
    ASSERT_TRUE(tree->Locate(pointer, at.data(), CellAccess::kWrite).ok());
  }
  const auto list = tree->List(pointer, false, 4);
  ASSERT_EQ(list->size(), 333'334);
  for (int64_t i = 0; i < list->size(); ++i) {
    const KilnElement& e = list->data()[i];
    ASSERT_EQ(e.at[0], 3 * i / 1000);
    ASSERT_EQ(e.at[1], 3 * i % 1000);
  }
  EXPECT_EQ(tree->List(mask, true)->size(), 0);
}

TEST(TreeWalkTest, RunsAreRowsOfActiveNeighbours) {
  TestTree t;
  const int mask = t.Add(proto::SNODE_BITMASKED, 0, {{0, 3}, {1, 40}});
  const int dense = t.Add(proto::SNODE_DENSE, mask, {{1, 2}});
  const int x = t.Place(dense);
  auto tree = t.Make();
  for (int64_t j = 30; j < 40; ++j) WriteI32(*tree, x, {0, 2 * j}, 1);
  for (int64_t j = 0; j < 3; ++j) WriteI32(*tree, x, {1, 2 * j}, 1);
  std::vector<std::vector<int>> runs;
  tree->ForEachRun(mask, [&](const CellRun& run) {
    runs.push_back({run.at[0], run.at[1], static_cast<int>(run.count)});
    EXPECT_EQ(*tree->Locate(mask, At{run.at[0], run.at[1]}.data(), CellAccess::kFind), run.cell);
  });
  // Runs end at the words of a mask.
  EXPECT_THAT(runs,
              ElementsAre(std::vector{0, 30, 2}, std::vector{0, 32, 8}, std::vector{1, 0, 3}));
  runs.clear();
  tree->ForEachRun(dense, [&](const CellRun& run) {
    runs.push_back({run.at[0], run.at[1], static_cast<int>(run.count)});
  });
  EXPECT_EQ(runs.size(), 13u);
  EXPECT_EQ(runs[12], (std::vector{1, 4, 2}));
}

TEST(TreeMemoryTest, AtTheLimitTheErrorNamesTheNodeAndDataStays) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 1000}});
  const int x = t.Place(t.Add(proto::SNODE_DENSE, block, {{0, 256}}));
  auto budget = std::make_shared<MemoryBudget>(100'000);
  auto tree = t.Make(budget, {"", "grid"});
  EXPECT_EQ(budget->used(), 8000u);
  int made = 0;
  Error error{};
  for (; made < 1000; ++made) {
    const At at = {made * 256};
    const auto located = tree->Locate(x, at.data(), CellAccess::kWrite);
    if (located.ok()) continue;
    error = located.error();
    break;
  }
  // Spans that are reserved ahead must not reduce the usable limit.
  EXPECT_EQ(made, 92'000 / 1024);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(error.text, HasSubstr("'grid' (pointer), 1024 bytes"));
  EXPECT_THAT(error.text, HasSubstr("limit of 100000 bytes"));
  EXPECT_EQ(tree->CountActive(block), static_cast<uint64_t>(made));
  EXPECT_EQ(ReadI32(*tree, x, {made * 256}), 0);
  // A collection makes room again.
  ASSERT_TRUE(tree->Deactivate(block, At{3}.data()).ok());
  tree->Collect();
  WriteI32(*tree, x, {made * 256}, 4);
  EXPECT_EQ(ReadI32(*tree, x, {made * 256}), 4);
  tree.reset();
  EXPECT_EQ(budget->used(), 0u);
}

// Memory that one SNode does not use is available to the other.
TEST(TreeMemoryTest, TheLimitCountsLargeCellsOneByOne) {
  TestTree t;
  constexpr int64_t kValues = 1 << 17;  // 512 KiB
  std::vector<int> blocks, places;
  for (int i = 0; i < 2; ++i) {
    blocks.push_back(t.Add(proto::SNODE_POINTER, 0, {{0, 64}}));
    places.push_back(t.Place(t.Add(proto::SNODE_DENSE, blocks[i], {{0, kValues}})));
  }
  auto tree = t.Make(std::make_shared<MemoryBudget>(2 * 64 * 8 + 40 * 4 * kValues));
  for (int64_t i = 0; i < 33; ++i) WriteI32(*tree, places[0], {i * kValues}, 1);
  for (int64_t i = 0; i < 7; ++i) WriteI32(*tree, places[1], {i * kValues}, 2);
  EXPECT_FALSE(tree->Locate(places[1], At{7 * kValues}.data(), CellAccess::kWrite).ok());
  EXPECT_EQ(tree->CountActive(blocks[0]) + tree->CountActive(blocks[1]), 40u);
}

TEST(TreeMemoryTest, RefusedChunksDoNotChangeTheLength) {
  TestTree t;
  const int dynamic = t.Add(proto::SNODE_DYNAMIC, 0, {{0, 1 << 20}}, 1024);
  const int x = t.Place(dynamic);
  auto tree = t.Make(std::make_shared<MemoryBudget>(50'000));
  Result<int32_t> taken = 0;
  int count = 0;
  uint8_t* cell;
  while ((taken = tree->Append(dynamic, At{}.data(), &cell)).ok()) ++count;
  EXPECT_EQ(taken.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(*tree->Length(dynamic, At{}.data()), count);
  EXPECT_EQ(count % 1024, 0);
  EXPECT_FALSE(tree->Locate(x, At{1 << 19}.data(), CellAccess::kWrite).ok());
  EXPECT_EQ(*tree->Length(dynamic, At{}.data()), count);
  EXPECT_EQ(tree->List(dynamic, false)->size(), count);
}

TEST(TreeMemoryTest, RootsBeyondTheLimitAreRefused) {
  TestTree t;
  t.Place(t.Add(proto::SNODE_POINTER, 0, {{0, 1000}}));
  auto budget = std::make_shared<MemoryBudget>(7999);
  auto layout = TreeLayout::Make(t.tree());
  auto tree = Tree::Make(layout->shape(), {{}, budget});
  EXPECT_EQ(tree.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(tree.error().text, HasSubstr("8000 bytes"));
  EXPECT_EQ(budget->used(), 0u);
}

TEST(TreeMemoryTest, ManyTreesShareAndReleaseABudget) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 10}});
  const int x = t.Place(block);
  auto budget = std::make_shared<MemoryBudget>(uint64_t{1} << 40);
  std::vector<std::unique_ptr<Tree>> trees;
  for (int i = 0; i < 600; ++i) {
    trees.push_back(t.Make(budget));
    WriteI32(*trees.back(), x, {i % 10}, i);
  }
  for (int i = 0; i < 600; ++i) EXPECT_EQ(ReadI32(*trees[i], x, {i % 10}), i);
  EXPECT_LT(budget->used(), 600u * 8192);
  trees.clear();
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace kiln
