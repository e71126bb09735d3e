// Words that hold quantised numbers: their addresses, and indices of their cells.
//
// A quant array packs several cells of a field into a word. Its word has indices of its own: along
// each axis, the field's index divided by the number of the word's cells along the axis. The rest
// says which cell of the word it is:
//
//   x = ti.root.quant_array(ti.i, 32, max_num_bits=32) of 1-bit numbers
//   x[70]  ->  word 2, cell 6: a shift by 6 bits
#ifndef KILN_SERVER_COMPILER_LOWERING_QUANT_WORDS_H_
#define KILN_SERVER_COMPILER_LOWERING_QUANT_WORDS_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Loop indices over quant arrays, taken apart: a loop makes such an index from a word and a cell,
// so its accesses need no division to get them back.
class WordIndices {
 public:
  struct Parts {
    mlir::Value word;
    mlir::Value cell;   // null: the word has one cell along the axis
    int64_t cells = 1;  // of the word, along the axis
    int64_t offset = 0;
  };
  void Add(mlir::Value index, const Parts& parts) { parts_[index] = parts; }
  // The parts of an index for an axis of so many cells a word, and offset; null: not known.
  const Parts* Find(mlir::Value index, int64_t cells, int64_t offset) const;

 private:
  llvm::DenseMap<mlir::Value, Parts> parts_;
};

// If the storage of `param` holds quantised numbers, turns the root's indices into those of its
// word and sets `word` and `shift`.
void EnterWord(LoweringContext& c, ParamId param, Root* root);

mlir::Type WordType(LoweringContext& c, const Root& root);
mlir::Value WordAddress(LoweringContext& c, const Root& root);

// Emits an update of the word, atomic where other threads may write to it. `change` gets the old
// word and returns the new one; what it emits may run several times. Returns the old word.
mlir::Value UpdateWord(LoweringContext& c, const Root& root,
                       llvm::function_ref<mlir::Value(mlir::Value)> change);

// The indices of a quant array's element, from those of its word and the cell's index for each
// digit of the word. Remembers the parts.
Scalars IndicesInWords(LoweringContext& c, int storage, const Scalars& words, const Scalars& cells);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_QUANT_WORDS_H_
