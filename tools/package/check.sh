#!/bin/bash
# Tries the wheels where there is no checkout: tools/package.sh check [--chroot [SUITE...]]
# With --chroot also in a Debian with Python and little else, without a network (mmdebstrap, root):
# that of the build, and other suites, for whose Pythons it makes wheels.
set -eu
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
work=$(mktemp -d /tmp/kiln-check-XXXXXX)

# Everything runs with this environment alone.
clean() { env -i HOME="$work" PATH=/usr/bin:/bin KILN_HOME="$work/home" "$@"; }

fail() {
  printf 'check: FAILED: %s\n' "$*" >&2
  exit 1
}
passed() { printf 'check: %s\n' "$*"; }

# has FILE TEXT
has() { grep -qF -- "$2" "$1" || fail "expected '$2', got: $(cat "$1")"; }

finish() {
  [ ! -x "$work/venv/bin/kiln" ] || clean "$work/venv/bin/kiln" stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

# limit FILE MEGABYTES
limit() {
  local size
  size=$(stat -c %s "$1")
  [ "$size" -le $(($2 * 1000000)) ] || fail "$(basename "$1") has $size bytes, more than $2 MB"
  passed "$(basename "$1"): $size bytes"
}

write_programs() {
  cat >"$work/first.py" <<'END'
import kiln as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=1000)


@ti.kernel
def fill(a: ti.f32) -> ti.f32:
    sum = 0.0
    for i in x:
        x[i] = a
        sum += x[i]
    return sum


print(fill(2.0))
END
  cat >"$work/window.py" <<'END'
import kiln as ti
import numpy as np

window = ti.ui.Window("a", (16, 16), show_window=False)
window.get_canvas().circles(np.array([[0.5, 0.5]], np.float32), 0.2, color=(1, 0, 0))
print("NumPy" if window._native is None else "OpenGL", window.get_image_buffer_as_numpy()[8, 8, :3])
END
  cat >"$work/sim.py" <<'END'
import kiln as ti

ti.init(arch=ti.cpu)
density = ti.field(ti.f32, shape=(8, 8))


@ti.aot.export
@ti.kernel
def fill(value: ti.f32):
    for i, j in density:
        density[i, j] = value


@ti.aot.export
@ti.kernel
def total() -> ti.f64:
    sum = ti.cast(0, ti.f64)
    for i, j in density:
        sum += density[i, j]
    return sum
END
  cat >"$work/load.py" <<'END'
import kiln as ti

sim = ti.aot.load("sim.kiln")
sim.fill(2.0)
print(sim.total())
END
  cat >"$work/main.cc" <<'END'
#include <cstdio>
#include <kiln/kiln.hpp>

int main() {
  kiln::Context context = kiln::Context::create();
  kiln::Module module = kiln::Module::open(context, "sim.kiln");
  kiln::World world = kiln::World::create(module);
  module.kernel("fill")(world, 2.0f);
  std::printf("%.1f\n", module.kernel("total").call<double>(world));
}
END
  cat >"$work/main.c" <<'END'
#include <kiln/kiln.h>
#include <stdio.h>

int main(void) {
  kiln_context* context;
  kiln_module* module;
  kiln_world* world;
  uint64_t sum = 0;
  if (kiln_context_new(NULL, &context) != KILN_OK ||
      kiln_module_open(context, "sim.kiln", NULL, &module) != KILN_OK ||
      kiln_world_new(module, NULL, &world) != KILN_OK) {
    fprintf(stderr, "%s\n", kiln_error());
    return 1;
  }
  const kiln_arg args[] = {kiln_float(2.0)};
  kiln_launch(kiln_module_kernel(module, "fill"), world, args, 1, NULL, NULL);
  kiln_launch(kiln_module_kernel(module, "total"), world, NULL, 0, &sum, NULL);
  printf("%.1f\n", kiln_slot_float(KILN_F64, sum));
  return 0;
}
END
  cat >"$work/kernel.cc" <<'END'
#include <cstdio>
#include <kiln/dsl.hpp>
#include <vector>

using namespace kiln::dsl;

int main() {
  Kernel saxpy("saxpy", [](Array<float, 1> x, Array<float, 1> y, Value<float> a) {
    ForEach(x, [&](Int i) { y[i] = a * x[i] + y[i]; });
  });
  std::vector<float> xs(1000, 3), ys(1000, 2);
  saxpy(xs, ys, 2.0f);
  std::printf("%.1f\n", ys[999]);
}
END
  cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(check LANGUAGES CXX)
find_package(kiln 1.0 REQUIRED)
add_executable(main_cmake main.cc)
target_link_libraries(main_cmake PRIVATE kiln::kiln)
add_executable(kernel_cmake kernel.cc)
target_link_libraries(kernel_cmake PRIVATE kiln::compile)
END
}

# install WHEEL...: into the virtual environment, from the files alone.
install() {
  clean /usr/bin/python3 -m pip --python "$work/venv/bin/python" install -q --no-index \
    --find-links "$work/wheels" --root-user-action=ignore "$@" || fail "pip could not install $*"
}

