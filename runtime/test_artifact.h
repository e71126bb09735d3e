// Descriptions of the tasks in testdata/test_kernel.c.
#ifndef KILN_RUNTIME_TEST_ARTIFACT_H_
#define KILN_RUNTIME_TEST_ARTIFACT_H_

#include <fstream>
#include <iterator>
#include <string>

#include "lang/cpu_level.h"
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

// Constant bounds, or the bounds function's when `bounds` is given.
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

}  // namespace kiln

#endif  // KILN_RUNTIME_TEST_ARTIFACT_H_
