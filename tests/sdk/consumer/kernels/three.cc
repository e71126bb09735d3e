// Three users of libraries in one process: libkiln, libkiln-compile, and messages of the program's
// own in a file of a name that Kiln's had once.
#include <cstdio>
#include <kiln/kiln.hpp>

#include "proto/type.pb.h"

#define main kernels_main
#include "main.cc"  // NOLINT(bugprone-suspicious-include): what it prints is expected
#undef main

int main() {
  theirs::Type type;
  type.set_number(7);
  theirs::Type again;
  again.ParseFromString(type.SerializeAsString());
  try {
    kiln::Context context = kiln::Context::create();
    kiln::Module::open(context, "no-module.kiln");
  } catch (const kiln::Error& error) {
    std::printf("%d %s\n", again.number(), error.what());
  }
  return kernels_main();
}