client_alone() {
  local kiln=$work/venv/bin/kiln
  clean "$kiln" --version >"$work/said" || fail "kiln --version"
  ! clean "$work/venv/bin/python" first.py >"$work/said" 2>&1 || fail "compiled without a compiler"
  has "$work/said" 'pip install kiln-lang[compiler]'
  ! clean env KILN_SERVER=off "$work/venv/bin/python" first.py >"$work/said" 2>&1 ||
    fail "compiled without a compiler, with KILN_SERVER=off"
  has "$work/said" 'pip install kiln-lang[compiler]'
  clean "$kiln" doctor >"$work/said" 2>&1 || true
  has "$work/said" 'no compiler on this machine'
  clean "$kiln" stop >/dev/null 2>&1 || true
  passed "without the compiler, errors say what to install"
}

with_compiler() {
  local kiln=$work/venv/bin/kiln python=$work/venv/bin/python
  [ "$(clean "$python" first.py)" = 2000.0 ] || fail "a kernel through the daemon"
  [ "$(clean env KILN_SERVER=off KILN_HOME="$work/other" "$python" first.py)" = 2000.0 ] ||
    fail "a kernel with KILN_SERVER=off"
  clean "$kiln" doctor >"$work/said" 2>&1 || fail "kiln doctor: $(cat "$work/said")"
  passed "kernels run, with and without the daemon; kiln doctor is content"
  [ "$(clean "$python" window.py)" = "OpenGL [1. 0. 0.]" ] || fail "a window off screen"
  passed "OpenGL draws in a window off screen"
  clean "$kiln" export sim.py -o sim.kiln >"$work/said" 2>&1 || fail "kiln export: $(cat "$work/said")"
}

from_other_languages() {
  local kiln=$work/venv/bin/kiln flags
  read -r -a flags <<<"$(clean "$kiln" config --cflags --libs)"
  cc main.c "${flags[@]}" "-Wl,-rpath,$(clean "$kiln" config --prefix)/lib" -o main_c
  [ "$(clean ./main_c)" = 128.0 ] || fail "the module from C"
  cmake -S . -B build -Dkiln_DIR="$(clean "$kiln" config --cmakedir)" >"$work/said" 2>&1 &&
    cmake --build build >>"$work/said" 2>&1 || fail "CMake: $(cat "$work/said")"
  [ "$(clean build/main_cmake)" = 128.0 ] || fail "the module from C++"
  passed "the module runs from C, and from C++ with CMake"
  clean c++ -std=c++17 kernel.cc "${flags[@]}" -lkiln-compile \
    "-Wl,-rpath,$(clean "$kiln" config --prefix)/lib" -o kernel
  [ "$(clean ./kernel)" = 8.0 ] && [ "$(clean build/kernel_cmake)" = 8.0 ] || fail "a kernel of C++"
  passed "a kernel written in C++ runs"
}

module_runs() {
  [ "$(clean "$work/venv/bin/python" load.py)" = 128.0 ] || fail "the module from Python"
}

first_picture() {
  local start=$SECONDS
  clean /usr/bin/python3 -m venv --system-site-packages --without-pip "$work/venv"
  install 'kiln-lang[compiler]'
  clean env KILN_GUI_FRAMES=2 KILN_GUI_SAVE="$work/first.png" "$work/venv/bin/kiln" run \
    mpm88.py >"$work/said" 2>&1 || fail "mpm88: $(cat "$work/said")"
  [ -s "$work/first.png" ] || fail "mpm88 wrote no picture"
  local seconds=$((SECONDS - start))
  [ "$seconds" -le 30 ] || fail "the first picture took $seconds s, more than 30"
  passed "from pip install to the first picture: $seconds s"
}

# in_chroot SUITE: a Debian with Python, which has none of the libraries that the wheels contain.
in_chroot() {
  local suite=$1 tree=$work/chroot
  mmdebstrap --variant=minbase --include=python3,python3-venv,python3-numpy "$suite" "$tree" \
    ${KILN_DEBIAN:+"$KILN_DEBIAN"} >"$work/said" 2>&1 || fail "mmdebstrap: $(tail "$work/said")"
  mkdir -p "$tree/check"
  cp "$work"/wheels/*.whl {first,load,mpm88,window}.py sim.kiln main_c "$tree/check/"
  cp "$root/tools/package/check_inside.sh" "$tree/check/"
  unshare --net --pid --fork --mount-proc="$tree/proc" chroot "$tree" \
    env -i HOME=/root PATH=/usr/bin:/bin bash /check/check_inside.sh ||
    fail "in the chroot of $suite"
  passed "a chroot of $suite without a network: the first picture after" \
    "$(cat "$tree/check/seconds") s; kernels and the module run"
  rm -rf "$tree"
}

chroots=()
if [ "${1:-}" = --chroot ]; then
  shift
  chroots=("$(. /etc/os-release && echo "$VERSION_CODENAME")" "$@")
else
  [ $# -eq 0 ] || fail "expected --chroot [SUITE...], got '$*'"
fi
mkdir "$work/wheels"
"$root/tools/package.sh" wheel "$work/wheels" "${chroots[@]:1}" >/dev/null
for wheel in "$work"/wheels/kiln_lang-*.whl; do limit "$wheel" 11; done
limit "$work"/wheels/kiln_lang_compiler-*.whl 35
cp "$root/examples/mpm88.py" "$work/"
write_programs
cd "$work"
first_picture
with_compiler
module_runs
from_other_languages
for suite in "${chroots[@]}"; do in_chroot "$suite"; done
clean "$work/venv/bin/kiln" stop >/dev/null 2>&1
rm -rf "$work/venv" "$work/home" "$work/other"
clean /usr/bin/python3 -m venv --system-site-packages --without-pip "$work/venv"
install kiln-lang
client_alone
module_runs
passed "the module runs without the compiler"
