// Descriptions of the tasks in testdata/test_kernel.c.
#ifndef KILN_RUNTIME_TEST_ARTIFACT_H_
#define KILN_RUNTIME_TEST_ARTIFACT_H_

#include <fstream>
#include <iterator>
#include <string>

#include "common/artifact/cpu_level.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

inline constexpr char kTestKernelPath[] = "runtime/testdata/test_kernel.so";

inline std::string TestKernelBytes() {
  std::ifstream in(kTestKernelPath, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline proto::ArtifactInfo TestInfo() {
  proto::ArtifactInfo info;
  info.mutable_target()->set_cpu(HostCpuLevel());
  info.mutable_target()->set_runtime_abi(RuntimeAbi());
  return info;
}

inline void AddSerial(proto::ArtifactInfo* info, const char* symbol) {
  proto::Task* task = info->add_tasks();
  task->set_kind(proto::TASK_SERIAL);
  task->set_symbol(symbol);
}

// Constant bounds, or those of the bounds function `bounds` if given.
inline proto::Task* AddRange(proto::ArtifactInfo* info, const char* symbol, int64_t end,
                             uint32_t cost, const char* bounds = nullptr) {
  proto::Task* task = info->add_tasks();
  task->set_kind(proto::TASK_RANGE);
  task->set_symbol(symbol);
  task->set_cost(cost);
  task->set_end(end);
  task->set_constant_bounds(bounds == nullptr);
  if (bounds != nullptr) task->set_bounds_symbol(bounds);
  return task;
}

// For a pointer SNode, node 1 of tree 0.
inline proto::Task* AddTreeTask(proto::ArtifactInfo* info, proto::TaskKind kind,
                                const char* symbol = "") {
  proto::Task* task = info->add_tasks();
  task->set_kind(kind);
  task->set_symbol(symbol);
  task->set_node(1);
  if (kind == proto::TASK_STRUCT) task->set_iterations(3);
  return task;
}

// For a kernel with one tree.
inline proto::ArtifactInfo TreeInfo() {
  proto::ArtifactInfo info = TestInfo();
  for (const uint32_t element : {0, 1}) {
    proto::ArgumentSlot* slot = info.add_arguments();
    slot->set_kind(proto::ArgumentSlot::SLOT_TREE);
    slot->set_element(element);
  }
  return info;
}

}  // namespace kiln

#endif  // KILN_RUNTIME_TEST_ARTIFACT_H_
