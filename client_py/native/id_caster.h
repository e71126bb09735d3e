// Ids of the parts of a kernel (common/language/ids.h) as pybind11 converts them: in Python, an id
// is its number. Include it wherever a bound function takes or returns ids.
#ifndef KILN_CLIENT_PY_NATIVE_ID_CASTER_H_
#define KILN_CLIENT_PY_NATIVE_ID_CASTER_H_

#include <pybind11/pybind11.h>

#include <cstdint>

#include "common/language/ids.h"

template <typename Kind>
struct pybind11::detail::type_caster<kiln::Id<Kind>> {
  PYBIND11_TYPE_CASTER(kiln::Id<Kind>, const_name("int"));

  bool load(handle source, bool convert) {
    make_caster<uint32_t> number;
    if (!number.load(source, convert)) return false;
    value = kiln::Id<Kind>(cast_op<uint32_t>(number));
    return true;
  }
  static handle cast(kiln::Id<Kind> id, return_value_policy policy, handle parent) {
    return make_caster<uint32_t>::cast(id.number(), policy, parent);
  }
};

#endif  // KILN_CLIENT_PY_NATIVE_ID_CASTER_H_
