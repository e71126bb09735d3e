// What warm starts need of the native side: notes, digests, and the normal form of a function's
// text.
#ifndef KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_

#include <pybind11/pybind11.h>

namespace kiln {

void BindWarm(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_
