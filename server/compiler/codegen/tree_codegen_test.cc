// Kernels on trees with sparse levels, written as text, run on trees of the runtime.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/layout/layout.h"
#include "common/layout/tree_builder.h"
#include "runtime/cpu/host_target.h"
#include "runtime/tree/tree.h"
#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

// A tree, its text in kernels, and its data.
class TestTree : public TreeBuilder {
 public:
  int Dense(int parent, const Axes& axes) { return Add(proto::SNODE_DENSE, parent, axes); }
  int Pointer(int parent, const Axes& axes) { return Add(proto::SNODE_POINTER, parent, axes); }
  int Bitmasked(int parent, const Axes& axes) { return Add(proto::SNODE_BITMASKED, parent, axes); }
  int Dynamic(int parent, uint32_t axis, uint64_t extent, uint32_t chunk) {
    return Add(proto::SNODE_DYNAMIC, parent, {{axis, extent}}, chunk);
  }

  void Finish() {
    auto layout = TreeLayout::Make(tree());
    ASSERT_TRUE(layout.ok()) << layout.status();
    layout_.emplace(*std::move(layout));
    auto data = Tree::Make(layout_->shape(), TreeOptions());
    ASSERT_TRUE(data.ok()) << data.error().text;
    data_ = *std::move(data);
    for (int n = 0; n < size(); ++n) {
      if ((*layout_)[n].kind->is_place()) continue;
      number_[n] = static_cast<int>(nodes_.size());
      real_.push_back(n);
      nodes_.push_back(data_->node(n));
    }
  }

  // #kiln.tree with all nodes but places.
  std::string Text(int slot) const {
    std::vector<std::string> nodes;
    for (const int n : real_) {
      const NodeLayout& layout = (*layout_)[n];
      std::vector<int64_t> axes;
      for (const NodeLayout::Level& level : layout.levels) {
        axes.push_back(level.axis);
        axes.push_back(level.extent);
      }
      std::string text = absl::StrCat("#kiln.snode<", layout.kind->name);
      if (n != 0) absl::StrAppend(&text, ", parent = ", number_.at(layout.parent));
      absl::StrAppend(&text, ", axes = [", absl::StrJoin(axes, ", "), "]");
      absl::StrAppend(&text, ", cell_bytes = ", layout.cell_bytes);
      if (layout.offset != 0) absl::StrAppend(&text, ", offset = ", layout.offset);
      if (layout.mask_offset != 0) absl::StrAppend(&text, ", mask = ", layout.mask_offset);
      if (layout.chunk_cells != 0) absl::StrAppend(&text, ", chunk = ", layout.chunk_cells);
      nodes.push_back(text + ">");
    }
    return absl::StrCat("#kiln.tree<slot = ", slot, ", nodes = [", absl::StrJoin(nodes, ", "),
                        "]>");
  }
  // The storage of a place (or, with no type, of an SNode).
  std::string Field(const std::vector<int>& places, const std::string& type,
                    const std::string& axes, int tree = 0, const std::string& offset = "") const {
    std::vector<std::string> types, components;
    int node = number_.at(type.empty() ? places[0] : (*layout_)[places[0]].parent);
    for (const int place : places) {
      if (type.empty()) break;
      types.push_back(type);
      components.push_back(absl::StrCat(tree, ", ", number_.at((*layout_)[place].parent), ", ",
                                        (*layout_)[place].offset));
    }
    return absl::StrCat("#kiln.tree_field<tree = ", tree, ", node = ", node, ", axes = [", axes,
                        "], offset = [", offset, "], types = [", absl::StrJoin(types, ", "),
                        "], components = [", absl::StrJoin(components, ", "),
                        "], alias = 0, read_only = false>");
  }
  std::string SNode(int node, const std::string& axes, int tree = 0) const {
    return Field({node}, "", axes, tree);
  }

  std::vector<uint64_t> Slots() const {
    return {reinterpret_cast<uint64_t>(data_->root()), reinterpret_cast<uint64_t>(nodes_.data())};
  }
  int number(int node) const { return number_.at(node); }
  int real(int number) const { return real_[number]; }
  Tree& data() { return *data_; }
  int LastSparse(int node) const {
    while (data_->node(node) == nullptr) node = (*layout_)[node].parent;
    return node;
  }
  // Indices along axes 0 and 1.
  std::set<std::pair<int, int>> Active(int node) {
    std::set<std::pair<int, int>> cells;
    int last = 0;
    for (const NodeLayout::Level& level : (*layout_)[node].levels) last = level.axis;
    data_->ForEachRun(node, [&](const CellRun& run) {
      for (uint64_t k = 0; k < run.count; ++k) {
        std::array<int, kMaxIndices> at;
        std::copy(run.at, run.at + kMaxIndices, at.begin());
        at[last] += static_cast<int>(k);
        cells.insert({at[0], at[1]});
      }
    });
    return cells;
  }

