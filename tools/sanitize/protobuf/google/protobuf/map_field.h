// Protobuf's map fields have members more where ThreadSanitizer is on, which the system's library,
// not built with it, does not know: it would write to the wrong places. They are left out.
#ifndef KILN_TOOLS_SANITIZE_MAP_FIELD_H_
#define KILN_TOOLS_SANITIZE_MAP_FIELD_H_

// The standard library's headers are as they are with it.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")

#endif  // KILN_TOOLS_SANITIZE_MAP_FIELD_H_
