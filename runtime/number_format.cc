#include "runtime/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace kiln {
namespace {

// The longest text of one number. A spec may ask for billions of digits.
constexpr int kLongestNumber = 1 << 16;

bool IsFloating(SlotScalar scalar) { return scalar >= SlotScalar::kF16; }

char DefaultConversion(SlotScalar scalar) {
  if (IsFloating(scalar)) return 'f';
  const bool is_unsigned = scalar >= SlotScalar::kU8 && scalar <= SlotScalar::kU64;
  return is_unsigned ? 'u' : 'd';
}

// `pattern` has one conversion, which fits the number.
template <typename T>
void Append(const std::string& pattern, T number, std::string* out) {
  char text[512];
  const int size = std::snprintf(text, sizeof text, pattern.c_str(), number);
  if (size < static_cast<int>(sizeof text)) {
    if (size > 0) out->append(text, static_cast<size_t>(size));
    return;
  }
  // 1e308 with many digits after the point, or a large width.
  std::string longer(static_cast<size_t>(std::min(size, kLongestNumber)) + 1, '\0');
  std::snprintf(longer.data(), longer.size(), pattern.c_str(), number);
  out->append(longer, 0, longer.size() - 1);
}

}  // namespace

NumberSpec ParseNumberSpec(std::string_view text) {
  NumberSpec spec;
  for (const char c : text) {
    if (std::strchr("diuxXocaAeEfFgG", c) != nullptr) {
      spec.conversion = c;
    } else if (std::strchr("-+ #.0123456789", c) != nullptr) {
      spec.flags += c;
    }
  }
  return spec;
}

void AppendNumber(SlotScalar scalar, const uint64_t& slot, const NumberSpec& spec,
                  std::string* out) {
  const char conversion = spec.conversion != 0 ? spec.conversion : DefaultConversion(scalar);
  std::string pattern = "%" + spec.flags;
  switch (conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      const long long number = IsFloating(scalar)
                                   ? static_cast<long long>(ReadDouble(scalar, &slot))
                                   : ReadInt(scalar, &slot);
      pattern += "ll";
      pattern += conversion;
      // A negative number in hexadecimal shows the bits of its own type, not 64 bits.
      const int bits = ScalarSizeInBits(scalar);
      const bool masks = conversion != 'd' && conversion != 'i' && bits < 64;
      return Append(pattern, masks ? number & ((1ll << bits) - 1) : number, out);
    }
    case 'c':
      pattern += conversion;
      return Append(pattern, static_cast<int>(ReadInt(scalar, &slot)), out);
    default: {
      const double number = ReadDouble(scalar, &slot);
      if (spec.flags.empty() && spec.conversion == 0 && scalar == SlotScalar::kF64) {
        pattern += ".12";
      }
      pattern += conversion;
      // Drop the sign of a NaN, which printf would show.
      return Append(pattern, std::isnan(number) ? NAN : number, out);
    }
  }
}

}  // namespace kiln
