// Arguments of launches: checked against a parameter, and packed into slots.
#ifndef KILN_LIBKILN_ARGUMENTS_H_
#define KILN_LIBKILN_ARGUMENTS_H_

#include <cstdint>

#include "kiln/kiln.h"
#include "runtime/module/module.h"

namespace kiln::capi {

// What an argument is checked against.
struct Wanted {
  const char* of;            // "kernel" or "graph"
  const std::string& owner;  // its name
  const std::string& name;   // the parameter's
  bool is_array;
  const ValueShape& value;
  uint32_t rank;
  Device* device;  // on which the kernel runs; null: the CPU
};

inline Wanted WantedBy(const ModuleKernel& kernel, const ModuleParam& param, Device* device) {
  return {"kernel", kernel.name, param.name, param.is_array, param.value, param.rank, device};
}

// Fills in the argument's slots: one for each number, or an array's address and extents. The
// address may be the host's where kernels run on another device. Converts nothing silently:
// KILN_INVALID_ARGUMENT names the parameter, what it takes and what it got.
kiln_status PackArg(const Wanted& wanted, const kiln_arg& arg, uint64_t* slots);

}  // namespace kiln::capi

#endif  // KILN_LIBKILN_ARGUMENTS_H_
