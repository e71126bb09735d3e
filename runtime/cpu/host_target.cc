#include "runtime/cpu/host_target.h"

#include <cpuid.h>

#include <cstdint>

#include "common/base/first_use.h"

namespace kiln {
namespace {

// The CPUID bits that each level of the x86-64 psABI adds.
constexpr uint32_t kLeaf1EcxV2 = 1u << 0      // SSE3
                                 | 1u << 9    // SSSE3
                                 | 1u << 13   // CMPXCHG16B
                                 | 1u << 19   // SSE4.1
                                 | 1u << 20   // SSE4.2
                                 | 1u << 23;  // POPCNT
constexpr uint32_t kLeaf1EcxV3 = 1u << 12     // FMA
                                 | 1u << 22   // MOVBE
                                 | 1u << 27   // OSXSAVE
                                 | 1u << 28   // AVX
                                 | 1u << 29;  // F16C
constexpr uint32_t kLeaf7EbxV3 = 1u << 3      // BMI1
                                 | 1u << 5    // AVX2
                                 | 1u << 8;   // BMI2
constexpr uint32_t kLeaf7EbxV4 = 1u << 16     // AVX512F
                                 | 1u << 17   // AVX512DQ
                                 | 1u << 28   // AVX512CD
                                 | 1u << 30   // AVX512BW
                                 | 1u << 31;  // AVX512VL
constexpr uint32_t kExtendedEcxV2 = 1u << 0;  // LAHF
constexpr uint32_t kExtendedEcxV3 = 1u << 5;  // LZCNT
// XCR0 bits of the registers that the operating system saves: SSE and AVX; opmask and ZMM.
constexpr uint64_t kSavedAvx = 0x6;
constexpr uint64_t kSavedAvx512 = 0xe6;

bool Has(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

uint64_t ReadXcr0() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

Target Detect() {
  uint32_t eax, ebx, ecx1 = 0, edx, ebx7 = 0, ecx7, ecx_extended = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx1, &edx)) return Target::Cpu(1);
  __get_cpuid_count(7, 0, &eax, &ebx7, &ecx7, &edx);
  __get_cpuid(0x80000001, &eax, &ebx, &ecx_extended, &edx);

  if (!Has(ecx1, kLeaf1EcxV2) || !Has(ecx_extended, kExtendedEcxV2)) return Target::Cpu(1);
  if (!Has(ecx1, kLeaf1EcxV3) || !Has(ebx7, kLeaf7EbxV3) || !Has(ecx_extended, kExtendedEcxV3)) {
    return Target::Cpu(2);
  }
  const uint64_t saved = ReadXcr0();
  if ((saved & kSavedAvx) != kSavedAvx) return Target::Cpu(2);
  if (!Has(ebx7, kLeaf7EbxV4) || (saved & kSavedAvx512) != kSavedAvx512) return Target::Cpu(3);
  return Target::Cpu(4);
}

}  // namespace

Target HostTarget() {
  static FirstUse<Target> target;
  return target.Get(&Detect);
}

}  // namespace kiln