  template <typename T>
  T Read(int place, const std::vector<int64_t>& at) {
    auto cell = data_->Locate(place, Full(at).data(), CellAccess::kRead);
    EXPECT_TRUE(cell.ok()) << cell.error().text;
    T value{};
    if (cell.ok()) std::memcpy(&value, *cell, sizeof(T));
    return value;
  }
  template <typename T>
  void Write(int place, const std::vector<int64_t>& at, T value) {
    auto cell = data_->Locate(place, Full(at).data(), CellAccess::kWrite);
    ASSERT_TRUE(cell.ok()) << cell.error().text;
    std::memcpy(*cell, &value, sizeof(T));
  }
  bool IsActive(int node, const std::vector<int64_t>& at) {
    auto active = data_->IsActive(node, Full(at).data());
    EXPECT_TRUE(active.ok()) << active.error().text;
    return active.ok() && *active;
  }
  int Length(int node, const std::vector<int64_t>& at) {
    const auto length = data_->Length(node, Full(at).data());
    return length.ok() ? *length : -1;
  }

 private:
  static std::vector<int64_t> Full(std::vector<int64_t> at) {
    at.resize(kMaxIndices);
    return at;
  }

  std::optional<TreeLayout> layout_;
  std::unique_ptr<Tree> data_;
  std::map<int, int> number_;  // in kernels, by node
  std::vector<int> real_;      // the other way round
  std::vector<KilnNode*> nodes_;
};

std::string Kernel(const std::vector<std::string>& trees, const std::vector<std::string>& storages,
                   const std::string& tasks, const std::string& results = "") {
  return absl::StrCat("kiln.kernel @k trees [", absl::StrJoin(trees, ", "), "] storages [",
                      absl::StrJoin(storages, ", "), "] results [", results, "] {\n", tasks,
                      "\nkiln.return\n}\n");
}

std::string Serial(const std::string& body) {
  return "kiln.task.serial \"s\" {\n" + body + "\nkiln.return\n}\n";
}

// A loop over storage `over`, and its list: that of `node`, of slices if `over` is that node
// itself. Indices are %i0, %i1, ...
std::string Struct(int over, int node, int indices, const std::string& body,
                   const std::string& finish = "", bool slices = false) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(indices) + 1);
  for (int i = 0; i < indices; ++i) names.push_back(absl::StrCat("%i", i, " : i32"));
  if (!finish.empty()) names.push_back("%acc : i32");
  return absl::StrCat("kiln.task.listgen \"l\" tree 0 node ", node, " \"path\"",
                      slices ? " {slices}\n" : "\n", "kiln.task.range_for \"t\" struct_for ", over,
                      " body (", absl::StrJoin(names, ", "), ") {\n", body, "\n}",
                      finish.empty() ? "" : " finish " + finish);
}

// A range task; indices %i0, %i1, ... from 0.
std::string Range(const std::vector<int>& extents, const std::string& body) {
  std::string constants = "%l = arith.constant 0 : i64\n";
  std::vector<std::string> bounds, types, indices;
  for (size_t d = 0; d < extents.size(); ++d) {
    absl::StrAppend(&constants, "%u", d, " = arith.constant ", extents[d], " : i64\n");
    bounds.push_back(absl::StrCat("%l, %u", d));
    types.push_back("i64, i64");
    indices.push_back(absl::StrCat("%i", d, " : i32"));
  }
  return absl::StrCat("kiln.task.range_for \"t\" bounds {\n", constants, "kiln.yield ",
                      absl::StrJoin(bounds, ", "), " : ", absl::StrJoin(types, ", "), "\n} body (",
                      absl::StrJoin(indices, ", "), ") {\n", body, "\n}");
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

struct Configuration {
  Target target;
  int opt_level;
};

class TreeCodegenTest : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (!HostTarget().Runs(GetParam().target)) GTEST_SKIP() << "not on this CPU";
  }

  // Compiles for a kernel of these trees.
  std::unique_ptr<TestKernel> Compile(const std::string& text,
                                      const std::vector<TestTree*>& trees) {
    TestKernel::Options options;
    options.target = GetParam().target;
    options.opt_level = GetParam().opt_level;
    auto made = TestKernel::Compile(text, options);
    EXPECT_TRUE(made.ok()) << made.status() << "\n" << text;
    if (!made.ok()) return nullptr;
    TestKernel& kernel = **made;
    kernel.runtime()->activate = [](const KilnContext*, KilnNode* node, uint8_t** slot) {
      std::string why;
      return Tree::Activate(node, slot, &why);
    };
    kernel.runtime()->activate_chunk = [](const KilnContext*, KilnNode* node, uint8_t* container,
                                          uint64_t chunk) {
      std::string why;
      return Tree::ActivateChunk(node, container, chunk, &why);
    };
    kernel.runtime()->deactivate = [](const KilnContext*, KilnNode* node, uint8_t* container,
                                      uint64_t cell) { Tree::Deactivate(node, container, cell); };
    kernel.runtime_task = [trees](const proto::Task& task) -> std::vector<KilnElement> {
      TestTree& tree = *trees[task.tree()];
      const int node = tree.real(static_cast<int>(task.node()));
      if (task.kind() == proto::TASK_GC) {
        tree.data().Collect(node);
        return {};
      }
      auto list = tree.data().List(node, task.slices());
      return {list->data(), list->data() + list->size()};
    };
    return *std::move(made);
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, TreeCodegenTest,
                         testing::Values(Configuration{Target::Cpu(3), 3},
                                         Configuration{Target::Cpu(4), 3},
                                         Configuration{Target::Cpu(3), 1},
                                         Configuration{Target::Cpu(3), 0}));

