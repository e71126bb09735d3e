#include "libkiln/failure.h"

#include <algorithm>
#include <cstring>

namespace kiln::capi {
namespace {

// Plain memory: a thread-local object with a destructor would keep the library loaded until the
// thread ends.
thread_local char last_error[2048];

}  // namespace

kiln_status Fail(kiln_status code, std::string_view text) {
  const size_t size = std::min(text.size(), sizeof last_error - 1);
  std::memcpy(last_error, text.data(), size);
  last_error[size] = '\0';
  return code;
}

kiln_status FailNull(const char* function, const char* argument) {
  return Fail(KILN_INVALID_ARGUMENT,
              std::string(function) + ": '" + argument + "' is NULL, or has been freed");
}

}  // namespace kiln::capi

const char* kiln_error(void) { return kiln::capi::last_error; }
