#include "libkiln/captured.h"

#include <algorithm>
#include <utility>

#include "runtime/device.h"

namespace kiln::capi {
namespace {

// A run with the same slots as two before it is captured.
constexpr int kPlainRuns = 2;
// Of a graph: programs that alternate between buffers have a few.
constexpr size_t kMostRuns = 4;
// After so many runs kernel by kernel, a graph's slots are expected to differ each time.
constexpr size_t kMostPlainRuns = kPlainRuns * kMostRuns;

const ModuleKernel& KernelOf(const Module& module, const ModuleGraph::Launch& launch) {
  return module.kernels()[launch.kernel];
}

// Null if the device refuses one of the launches.
std::shared_ptr<LaunchGraph> Make(const Module& module, int number, const uint64_t* slots) {
  std::shared_ptr<LaunchGraph> made = module.device()->MakeGraph();
  if (made == nullptr) return nullptr;
  for (const ModuleGraph::Launch& launch : module.graphs()[static_cast<size_t>(number)].launches) {
    const ModuleKernel& kernel = KernelOf(module, launch);
    if (!made->Add(kernel.code, slots, kernel.name).ok()) return nullptr;
    slots += kernel.code->info().arguments.size();
  }
  return made->Finish().ok() ? made : nullptr;
}

}  // namespace

void CapturedGraphs::LookAt(const Module& module, int number, Graph* graph) {
  size_t tasks = 0;
  bool is_awaited = false;
  for (const ModuleGraph::Launch& launch : module.graphs()[static_cast<size_t>(number)].launches) {
    const KernelInfo& info = KernelOf(module, launch).code->info();
    tasks += info.tasks.size();
    graph->slots += info.arguments.size();
    // As LaunchGraph::Add has it.
    is_awaited |= !info.results.empty() || info.has_effects || info.can_fail || info.tapes;
  }
  graph->is_known = true;
  graph->is_captured = !is_awaited && tasks > 1;
}

std::shared_ptr<LaunchGraph> CapturedGraphs::Find(const Module& module, int number,
                                                  const uint64_t* slots) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Graph& graph = graphs_[number];
  if (!graph.is_known) LookAt(module, number, &graph);
  if (!graph.is_captured) return nullptr;
  auto found = std::find_if(graph.runs.begin(), graph.runs.end(), [&](const Run& run) {
    return std::equal(run.slots.begin(), run.slots.end(), slots);
  });
  if (found == graph.runs.end()) {
    if (graph.runs.size() == kMostRuns) graph.runs.pop_back();
    found = graph.runs.insert(graph.runs.end(), {{slots, slots + graph.slots}, 0, nullptr});
  }
  std::rotate(graph.runs.begin(), found, found + 1);
  Run& run = graph.runs.front();
  if (run.made != nullptr) return run.made;
  const bool is_usual = ++run.times > kPlainRuns;
  if (!is_usual && graph.plain_runs < kMostPlainRuns) {
    ++graph.plain_runs;
    return nullptr;
  }
  std::shared_ptr<LaunchGraph>& made = is_usual ? run.made : graph.other;
  if (made == nullptr) made = Make(module, number, slots);
  graph.is_captured = made != nullptr;  // what fails now would fail again
  return made;
}

void CapturedGraphs::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  graphs_.clear();
}

}  // namespace kiln::capi
