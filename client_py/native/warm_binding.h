// What warm starts need of the native side: the parts of an instance that outlive the
// process, digests, and the normal form of a function's text.
#ifndef KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_

#include <pybind11/pybind11.h>

#include <vector>

#include "client_py/native/instance.h"

namespace kiln {

// (digest, writes, texts) as Session.fetch takes them. lines: per file of the source map,
// the 1-based lines of its function that count (PythonBlock::lines), ascending; where there
// are none, line numbers stay as they are.
pybind11::tuple PackInstance(const Instance& instance, const std::vector<std::vector<int>>& lines);

void BindWarm(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_WARM_BINDING_H_
