// Access from the host to the elements of a field whose components are in trees.
#ifndef KILN_CLIENT_CPP_HOST_TREE_ACCESS_H_
#define KILN_CLIENT_CPP_HOST_TREE_ACCESS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client_cpp/host/dense_access.h"
#include "client_cpp/host/scattered_access.h"
#include "common/language/type.h"
#include "common/layout/layout.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

class TreeAccess : public ScatteredAccess {
 public:
  struct Component {
    TreeData* tree = nullptr;   // a tree with sparse levels; null: see `dense`
    int place = 0;              // of `tree`
    std::vector<int32_t> axes;  // of `tree`: the physical axis of each index, -1 for none
    DenseAccess dense;          // of this component alone
  };

  // `elements` has the indices and, for quantised fields, the codecs of the words.
  TreeAccess(Scalar scalar, std::vector<int64_t> shape, std::vector<Component> components,
             DenseAccess elements);

  absl::StatusOr<uint8_t*> Locate(const int64_t* indices, int component,
                                  CellAccess access) const override;
  uint64_t Read(const uint8_t* at, const int64_t* indices, int component) const override {
    return elements_.Read(at, indices, component);
  }
  void Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const override {
    elements_.Write(at, indices, component, value);
  }
  absl::Status WriteElement(const int64_t* indices, const uint64_t* values) const override;
  void CopyTo(void* array) const override;
  void ReadAll(void* array) const override;
  void CopyFrom(const void* array) const override;
  void Fill(const uint64_t* values) const override;
  absl::Status WriteAll(const void* array) const override;

 private:
  // Calls visit(address, cells, cell bytes, position in the array, step in the array) for
  // runs of active elements of a component; positions count elements.
  template <typename Visit>
  void ForEachRun(const Component& component, HostAccess access, const Visit& visit) const;
  int64_t num_elements() const;
  // For quantised fields: visit(word, indices, number of its first scalar) for each active element.
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

#endif  // KILN_CLIENT_CPP_HOST_TREE_ACCESS_H_