// x[i] = 10 i, stored from a loop over all i that %on allows.
constexpr char kStoreEveryThird[] = R"(
    %c3 = arith.constant 3 : i32
    %zero = arith.constant 0 : i32
    %c10 = arith.constant 10 : i32
    %rest = arith.remsi %i0, %c3 : i32
    %on = arith.cmpi eq, %rest, %zero : i32
    kiln.if %on {
      %v = arith.muli %i0, %c10 : i32
      %p = kiln.global 0 component 0 [%i0] : !kiln.addr<i32>
      kiln.store %v, %p : !kiln.addr<i32>
      kiln.yield
    }
    kiln.continue)";

// Every kind of level, and some below each other: what is written is active and there.
TEST_P(TreeCodegenTest, StoresActivateAndLoadsSeeZeroElsewhere) {
  const std::vector<std::function<int(TestTree&)>> shapes = {
      [](TestTree& t) { return t.Pointer(0, {{0, 60}}); },
      [](TestTree& t) { return t.Bitmasked(0, {{0, 60}}); },
      [](TestTree& t) { return t.Dynamic(0, 0, 60, 8); },
      [](TestTree& t) { return t.Dynamic(0, 0, 60, 64); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 6}}), {{0, 10}}); },
      [](TestTree& t) { return t.Pointer(t.Dense(0, {{0, 6}}), {{0, 10}}); },
      [](TestTree& t) {
        return t.Bitmasked(t.Pointer(t.Pointer(0, {{0, 3}}), {{0, 4}}), {{0, 5}});
      },
      [](TestTree& t) { return t.Pointer(t.Dense(t.Bitmasked(0, {{0, 3}}), {{0, 4}}), {{0, 5}}); },
  };
  for (const auto& shape : shapes) {
    TestTree tree;
    const int node = shape(tree);
    const int x = tree.Place(node, proto::I32);
    tree.Finish();
    auto kernel = Compile(
        Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0")}, Range({60}, kStoreEveryThird)),
        {&tree});
    ASSERT_NE(kernel, nullptr);
    kernel->Run(tree.Slots());
    for (int i = 0; i < 60; ++i) {
      EXPECT_EQ(tree.Read<int>(x, {i}), i % 3 == 0 ? 10 * i : 0) << i << tree.Text(0);
      if (i % 3 != 0) continue;
      EXPECT_TRUE(tree.IsActive(node, {i})) << i << tree.Text(0);
    }
  }
}

// Sums x over its active cells, and counts them; adds 1 to each.
TEST_P(TreeCodegenTest, LoopsVisitActiveCells) {
  const std::vector<std::function<int(TestTree&)>> shapes = {
      [](TestTree& t) { return t.Pointer(0, {{0, 8}, {1, 30}}); },
      [](TestTree& t) { return t.Bitmasked(0, {{0, 8}, {1, 30}}); },
      [](TestTree& t) { return t.Bitmasked(0, {{0, 2}, {1, 64}}); },
      [](TestTree& t) { return t.Bitmasked(t.Pointer(0, {{0, 4}, {1, 5}}), {{0, 3}, {1, 8}}); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 4}, {1, 5}}), {{0, 3}, {1, 8}}); },
      [](TestTree& t) {
        return t.Dense(t.Dense(t.Bitmasked(0, {{0, 4}, {1, 5}}), {{1, 3}}), {{0, 5}, {1, 2}});
      },
      [](TestTree& t) { return t.Dynamic(t.Dense(0, {{0, 6}}), 1, 40, 8); },
      [](TestTree& t) { return t.Dynamic(t.Pointer(0, {{0, 6}}), 1, 40, 64); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 2}}), {{0, 64}, {1, 128}}); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 2}}), {{1, 16384}}); },
  };
  const std::string body = R"(
    %one = arith.constant 1 : i32
    %c1000 = arith.constant 1000 : i32
    %p = kiln.global 0 component 0 [%i0, %i1] : !kiln.addr<i32>
    %x = kiln.load %p : !kiln.addr<i32>
    %s = arith.addi %acc, %one : i32
    %hi = arith.muli %i0, %c1000 : i32
    %at = arith.addi %hi, %i1 : i32
    %y = arith.addi %x, %at : i32
    kiln.store %y, %p : !kiln.addr<i32>
    kiln.continue %s : i32)";
  const std::string finish = R"((%n = 0 : i32) {
    %t = kiln.temporary 8 : !kiln.addr<i32>
    %old = kiln.atomic addi %n, %t : !kiln.addr<i32>
    kiln.yield
  })";
  const std::string give = Serial(R"(
    %t = kiln.temporary 8 : !kiln.addr<i32>
    %v = kiln.load %t : !kiln.addr<i32>
    kiln.result 0, %v : i32)");
  for (const auto& shape : shapes) {
    TestTree tree;
    const int node = shape(tree);
    const int x = tree.Place(node, proto::I32);
    tree.Finish();
    auto kernel = Compile(Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0, 1")},
                                 Struct(0, tree.number(tree.LastSparse(node)), 2, body, finish,
                                        tree.LastSparse(node) == node) +
                                     give,
                                 "i32"),
                          {&tree});
    ASSERT_NE(kernel, nullptr);
    for (int j = 0; j < 30; ++j) {
      for (const int i : {0, 1}) {
        if (j % 7 == i || i == 1) tree.Write<int>(x, {i, j}, 7);
      }
    }
    const std::set<std::pair<int, int>> active = tree.Active(node);
    std::map<std::pair<int, int>, int> values;
    for (auto [i, j] : active) values[{i, j}] = tree.Read<int>(x, {i, j});
    for (const int64_t chunk : {0, 1, 3}) {
      kernel->Run(tree.Slots(), chunk);
      EXPECT_EQ(kernel->result(0), active.size()) << tree.Text(0);
      for (auto [i, j] : active) {
        values[{i, j}] += i * 1000 + j;
        ASSERT_EQ(tree.Read<int>(x, {i, j}), (values[{i, j}])) << i << " " << j << tree.Text(0);
      }
      EXPECT_EQ(tree.Active(node), active);
    }
  }
}

