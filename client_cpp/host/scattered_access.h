// Access from the host to the elements of a field that is no regular array of cells: one
// element, and copies and fills of all of them.
//
// Immutable; safe to share. The memory must live.
#ifndef KILN_CLIENT_CPP_HOST_SCATTERED_ACCESS_H_
#define KILN_CLIENT_CPP_HOST_SCATTERED_ACCESS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/tree/tree.h"

namespace kiln {

// Arrays are C-contiguous with the components innermost; indices count from zero and are in
// range; a scalar is the low bytes of a uint64_t.
class ScatteredAccess {
 public:
  virtual ~ScatteredAccess() = default;

  // The address of a component, or of the word that it is in. Reads of what is not active see
  // zeroes; writes make it active, or fail with ResourceExhausted.
  virtual absl::StatusOr<uint8_t*> Locate(const int64_t* indices, int component,
                                          CellAccess access) const = 0;
  // A component at the address that Locate gave for it.
  virtual uint64_t Read(const uint8_t* at, const int64_t* indices, int component) const = 0;
  virtual void Write(uint8_t* at, const int64_t* indices, int component, uint64_t value) const = 0;
  // All components of an element, which becomes active: those of a word at once.
  virtual absl::Status WriteElement(const int64_t* indices, const uint64_t* values) const = 0;

  // All elements to an array; inactive ones are zero.
  virtual void CopyTo(void* array) const = 0;
  // The same as kernels read them: what bitmasked cells held when they became inactive, too.
  virtual void ReadAll(void* array) const = 0;
  // Sets the active elements: from an array, or to one value per component.
  virtual void CopyFrom(const void* array) const = 0;
  virtual void Fill(const uint64_t* values) const = 0;
  // Sets all elements from an array and makes them active. ResourceExhausted where memory
  // ends; what was set until then stays.
  virtual absl::Status WriteAll(const void* array) const = 0;
};

}  // namespace kiln

#endif  // KILN_CLIENT_CPP_HOST_SCATTERED_ACCESS_H_
