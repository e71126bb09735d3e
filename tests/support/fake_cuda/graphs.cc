// The driver's calls for graphs: nodes that are made one by one, and copies of them to launch.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/driver_state.h"

namespace {

// Of a graph's nodes, by their places.
struct Work {
  bool is_kernel;
  kiln::fake_cuda::KernelLaunch kernel;
  CUDA_MEMSET_NODE_PARAMS fill;
  std::vector<size_t> after;
};
using Works = std::vector<Work>;

}  // namespace

struct CUgraphNode_st {
  CUgraph graph;
  size_t place;
};
struct CUgraph_st {
  uint64_t number;
  Works works;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  CUcontext context;
  uint64_t graph;  // the number of what it was made of
  std::shared_ptr<const Works> works;
  kiln::fake_cuda::Done last;  // of its launches
};

namespace {

using kiln::fake_cuda::Done;
using kiln::fake_cuda::DriverCall;
using kiln::fake_cuda::DriverState;
using kiln::fake_cuda::KernelLaunch;
using kiln::fake_cuda::Stream;

// Guarded by the driver's lock.
uint64_t graphs_made = 0, launches = 0;

bool IsNodeOf(CUgraph graph, CUgraphNode node) {
  return std::any_of(graph->nodes.begin(), graph->nodes.end(),
                     [node](const auto& known) { return known.get() == node; });
}

CUgraph GraphOf(const DriverState& state, CUgraphNode node) {
  for (const CUgraph graph : state.graphs) {
    if (IsNodeOf(graph, node)) return graph;
  }
  return nullptr;
}

CUresult MakeKernel(const CUDA_KERNEL_NODE_PARAMS_v1* given, KernelLaunch* made) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return kiln::fake_cuda::MakeLaunch(
      given->func, {given->gridDimX, given->gridDimY, given->gridDimZ},
      {given->blockDimX, given->blockDimY, given->blockDimZ}, given->sharedMemBytes,
      /*cooperative=*/false, given->kernelParams, given->extra, made);
}

CUresult Add(const DriverState& state, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
             size_t count, Work work) {
  if (node == nullptr || state.graphs.count(graph) == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t n = 0; n < count; ++n) {
    if (!IsNodeOf(graph, after[n])) return CUDA_ERROR_INVALID_VALUE;
    work.after.push_back(after[n]->place);
  }
  graph->nodes.push_back(
      std::make_unique<CUgraphNode_st>(CUgraphNode_st{graph, graph->works.size()}));
  graph->works.push_back(std::move(work));
  *node = graph->nodes.back().get();
  return CUDA_SUCCESS;
}

uint64_t BytesOf(const CUDA_MEMSET_NODE_PARAMS& fill) {
  return (fill.height - 1) * fill.pitch + fill.width * fill.elementSize;
}

void Fill(DriverState* state, const CUDA_MEMSET_NODE_PARAMS& fill) {
  uint8_t* target = state->memory.Find(fill.dst, BytesOf(fill));
  if (target == nullptr) {
    std::fprintf(stderr, "fake CUDA: a graph fills memory that was freed\n");
    state->failed = CUDA_ERROR_ILLEGAL_ADDRESS;
    return;
  }
  for (size_t row = 0; row < fill.height; ++row) {
    uint8_t* at = target + row * fill.pitch;
    state->memory.NoteWrite(at, fill.width * fill.elementSize);
    for (size_t n = 0; n < fill.width; ++n) {
      const unsigned value = fill.value;
      std::copy_n(reinterpret_cast<const uint8_t*>(&value), fill.elementSize,
                  at + n * fill.elementSize);
    }
  }
}

// In a random order that the dependencies allow.
void Run(DriverState* state, const Works& works, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<bool> done(works.size());
  for (size_t left = works.size(); left > 0 && state->failed == CUDA_SUCCESS; --left) {
    std::vector<size_t> ready;
    for (size_t n = 0; n < works.size(); ++n) {
      const auto& after = works[n].after;
      if (!done[n] &&
          std::all_of(after.begin(), after.end(), [&](size_t at) { return done[at]; })) {
        ready.push_back(n);
      }
    }
    const size_t next = ready[random() % ready.size()];
    if (works[next].is_kernel) {
      works[next].kernel.Run(state);
    } else {
      Fill(state, works[next].fill);
    }
    done[next] = true;
  }
}

}  // namespace

