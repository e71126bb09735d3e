// Descriptions of the tasks in testdata/test_kernel.c.
#ifndef KILN_RUNTIME_TEST_ARTIFACT_H_
#define KILN_RUNTIME_TEST_ARTIFACT_H_

#include <fstream>
#include <iterator>
#include <string>

#include "runtime/cpu/host_target.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

inline constexpr char kTestKernelPath[] = "runtime/testdata/test_kernel.so";

inline std::string TestKernelBytes() {
  std::ifstream in(kTestKernelPath, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline KernelInfo TestInfo() {
  KernelInfo info;
  info.target = HostTarget();
  info.runtime_abi = RuntimeAbi();
  return info;
}

inline TaskInfo* AddTask(KernelInfo* info, TaskKind kind, const char* symbol) {
  TaskInfo& task = info->tasks.emplace_back();
  task.kind = kind;
  task.symbol = symbol;
  return &task;
}

inline void AddSerial(KernelInfo* info, const char* symbol) {
  AddTask(info, TaskKind::kSerial, symbol);
}

// Constant bounds, or those of the bounds function `bounds` if given. The result is valid until the
// next task is added.
inline TaskInfo* AddRange(KernelInfo* info, const char* symbol, int64_t end, uint32_t cost,
                          const char* bounds = nullptr) {
  TaskInfo* task = AddTask(info, TaskKind::kRange, symbol);
  task->cost = cost;
  task->end = end;
  task->constant_bounds = bounds == nullptr;
  if (bounds != nullptr) task->bounds_symbol = bounds;
  return task;
}

// For a pointer SNode, node 1 of tree 0.
inline TaskInfo* AddTreeTask(KernelInfo* info, TaskKind kind, const char* symbol = "") {
  TaskInfo* task = AddTask(info, kind, symbol);
  task->node = 1;
  if (kind == TaskKind::kStruct) task->iterations = 3;
  return task;
}

// For a kernel with one tree.
inline KernelInfo TreeInfo() {
  KernelInfo info = TestInfo();
  for (const uint32_t element : {0, 1}) {
    info.arguments.push_back({ArgumentSlot::Kind::kTree, 0, element, 0});
  }
  return info;
}

}  // namespace kiln

#endif  // KILN_RUNTIME_TEST_ARTIFACT_H_
