// Many threads on one tree. Also built with the thread sanitizer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "runtime/device_lib/tree.h"
#include "runtime/tree/test_tree.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

constexpr int kThreads = 4;

template <typename Body>
void OnThreads(const Body& body) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

// The functions of a launch's context, without a launch.
uint8_t* MakeCell(const KilnContext*, KilnNode* node, uint8_t** slot) {
  std::string why;
  uint8_t* cell = Tree::Activate(node, slot, &why);
  return cell == nullptr ? node->dump : cell;
}
uint8_t* MakeChunk(const KilnContext*, KilnNode* node, uint8_t* container, uint64_t chunk) {
  std::string why;
  uint8_t* made = Tree::ActivateChunk(node, container, chunk, &why);
  return made == nullptr ? node->dump : made;
}
constexpr KilnRuntime kFunctions = {nullptr, nullptr, &MakeCell, &MakeChunk,
                                    nullptr, nullptr, nullptr,   nullptr};
constexpr KilnContext kContext = {nullptr, nullptr, nullptr, &kFunctions};

void Add(uint8_t* at, int32_t number) {
  __atomic_fetch_add(reinterpret_cast<int32_t*>(at), number, __ATOMIC_RELAXED);
}

TEST(TreeStressTest, ThreadsThatActivateTheSameCellsShareThem) {
  TestTree t;
  const int outer = t.Add(proto::SNODE_POINTER, 0, {{0, 500}});
  const int inner = t.Add(proto::SNODE_POINTER, outer, {{0, 4}});
  const int x = t.Place(inner);
  auto tree = t.Make();
  const auto& layout = tree->shape();
  for (int round = 0; round < 20; ++round) {
    OnThreads([&](int) {
      for (uint64_t i = 0; i < 2000; ++i) {
        uint8_t* cell = kiln_pointer_activate(&kContext, tree->node(outer),
                                              tree->root() + layout[outer].offset, i / 4);
        cell =
            kiln_pointer_activate(&kContext, tree->node(inner), cell + layout[inner].offset, i % 4);
        Add(cell, 1);
      }
    });
    for (int64_t i = 0; i < 2000; ++i) ASSERT_EQ(ReadI32(*tree, x, {i}), kThreads);
    ASSERT_EQ(tree->Stats(inner).cells_made, 2000u * (round + 1));
    ASSERT_EQ(tree->List(inner, true)->size(), 500);
    tree->DeactivateAll(outer);
    tree->Collect();
  }
}

TEST(TreeStressTest, AppendsTakeEachCellOnce) {
  for (const int chunk : {16, 4096}) {
    TestTree t;
    const int list = t.Add(proto::SNODE_DYNAMIC, 0, {{0, 4096}}, chunk);
    const int x = t.Place(list);
    auto tree = t.Make();
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> full{0};
      OnThreads([&](int) {
        for (int i = 0; i < 1500; ++i) {
          uint8_t* cell;
          const int32_t number =
              kiln_dynamic_append(&kContext, tree->node(list), tree->root(), 4096, chunk, 4, &cell);
          if (number < 0) {
            ++full;
          } else {
            Add(cell, number + 1);
          }
        }
      });
      EXPECT_EQ(full, kThreads * 1500 - 4096);
      EXPECT_EQ(*tree->Length(list, At{}.data()), 4096);
      for (int i = 0; i < 4096; ++i) ASSERT_EQ(ReadI32(*tree, x, {i}), i + 1);
      ASSERT_TRUE(tree->Deactivate(list, At{}.data()).ok());
      tree->Collect();
    }
  }
}

