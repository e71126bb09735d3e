// Arguments of Python as libkiln takes them: numbers, vectors, and arrays of NumPy, of ours and of
// other libraries.
#ifndef KILN_CLIENT_PY_NATIVE_MODULE_ARGUMENTS_H_
#define KILN_CLIENT_PY_NATIVE_MODULE_ARGUMENTS_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "client_py/native/external_arrays.h"
#include "client_py/native/storage_object.h"
#include "kiln/kiln.h"
#include "runtime/device.h"

namespace kiln {

// Of one launch of a module's kernel or graph. Needs the GIL.
class ModuleArguments {
 public:
  // `device`: on which the launch runs; null: the CPU. `kind` and `name`: what is launched, for
  // errors, which have to exist as long as this object. `most`: so many calls of Add at most.
  ModuleArguments(Device* device, const char* kind, const char* name, size_t most);
  ~ModuleArguments();
  ModuleArguments(const ModuleArguments&) = delete;
  ModuleArguments& operator=(const ModuleArguments&) = delete;

  // The argument for a parameter, valid as long as this object. Of no kind if the value is of none:
  // the library says what it takes. Launches come after the work in the streams of arrays of other
  // libraries. Throws ValueError for an array that the kernel cannot use in place.
  kiln_arg Add(pybind11::handle value, const kiln_param& param);
  // Just before the launch: hands over ndarrays (Memory::HandOver); whether there are any.
  bool HandOver() const;
  // After the launch: what the arrays' libraries do next comes after it.
  void Release();

 private:
  struct Packed;

  void AddArray(pybind11::handle value, const kiln_param& param, Packed* packed);
  void AddBuffer(pybind11::handle value, const kiln_param& param, Packed* packed);
  void CheckWritable(bool is_writable, const kiln_param& param) const;
  // Of a texture: fractions are no numbers.
  void CheckTexels(const FieldStorage& storage, const kiln_param& param) const;

  Device* const device_;
  const char *const kind_, *const name_;
  std::unique_ptr<Packed[]> args_;
  size_t count_ = 0;
  ExternalArrays external_;
  std::vector<std::shared_ptr<Memory>> mirrored_;  // of ndarrays
  pybind11::object views_;  // a list of what Python code made of other arrays, or null
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_MODULE_ARGUMENTS_H_
