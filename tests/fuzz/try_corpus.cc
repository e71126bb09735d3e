// main() of a fuzzer without libFuzzer: tries each file of the folder that is its argument.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  int tried = 0;
  for (const auto& file : std::filesystem::directory_iterator(argc > 1 ? argv[1] : ".")) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(stream)), {});
    std::printf("%s\n", file.path().c_str());
    std::fflush(stdout);  // the last line names the input that crashes
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    ++tried;
  }
  std::printf("tried %d inputs\n", tried);
  return tried > 0 ? 0 : 1;
}
