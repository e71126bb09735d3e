// CheckWord: the words of a quantised storage of a unit.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/layout/layout.h"
#include "common/layout/quant_limits.h"

namespace kiln {
namespace {

constexpr int kMaxSharers = 64;
constexpr int kMaxDigits = kMaxIndices;

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

bool Fits(uint64_t offset, uint64_t bits, uint64_t room) {
  return bits > 0 && bits <= room && offset <= room - bits;
}

// `room`: the number of bits that its digits may be in.
absl::Status CheckNumber(const proto::QuantNumber& number, Scalar compute, uint64_t room,
                         uint64_t word) {
  const proto::QuantType& quant = number.quant();
  if (!Fits(number.bit_offset(), quant.bits(), room)) {
    return Bad(quant.bits(), " bits at bit ", number.bit_offset(), " of ", room);
  }
  switch (quant.kind()) {
    case proto::QuantType::QUANT_INT:
      if (IsFloat(compute)) return Bad("integers computed as floats");
      return absl::OkStatus();
    case proto::QuantType::QUANT_FIXED:
      if (compute != proto::F32 && compute != proto::F64) {
        return Bad("fixed-point numbers computed as neither f32 nor f64");
      }
      if (quant.bits() > kMaxFixedBits) {
        return Bad("fixed-point numbers of ", quant.bits(), " bits");
      }
      if (!std::isfinite(quant.scale()) || quant.scale() == 0) return Bad("scale ", quant.scale());
      return absl::OkStatus();
    case proto::QuantType::QUANT_FLOAT: {
      if (compute != proto::F32) return Bad("floats of few bits not computed as f32");
      if (quant.exponent_bits() > kMaxExponentBits ||
          !Fits(number.exponent_offset(), quant.exponent_bits(), word)) {
        return Bad("exponent of ", quant.exponent_bits(), " bits at bit ",
                   number.exponent_offset());
      }
      const uint32_t digits = quant.bits() - (quant.is_signed() ? 1 : 0);
      // Numbers that share an exponent store the leading 1.
      const uint32_t most = kMaxFractionBits + (number.shared_exponent() ? 1 : 0);
      if (digits == 0 || digits > most) return Bad("float of ", quant.bits(), " bits of digits");
      return absl::OkStatus();
    }
    default:
      return Bad("a quantised type of kind ", quant.kind());
  }
}

}  // namespace

absl::Status CheckWord(const proto::Storage& storage, uint64_t elements) {
  const proto::Word& word = storage.word();
  const uint64_t bits = word.bits();
  if (!IsWordBits(bits)) return Bad("word of ", bits, " bits");
  if (static_cast<uint64_t>(word.components_size()) != elements) {
    return Bad(word.components_size(), " quantised components of ", elements);
  }
  if (word.sharers_size() > kMaxSharers) return Bad(word.sharers_size(), " sharers of exponents");
  if (word.digits_size() > kMaxDigits) return Bad(word.digits_size(), " digits in a word");
  const uint32_t num_axes = storage.has_dense() ? storage.dense().num_axes()
                                                : static_cast<uint32_t>(storage.tree().axes_size());
  uint64_t last = 0;  // of the bits that the digits step over
  uint32_t seen = 0;
  for (const proto::Digit& digit : word.digits()) {
    if (digit.axis() >= num_axes || (seen >> digit.axis() & 1) != 0) {
      return Bad("digit of axis ", digit.axis(), " in a word");
    }
    seen |= uint32_t{1} << digit.axis();
    const bool fits = digit.extent() > 0 && digit.extent() <= bits && digit.stride() <= bits;
    if (fits) last += (digit.extent() - 1) * digit.stride();
    if (!fits || last >= bits) {
      return Bad("digit of ", digit.extent(), " times ", digit.stride(), " bits in a word");
    }
  }
  const auto check = [&](const char* what, const auto& numbers) -> absl::Status {
    for (int i = 0; i < numbers.size(); ++i) {
      const absl::Status status =
          CheckNumber(numbers[i], storage.element().scalar(), bits - last, bits);
      if (!status.ok()) return Bad(what, " ", i, ": ", status.message());
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(check("component", word.components()));
  return check("sharer", word.sharers());
}

}  // namespace kiln
