// Memory that address nodes name: a root (a local, cells of a storage, a join) and a part of it.
#ifndef KILN_SERVER_COMPILER_LOWERING_PLACE_H_
#define KILN_SERVER_COMPILER_LOWERING_PLACE_H_

#include <vector>

#include "common/language/type.h"
#include "kiln/proto/layout.pb.h"
#include "mlir/IR/Value.h"

namespace kiln {

// A value in pieces, struct members in order: its scalars, tensors row-major. A large tensor is one
// piece, the address of an array that nothing writes to while the value is in use.
using Scalars = llvm::SmallVector<mlir::Value, 4>;

// The position of an element in its tensor, row-major.
struct Index {
  Index() = default;
  explicit Index(uint64_t known) : number(known) {}
  explicit Index(mlir::Value computed, mlir::Value of_row = {}, mlir::Value of_column = {})
      : value(computed), row(of_row), column(of_column) {}

  uint64_t number = 0;
  mlir::Value value;        // i32, known at run time only; null: `number`
  mlir::Value row, column;  // in nests of two loops: the parts of `value`
};

struct Root;

// `count` scalars of a root, from `first` on; with an index, the one at first + index.
struct Place {
  const Root* root = nullptr;
  uint64_t first = 0;
  uint64_t count = 0;
  mlir::Value index;  // i32; null: none
};

// The index of element `at` of a place among the place's scalars: its own index if it has one.
inline Index IndexWithin(const Place& place, const Index& at) {
  return place.index ? Index(place.index) : at;
}

// What a LOCAL, GLOBAL, JOIN or REFERENCE node names.
struct Root {
  bool InStorage() const { return storage >= 0; }
  bool InWord() const { return word != nullptr; }  // bits of a storage's words
  bool IsJoin() const { return !parts.empty(); }

  const std::vector<Scalar>* scalars;  // the type of each, in order

  // A local has a cell per scalar. Tensors that are large, or that some run-time value indexes,
  // have arrays instead; the cells of their scalars are null.
  std::vector<mlir::Value> cells;
  struct Array {
    uint64_t first;  // scalar of the root
    uint64_t count;
    mlir::Value address;
  };
  std::vector<Array> arrays;

  // Cells of a storage, by its position among the kernel's storages (Storages).
  int storage = -1;
  Scalars indices;
  // Of quantised numbers: the indices are those of words. In a quant array, `shift` is the distance
  // in bits from the word's first cell to this one; null: no distance.
  const proto::Word* word = nullptr;
  mlir::Value shift;

  std::vector<Place> parts;  // of a join: where each scalar is
};

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_PLACE_H_
