// Launches that one call of CUDA's driver starts.
#ifndef KILN_RUNTIME_CUDA_CUDA_GRAPH_H_
#define KILN_RUNTIME_CUDA_CUDA_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/grid.h"
#include "runtime/cuda_abi.h"
#include "runtime/launch_graph.h"
#include "runtime/result.h"

namespace kiln {

// A chain of the driver's nodes: each task waits for the one before it, as in a stream. The nodes
// are made one by one and not captured from a stream: a capture would forbid other calls of the
// driver meanwhile, also those of other libraries.
class CudaGraph final : public LaunchGraph {
 public:
  explicit CudaGraph(CudaDevice* device) : device_(device) {}
  ~CudaGraph() override;

  Result<> Add(std::shared_ptr<const LoadedKernel> kernel, const uint64_t* arguments,
               const std::string& name) override;
  Result<> Finish() override;
  using LaunchGraph::Launch;
  Result<> Launch(const uint64_t* arguments, const std::function<uint64_t()>& random) override;

  // --- The parts of a launch, in order (CudaKernel::AddTo)
  // Begins one with `slots` arguments; the rest of the object is zero, for the caller to fill in
  // before it adds tasks, which get it. `draws`: each start of the graph gives it another `random`.
  KilnCudaLaunch* AddLaunch(const uint64_t* arguments, size_t slots, bool draws);
  // Memory of the launch alone, zeroed before the parts that follow. Launches outside of the graph
  // have other memory, since another thread may start the graph between their tasks.
  Result<cuda::Address> AddTemporaries(uint64_t bytes);
  // Some of the parts use trees with sparse levels.
  void NoteTrees() { uses_trees_ = true; }
  Result<> AddTreeWork(cuda::Address nodes, uint32_t node, uint32_t work);
  // Task `number` of the last launch. `grid` lives as long as the kernel.
  Result<> AddTask(cuda::Function function, const Grid* grid, uint64_t number);

 private:
  struct Task {
    cuda::Function function;
    const Grid* grid;
    uint64_t number;
    cuda::GraphNode node;
  };
  struct Part {
    KilnCudaLaunch* launch() { return reinterpret_cast<KilnCudaLaunch*>(words.data()); }

    std::vector<uint64_t> words;  // a KilnCudaLaunch
    size_t slots;
    bool draws;
    bool is_set = true;  // whether all tasks' nodes have it
    std::vector<Task> tasks;
  };

  Result<> AddKernel(const cuda::KernelNode& parameters);
  // Calls `use` with the node's parameters for a task of the part.
  template <typename Use>
  auto WithNode(Part* part, const Task& task, const Use& use);
  // Makes `made` the last node.
  Result<> Took(cuda::Code code, cuda::GraphNode made);
  // Gives nodes what has changed. Requires: mutex_.
  Result<> Change(const uint64_t* arguments, const std::function<uint64_t()>& random);
  Result<> SetNodes(Part* part);

  CudaDevice* const device_;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  std::vector<std::string> added_;  // names of kernels, each once
  NamesInErrors names_;             // the same, after Finish
  std::vector<cuda::Address> temporaries_;
  bool uses_trees_ = false;
  std::vector<Part> parts_;  // by launch
  cuda::Graph graph_ = nullptr;
  cuda::GraphNode last_ = nullptr;
  std::mutex mutex_;  // of launches: the driver does not allow two of `exec_` at the same time
  cuda::GraphExec exec_ = nullptr;  // null: there is nothing to do
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_CUDA_GRAPH_H_
