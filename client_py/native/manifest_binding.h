// Manifests for Python.
#ifndef KILN_CLIENT_PY_NATIVE_MANIFEST_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_MANIFEST_BINDING_H_

#include <pybind11/pybind11.h>

namespace kiln {

// Manifest, ManifestUnit and BadManifest.
void BindManifest(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_MANIFEST_BINDING_H_
