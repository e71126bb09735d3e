// Numbers of the language as text: one value of a print by its format spec.
#ifndef KILN_RUNTIME_NUMBER_FORMAT_H_
#define KILN_RUNTIME_NUMBER_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/scalar.h"

namespace kiln {

// A format spec for printf: flags, width and precision, without length modifier, and the conversion
// letter. Only what fits a number: other letters, such as n, and * would make printf read or write
// what it was not given.
struct NumberSpec {
  std::string flags;
  char conversion = 0;  // 0: that of the number's type
};

// The parts of `text` that fit a number; ignores the others.
NumberSpec ParseNumberSpec(std::string_view text);

// Appends the number in `slot`, at most 65,536 characters.
void AppendNumber(SlotScalar scalar, const uint64_t& slot, const NumberSpec& spec,
                  std::string* out);

}  // namespace kiln

#endif  // KILN_RUNTIME_NUMBER_FORMAT_H_
