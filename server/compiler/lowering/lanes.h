// Loops with `bit_vectorize` over quant arrays of single bits: all cells of a word at once.
//
//   for i in x:                       for each word w of x:
//       n = x[i - 1] + x[i + 1]           a = x.w << 1 | x.(w - 1) >> 31
//       y[i] = n == 2                     b = x.w >> 1 | x.(w + 1) << 31
//                                         y.w = a & b
//
// The iterations of a word are its *lanes*, one bit each. A number of the body is a row of words,
// its *planes*. Plane k holds bit k of the number for every lane, so a sum is an adder made of
// bit-wise operations on words.
//
// A body qualifies if it is a straight line of integer arithmetic on such bits, on constants and on
// locals made of them. It may read cells of other words and of other bit arrays, at a constant
// distance from the lane's own. It may store to the lane's own cell. It may also add to other
// memory, which gets the sum of all lanes. All other bodies go cell by cell
// (lower_struct_loops.cc).
//
// This is a second translation of nodes, not a pass over their ops. After lowering, accesses to
// bits are loads, shifts and masks of words, with i32 arithmetic on top. A pass would have to find
// facts again: the numbers' widths, the distances between cells and the absence of other effects.
#ifndef KILN_SERVER_COMPILER_LOWERING_LANES_H_
#define KILN_SERVER_COMPILER_LOWERING_LANES_H_

#include "server/compiler/lowering/lowering_context.h"

namespace kiln {

// Whether LowerByLanes can lower the body of a struct-for at the builder's place, over the storage
// at the position. The context is as before.
bool CanRunByLanes(LoweringContext& c, StructForNode loop, int storage);

// Lowers the body at the indices of a word, for all of its cells; ends no block. Requires
// CanRunByLanes.
void LowerByLanes(LoweringContext& c, StructForNode loop, int storage, const Scalars& words);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_LANES_H_
