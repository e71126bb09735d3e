// The version of glibc, whose math functions kernels call. Its libraries are of one version.
#ifndef KILN_RUNTIME_CPU_GLIBC_H_
#define KILN_RUNTIME_CPU_GLIBC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/kernel_info.h"

namespace kiln {

// 36 for "2.36"; 2 for "2.2.5". Nothing for texts that are no version of glibc 2.
std::optional<uint32_t> ParseGlibc(std::string_view version);

// That of this process; 0 if it has another C library.
uint32_t HostGlibc();

// What of `needs` glibc 2.`available` lacks, as "libmvec.so.1 of glibc 2.35"; "" if nothing.
// Ignores versions of other libraries: the loader judges those.
std::string MissingFromGlibc(const LibraryVersions& needs, uint32_t available);

}  // namespace kiln

#endif  // KILN_RUNTIME_CPU_GLIBC_H_
