// What the tests of kernels in C++ (kiln/dsl.hpp) share. They run on a CUDA device with
// KILN_TEST_ARCH=cuda.
#ifndef KILN_TESTS_E2E_CPP_DSL_TEST_H_
#define KILN_TESTS_E2E_CPP_DSL_TEST_H_

#include <kiln/dsl.hpp>
#include <string>

namespace kiln::dsl_test {

bool OnCuda();

dsl::Service OnArch(const char* arch);

// The device of the tests, with the options that a program has without any of its own.
dsl::Service OnTestArch();

// The text of the error that `make` throws, or "no error".
template <typename Make>
std::string ErrorOf(const Make& make) {
  try {
    make();
  } catch (const dsl::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace kiln::dsl_test

#endif  // KILN_TESTS_E2E_CPP_DSL_TEST_H_
