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
#include "lang/cpu_level.h"
#include "lang/layout.h"
#include "runtime/tree.h"
#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

using Axes = std::vector<std::pair<int, int>>;

// A tree, its text in kernels, and its data.
class TestTree {
 public:
  TestTree() { tree_.add_nodes()->set_kind(proto::SNODE_ROOT); }

  int Add(proto::SNodeKind kind, int parent, const Axes& axes, int chunk = 0) {
    proto::SNode* node = tree_.add_nodes();
    node->set_kind(kind);
    node->set_chunk_size(chunk);
    for (auto [axis, extent] : axes) {
      proto::Axis* a = node->add_axes();
      a->set_axis(axis);
      a->set_extent(extent);
    }
    const int number = tree_.nodes_size() - 1;
    tree_.mutable_nodes(parent)->add_children(number);
    return number;
  }
  int Dense(int parent, const Axes& axes) { return Add(proto::SNODE_DENSE, parent, axes); }
  int Pointer(int parent, const Axes& axes) { return Add(proto::SNODE_POINTER, parent, axes); }
  int Bitmasked(int parent, const Axes& axes) { return Add(proto::SNODE_BITMASKED, parent, axes); }
  int Dynamic(int parent, int axis, int extent, int chunk) {
    return Add(proto::SNODE_DYNAMIC, parent, {{axis, extent}}, chunk);
  }
  int Place(int parent, proto::Scalar type) {
    const int number = Add(proto::SNODE_PLACE, parent, {});
    tree_.mutable_nodes(number)->mutable_type()->set_scalar(type);
    return number;
  }

  void Finish() {
    auto layout = TreeLayout::Make(tree_);
    ASSERT_TRUE(layout.ok()) << layout.status();
    layout_.emplace(*std::move(layout));
    auto data = Tree::Make(*layout_, TreeOptions());
    ASSERT_TRUE(data.ok()) << data.status();
    data_ = *std::move(data);
    for (int n = 0; n < tree_.nodes_size(); ++n) {
      if (tree_.nodes(n).kind() == proto::SNODE_PLACE) continue;
      number_[n] = static_cast<int>(nodes_.size());
      real_.push_back(n);
      nodes_.push_back(data_->node(n));
    }
  }

  // #kiln.tree with all nodes but places.
  std::string Text(int slot) const {
    std::vector<std::string> nodes;
    for (const int n : real_) {
      const proto::SNode& node = tree_.nodes(n);
      const NodeLayout& layout = (*layout_)[n];
      static const char* const kNames[] = {"", "root", "dense", "pointer", "bitmasked", "dynamic"};
      std::vector<int64_t> axes;
      for (const NodeLayout::Level& level : layout.levels) {
        axes.push_back(level.axis);
        axes.push_back(level.extent);
      }
      std::string text = absl::StrCat("#kiln.snode<", kNames[node.kind()]);
      if (n != 0) absl::StrAppend(&text, ", parent = ", number_.at(layout.parent));
      absl::StrAppend(&text, ", axes = [", absl::StrJoin(axes, ", "), "]");
      absl::StrAppend(&text, ", cell_bytes = ", layout.cell_bytes);
      if (layout.offset != 0) absl::StrAppend(&text, ", offset = ", layout.offset);
      if (layout.mask_offset != 0) absl::StrAppend(&text, ", mask = ", layout.mask_offset);
      if (node.chunk_size() != 0) absl::StrAppend(&text, ", chunk = ", node.chunk_size());
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
    EXPECT_TRUE(cell.ok()) << cell.status();
    T value{};
    if (cell.ok()) std::memcpy(&value, *cell, sizeof(T));
    return value;
  }
  template <typename T>
  void Write(int place, const std::vector<int64_t>& at, T value) {
    auto cell = data_->Locate(place, Full(at).data(), CellAccess::kWrite);
    ASSERT_TRUE(cell.ok()) << cell.status();
    std::memcpy(*cell, &value, sizeof(T));
  }
  bool IsActive(int node, const std::vector<int64_t>& at) {
    auto active = data_->IsActive(node, Full(at).data());
    EXPECT_TRUE(active.ok()) << active.status();
    return active.ok() && *active;
  }
  int Length(int node, const std::vector<int64_t>& at) {
    return data_->Length(node, Full(at).data()).value_or(-1);
  }

 private:
  static std::vector<int64_t> Full(std::vector<int64_t> at) {
    at.resize(kMaxIndices);
    return at;
  }

  proto::Tree tree_;
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

// A loop over storage `over`, whose list is that of `node`; indices %i0, %i1, ...
std::string Struct(int over, int node, int indices, const std::string& body,
                   const std::string& finish = "") {
  std::vector<std::string> names;
  for (int i = 0; i < indices; ++i) names.push_back(absl::StrCat("%i", i, " : i32"));
  if (!finish.empty()) names.push_back("%acc : i32");
  return absl::StrCat("kiln.task.listgen \"l\" tree 0 node ", node, " \"path\"\n",
                      "kiln.task.range_for \"t\" struct_for ", over, " body (",
                      absl::StrJoin(names, ", "), ") {\n", body, "\n}",
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
  proto::CpuLevel level;
  int opt_level;
};

class TreeCodegenTest : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (!CpuLevelIncludes(HostCpuLevel(), GetParam().level)) GTEST_SKIP() << "not on this CPU";
  }

  // Compiles for a kernel of these trees.
  std::unique_ptr<TestKernel> Compile(const std::string& text, std::vector<TestTree*> trees) {
    TestKernel::Options options;
    options.level = GetParam().level;
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
                         testing::Values(Configuration{proto::X86_64_V3, 3},
                                         Configuration{proto::X86_64_V4, 3},
                                         Configuration{proto::X86_64_V3, 1},
                                         Configuration{proto::X86_64_V3, 0}));

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
TEST_P(TreeCodegenTest, LoopsVisitWhatIsActive) {
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
    auto kernel = Compile(
        Kernel({tree.Text(0)}, {tree.Field({x}, "i32", "0, 1")},
               Struct(0, tree.number(tree.LastSparse(node)), 2, body, finish) + give, "i32"),
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

}  // namespace
}  // namespace kiln
