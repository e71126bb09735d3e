// Costs of sparse trees without compiled code: lists, activation, deactivation. Medians of
// processor time.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "common/layout/layout.h"
#include "common/layout/tree_builder.h"
#include "runtime/cpu/parallel_for.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

using Levels = std::vector<std::pair<proto::SNodeKind, uint64_t>>;

// A chain of two-dimensional levels, each `extent` cells along both axes.
std::unique_ptr<Tree> MakeTree(const Levels& levels) {
  TreeBuilder tree;
  int last = TreeBuilder::kRoot;
  for (auto [kind, extent] : levels) last = tree.Add(kind, last, {{0, extent}, {1, extent}});
  const int place = tree.Place(last, proto::F32);
  for (int axis : {0, 1}) tree.node(place)->add_virtual_to_physical(axis);
  auto layout = TreeLayout::Make(tree.tree());
  if (!layout.ok()) std::fprintf(stderr, "%s\n", layout.status().ToString().c_str());
  auto made = Tree::Make(layout->shape(), {});
  return *std::move(made);
}

// The processor time of all threads, which depends little on other processes.
double CpuMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

double Milliseconds(const std::function<void()>& before, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    before();
    const double start = CpuMilliseconds();
    call();
    times.push_back(CpuMilliseconds() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void ActivateSquare(Tree* tree, int node, int64_t size, int threads) {
  ParallelFor(nullptr, size, threads, [&](int64_t i) {
    int64_t at[kMaxIndices] = {i};
    for (at[1] = 0; at[1] < size; ++at[1]) {
      (void)tree->Locate(node, at, CellAccess::kWrite);
    }
  });
}

void Report(const char* what, double milliseconds) {
  std::printf("%-60s %9.3f ms\n", what, milliseconds);
}

void Lists() {
  auto tree =
      MakeTree({{proto::SNODE_POINTER, 128}, {proto::SNODE_POINTER, 4}, {proto::SNODE_DENSE, 2}});
  ActivateSquare(tree.get(), 2, 512, 1);
  int64_t at[kMaxIndices] = {};
  bool on = false;
  auto toggle = [&] {
    on = !on;
    if (on) {
      (void)tree->Deactivate(2, at);
    } else {
      (void)tree->Locate(2, at, CellAccess::kWrite);
    }
  };
  for (int threads : {1, 2}) {
    std::printf("%d threads\n", threads);
    Report("list of 262,144 cells, one changed",
           Milliseconds(toggle, [&] { (void)tree->List(2, false, threads); }));
    Report("the same, unchanged",
           Milliseconds([] {}, [&] { (void)tree->List(2, false, threads); }));
  }
}

void Churn() {
  auto tree = MakeTree({{proto::SNODE_POINTER, 256}, {proto::SNODE_DENSE, 8}});
  for (int threads : {1, 2}) {
    std::printf("%d threads\n", threads);
    auto off = [&] {
      tree->DeactivateAll(1);
      tree->Collect(1);
    };
    auto on = [&] { ActivateSquare(tree.get(), 1, 256, threads); };
    Report("65,536 cells of 256 bytes on", Milliseconds(off, on));
    Report("off", Milliseconds(on, [&] { tree->DeactivateAll(1); }));
    Report("collected", Milliseconds(
                            [&] {
                              on();
                              tree->DeactivateAll(1);
                            },
                            [&] { tree->Collect(1); }));
  }
}

}  // namespace
}  // namespace kiln

int main() {
  kiln::Lists();
  kiln::Churn();
}
