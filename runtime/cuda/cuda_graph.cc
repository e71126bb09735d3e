#include "runtime/cuda/cuda_graph.h"

#include <algorithm>
#include <utility>

#include "runtime/loaded_kernel.h"

namespace kiln {

CudaGraph::~CudaGraph() {
  if (!device_->Enter().ok()) return;  // a forked child's memory is the parent's
  const cuda::Driver& driver = device_->driver();
  if (exec_ != nullptr) driver.GraphExecDestroy(exec_);
  if (graph_ != nullptr) driver.GraphDestroy(graph_);
  for (const cuda::Address memory : temporaries_) driver.MemFree(memory);
}

Result<> CudaGraph::Add(std::shared_ptr<const LoadedKernel> kernel, const uint64_t* arguments,
                        const std::string& name) {
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  if (graph_ == nullptr) {
    const cuda::Code code = device_->driver().GraphCreate(&graph_, /*flags=*/0);
    if (code != cuda::kSuccess) return device_->ErrorOf(code, "the CUDA driver makes no graph");
  }
  Result<> added = kernel->AddTo(this, arguments);
  kernels_.push_back(std::move(kernel));
  if (std::find(added_.begin(), added_.end(), name) == added_.end()) added_.push_back(name);
  return added;
}

Result<cuda::Address> CudaGraph::AddTemporaries(uint64_t bytes) {
  Result<cuda::Address> memory =
      device_->AllocateMemory(bytes, bytes, "temporaries of a captured graph");
  if (!memory.ok()) return memory;
  temporaries_.push_back(*memory);
  cuda::FillNode fill;
  fill.at = *memory;
  fill.width = bytes;
  cuda::GraphNode node = nullptr;
  const cuda::Code code = device_->driver().GraphAddFill(
      &node, graph_, &last_, last_ == nullptr ? 0 : 1, &fill, device_->context());
  if (Result<> took = Took(code, node); !took.ok()) return took.error();
  return memory;
}

Result<> CudaGraph::AddTreeWork(cuda::Address nodes, uint32_t node, uint32_t work) {
  void* parameters[] = {&nodes, &node, &work};
  const cuda::TreeKernel& kernel = device_->tree_kernel();
  cuda::KernelNode made;
  made.function = kernel.function;
  made.grid[0] = kernel.blocks;
  made.block[0] = kernel.threads;
  made.parameters = parameters;
  if (Result<> added = AddKernel(made); !added.ok()) return added;
  if (!kernel.is_cooperative) return {};
  const int cooperative[cuda::kWordsOfAttribute] = {1};
  return Took(device_->driver().GraphKernelSetAttribute(last_, cuda::kNodeCooperative, cooperative),
              last_);
}

KilnCudaLaunch* CudaGraph::AddLaunch(const uint64_t* arguments, size_t slots, bool draws) {
  Part part;
  part.words.resize(sizeof(KilnCudaLaunch) / sizeof(uint64_t));
  part.words.insert(part.words.end(), arguments, arguments + slots);
  part.slots = slots;
  part.draws = draws;
  parts_.push_back(std::move(part));
  return parts_.back().launch();
}

template <typename Use>
auto CudaGraph::WithNode(Part* part, const Task& task, const Use& use) {
  // One object serves all tasks of the part, in turn: the driver copies parameters in `use`.
  KilnCudaLaunch* const launch = part->launch();
  launch->task = task.number;
  void* parameters[] = {launch};
  cuda::KernelNode node;
  node.function = task.function;
  node.grid[0] = task.grid->Blocks(launch->arguments, device_->most_blocks());
  node.block[0] = task.grid->threads();
  node.parameters = parameters;
  return use(node);
}

Result<> CudaGraph::AddTask(cuda::Function function, const Grid* grid, uint64_t number) {
  Part& part = parts_.back();
  Task task = {function, grid, number, nullptr};
  Result<> added =
      WithNode(&part, task, [this](const cuda::KernelNode& node) { return AddKernel(node); });
  if (!added.ok()) return added;
  task.node = last_;
  part.tasks.push_back(task);
  return {};
}

Result<> CudaGraph::AddKernel(const cuda::KernelNode& parameters) {
  cuda::GraphNode node = nullptr;
  const cuda::Code code = device_->driver().GraphAddKernel(&node, graph_, &last_,
                                                           last_ == nullptr ? 0 : 1, &parameters);
  return Took(code, node);
}

Result<> CudaGraph::Took(cuda::Code code, cuda::GraphNode made) {
  if (code != cuda::kSuccess) return device_->ErrorOf(code, "the CUDA driver extends no graph");
  last_ = made;
  return {};
}

Result<> CudaGraph::Finish() {
  names_ = std::make_shared<const std::vector<std::string>>(std::move(added_));
  if (last_ == nullptr) return {};
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  const cuda::Code code = device_->driver().GraphInstantiate(&exec_, graph_, /*flags=*/0);
  if (code != cuda::kSuccess) {
    return device_->ErrorOf(code, "the CUDA driver does not accept a captured graph");
  }
  return {};
}

// What the driver was given for starts before this one stays as it was.
Result<> CudaGraph::SetNodes(Part* part) {
  // Unless all succeed, some nodes have the new arguments, and the next start sets all again.
  part->is_set = false;
  for (const Task& task : part->tasks) {
    const cuda::Code code = WithNode(part, task, [&](const cuda::KernelNode& node) {
      return device_->driver().GraphExecSetKernel(exec_, task.node, &node);
    });
    if (code != cuda::kSuccess) {
      return device_->ErrorOf(code, "the CUDA driver does not change a captured graph");
    }
  }
  part->is_set = true;
  return {};
}

Result<> CudaGraph::Change(const uint64_t* arguments, const std::function<uint64_t()>& random) {
  for (Part& part : parts_) {
    KilnCudaLaunch* const launch = part.launch();
    bool changes = part.draws || !part.is_set;
    if (part.draws) launch->random = random();
    if (arguments != nullptr) {
      if (!std::equal(arguments, arguments + part.slots, launch->arguments)) {
        std::copy_n(arguments, part.slots, launch->arguments);
        changes = true;
      }
      arguments += part.slots;
    }
    if (!changes) continue;
    if (Result<> set = SetNodes(&part); !set.ok()) return set;
  }
  return {};
}

Result<> CudaGraph::Launch(const uint64_t* arguments, const std::function<uint64_t()>& random) {
  // In another library's context, the default stream would be another one, without an error.
  if (Result<> entered = device_->Enter(); !entered.ok()) return entered;
  if (exec_ == nullptr) return {};
  if (uses_trees_) device_->trees().Grow();
  // Change and launch in one piece: otherwise another thread's arguments could replace these.
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Result<> changed = Change(arguments, random); !changed.ok()) return changed;
  device_->NoteLaunch(names_);
  CudaDevice::Turn turn;
  if (Result<> taken = device_->TakeLaunchTurn(&turn); !taken.ok()) return taken;
  const cuda::Code code = device_->driver().GraphLaunch(exec_, turn.stream());
  if (code != cuda::kSuccess) {
    return device_->ErrorOf(code, "the CUDA driver does not launch a graph");
  }
  return device_->TakeNotice();
}

}  // namespace kiln
