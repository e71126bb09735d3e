// The limits of quantised numbers and of the words that hold them. Layout and checks enforce them,
// and Python's types read them (`_native`).
#ifndef KILN_COMMON_LAYOUT_QUANT_LIMITS_H_
#define KILN_COMMON_LAYOUT_QUANT_LIMITS_H_

#include <cstdint>

namespace kiln {

// The sizes of words, in bits.
inline constexpr uint32_t kWordBits[] = {8, 16, 32, 64};
constexpr bool IsWordBits(uint64_t bits) {
  for (const uint32_t one : kWordBits) {
    if (bits == one) return true;
  }
  return false;
}

inline constexpr uint32_t kMaxQuantBits = 64;  // of any number, which includes integers
inline constexpr uint32_t kMaxFixedBits = 32;
inline constexpr uint32_t kMaxExponentBits = 8;
// Of a float, without the sign and the leading 1, which is not stored.
inline constexpr uint32_t kMaxFractionBits = 23;

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_QUANT_LIMITS_H_
