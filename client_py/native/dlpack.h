// DLPack: exports the elements of fields and ndarrays to other libraries, and imports their tensors
// as ndarrays, without copying.
#ifndef KILN_CLIENT_PY_NATIVE_DLPACK_H_
#define KILN_CLIENT_PY_NATIVE_DLPACK_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "client_py/native/storage_object.h"

namespace kiln {

// Makes a "dltensor" capsule over the storage's elements. Its axes are those of the shape, then
// those of an element. The receiver of the capsule keeps the memory alive even if the field is
// destroyed. Throws ValueError if the layout has no single stride per axis.
pybind11::capsule ToDlpack(const FieldStorage& storage);

// Makes an ndarray's storage over the tensor of a "dltensor" capsule, and consumes the capsule. The
// tensor must be on the CPU, C-ordered and of a scalar type of the language, otherwise ValueError.
// Its last `element_axes` axes become those of the elements.
std::shared_ptr<FieldStorage> FromDlpack(const pybind11::capsule& capsule, int element_axes);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DLPACK_H_
