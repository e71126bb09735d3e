// The named x86-64 levels that artifacts are compiled for and checked against.
#ifndef KILN_COMMON_ARTIFACT_CPU_LEVEL_H_
#define KILN_COMMON_ARTIFACT_CPU_LEVEL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/target.pb.h"

namespace kiln {

// The highest level of this machine (CPUID and the OS's state saving).
proto::CpuLevel HostCpuLevel();

// "x86-64-v3" and back.
absl::string_view CpuLevelName(proto::CpuLevel level);
absl::StatusOr<proto::CpuLevel> ParseCpuLevel(absl::string_view name);

// Whether code for `required` runs on `host`: levels are nested.
inline bool CpuLevelIncludes(proto::CpuLevel host, proto::CpuLevel required) {
  return required <= host;
}

}  // namespace kiln

#endif  // KILN_COMMON_ARTIFACT_CPU_LEVEL_H_
