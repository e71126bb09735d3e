#include "server/compiler/codegen/cuda/libdevice.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>

namespace kiln::cuda {
namespace {

std::string& Bytes() {
  static auto* const bytes = new std::string;
  return *bytes;
}

}  // namespace

void ReadLibdevice() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* given = std::getenv("KILN_CUDA_TOOLKIT");
    const std::string toolkit = given == nullptr ? "/usr/local/cuda" : given;
    std::ifstream file(toolkit + "/nvvm/libdevice/libdevice.10.bc", std::ios::binary);
    if (file) {
      Bytes().assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  });
}

const std::string& Libdevice() { return Bytes(); }

}  // namespace kiln::cuda
