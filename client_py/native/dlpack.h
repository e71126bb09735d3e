// Shares the memory of fields and ndarrays with other libraries, without copying, by DLPack and by
// __cuda_array_interface__: exports their elements, and imports tensors as ndarrays.
#ifndef KILN_CLIENT_PY_NATIVE_DLPACK_H_
#define KILN_CLIENT_PY_NATIVE_DLPACK_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "client_py/native/storage_object.h"

namespace kiln {

// Whether a kind of device, as DLPack counts them, is a CUDA device's memory.
bool IsCudaDevice(int kind);

// Consumes a "dltensor" capsule. The tensor must be where the program's fields are, or on the CPU,
// C-ordered and of a scalar type of the language, otherwise ValueError. Its last `element_axes`
// axes become those of the elements. is_external: for an argument of a kernel.
std::shared_ptr<FieldStorage> FromDlpack(const pybind11::capsule& capsule, int element_axes,
                                         bool is_external);

// What an object shows of a tensor that kernels can use.
struct ShownTensor {
  uint8_t* data;
  Scalar scalar;
  absl::Span<const int64_t> shape;  // until other Python code runs
  bool on_cuda;
  uint64_t stream = 0;  // the library's current one, if the tensor is on a device
};

// Of an object whose type shows its tensors by `__dlpack_c_exchange_api__`, which is `capsule`.
// Nothing if that has no such functions, or if the tensor is not on the side that `on_cuda` says.
// Throws ValueError as FromDlpack does, and what the functions raise.
std::optional<ShownTensor> ShowTensor(PyObject* capsule, PyObject* value, bool on_cuda);

// The storage of an argument of a kernel, whose memory the caller gives an owner. Throws ValueError
// as FromDlpack does.
std::shared_ptr<FieldStorage> StorageOf(const ShownTensor& tensor);

// Keeps a Python object as long as the result exists.
std::shared_ptr<void> Owning(const pybind11::handle& object);

// Of a CUDA array in C order that `owner`, a Python object, keeps alive. ValueError if kernels
// cannot use it.
std::shared_ptr<FieldStorage> FromCudaArray(uintptr_t address, int scalar,
                                            const std::vector<int64_t>& shape, bool is_writable,
                                            const pybind11::object& owner, int element_axes,
                                            bool is_external);

// to_dlpack(storage), cuda_array(storage), from_dlpack(...) and from_cuda_array(...) of
// _native.pyi. Each raises ValueError if the memory, its layout or its type cannot be shared.
void BindDlpack(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DLPACK_H_
