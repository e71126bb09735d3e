// Functions for warm starts: packing the lasting parts of an instance, digests, and the normal form
// of a function's text.
#ifndef KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_

#include <pybind11/pybind11.h>

#include <vector>

#include "client_py/native/instance.h"

namespace kiln {

// Returns (digest, writes, texts) for Session.fetch. lines: for each file of the source map, the
// 1-based lines with code of its function (PythonBlock::lines), ascending. If there are none, line
// numbers stay unchanged.
pybind11::tuple PackInstance(const Instance& instance, const std::vector<std::vector<int>>& lines);

void BindWarm(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_
