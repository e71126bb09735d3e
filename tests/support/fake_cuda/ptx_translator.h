// Makes programs of parsed PTX.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_TRANSLATOR_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_TRANSLATOR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/fake_cuda/ptx_program.h"
#include "tests/support/fake_cuda/ptx_syntax.h"

namespace kiln::fake_cuda {

// Gives a global or constant variable memory of the device: its bytes are at *host, zeroed. False:
// there is none left.
using PlaceVariable =
    std::function<bool(const PtxVariable& variable, uint64_t* address, uint8_t** host)>;

// Fails with "line N: what is wrong", which names the first instruction that is not supported.
bool TranslatePtx(const PtxModule& module, const PlaceVariable& place, Program* program,
                  std::string* error);

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_PTX_TRANSLATOR_H_