// y[i, j] = the sum of x at (i, j) + each of the offsets.
std::string Stencil(const std::vector<std::pair<int, int>>& offsets) {
  std::string body = "%s0 = arith.constant 0 : i32\n";
  for (size_t n = 0; n < offsets.size(); ++n) {
    absl::StrAppend(&body, absl::StrReplaceAll(R"(
    %cin = arith.constant DI : i32
    %cjn = arith.constant DJ : i32
    %in = arith.addi %i0, %cin : i32
    %jn = arith.addi %i1, %cjn : i32
    %pn = kiln.global 0 component 0 [%in, %jn] : !kiln.addr<i32>
    %xn = kiln.load %pn : !kiln.addr<i32>
    %sm = arith.addi %sn, %xn : i32)",
                                               {{"%cin", absl::StrCat("%ci", n)},
                                                {"%cjn", absl::StrCat("%cj", n)},
                                                {"%in", absl::StrCat("%in", n)},
                                                {"%jn", absl::StrCat("%jn", n)},
                                                {"%pn", absl::StrCat("%p", n)},
                                                {"%xn", absl::StrCat("%x", n)},
                                                {"%sm", absl::StrCat("%s", n + 1)},
                                                {"%sn", absl::StrCat("%s", n)},
                                                {"DI", absl::StrCat(offsets[n].first)},
                                                {"DJ", absl::StrCat(offsets[n].second)}}));
  }
  return absl::StrCat(body, "\n%py = kiln.global 1 component 0 [%i0, %i1] : !kiln.addr<i32>\n",
                      "kiln.store %s", offsets.size(), ", %py : !kiln.addr<i32>\nkiln.continue");
}

TEST_P(TreeCodegenTest, NeighboursInOtherBlocks) {
  const std::vector<std::function<int(TestTree&)>> shapes = {
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 5}, {1, 3}}), {{0, 4}, {1, 8}}); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 5}, {1, 8}}), {{0, 4}, {1, 3}}); },
      [](TestTree& t) {
        const int pointer = t.Pointer(t.Pointer(0, {{0, 2}, {1, 3}}), {{0, 5}, {1, 2}});
        return t.Dense(t.Dense(pointer, {{1, 2}}), {{0, 2}, {1, 2}});
      },
      [](TestTree& t) { return t.Bitmasked(t.Pointer(0, {{0, 5}, {1, 3}}), {{0, 4}, {1, 8}}); },
      [](TestTree& t) { return t.Bitmasked(0, {{0, 20}, {1, 24}}); },
      [](TestTree& t) { return t.Pointer(t.Pointer(0, {{0, 5}, {1, 3}}), {{0, 4}, {1, 8}}); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{1, 3}}), {{0, 20}, {1, 8}}); },
      // Wide ones: 32 cells of a mask word are in one row.
      [](TestTree& t) { return t.Bitmasked(0, {{0, 20}, {1, 96}}); },
      [](TestTree& t) { return t.Bitmasked(t.Pointer(0, {{0, 5}}), {{0, 4}, {1, 96}}); },
      [](TestTree& t) { return t.Bitmasked(t.Pointer(0, {{1, 1}}), {{0, 20}, {1, 96}}); },
  };
  const std::vector<std::vector<std::pair<int, int>>> stencils = {
      {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}},
      {{-2, 1}, {2, 2}, {1, -1}, {0, 0}},
      {{0, 7}, {-9, 0}, {0, -9}}};
  for (const auto& shape : shapes) {
    for (const auto& stencil : stencils) {
      TestTree in, out;
      const int node = shape(in), x = in.Place(node, proto::I32);
      const int y = out.Place(shape(out), proto::I32);
      in.Finish();
      out.Finish();
      auto kernel = Compile(Kernel({in.Text(0), out.Text(2)},
                                   {in.Field({x}, "i32", "0, 1"), out.Field({y}, "i32", "0, 1", 1)},
                                   Struct(0, in.number(in.LastSparse(node)), 2, Stencil(stencil),
                                          "", in.LastSparse(node) == node)),
                            {&in, &out});
      ASSERT_NE(kernel, nullptr);
      const int width = in.Text(0).find("96") == std::string::npos ? 24 : 96;
      for (int i = 0; i < 20; ++i) {
        for (int j = 0; j < width; ++j) {
          if ((i / 4 + j / 8) % 2 == 0 || i % 3 == 2) in.Write<int>(x, {i, j}, 100 * i + j + 1);
        }
      }
      std::vector<uint64_t> slots = in.Slots();
      for (const uint64_t s : out.Slots()) slots.push_back(s);
      kernel->Run(slots, 2);
      for (auto [i, j] : in.Active(node)) {
        int sum = 0;
        for (auto [di, dj] : stencil) {
          const bool inside = i + di >= 0 && i + di < 20 && j + dj >= 0 && j + dj < width;
          if (inside) sum += in.Read<int>(x, {i + di, j + dj});
        }
        ASSERT_EQ(out.Read<int>(y, {i, j}), sum) << i << " " << j << in.Text(0);
      }
      EXPECT_EQ(out.Active(y - 1).size(), in.Active(node).size());
    }
  }
}