TEST(TreeStressTest, BitsOfOneWordAreSetByManyThreads) {
  TestTree t;
  const int mask = t.Add(proto::SNODE_BITMASKED, 0, {{0, 10'000}});
  t.Place(mask);
  auto tree = t.Make();
  uint8_t* words = tree->root() + tree->shape()[mask].mask_offset;
  OnThreads([&](int thread) {
    for (uint64_t i = thread; i < 10'000; i += kThreads) {
      kiln_bitmasked_activate(tree->node(mask), words, i);
    }
  });
  EXPECT_EQ(tree->CountActive(mask), 10'000u);
}

// Lists, activation, deactivation and collection from different threads at the same time: in any
// order, only deactivated data is lost, and lists contain only cells of the tree.
TEST(TreeStressTest, AllOperationsConcurrently) {
  TestTree t;
  const int outer = t.Add(proto::SNODE_POINTER, 0, {{0, 64}});
  const int mask = t.Add(proto::SNODE_BITMASKED, outer, {{0, 33}});
  const int inner = t.Add(proto::SNODE_POINTER, mask, {{0, 3}});
  const int list = t.Add(proto::SNODE_DYNAMIC, inner, {{1, 40}}, 8);
  const int x = t.Place(list);
  auto tree = t.Make();
  std::atomic<bool> stop{false};
  std::thread lists([&] {
    while (!stop) {
      for (const int node : {outer, mask, inner, list}) {
        for (const bool slices : {false, true}) {
          const auto made = tree->List(node, slices);
          for (int64_t i = 0; i < made->size(); ++i) ASSERT_NE(made->data()[i].cell, nullptr);
        }
      }
      tree->CountActive(list);
    }
  });
  OnThreads([&](int thread) {
    // Each thread has its own cells; threads share containers and words.
    uint32_t random = thread + 1;
    for (int i = 0; i < 20'000; ++i) {
      random = random * 1664525 + 1013904223;
      const uint32_t draw = random >> 8;
      const int64_t block = draw % 16 * kThreads + thread;
      const At at = {block * 99 + draw / 16 % 99, draw / 1600 % 40};
      if (draw % 97 == 0) {
        ASSERT_TRUE(tree->Deactivate(outer, At{block}.data()).ok());
        // The thread that makes lists may still read cells, so other threads collect.
      } else if (draw % 53 == 0) {
        ASSERT_TRUE(tree->Deactivate(list, at.data()).ok());
      } else {
        auto cell = tree->Locate(x, at.data(), CellAccess::kWrite);
        ASSERT_TRUE(cell.ok());
        __atomic_store_n(reinterpret_cast<int32_t*>(*cell), 1, __ATOMIC_RELAXED);
      }
    }
  });
  stop = true;
  lists.join();
  tree->Collect();
  for (const int node : {outer, inner, list}) {
    EXPECT_LE(tree->Stats(node).cells_collected, tree->Stats(node).cells_made);
  }
  tree->DeactivateAll(0);
  tree->Collect();
  EXPECT_EQ(tree->Stats(outer).cells_collected, tree->Stats(outer).cells_made);
  EXPECT_EQ(tree->Stats(inner).cells_collected, tree->Stats(inner).cells_made);
}

#ifndef __SANITIZE_THREAD__
TEST(TreeStressTest, ForkedChildrenContinueDespiteHeldLocks) {
  TestTree t;
  const int block = t.Add(proto::SNODE_POINTER, 0, {{0, 1000}});
  const int x = t.Place(t.Add(proto::SNODE_DENSE, block, {{0, 16}}));
  auto tree = t.Make();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      for (int64_t i = 0; i < 500; ++i) {
        (void)tree->Locate(x, At{i * 16}.data(), CellAccess::kWrite);
      }
      (void)tree->List(block, false);
      tree->DeactivateAll(block);
      tree->Collect();
    }
  });
  for (int child = 0; child < 50; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      for (int64_t i = 500; i < 1000; ++i) {
        auto cell = tree->Locate(x, At{i * 16}.data(), CellAccess::kWrite);
        if (!cell.ok() || *reinterpret_cast<int32_t*>(*cell) != 0) _exit(1);
        *reinterpret_cast<int32_t*>(*cell) = 1;
      }
      _exit(tree->List(block, false)->size() >= 500 ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}
#endif

}  // namespace
}  // namespace kiln
