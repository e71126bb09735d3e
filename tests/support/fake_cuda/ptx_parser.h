// Reads PTX: what LLVM and nvcc write for ordinary kernels.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PARSER_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PARSER_H_

#include <memory>
#include <string>

#include "tests/support/fake_cuda/ptx_program.h"

namespace kiln::ptx {

// Null if the emulator cannot run it; `error` then says why, with the line: "line 12: …".
std::unique_ptr<Module> Parse(const std::string& text, std::string* error);

}  // namespace kiln::ptx

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PARSER_H_
