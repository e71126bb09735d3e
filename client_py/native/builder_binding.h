// KernelBuilder for Python, method for method.
#ifndef KILN_CLIENT_PY_NATIVE_BUILDER_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_BUILDER_BINDING_H_

#include <pybind11/pybind11.h>

namespace kiln {

// Builder and BuilderError.
void BindBuilder(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_BUILDER_BINDING_H_