// Of a block's five neighbours in a list of cells, four are looked up, once each, and the
// rows in between vectorise.
TEST(TreeCodegen, StencilsLookBlocksUpOnce) {
  TestTree in, out;
  const auto shape = [](TestTree& t) {
    return t.Dense(t.Pointer(0, {{0, 8}, {1, 8}}), {{0, 16}, {1, 16}});
  };
  const int x = in.Place(shape(in), proto::I32), y = out.Place(shape(out), proto::I32);
  in.Finish();
  out.Finish();
  const std::string kernel = Kernel(
      {in.Text(0), out.Text(2)}, {in.Field({x}, "i32", "0, 1"), out.Field({y}, "i32", "0, 1", 1)},
      Struct(0, 1, 2, Stencil({{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}})));
  const std::string text = TestKernel::EmitText(kernel).value_or("");
  EXPECT_EQ(Count(text, "= getelementptr inbounds ptr, ptr"), 4) << text;  // slots
  EXPECT_EQ(Count(text, "call ptr @kiln_pointer_activate("), 1) << text;
  EXPECT_EQ(Count(text, "udiv"), 2) << text;  // the chunk's first and last element
  const std::string optimized = TestKernel::OptimizedText(kernel).value_or("");
  EXPECT_NE(optimized.find("add <8 x i32>"), std::string::npos) << optimized;
}

// Short rows are one loop from end to end, and selects choose the values past their ends. Not where
// the body writes what it reads.
TEST(TreeCodegen, ShortRowsAreWhole) {
  TestTree in, out;
  const auto shape = [](TestTree& t) {
    return t.Dense(t.Pointer(0, {{0, 8}, {1, 8}}), {{0, 8}, {1, 8}});
  };
  const int x = in.Place(shape(in), proto::I32), y = out.Place(shape(out), proto::I32);
  in.Finish();
  out.Finish();
  for (const int to : {0, 1}) {
    const std::string body = absl::StrReplaceAll(
        Stencil({{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}}),
        {{"kiln.global 1 component", absl::StrCat("kiln.global ", to, " component")}});
    const std::string kernel = Kernel(
        {in.Text(0), out.Text(2)}, {in.Field({x}, "i32", "0, 1"), out.Field({y}, "i32", "0, 1", 1)},
        Struct(0, 1, 2, body));
    const std::string text = TestKernel::EmitText(kernel).value_or("");
    EXPECT_EQ(Count(text, "\nrow:"), to) << text;
    if (to == 0) continue;
    const std::string optimized = TestKernel::OptimizedText(kernel).value_or("");
    EXPECT_NE(optimized.find("add <8 x i32>"), std::string::npos) << optimized;
    EXPECT_EQ(optimized.find("masked.gather"), std::string::npos) << optimized;
  }
}

// Sums along the rows of one block, in place: each cell sees what the one before wrote.
TEST_P(TreeCodegenTest, RowsInPlace) {
  TestTree tree;
  const int x =
      tree.Place(tree.Dense(tree.Pointer(0, {{0, 4}, {1, 4}}), {{0, 4}, {1, 16}}), proto::I32);
  tree.Finish();
  const std::string body =
      absl::StrReplaceAll(Stencil({{0, 0}, {0, -1}}), {{"kiln.global 1", "kiln.global 0"}});
  auto kernel = Compile(
      Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0, 1")}, Struct(0, 1, 2, body)), {&tree});
  ASSERT_NE(kernel, nullptr);
  for (int j = 0; j < 16; ++j) tree.Write<int>(x, {5, 16 + j}, j + 1);
  kernel->Run(tree.Slots());
  for (int j = 0; j < 16; ++j) EXPECT_EQ(tree.Read<int>(x, {5, 16 + j}), (j + 1) * (j + 2) / 2);
}

// Three components, read and written at an index that is no loop's, need one walk; so do
// several fields of a block.
TEST(TreeCodegen, LookupsAreRemembered) {
  TestTree tree;
  const int block = tree.Pointer(0, {{0, 8}});
  const int a = tree.Dense(block, {{0, 16}}), b = tree.Dense(block, {{0, 16}});
  const int x = tree.Place(a, proto::F32), y = tree.Place(a, proto::F32);
  const int z = tree.Place(b, proto::F32);
  tree.Finish();
  std::string body = R"(
    %c7 = arith.constant 7 : i32
    %h = arith.xori %i0, %c7 : i32)";
  for (int n = 0; n < 3; ++n) {
    absl::StrAppend(
        &body, absl::StrReplaceAll(
                   R"(
    %pN = kiln.global S component C [%h] : !kiln.addr<f32>
    %vN = kiln.load %pN : !kiln.addr<f32>
    %wN = arith.addf %vN, %vN fastmath<reassoc> : f32
    kiln.store %wN, %pN : !kiln.addr<f32>)",
                   {{"N", absl::StrCat(n)}, {"S", n == 2 ? "1" : "0"}, {"C", n == 1 ? "1" : "0"}}));
  }
  const std::string text =
      TestKernel::EmitText(Kernel({tree.Text(0)},
                                  {tree.Field({x, y}, "f32", "0"), tree.Field({z}, "f32", "0")},
                                  Range({128}, body + "\nkiln.continue")))
          .value_or("");
  EXPECT_EQ(Count(text, "call ptr @kiln_pointer_activate("), 1) << text;
}

