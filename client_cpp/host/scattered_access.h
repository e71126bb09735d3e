// Access from the host to the elements of a field that is not a regular array of cells: to one
// element, and copies and fills of all elements.
//
// Immutable; threads may share it. Requires: the field's memory exists.
#ifndef KILN_CLIENT_CPP_HOST_SCATTERED_ACCESS_H_
#define KILN_CLIENT_CPP_HOST_SCATTERED_ACCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/tree/tree_data.h"

namespace kiln {

// Arrays are C-contiguous, and their innermost axes are the components. Indices count from zero and
// are in range. A scalar is in the low bytes of a uint64_t.
class ScatteredAccess {
 public:
  virtual ~ScatteredAccess() = default;

  // The address of a component, or of its word. Reading an inactive element yields zeros; writing
  // activates it, or fails with ResourceExhausted.
  virtual absl::StatusOr<uint8_t*> Locate(const int64_t* indices, int component,
                                          CellAccess access) const = 0;
  // Reads a component at the address that Locate returned for it.
  virtual uint64_t Read(const uint8_t* at, const int64_t* indices, int component) const = 0;
  virtual void Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const = 0;
  // Writes all components of an element and activates it; components in one word together.
  virtual absl::Status WriteElement(const int64_t* indices, const uint64_t* values) const = 0;

  // Copies all elements to an array; inactive ones are zero.
  virtual void CopyTo(void* array) const = 0;
  // The same with the values that kernels read: inactive bitmasked cells keep their last values.
  virtual void ReadAll(void* array) const = 0;
  // Sets the active elements: from an array, or to one value per component.
  virtual void CopyFrom(const void* array) const = 0;
  virtual void Fill(const uint64_t* values) const = 0;
  // Sets all elements from an array and activates them. ResourceExhausted if memory is exhausted;
  // the elements that were set before that stay.
  virtual absl::Status WriteAll(const void* array) const = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_SCATTERED_ACCESS_H_
