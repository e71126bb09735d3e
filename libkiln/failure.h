// How functions of the C interface fail: a code, and a text for the calling thread.
#ifndef KILN_LIBKILN_FAILURE_H_
#define KILN_LIBKILN_FAILURE_H_

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "kiln/kiln.h"
#include "runtime/result.h"

namespace kiln::capi {

// Keeps `text` for kiln_error() and returns `code`.
kiln_status Fail(kiln_status code, std::string_view text);
inline kiln_status Fail(const Error& error) {
  return Fail(static_cast<kiln_status>(error.code), error.text);
}

// What an argument that is null, or freed, is answered with.
kiln_status FailNull(const char* function, const char* argument);

// Runs the body of a function. No exception leaves the library: callers may be C.
template <typename Body>
kiln_status Guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Fail(KILN_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::exception& error) {
    return Fail(KILN_INTERNAL, error.what());
  } catch (...) {
    // The library itself throws nothing; an executor or a receiver of prints of the program did.
    return Fail(KILN_INTERNAL, "a function that the program passed has thrown an exception");
  }
}

}  // namespace kiln::capi

#endif  // KILN_LIBKILN_FAILURE_H_
