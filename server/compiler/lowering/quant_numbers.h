// Quantised numbers: bits of a word. Reading one loads its word; writing one updates it.
//
// What several threads may write to at once is a kiln.update; passes make plain loads and stores of
// those that only one iteration accesses.
//
// Values are of the field's compute type, words signless integers (quant_bits.h).
#ifndef KILN_SERVER_COMPILER_LOWERING_QUANT_NUMBERS_H_
#define KILN_SERVER_COMPILER_LOWERING_QUANT_NUMBERS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// The number that is scalar i of a place in a word.
inline const proto::QuantNumber& NumberAt(const Place& place, uint64_t i = 0) {
  return place.root->word->components(static_cast<int>(place.first + i));
}

// The following require a place in a word; `at` counts from the place's first scalar.

mlir::Value LoadNumber(LoweringContext& c, const Place& place, const Index& at);
void StoreNumber(LoweringContext& c, const Place& place, const Index& at, mlir::Value value);
// Returns the old value. Sums of fixed-point numbers add digits, as Taichi's do: a summand that
// rounds to no digit changes nothing.
mlir::Value AtomicNumber(LoweringContext& c, const Place& place, const Index& at, proto::Op op,
                         mlir::Value value);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_QUANT_NUMBERS_H_
