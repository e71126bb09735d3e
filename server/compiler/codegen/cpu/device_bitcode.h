// The device library (runtime/device_lib) as LLVM bitcode, in this program's data.
#ifndef KILN_SERVER_COMPILER_CODEGEN_CPU_DEVICE_BITCODE_H_
#define KILN_SERVER_COMPILER_CODEGEN_CPU_DEVICE_BITCODE_H_

#include <cstddef>

namespace kiln {

extern const char kDeviceBitcode[];
extern const size_t kDeviceBitcodeSize;

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_CODEGEN_CPU_DEVICE_BITCODE_H_
