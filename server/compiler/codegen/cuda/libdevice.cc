#include "server/compiler/codegen/cuda/libdevice.h"

#include <fstream>
#include <iterator>
#include <mutex>

#include "common/artifact/cuda_toolkit.h"

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
    std::ifstream file(CudaToolkit() + kLibdeviceFile, std::ios::binary);
    if (file) {
      Bytes().assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  });
}

const std::string& Libdevice() { return Bytes(); }

}  // namespace kiln::cuda