TEST_P(TreeCodegenTest, IndicesOutOfRangeTouchNothing) {
  const std::vector<std::function<int(TestTree&)>> shapes = {
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{0, 4}}), {{0, 5}}); },
      [](TestTree& t) { return t.Pointer(t.Dense(0, {{0, 4}}), {{0, 5}}); },
      [](TestTree& t) { return t.Dense(t.Pointer(0, {{1, 4}}), {{0, 20}}); },
      [](TestTree& t) { return t.Bitmasked(0, {{0, 20}}); },
      [](TestTree& t) { return t.Dynamic(0, 0, 20, 4); },
  };
  for (const auto& shape : shapes) {
    TestTree tree;
    const int node = shape(tree), x = tree.Place(node, proto::I32);
    tree.Finish();
    const std::string body = R"(
      %i = kiln.argument 2 : i32
      %p = kiln.global 0 component 0 [%i] : !kiln.addr<i32>
      %v = kiln.load %p : !kiln.addr<i32>
      kiln.store %i, %p : !kiln.addr<i32>
      kiln.result 0, %v : i32)";
    auto kernel = Compile(
        Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0")}, Serial(body), "i32"), {&tree});
    ASSERT_NE(kernel, nullptr);
    for (int i = 0; i < 20; ++i) tree.Write<int>(x, {i}, i + 1);
    for (const int64_t i : {-1l, -7l, 20l, 21l, 1000000000l, -2147483648l, 2147483647l}) {
      std::vector<uint64_t> slots = tree.Slots();
      slots.push_back(static_cast<uint32_t>(i));
      kernel->Run(slots);
      EXPECT_EQ(kernel->result(0), 0u) << i << tree.Text(0);
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(tree.Read<int>(x, {i}), i + 1) << tree.Text(0);
  }
}

TEST_P(TreeCodegenTest, OpsOnSNodes) {
  TestTree tree;
  const int block = tree.Pointer(0, {{0, 4}}), mask = tree.Bitmasked(block, {{0, 8}});
  const int x = tree.Place(mask, proto::I32);
  const int list = tree.Dynamic(tree.Dense(0, {{0, 3}}), 1, 5, 2);
  const int item = tree.Place(list, proto::I32);
  tree.Finish();
  // Results: is_active of block 1 before and after, of cell 9, of block 1 once it is gone;
  // numbers of appended cells; the length before and after it is cleared.
  const std::string body = R"(
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c9 = arith.constant 9 : i32
    %c10 = arith.constant 10 : i32
    %a0 = kiln.is_active 1 [%c1]
    kiln.activate 2 [%c9]
    %a1 = kiln.is_active 1 [%c1]
    %a2 = kiln.is_active 2 [%c9]
    %a3 = kiln.is_active 2 [%c10]
    kiln.deactivate 1 [%c1]
    %a4 = kiln.is_active 1 [%c1]
    %a5 = kiln.is_active 2 [%c9]
    kiln.deactivate 1 [%c2]
    kiln.result 0, %a0 : i1
    kiln.result 1, %a1 : i1
    kiln.result 2, %a2 : i1
    kiln.result 3, %a3 : i1
    kiln.result 4, %a4 : i1
    kiln.result 5, %a5 : i1
    %n = arith.constant 7 : i32
    %zero = arith.constant 0 : i32
    %last = kiln.for %k = %zero to %n : i32 carry (%l = %zero : i32) {
      %m = kiln.append 3 [%c1]
      %p = kiln.global 4 component 0 [%c1, %m] : !kiln.addr<i32>
      kiln.store %k, %p : !kiln.addr<i32>
      kiln.continue %m : i32
    }
    kiln.result 6, %last : i32
    %l1 = kiln.length 3 [%c1]
    %l2 = kiln.length 3 [%c2]
    %p3 = kiln.global 4 component 0 [%c1, %c2] : !kiln.addr<i32>
    %third = kiln.load %p3 : !kiln.addr<i32>
    kiln.result 7, %l1 : i32
    kiln.result 8, %l2 : i32
    kiln.result 9, %third : i32
    kiln.deactivate 3 [%c1]
    %l3 = kiln.length 3 [%c1]
    kiln.result 10, %l3 : i32)";
  auto kernel =
      Compile(Kernel({tree.Text(0)},
                     {tree.Field({x}, "i32", "0"), tree.SNode(block, "0"), tree.SNode(mask, "0"),
                      tree.SNode(list, "0, 1"), tree.Field({item}, "i32", "0, 1")},
                     Serial(body), "i1, i1, i1, i1, i1, i1, i32, i32, i32, i32, i32"),
              {&tree});
  ASSERT_NE(kernel, nullptr);
  kernel->Run(tree.Slots());
  const std::vector<int> expected = {0, 1, 1, 0, 0, 0, -1, 5, 0, 2, 0};
  for (size_t r = 0; r < expected.size(); ++r) {
    EXPECT_EQ(static_cast<int32_t>(kernel->result(static_cast<int>(r))), expected[r]) << r;
  }
  EXPECT_FALSE(tree.IsActive(block, {1}));
  EXPECT_EQ(tree.Length(list, {1, 0}), 0);
}

