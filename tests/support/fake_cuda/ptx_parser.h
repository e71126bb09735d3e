// Parses PTX: the text that LLVM's NVPTX back end and nvcc emit.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PARSER_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PARSER_H_

#include <string>
#include <string_view>

#include "tests/support/fake_cuda/ptx_syntax.h"

namespace kiln::fake_cuda {

// Sets `error` to "line N: what is wrong" and returns false if `text` is not PTX as far as this
// parser knows it. Knows declarations, not instructions: the translator does.
bool ParsePtx(std::string_view text, PtxModule* module, std::string* error);

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_PARSER_H_
