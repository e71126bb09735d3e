// Fields in memory of the program, which is full of other data and may run out.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <kiln/kiln.hpp>
#include <string>

#include "run.h"

namespace {

std::atomic<std::size_t> taken{0}, limit{std::size_t{1} << 40};

void* Allocate(std::size_t bytes, std::size_t alignment) {
  if (taken + bytes > limit) return nullptr;
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, whole);
  if (data == nullptr) return nullptr;
  std::memset(data, 0xa5, whole);
  taken += bytes;
  return data;
}

void Release(void* data, std::size_t bytes) {
  taken -= bytes;
  std::free(data);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  {
    kiln::ContextOptions options;
    options.allocate = Allocate;
    options.release = Release;
    kiln::Context context = kiln::Context::create(std::move(options));
    kiln::Module module = kiln::Module::open(context, argv[1]);
    if (run(module.raw()) != 0) return 1;
    if (taken != 0) std::printf("%zu bytes of a freed world\n", taken.load());
    kiln::World world = kiln::World::create(module);
    if (taken < 10'000) std::printf("the fields have %zu bytes\n", taken.load());
    limit = taken.load();
    try {
      std::printf("burn %d\n", module.kernel("burn").call<int>(world, 20));
    } catch (const kiln::Error& error) {
      std::printf("none is left: %.28s\n", error.what());
    }
  }
  std::printf(taken == 0 ? "all came back\n" : "some is lost\n");
  return 0;
}