// Appends of tasks that run on several threads; the task for one alone is made beside it.
TEST_P(TreeCodegenTest, AppendsInLoops) {
  TestTree tree;
  const int list = tree.Dynamic(tree.Dense(0, {{0, 3}}), 1, 12, 4);
  const int item = tree.Place(list, proto::I32);
  tree.Finish();
  const std::string body = R"(
    %c3 = arith.constant 3 : i32
    %l = arith.remsi %i0, %c3 : i32
    %n = kiln.append 0 [%l]
    %p = kiln.global 1 component 0 [%l, %n] : !kiln.addr<i32>
    kiln.store %i0, %p : !kiln.addr<i32>
    kiln.continue)";
  auto kernel =
      Compile(Kernel({tree.Text(0)}, {tree.SNode(list, "0, 1"), tree.Field({item}, "i32", "0, 1")},
                     Range({30}, body)),
              {&tree});
  ASSERT_NE(kernel, nullptr);
  EXPECT_FALSE(kernel->code().tasks[0].alone_symbol().empty());
  kernel->Run(tree.Slots(), 7);
  for (int l = 0; l < 3; ++l) {
    EXPECT_EQ(tree.Length(list, {l, 0}), 10);
    for (int n = 0; n < 10; ++n) EXPECT_EQ(tree.Read<int>(item, {l, n}), 3 * n + l);
  }
}

// no_activate: what goes to inactive cells is lost.
TEST_P(TreeCodegenTest, StoresThatActivateNothing) {
  TestTree tree;
  const int node = tree.Dense(tree.Pointer(0, {{0, 4}}), {{0, 4}});
  const int x = tree.Place(node, proto::I32);
  tree.Finish();
  const std::string body = R"(
    %p = kiln.global 0 component 0 [%i0] {no_activate} : !kiln.addr<i32>
    kiln.store %i0, %p : !kiln.addr<i32>
    kiln.continue)";
  auto kernel =
      Compile(Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0")}, Range({16}, body)), {&tree});
  ASSERT_NE(kernel, nullptr);
  tree.Write<int>(x, {5}, 1);
  kernel->Run(tree.Slots());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(tree.Read<int>(x, {i}), i / 4 == 1 ? i : 0);
  EXPECT_EQ(tree.Active(node).size(), 4u);
}

// The same of bitmasked cells, which keep what they have, and of a cell that is also read.
TEST_P(TreeCodegenTest, AdditionsThatActivateNothing) {
  TestTree tree;
  const int node = tree.Bitmasked(0, {{0, 16}});
  const int x = tree.Place(node, proto::I32);
  tree.Finish();
  const std::string body = R"(
    %p = kiln.global 0 component 0 [%i0] {no_activate} : !kiln.addr<i32>
    %v = kiln.load %p : !kiln.addr<i32>
    %one = arith.constant 1 : i32
    %sum = arith.addi %v, %one : i32
    kiln.store %sum, %p : !kiln.addr<i32>
    kiln.continue)";
  auto kernel =
      Compile(Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0")}, Range({16}, body)), {&tree});
  ASSERT_NE(kernel, nullptr);
  tree.Write<int>(x, {5}, 7);
  for (int run = 0; run < 3; ++run) kernel->Run(tree.Slots());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(tree.Read<int>(x, {i}), i == 5 ? 10 : 0);
  EXPECT_EQ(tree.Active(node).size(), 1u);
}

// A function that stores and one that loads; indices with an offset.
TEST_P(TreeCodegenTest, FunctionsReachTrees) {
  TestTree tree;
  const int x = tree.Place(tree.Dense(tree.Pointer(0, {{0, 4}}), {{0, 4}}), proto::I32);
  tree.Finish();
  const std::string functions = R"(
    kiln.function 0 (%i : i32, %v : i32) {
      %p = kiln.global 0 component 0 [%i] : !kiln.addr<i32>
      kiln.store %v, %p : !kiln.addr<i32>
      kiln.return
    }
    kiln.function 1 (%i : i32) -> (i32) {
      %p = kiln.global 0 component 0 [%i] : !kiln.addr<i32>
      %v = kiln.load %p : !kiln.addr<i32>
      kiln.return %v : i32
    })";
  const std::string body = R"(
    %c = arith.constant -6 : i32
    %d = arith.constant 3 : i32
    %a = kiln.call 1(%c) : (i32) -> i32
    kiln.call 0(%c, %d) : (i32, i32) -> ()
    %b = kiln.call 1(%c) : (i32) -> i32
    kiln.result 0, %a : i32
    kiln.result 1, %b : i32)";
  auto kernel = Compile(Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0", 0, "-8")},
                               functions + Serial(body), "i32, i32"),
                        {&tree});
  ASSERT_NE(kernel, nullptr);
  kernel->Run(tree.Slots());
  EXPECT_EQ(kernel->result(0), 0u);
  EXPECT_EQ(kernel->result(1), 3u);
  EXPECT_EQ(tree.Read<int>(x, {2}), 3);
}

