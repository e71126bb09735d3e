// Quantised numbers in their words: what reading and writing one does, bit by bit. The host's
// side of what server/compiler/lowering/quant_bits.cc emits for kernels.
//
// Integers keep their low bits. Fixed-point numbers are digits times a scale: to the nearest,
// halves away from zero, then as integers. Floats have the digits of f32 after the leading 1, to
// the nearest, and an exponent of fewer bits. They have neither infinities nor denormals: what is
// too large becomes the largest, what is too small zero. Floats with a shared exponent state the
// leading 1; a write rescales all that share it.
//
// Thread safety: immutable once made.
#ifndef KILN_COMMON_LAYOUT_WORD_CODEC_H_
#define KILN_COMMON_LAYOUT_WORD_CODEC_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/language/type.h"
#include "kiln/proto/layout.pb.h"

namespace kiln {

class WordCodec {
 public:
  // `word` as CheckStorage lets pass; `compute` is the scalar of the storage's element.
  WordCodec(const proto::Word& word, Scalar compute);

  int bytes() const { return static_cast<int>(bits_ / 8); }
  // The component's value, in the low ScalarBytes(compute) bytes. `shift`: the bits between the
  // component and that of the first cell of a quant array.
  uint64_t Read(uint64_t word, int component, uint32_t shift) const;
  // The word after the component became `value`, given as Read gives it.
  uint64_t Write(uint64_t word, int component, uint32_t shift, uint64_t value) const;
  // The word after all components became `values`: numbers that share an exponent at once.
  uint64_t WriteAll(uint64_t word, uint32_t shift, const uint64_t* values) const;

 private:
  struct Number {
    proto::QuantType::Kind kind;
    uint32_t offset;
    uint32_t bits;
    bool is_signed;
    double scale;
    uint32_t exponent_offset;
    uint32_t exponent_bits;
    bool shared;
    uint32_t digits() const { return bits - (is_signed ? 1 : 0); }
  };

  static Number Resolve(const proto::QuantNumber& number);
  uint64_t ReadInt(uint64_t word, const Number& number, uint32_t shift) const;
  uint64_t DecodeFixed(uint64_t word, const Number& number, uint32_t shift) const;
  uint64_t EncodeFixed(uint64_t value, const Number& number) const;
  // (number, its value as f32) of each that is written; all use one exponent.
  using Written = std::vector<std::pair<const Number*, uint32_t>>;
  uint64_t EncodeShared(uint64_t word, const Written& written) const;

  uint32_t bits_;
  Scalar compute_;
  std::vector<Number> components_;
  std::vector<Number> sharers_;
};

}  // namespace kiln

#endif  // KILN_COMMON_LAYOUT_WORD_CODEC_H_
