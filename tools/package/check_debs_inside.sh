#!/bin/bash
# The part of check_debs.sh that runs in the chroot, in which the packages are installed.
set -eux
cd /check
cat >sim.py <<'END'
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=1000)


@ti.aot.export
@ti.kernel
def fill(a: ti.f32) -> ti.f32:
    sum = 0.0
    for i in x:
        x[i] = a
        sum += x[i]
    return sum


print(fill(2.0))
END
[ "$(python3 sim.py)" = 2000.0 ]
[ "$(KILN_SERVER=off KILN_HOME=/other python3 sim.py)" = 2000.0 ]
kiln doctor
man -w kiln 2>/dev/null || [ -e /usr/share/man/man1/kiln.1.gz ]
kiln export sim.py -o sim.kiln --header sim.hpp
cat >use.cc <<'END'
#include <cstdio>

#include "sim.hpp"

int main() {
  const kiln::Context context = kiln::Context::create();
  const sim::Module sim = sim::Module::open(context, "sim.kiln");
  kiln::World world = sim.world();
  std::printf("%g\n", sim.fill(world, 3));
}
END
read -r -a flags <<<"$(pkg-config --cflags --libs kiln)"
c++ -std=c++17 use.cc "${flags[@]}" -o use
[ "$(./use)" = 3000 ]
cmake -S . -B build
cmake --build build
[ "$(build/main)" = "saxpy 8" ]
[ "$(build/main_c)" = "ones 4" ]
read -r -a flags <<<"$(pkg-config --cflags --libs kiln-compile)"
c++ -std=c++17 main.cc "${flags[@]}" -o kernel
[ "$(./kernel)" = "saxpy 8" ]
KILN_GUI_FRAMES=2 KILN_GUI_SAVE=first.png kiln run mpm88.py
[ -s first.png ]
kiln stop