KILN_CALL cuGraphCreate(CUgraph* graph, unsigned flags) {
  KILN_BEGIN("cuGraphCreate");
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *graph = new CUgraph_st{++graphs_made, {}, {}};
  call.state.graphs.insert(*graph);
  return CUDA_SUCCESS;
}

KILN_CALL cuGraphDestroy(CUgraph graph) {
  KILN_BEGIN("cuGraphDestroy");
  if (call.state.graphs.erase(graph) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete graph;
  return CUDA_SUCCESS;
}

// The toolkit's header names newer versions.
#undef cuGraphAddKernelNode
KILN_CALL cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                               size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  KILN_BEGIN("cuGraphAddKernelNode");
  Work work{/*is_kernel=*/true, {}, {}, {}};
  const CUresult made = MakeKernel(parameters, &work.kernel);
  return made != CUDA_SUCCESS ? made : Add(call.state, node, graph, after, count, std::move(work));
}

KILN_CALL cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                               size_t count, const CUDA_MEMSET_NODE_PARAMS* fill,
                               CUcontext context) {
  KILN_BEGIN("cuGraphAddMemsetNode");
  if (fill == nullptr || context == nullptr || fill->width == 0 || fill->height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned size = fill->elementSize;
  if ((size != 1 && size != 2 && size != 4) || fill->dst % size != 0 ||
      (size < 4 && fill->value >> (8 * size) != 0) ||
      (fill->height > 1 && fill->pitch < fill->width * size) ||
      call.state.memory.Find(fill->dst, BytesOf(*fill)) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Add(call.state, node, graph, after, count, Work{/*is_kernel=*/false, {}, *fill, {}});
}

KILN_CALL cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                        const CUkernelNodeAttrValue* value) {
  KILN_BEGIN("cuGraphKernelNodeSetAttribute");
  const CUgraph graph = GraphOf(call.state, node);
  if (graph == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work& work = graph->works[node->place];
  if (!work.is_kernel) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<int>(attribute) != 2) return CUDA_ERROR_NOT_SUPPORTED;
  work.kernel.cooperative = value->cooperative != 0;
  return CUDA_SUCCESS;
}

KILN_CALL cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  KILN_BEGIN("cuGraphInstantiateWithFlags");
  if (exec == nullptr || call.state.graphs.count(graph) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != 0) return CUDA_ERROR_NOT_SUPPORTED;
  *exec = new CUgraphExec_st{DriverCall::context(), graph->number,
                             std::make_shared<const Works>(graph->works), nullptr};
  call.state.execs.insert(*exec);
  return CUDA_SUCCESS;
}

KILN_CALL cuGraphExecDestroy(CUgraphExec exec) {
  KILN_BEGIN("cuGraphExecDestroy");
  if (call.state.execs.erase(exec) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete exec;  // launches have what they need
  return CUDA_SUCCESS;
}

#undef cuGraphExecKernelNodeSetParams
KILN_CALL cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                         const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  KILN_BEGIN("cuGraphExecKernelNodeSetParams");
  const CUgraph graph = GraphOf(call.state, node);
  if (call.state.execs.count(exec) == 0 || graph == nullptr || graph->number != exec->graph) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  KernelLaunch launch;
  const CUresult made = MakeKernel(parameters, &launch);
  if (made != CUDA_SUCCESS) return made;
  // Launches before this one keep what they were given.
  auto works = std::make_shared<Works>(*exec->works);
  Work& work = (*works)[node->place];
  if (!work.is_kernel) return CUDA_ERROR_INVALID_VALUE;
  // The function may be another one, but not of another context.
  if (launch.module->context != work.kernel.module->context) return CUDA_ERROR_INVALID_VALUE;
  launch.cooperative = work.kernel.cooperative;
  work.kernel = std::move(launch);
  exec->works = std::move(works);
  return CUDA_SUCCESS;
}

KILN_CALL cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  KILN_BEGIN("cuGraphLaunch");
  if (call.state.execs.count(exec) == 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream = call.state.StreamOf(handle);
  if (stream == nullptr || stream->owner != exec->context) return CUDA_ERROR_INVALID_HANDLE;
  const uint32_t seed = call.state.settings.SeedOf(++launches);
  exec->last = call.state.streams.Add(
      stream, [state = &call.state, works = exec->works, seed] { Run(state, *works, seed); },
      exec->last);
  return call.Finish();
}
