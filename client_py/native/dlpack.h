// DLPack: elements of fields and ndarrays as tensors of other libraries, and theirs as
// ndarrays, without a copy.
#ifndef KILN_CLIENT_PY_NATIVE_DLPACK_H_
#define KILN_CLIENT_PY_NATIVE_DLPACK_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "client_py/native/storage_object.h"

namespace kiln {

// A "dltensor" capsule over the storage's elements: the axes of its shape, then those of
// an element. The memory lives for as long as the capsule's receiver holds it, even
// when its field is destroyed. ValueError where one stride per axis does not describe
// the layout.
pybind11::capsule ToDlpack(const FieldStorage& storage);

// An ndarray's storage over what a "dltensor" capsule describes, which is used up: on
// the CPU, of a scalar type of the language, C-ordered. Its last `element_axes` axes are
// the elements'. ValueError says what is not so.
std::shared_ptr<FieldStorage> FromDlpack(const pybind11::capsule& capsule, int element_axes);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DLPACK_H_
