// Uses the class of a generated header.
#include <cstdio>
#include <vector>

#include "sim.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  kiln::Context context = kiln::Context::create();
  const sim::Module sim = sim::Module::open(context, argv[1]);
  kiln::World world = sim.world();
  sim.fill(world, 2.0f);
  std::printf("total %g\n", sim.total(world));
  std::printf("height %g\n", sim.height(world).at(3, 1));
  std::vector<std::array<float, 3>> vectors(4, {1.5f, 1.5f, 1.5f});
  const std::array<float, 3> norms = sim.norms(vectors, {1, 2, 3});
  std::printf("norms %g %g %g\n", norms[0], norms[1], norms[2]);
  std::vector<std::int32_t> numbers(3, 4);
  sim.add(numbers, 5);
  std::printf("add %d\n", numbers[2]);
  try {
    sim::Module::open(context, argv[2]);
  } catch (const kiln::Error& error) {
    std::printf("%.30s\n", error.what());
  }
  return 0;
}