// Loops over a field, over its blocks, and over the field again.
TEST_P(TreeCodegenTest, ListsOfBothKinds) {
  TestTree tree;
  const int block = tree.Pointer(0, {{0, 8}});
  const int x = tree.Place(tree.Dense(block, {{0, 4}}), proto::I32);
  tree.Finish();
  const auto count = [](int over, int slot) {
    return Struct(over, 1, 1,
                  absl::StrCat("%one = arith.constant 1 : i32\n", "%t = kiln.temporary ", slot,
                               " : !kiln.addr<i32>\n",
                               "%old = kiln.atomic addi %one, %t : "
                               "!kiln.addr<i32>\nkiln.continue"),
                  "", /*slices=*/over == 1);
  };
  const std::string give = Serial(R"(
    %t0 = kiln.temporary 0 : !kiln.addr<i32>
    %v0 = kiln.load %t0 : !kiln.addr<i32>
    kiln.result 0, %v0 : i32
    %t1 = kiln.temporary 4 : !kiln.addr<i32>
    %v1 = kiln.load %t1 : !kiln.addr<i32>
    kiln.result 1, %v1 : i32)");
  auto kernel =
      Compile(Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0"), tree.SNode(block, "0")},
                     count(0, 0) + "\n" + count(1, 4) + "\n" + count(0, 0) + give, "i32, i32"),
              {&tree});
  ASSERT_NE(kernel, nullptr);
  for (const int i : {0, 9, 10, 31}) tree.Write<int>(x, {i}, 1);
  kernel->Run(tree.Slots());
  EXPECT_EQ(kernel->result(0), 24u);
  EXPECT_EQ(kernel->result(1), 3u);
}

// An element that an index chooses, of an array in a cell: loads see zero where the cell is
// inactive, the others activate it.
TEST_P(TreeCodegenTest, ElementsOfArraysInCells) {
  TestTree tree;
  const int block = tree.Pointer(0, {{0, 8}});
  const int dense = tree.Dense(block, {{0, 4}});
  const int x = tree.Place(dense, proto::I32), y = tree.Place(dense, proto::I32);
  tree.Finish();
  const auto at = [](int cell) {
    return absl::StrCat("%c = arith.constant ", cell, " : i32\n", R"(
    %one = arith.constant 1 : i32
    %p = kiln.global 0 component 0 [%c] : !kiln.addr<i32>
    %e = kiln.element %p[%one] : !kiln.addr<i32>
    )");
  };
  const std::string load = R"(
    %v = kiln.load %e : !kiln.addr<i32>
    kiln.result 0, %v : i32)";
  const std::string store = "kiln.store %c, %e : !kiln.addr<i32>";
  const std::string atomic = "%old = kiln.atomic addi %one, %e : !kiln.addr<i32>";
  auto kernel = Compile(Kernel({tree.Text(0)}, {tree.Field({x, y}, "i32", "0")},
                               Serial(at(9) + store) + Serial(at(9) + atomic) +
                                   Serial(at(9) + load) + Serial(at(30) + atomic),
                               "i32"),
                        {&tree});
  ASSERT_NE(kernel, nullptr);
  tree.Write<int>(x, {9}, 5);
  kernel->Run(tree.Slots());
  EXPECT_EQ(kernel->result(0), 10u);
  EXPECT_EQ(tree.Read<int>(x, {9}), 5);
  EXPECT_EQ(tree.Read<int>(y, {30}), 1);
  EXPECT_TRUE(tree.IsActive(block, {7}));
  EXPECT_FALSE(tree.IsActive(block, {0}));
}

// Each active block deactivates itself; the gc task gives its memory back for the next.
TEST_P(TreeCodegenTest, LoopsThatDeactivate) {
  TestTree tree;
  const int block = tree.Pointer(0, {{0, 64}});
  const int x = tree.Place(tree.Dense(block, {{0, 4}}), proto::I32);
  tree.Finish();
  const std::string tasks = Struct(0, 1, 1, R"(
    %c4 = arith.constant 4 : i32
    %c1 = arith.constant 1 : i32
    %b = arith.divsi %i0, %c4 : i32
    %p = kiln.global 0 component 0 [%i0] : !kiln.addr<i32>
    %v = kiln.load %p : !kiln.addr<i32>
    %t = kiln.temporary 0 : !kiln.addr<i32>
    %old = kiln.atomic addi %v, %t : !kiln.addr<i32>
    kiln.deactivate 1 [%b]
    kiln.continue)") + "\nkiln.task.gc \"g\" tree 0 node 1 \"path\"\n" +
                            Serial(R"(
    %t = kiln.temporary 0 : !kiln.addr<i32>
    %v = kiln.load %t : !kiln.addr<i32>
    kiln.result 0, %v : i32)");
  auto kernel = Compile(
      Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0"), tree.SNode(block, "0")}, tasks, "i32"),
      {&tree});
  ASSERT_NE(kernel, nullptr);
  uint64_t bytes = 0;
  for (int round = 0; round < 50; ++round) {
    for (int b = 0; b < 20; ++b) tree.Write<int>(x, {4 * ((b * 3 + round) % 64)}, b);
    kernel->Run(tree.Slots());
    EXPECT_EQ(kernel->result(0), 190u);
    for (int b = 0; b < 64; ++b) EXPECT_FALSE(tree.IsActive(block, {b}));
    if (round == 10) bytes = tree.data().Stats().cell_bytes;
  }
  EXPECT_EQ(tree.data().Stats().cell_bytes, bytes);
}

}  // namespace
}  // namespace kiln
