#ifndef KILN_CLIENT_CPP_DSL_ERROR_H_
#define KILN_CLIENT_CPP_DSL_ERROR_H_

#include <stdexcept>

#include "client_cpp/dsl/trace.h"

namespace kiln::dsl {

// A kernel or field that cannot be made, or a launch that failed. what() says why, and where in the
// program. Headers throw it, so the exception stays within code that the program's compiler made.
class Error : public std::runtime_error {
 public:
  explicit Error(const Failure& failure) : std::runtime_error(failure.text), code_(failure.code) {}
  int code() const { return code_; }  // one of absl::StatusCode

 private:
  int code_;
};

}  // namespace kiln::dsl

#endif  // KILN_CLIENT_CPP_DSL_ERROR_H_
