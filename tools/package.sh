#!/bin/bash
# Makes packages.
#   tools/package.sh tar OUT.tar.gz   libkiln for programs in C and C++, as a tarball
#   tools/package.sh folder FOLDER    its content as a folder, which replaces one that is there, and
#                                     libkiln-compile, for programs that write kernels
#   tools/package.sh wheel FOLDER [SUITE...]
#                                     two wheels: kiln-lang for the Python of the build, and
#                                     kiln-lang-compiler; needs patchelf. And kiln-lang for the
#                                     Pythons of other suites of Debian; needs mmdebstrap
#   tools/package.sh native FOLDER    the client's native modules for the Python of KILN_PYTHON, as a
#                                     folder, which replaces one that is there; needs patchelf
#   tools/package.sh deb FOLDER       packages for this Debian
#   tools/package.sh check [--chroot [SUITE...]]
#                                     makes wheels and tries them where there is no checkout
#   tools/package.sh check-debs       makes packages for Debian and tries them in a fresh one
# The same sources give the same bytes.
set -eu
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)

fail() {
  printf 'package.sh: %s\n' "$*" >&2
  exit 1
}

case ${1:-} in
  check)
    shift
    exec "$root/tools/package/check.sh" "$@"
    ;;
  check-debs) exec "$root/tools/package/check_debs.sh" ;;
