// Entries, bundles and keys for Python.
#ifndef KILN_CLIENT_PY_NATIVE_CACHE_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_CACHE_BINDING_H_

#include <pybind11/pybind11.h>

namespace kiln {

// Adds the functions for the commands `kiln cache` and `kiln key`.
void BindCache(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_CACHE_BINDING_H_
