// Protobuf messages from Python dicts: an option that a message gains needs no code here.
#ifndef KILN_CLIENT_PY_NATIVE_MESSAGE_FIELDS_H_
#define KILN_CLIENT_PY_NATIVE_MESSAGE_FIELDS_H_

#include <pybind11/pybind11.h>

#include "google/protobuf/message.h"

namespace kiln {

// Sets the fields of `message` that `values` names: bools, unsigned integers and enums, these by
// number or name. ValueError for names that do not exist, TypeError for values of other types.
void SetFields(const pybind11::dict& values, google::protobuf::Message* message);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_MESSAGE_FIELDS_H_
