// The CPUs of this machine as a device: code is called in this process, and its memory is the
// host's.
#ifndef KILN_RUNTIME_CPU_DEVICE_H_
#define KILN_RUNTIME_CPU_DEVICE_H_

#include "runtime/device.h"

namespace kiln {

// Lives forever.
Device& CpuDevice();

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_DEVICE_H_
