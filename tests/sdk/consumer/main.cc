// As main.c.
#include <cstdio>
#include <kiln/kiln.hpp>

int main() {
  std::printf("libkiln %u\n", static_cast<unsigned>(kiln::version()));
  kiln::Context context = kiln::Context::create();
  try {
    kiln::Module module = kiln::Module::open(context, "missing.kiln");
  } catch (const kiln::Error& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
  return 1;
}
