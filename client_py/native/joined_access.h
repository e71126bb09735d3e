// Access from the host to the elements of a field whose components are in several words of
// quantised numbers, or partly not quantised. The components of each word form a part, which is
// itself a field.
#ifndef KILN_CLIENT_PY_NATIVE_JOINED_ACCESS_H_
#define KILN_CLIENT_PY_NATIVE_JOINED_ACCESS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "client_cpp/host/scattered_access.h"
#include "client_py/native/storage_object.h"

namespace kiln {

class JoinedAccess : public ScatteredAccess {
 public:
  struct Part {
    std::shared_ptr<const FieldStorage> storage;
    std::vector<int> components;  // of the whole, in the part's order
  };

  // Requires: each of the whole field's `num_components` is in one part, and all parts have the
  // whole field's shape and scalar.
  JoinedAccess(std::vector<Part> parts, int num_components);

  absl::StatusOr<uint8_t*> Locate(const int64_t* indices, int component,
                                  CellAccess access) const override;
  uint64_t Read(const uint8_t* at, const int64_t* indices, int component) const override;
  void Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const override;
  absl::Status WriteElement(const int64_t* indices, const uint64_t* values) const override;
  void CopyTo(void* array) const override;
  void ReadAll(void* array) const override;
  void CopyFrom(const void* array) const override;
  void Fill(const uint64_t* values) const override;
  absl::Status WriteAll(const void* array) const override;

 private:
  // The position of a component.
  struct Component {
    const FieldStorage* storage;
    int number;
  };

  // An array for a part's elements, and copies between it and an array of whole elements.
  std::vector<uint8_t> ArrayOf(const Part& part) const;
  std::vector<uint8_t> Taken(const Part& part, const void* whole) const;
  void Spread(const Part& part, const std::vector<uint8_t>& array, void* whole) const;
  std::vector<uint64_t> ValuesOf(const Part& part, const uint64_t* values) const;

  std::vector<Part> parts_;
  std::vector<Component> components_;
};

// The storage of a field with elements of `element_shape`. InvalidArgument if the parts have
// different shapes.
absl::StatusOr<std::shared_ptr<FieldStorage>> JoinStorages(
    std::vector<JoinedAccess::Part> parts, const std::vector<uint32_t>& element_shape);

void BindJoined(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_JOINED_ACCESS_H_
