// Quantised numbers as ops on words: what common/layout/word_codec.h says, bit for bit.
#ifndef KILN_SERVER_COMPILER_LOWERING_QUANT_BITS_H_
#define KILN_SERVER_COMPILER_LOWERING_QUANT_BITS_H_

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "proto/layout.pb.h"
#include "server/compiler/lowering/emit_op.h"

namespace kiln {

// Emits at the builder's place as it is at each call. `word` is a signless integer of the
// word's bits; `shift`, of its type, says how many bits further up the digits lie (null: none).
class QuantBits {
 public:
  QuantBits(mlir::OpBuilder* builder, mlir::Location loc, const proto::Word& word,
            proto::Scalar compute, const EmitOptions& options)
      : b_(*builder), loc_(loc), word_(word), compute_(compute), options_(options) {}

  // The number's value, of the compute type.
  mlir::Value Read(mlir::Value word, const proto::QuantNumber& number, mlir::Value shift);

  // What a write puts into the word, but for shared exponents: the digits and, of floats, the
  // exponent. Made once, outside of what may run again.
  struct Digits {
    mlir::Value digits;    // of the word's type
    mlir::Value exponent;  // likewise; null: none
  };
  Digits Encode(const proto::QuantNumber& number, mlir::Value value);
  // The digits of a fixed-point number, an integer of the word's type.
  mlir::Value EncodeFixed(const proto::QuantNumber& number, mlir::Value value);
  mlir::Value Insert(mlir::Value word, const proto::QuantNumber& number, mlir::Value shift,
                     const Digits& digits);
  // The number's digits alone, sign-extended or not, as an integer of the word's type.
  mlir::Value ReadDigits(mlir::Value word, const proto::QuantNumber& number, mlir::Value shift);

  // The word after numbers of one shared exponent took new values: (number, value) each.
  using Written = std::pair<const proto::QuantNumber*, mlir::Value>;
  mlir::Value WriteShared(mlir::Value word, llvm::ArrayRef<Written> written);

  mlir::Type WordType() { return b_.getIntegerType(word_.bits()); }
  mlir::Value WordNumber(uint64_t value) { return Number(WordType(), value); }

 private:
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
  const EmitOptions& options_;
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_QUANT_BITS_H_
