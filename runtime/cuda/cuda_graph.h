// Launches that one call of CUDA's driver starts.
#ifndef KILN_RUNTIME_CUDA_CUDA_GRAPH_H_
#define KILN_RUNTIME_CUDA_CUDA_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"
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
  Result<> Launch(const std::function<uint64_t()>& random) override;

  // --- The parts of a launch, in order (CudaKernel::AddTo)
  // Memory of the launch alone, zeroed before the parts that follow. Launches outside of the graph
  // have other memory, since another thread may start the graph between their tasks.
  Result<cuda::Address> AddTemporaries(uint64_t bytes);
  // Some of the parts use trees with sparse levels.
  void NoteTrees() { uses_trees_ = true; }
  Result<> AddTreeWork(cuda::Address nodes, uint32_t node, uint32_t work);
  // A task with the parameter `launch`, a KilnCudaLaunch. The tasks of one launch share the object.
  // `draws`: each start of the graph gives the launch another `random`.
  using Words = std::vector<uint64_t>;
  Result<> AddTask(cuda::Function function, unsigned blocks, unsigned threads,
                   const std::shared_ptr<Words>& launch, bool draws);

 private:
  // A task whose launch draws random numbers.
  struct Drawing {
    cuda::GraphNode node;
    cuda::KernelNode parameters;
    uint64_t task;
    std::shared_ptr<Words> launch;
  };

  Result<> AddKernel(const cuda::KernelNode& parameters);
  // Makes `made` the last node.
  Result<> Took(cuda::Code code, cuda::GraphNode made);
  Result<> DrawAgain(const std::function<uint64_t()>& random);

  CudaDevice* const device_;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  std::vector<std::string> added_;  // names of kernels, each once
  NamesInErrors names_;             // the same, after Finish
  std::vector<cuda::Address> temporaries_;
  bool uses_trees_ = false;
  std::vector<Drawing> drawings_;
  cuda::Graph graph_ = nullptr;
  cuda::GraphNode last_ = nullptr;
  std::mutex mutex_;  // of launches: the driver does not allow two of `exec_` at the same time
  cuda::GraphExec exec_ = nullptr;  // null: there is nothing to do
};

}  // namespace kiln

#endif  // KILN_RUNTIME_CUDA_CUDA_GRAPH_H_