esac
[ $# -eq 2 ] || { [ $# -gt 2 ] && [ "$1" = wheel ]; } ||
  fail "expected tar OUT.tar.gz, folder, native or deb FOLDER, wheel FOLDER [SUITE...]," \
    "check [--chroot [SUITE...]], or check-debs"
out=$(realpath -m -- "$2")
header=$root/libkiln/include/kiln/kiln.h
major=$(sed -n 's/^#define KILN_API_VERSION_MAJOR //p' "$header")
minor=$(sed -n 's/^#define KILN_API_VERSION_MINOR //p' "$header")
version=$major.$minor.0 # of the library; what kiln_version() says
own=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' "$root/common/wire/version.h")
bin=$root/.kiln/bazel-bin
library=libkiln.so.$version # the file's name in a package

# build OPTION-OR-TARGET...
build() {
  local said
  said=$("$root/tools/bazel.sh" build --color=no --curses=no "$@" 2>&1) ||
    fail "the build failed:
$said"
}

# copy PROGRAM TO: without its symbols.
copy() {
  strip --strip-unneeded -o "$2" "$bin/$1"
  chmod 755 "$2"
}

# fill_in FILE PATH_OF_HEADERS: a template's text.
fill_in() {
  sed -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" -e "s|@INCLUDE@|$2|g" \
    -e "s|@LIBRARY@|$library|g" "$1"
}

# lay_out_compile FOLDER: libkiln-compile and its headers, beside those of libkiln.
lay_out_compile() {
  local to=$1
  cp -r "$root"/client_cpp/dsl/include/kiln/* "$to/include/kiln/"
  fill_in "$root/libkiln/cmake/kiln-compile.pc.in" '' >"$to/lib/pkgconfig/kiln-compile.pc"
  copy "client_cpp/dsl/libkiln-compile.so.$major" "$to/lib/libkiln-compile.so.$major"
}

# lay_out_texts FOLDER: headers, and the files for CMake and pkg-config.
lay_out_texts() {
  local to=$1 name
  mkdir -p "$to/include/kiln" "$to/lib/cmake/kiln" "$to/lib/pkgconfig"
  cp "$root"/libkiln/include/kiln/* "$to/include/kiln/"
  for name in kilnConfig kilnConfigVersion; do
    fill_in "$root/libkiln/cmake/$name.cmake.in" ../../../include >"$to/lib/cmake/kiln/$name.cmake"
  done
  fill_in "$root/libkiln/cmake/kiln.pc.in" '' >"$to/lib/pkgconfig/kiln.pc"
}

# lay_out FOLDER: the content of libkiln's package.
lay_out() {
  local to=$1
  build "//libkiln:libkiln.so.$major"
  lay_out_texts "$to"
  copy "libkiln/libkiln.so.$major" "$to/lib/$library"
  ln -s "$library" "$to/lib/libkiln.so.$major"
  ln -s "libkiln.so.$major" "$to/lib/libkiln.so"
  cp "$root/LICENSE" "$to/"
  open_to_all "$to"
}

# open_to_all FOLDER: modes that do not depend on the umask.
open_to_all() {
  local to=$1
  find "$to" -type d -exec chmod 755 {} +
  find "$to" -type f -exec chmod 644 {} +
}

# python_files FOLDER: the Python package, as the repository has it.
python_files() {
  mkdir -p "$1"
  (cd "$root/client_py" && git ls-files -co --exclude-standard -z kiln |
    LC_ALL=C sort -z | xargs -0 cp --parents -t "$1")
}

# extension_modules FOLDER: those of the Python that KILN_PYTHON names.
extension_modules() {
  build //client_py/native:_native.so //client_py/native/linalg:_linalg.so \
    //client_py/native/window:_window.so
  copy client_py/native/_native.so "$1/kiln/_native.so"
  copy client_py/native/linalg/_linalg.so "$1/kiln/_linalg.so"
  copy client_py/native/window/_window.so "$1/kiln/_window.so"
}

# client_tree FOLDER: what the client's wheel holds but for its extension modules.
client_tree() {
  local to=$1
  build //server/daemon:kilnd "//libkiln:libkiln.so.$major" \
    "//client_cpp/dsl:libkiln-compile.so.$major"
  python_files "$to"
  mkdir -p "$to/kiln/bin"
  copy server/daemon/kilnd "$to/kiln/bin/kilnd"
  # Wheels have no links. The library has the name by which programs load it, and linkers follow a
  # script.
  library=libkiln.so.$major
  lay_out_texts "$to/kiln/sdk"
  copy "libkiln/$library" "$to/kiln/sdk/lib/$library"
  printf 'INPUT(%s)\n' "$library" >"$to/kiln/sdk/lib/libkiln.so"
  lay_out_compile "$to/kiln/sdk"
  printf 'INPUT(libkiln-compile.so.%s)\n' "$major" >"$to/kiln/sdk/lib/libkiln-compile.so"
  # After all others: this replaces a program of the same name in Bazel's folder.
  build --config=contained //server/remote:kilnd-remote
  copy server/remote/kilnd-remote "$to/kiln/bin/kilnd-remote"
}

# client_wheel TREE FOLDER [--python TAG]
client_wheel() {
  local tree=$1 to=$2
  shift 2
  "$host_python" "$tools/graft.py" "$tree/kiln_lang.libs" "$tree/kiln/_native.so" \
    "$tree/kiln/_linalg.so" "$tree/kiln/_window.so" "$tree/kiln/bin/kilnd" \
    "$tree/kiln/sdk/lib/libkiln-compile.so.$major"
  "$host_python" "$tools/wheel.py" "$tree" kiln-lang "$own" "$to" \
    --summary "Taichi-language kernels, compiled once and cached" --readme "$root/README.md" \
    --license "$root/LICENSE" --requires numpy --extra "compiler=kiln-lang-compiler==$own" \
    --script kiln=kiln.cli:main "$@"
}

# python_version: of the Python that KILN_PYTHON names.
python_version() {
  local python=${KILN_PYTHON:-/usr/bin/python3} headers
  if [ -d "$python/usr/include" ]; then
    headers=$(cd "$python/usr/include" && echo python3.*)
    echo "${headers#python}"
  else
    "$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
  fi
}

# native FOLDER: the modules that kernels and matrices need, and the libraries that these need.
native() {
  command -v patchelf >/dev/null || fail "native modules need patchelf: apt-get install patchelf"
  mkdir -p "$1"
  build //client_py/native:_native.so //client_py/native/linalg:_linalg.so
  copy client_py/native/_native.so "$1/_native.so"
  copy client_py/native/linalg/_linalg.so "$1/_linalg.so"
  python_version >"$1/python" # import errors read it
  /usr/bin/python3 "$root/tools/package/graft.py" "$1/libs" "$1/_native.so" "$1/_linalg.so"
}

# compiler_wheel FOLDER
compiler_wheel() {
  local tree=$work/compiler
  mkdir -p "$tree/kiln_compiler/bin"
  build //server/web_front:kilnd-web
  copy server/web_front/kilnd-web "$tree/kiln_compiler/bin/kilnd-web"
  build --config=contained //server/worker:kiln-worker //server/grpc_front:kilnd-grpc
  copy server/grpc_front/kilnd-grpc "$tree/kiln_compiler/bin/kilnd-grpc"
  copy server/worker/kiln-worker "$tree/kiln_compiler/bin/kiln-worker"
  echo '"""The compiler of Kiln, and the programs that serve other machines; kiln finds them here."""' \
    >"$tree/kiln_compiler/__init__.py"
  "$host_python" "$tools/graft.py" "$tree/kiln_compiler.libs" "$tree/kiln_compiler/bin/kilnd-web"
  "$host_python" "$tools/wheel.py" "$tree" kiln-lang-compiler "$own" "$1" --any-python \
    --summary "The compiler of kiln-lang" --license "$root/LICENSE"
}

# headers_of SUITE: unpacks the headers of its Python and of its pybind11 into $work/SUITE.
headers_of() {
  command -v mmdebstrap >/dev/null || fail "wheels for $1 need mmdebstrap"
  mmdebstrap --variant=extract --include=libpython3-dev,pybind11-dev "$1" "$work/$1" \
    ${KILN_DEBIAN:+"$KILN_DEBIAN"} >"$work/said" 2>&1 || fail "mmdebstrap: $(tail "$work/said")"
}

# wheels FOLDER [SUITE...]
wheels() {
  local to=$1 client=$work/client tools=$root/tools/package suite tag
  local host_python=${KILN_PYTHON:-/usr/bin/python3}
  shift
  command -v patchelf >/dev/null || fail "wheels need patchelf: apt-get install patchelf"
  mkdir -p "$to"
  client_tree "$client"
  for suite in "$@"; do
    headers_of "$suite"
    cp -r "$client" "$client-$suite"
    KILN_PYTHON=$work/$suite extension_modules "$client-$suite"
    tag=$(cd "$work/$suite/usr/include" && echo python3.*)
    client_wheel "$client-$suite" "$to" --python "cp3${tag#python3.}"
  done
  extension_modules "$client"
  client_wheel "$client" "$to"
  compiler_wheel "$to"
}

mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$(dirname "$out")/.kiln-package-XXXXXX")
trap 'rm -rf "$work"' EXIT
case $1 in
  tar)
    lay_out "$work/kiln-$own"
    # Nothing of this machine or of today enters the file.
    LC_ALL=C tar -C "$work" --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 \
      --numeric-owner -cf - "kiln-$own" | gzip -9n >"$work/out"
    mv -f "$work/out" "$out"
    ;;
  folder)
    [ ! -e "$out" ] || [ -e "$out/lib/cmake/kiln" ] || fail "$out is there and holds no package"
    build "//client_cpp/dsl:libkiln-compile.so.$major"
    lay_out "$work/new"
    lay_out_compile "$work/new"
    ln -s "libkiln-compile.so.$major" "$work/new/lib/libkiln-compile.so"
    open_to_all "$work/new"
    # Two renames: a program that starts meanwhile finds the old library or the new one.
    [ ! -e "$out" ] || mv "$out" "$work/old"
    mv "$work/new" "$out"
    ;;
  wheel)
    wheels "$work/wheels" "${@:3}"
    mkdir -p "$out"
    mv -f "$work"/wheels/*.whl "$out/"
    ;;
  native)
    [ ! -e "$out" ] || [ -e "$out/_native.so" ] || fail "$out is there and holds no native modules"
    native "$work/new"
    rm -rf "$out"
    mv "$work/new" "$out"
    ;;
  deb)
    . "$root/tools/package/deb.sh"
    debs "$work/debs"
    mkdir -p "$out"
    mv -f "$work"/debs/*.deb "$out/"
    ;;
  *) fail "no package '$1': expected tar, folder, wheel, native or deb" ;;
esac
