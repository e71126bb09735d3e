// The launches of a graph (client_py/kiln/graph), one after the other without Python code between.
#ifndef KILN_CLIENT_PY_NATIVE_GRAPH_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_GRAPH_BINDING_H_

#include <pybind11/pybind11.h>

namespace kiln {

void BindGraph(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_GRAPH_BINDING_H_
