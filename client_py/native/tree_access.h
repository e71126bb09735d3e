// Access from the host to the elements of a field whose components lie in trees: one
// element, and copies and fills of all active ones.
//
// Immutable; safe to share. The trees must live.
#ifndef KILN_CLIENT_PY_NATIVE_TREE_ACCESS_H_
#define KILN_CLIENT_PY_NATIVE_TREE_ACCESS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client_py/native/dense_access.h"
#include "common/language/type.h"
#include "common/layout/layout.h"
#include "runtime/tree/tree.h"

namespace kiln {

class TreeAccess {
 public:
  struct Component {
    Tree* tree = nullptr;       // with sparse levels; null: `dense` says where
    int place = 0;              // of `tree`
    std::vector<int32_t> axes;  // of `tree`: the physical axis of each index, -1 for none
    DenseAccess dense;          // of this component alone
  };

  // `elements` knows the indices and, of quantised fields, the words.
  TreeAccess(Scalar scalar, std::vector<int64_t> shape, std::vector<Component> components,
             DenseAccess elements);

  // The address of a component of the element at `indices`, which count from zero and are
  // in range. Reads of what is not active see zeroes; writes make it active, or fail with
  // ResourceExhausted.
  absl::StatusOr<uint8_t*> Locate(const int64_t* indices, int component, CellAccess access) const;

  // All elements to a C-contiguous array with the components innermost; inactive ones are
  // zero.
  void CopyTo(void* array) const;
  // The same as kernels read them: what bitmasked cells held when they became inactive, too.
  void ReadAll(void* array) const;
  // Sets the active elements: from such an array, or to one value per component (each at a
  // multiple of 8 bytes).
  void CopyFrom(const void* array) const;
  void Fill(const uint64_t* values) const;
  // Sets all elements from such an array and makes them active. ResourceExhausted where
  // memory ends; what was set until then stays.
  absl::Status WriteAll(const void* array) const;

 private:
  // Calls visit(address, cells, cell bytes, position in the array, step in the array) for
  // runs of active elements of a component; positions count elements.
  template <typename Visit>
  void ForEachRun(const Component& component, const Visit& visit) const;
  int64_t num_elements() const;
  // Of quantised fields, element by element: visit(word, indices, number of its first scalar).
  template <typename Visit>
  absl::Status ForEachWord(CellAccess access, const Visit& visit) const;
  // Calls visit(address, bytes from the array's beginning) for each scalar of each element.
  template <typename Visit>
  absl::Status ForEachScalar(CellAccess access, const Visit& visit) const;
  absl::Status WriteWords(CellAccess access, const void* array) const;

  Scalar scalar_;
  std::vector<int64_t> shape_;
  std::vector<Component> components_;
  DenseAccess elements_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_TREE_ACCESS_H_
