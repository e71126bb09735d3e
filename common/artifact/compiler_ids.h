// What identifies a compiler in keys (compiler_id.h).
#ifndef KILN_COMMON_ARTIFACT_COMPILER_IDS_H_
#define KILN_COMMON_ARTIFACT_COMPILER_IDS_H_

#include "common/base/digest.h"

namespace kiln {

// Code for CUDA depends on NVIDIA's toolkit as well, which machines without a GPU may lack: it must
// not enter the keys of code for CPUs.
struct CompilerIds {
  CompilerIds() = default;
  // Of a compiler that knows of no toolkit.
  CompilerIds(const Digest& id) : cpu(id), cuda(id) {}  // NOLINT(google-explicit-constructor)
  CompilerIds(const Digest& cpu, const Digest& cuda) : cpu(cpu), cuda(cuda) {}

  bool empty() const { return cpu.empty(); }
  const Digest& For(bool is_cuda) const { return is_cuda ? cuda : cpu; }
  friend bool operator==(const CompilerIds& a, const CompilerIds& b) {
    return a.cpu == b.cpu && a.cuda == b.cuda;
  }
  friend bool operator!=(const CompilerIds& a, const CompilerIds& b) { return !(a == b); }

  Digest cpu;
  Digest cuda;
};

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_COMPILER_IDS_H_
