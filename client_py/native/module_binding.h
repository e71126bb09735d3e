// Loaded modules for Python.
#ifndef KILN_CLIENT_PY_NATIVE_MODULE_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_MODULE_BINDING_H_

#include <pybind11/pybind11.h>

namespace kiln {

void BindModule(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_MODULE_BINDING_H_
