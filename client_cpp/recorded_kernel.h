// Recorded kernels: what a kernel can be compiled from again, without its program.
//
// Thread safety: pure functions.
#ifndef KILN_CLIENT_CPP_RECORDED_KERNEL_H_
#define KILN_CLIENT_CPP_RECORDED_KERNEL_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unit/canonical.h"
#include "kiln/proto/source_map.pb.h"

namespace kiln {

// Of one: the unit and its source map.
inline constexpr size_t kMaxRecordedKernelBytes = kMaxUnitBytes + (size_t{16} << 20);

// A serialised CompileRequest for Session::Warm, which is independent of the target and of the
// program's path. `unit`: the canonical bytes of a unit without target.
std::string RecordedKernel(std::string unit, const proto::SourceMap& source_map);

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_RECORDED_KERNEL_H_
