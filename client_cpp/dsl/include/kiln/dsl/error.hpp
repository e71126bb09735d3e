#ifndef KILN_DSL_ERROR_HPP_
#define KILN_DSL_ERROR_HPP_

#include <kiln/compile.h>

#include <stdexcept>
#include <string>

#include "kiln/dsl/trace.hpp"

namespace kiln::dsl {

// A kernel or field that cannot be made, or a launch that failed. what() says why, and where in the
// program. Headers throw it, so the exception stays within code that the program's compiler made.
class Error : public std::runtime_error {
 public:
  Error(kiln_status code, const std::string& text) : std::runtime_error(text), code_(code) {}
  kiln_status code() const { return code_; }

 private:
  kiln_status code_;
};

// Throws a mistake of a kernel, with the program's line.
[[noreturn]] inline void Refuse(Place place, const std::string& text) {
  throw Error(KILN_INVALID_ARGUMENT,
              std::string(place.file) + ":" + std::to_string(place.line) + ": " + text);
}

// Throws what the library says if a call failed.
inline void Check(kiln_status status) {
  if (status != KILN_OK) throw Error(status, kiln_compile_error());
}

}  // namespace kiln::dsl

#endif  // KILN_DSL_ERROR_HPP_
