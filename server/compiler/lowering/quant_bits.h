// Quantised numbers as ops on words: what common/layout/word_codec.h says, bit for bit.
#ifndef KILN_SERVER_COMPILER_LOWERING_QUANT_BITS_H_
#define KILN_SERVER_COMPILER_LOWERING_QUANT_BITS_H_

#include "kiln/proto/layout.pb.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "server/compiler/lowering/emit_op.h"

namespace kiln {

// Emits at the builder's place of the moment. `word` is a signless integer of the word's bits.
// `shift`, of the same type, is the distance of the number's cell from the word's first one (Root
// in place.h); null: none. A number's *digits* are its bits in the word, without its exponent.
class QuantBits {
 public:
  // `compute`: the scalar type of values.
  QuantBits(mlir::OpBuilder* builder, mlir::Location loc, const proto::Word& word,
            proto::Scalar compute)
      : b_(*builder), loc_(loc), word_(word), compute_(compute) {}

  // The number's value.
  mlir::Value Read(mlir::Value word, const proto::QuantNumber& number, mlir::Value shift);
  // Its digits, extended to an integer of the word's type, with their sign if they have one.
  mlir::Value ReadDigits(mlir::Value word, const proto::QuantNumber& number, mlir::Value shift);

  // A value as it is written. It does not depend on the word, so it can be made once, outside of an
  // update that may run several times. Nothing for numbers with a shared exponent, whose digits
  // depend on the others.
  struct Digits {
    mlir::Value digits;    // of the word's type
    mlir::Value exponent;  // likewise; null: the number has none of its own
  };
  Digits Encode(const proto::QuantNumber& number, mlir::Value value);
  // The digits of a fixed-point number.
  mlir::Value EncodeFixed(const proto::QuantNumber& number, mlir::Value value);

  // The word with the number's bits replaced.
  mlir::Value Insert(mlir::Value word, const proto::QuantNumber& number, mlir::Value shift,
                     const Digits& digits);
  // The word after several numbers took new values: (number, value) each, and what Encode made of
  // them. Numbers that share an exponent are written together, with one that fits them all.
  using Written = std::pair<const proto::QuantNumber*, mlir::Value>;
  mlir::Value Write(mlir::Value word, llvm::ArrayRef<Written> written,
                    llvm::ArrayRef<Digits> digits, mlir::Value shift);

  mlir::Type WordType() { return b_.getIntegerType(word_.bits()); }
  mlir::Value WordNumber(uint64_t value) { return Number(WordType(), value); }

 private:
  mlir::Value WriteShared(mlir::Value word, llvm::ArrayRef<Written> written);
  mlir::Value Number(mlir::Type type, uint64_t value);
  mlir::Value Int32(uint32_t value) { return Number(b_.getI32Type(), value); }
  mlir::Value Resized(mlir::Value integer, unsigned bits, bool is_signed);
  mlir::Value Replace(mlir::Value word, uint32_t offset, uint32_t bits, mlir::Value shift,
                      mlir::Value value);
  mlir::Value Unsigned(mlir::Value word, uint32_t offset, uint32_t bits);
  mlir::Value Widen(mlir::Value exponent, mlir::Value digits, const proto::QuantType& quant);
  mlir::Value WidenShared(mlir::Value exponent, mlir::Value digits, const proto::QuantType& quant);
  mlir::Value NarrowShared(mlir::Value f32, mlir::Value exponent, const proto::QuantType& quant);
  Digits Narrow(mlir::Value value, const proto::QuantType& quant);

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  const proto::Word& word_;
  proto::Scalar compute_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_QUANT_BITS_H_
