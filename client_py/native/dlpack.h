// Shares the memory of fields and ndarrays with other libraries, without copying, by DLPack and by
// __cuda_array_interface__: exports their elements, and imports tensors as ndarrays.
#ifndef KILN_CLIENT_PY_NATIVE_DLPACK_H_
#define KILN_CLIENT_PY_NATIVE_DLPACK_H_

#include <pybind11/pybind11.h>

namespace kiln {

// to_dlpack(storage), cuda_array(storage), from_dlpack(...) and from_cuda_array(...) of
// _native.pyi. Each raises ValueError if the memory, its layout or its type cannot be shared.
void BindDlpack(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DLPACK_H_
