#include <cstdio>
#include <vector>

#include "tiny.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const kiln::Context context = kiln::Context::create();
  const tiny::Module module = tiny::Module::open(context, argv[1]);
  std::vector<std::int32_t> numbers = {1, 2, 3};
  module.twice(numbers);
  std::printf("%d\n", numbers[2]);
  return 0;
}
