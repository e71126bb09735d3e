// The target of the machine that this process runs on.
#ifndef KILN_RUNTIME_CPU_HOST_TARGET_H_
#define KILN_RUNTIME_CPU_HOST_TARGET_H_

#include "common/artifact/target.h"

namespace kiln {

// The highest level that the CPU (CPUID) and the operating system (the registers that it saves)
// support.
Target HostTarget();

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_HOST_TARGET_H_
