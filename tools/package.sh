#!/bin/bash
# Makes packages.
#   tools/package.sh tar OUT.tar.gz   libkiln for programs in C and C++, as a tarball
#   tools/package.sh folder FOLDER    its content as a folder, which replaces one that is there, and
#                                     libkiln-compile, for programs that write kernels
#   tools/package.sh wheel FOLDER     two wheels for the Python of the build: kiln-lang, and
#                                     kiln-lang-compiler; needs patchelf
#   tools/package.sh deb FOLDER       packages for this Debian
#   tools/package.sh check [--chroot] makes wheels and tries them where there is no checkout
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
[ $# -eq 2 ] || fail "expected tar OUT.tar.gz, or folder, wheel or deb FOLDER, check or check-debs"
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

# wheels FOLDER: the two trees, then their wheels.
wheels() {
  local to=$1 client=$work/client compiler=$work/compiler
  command -v patchelf >/dev/null || fail "wheels need patchelf: apt-get install patchelf"
  build //client_py/native:_native.so //client_py/native/linalg:_linalg.so \
    //client_py/native/window:_window.so //server/daemon:kilnd //server/web_front:kilnd-web \
    "//libkiln:libkiln.so.$major" "//client_cpp/dsl:libkiln-compile.so.$major"
  python_files "$client"
  mkdir -p "$client/kiln/bin" "$compiler/kiln_compiler/bin"
  copy client_py/native/_native.so "$client/kiln/_native.so"
  copy client_py/native/linalg/_linalg.so "$client/kiln/_linalg.so"
  copy client_py/native/window/_window.so "$client/kiln/_window.so"
  copy server/daemon/kilnd "$client/kiln/bin/kilnd"
  copy server/web_front/kilnd-web "$compiler/kiln_compiler/bin/kilnd-web"
  # Wheels have no links. The library has the name by which programs load it, and linkers follow a
  # script.
  library=libkiln.so.$major
  lay_out_texts "$client/kiln/sdk"
  copy "libkiln/$library" "$client/kiln/sdk/lib/$library"
  printf 'INPUT(%s)\n' "$library" >"$client/kiln/sdk/lib/libkiln.so"
  lay_out_compile "$client/kiln/sdk"
  printf 'INPUT(libkiln-compile.so.%s)\n' "$major" >"$client/kiln/sdk/lib/libkiln-compile.so"
  # After all others: these replace programs of the same names in Bazel's folder.
  build --config=contained //server/remote:kilnd-remote //server/worker:kiln-worker \
    //server/grpc_front:kilnd-grpc
  copy server/remote/kilnd-remote "$client/kiln/bin/kilnd-remote"
  copy server/grpc_front/kilnd-grpc "$compiler/kiln_compiler/bin/kilnd-grpc"
  copy server/worker/kiln-worker "$compiler/kiln_compiler/bin/kiln-worker"
  echo '"""The compiler of Kiln, and the programs that serve other machines; kiln finds them here."""' \
    >"$compiler/kiln_compiler/__init__.py"

  local python=${KILN_PYTHON:-/usr/bin/python3} tools=$root/tools/package
  "$python" "$tools/graft.py" "$client/kiln_lang.libs" "$client/kiln/_native.so" \
    "$client/kiln/_linalg.so" "$client/kiln/_window.so" "$client/kiln/bin/kilnd" \
    "$client/kiln/sdk/lib/libkiln-compile.so.$major"
  "$python" "$tools/graft.py" "$compiler/kiln_compiler.libs" \
    "$compiler/kiln_compiler/bin/kilnd-web"
  mkdir -p "$to"
  "$python" "$tools/wheel.py" "$client" kiln-lang "$own" "$to" \
    --summary "Taichi-language kernels, compiled once and cached" --readme "$root/README.md" \
    --license "$root/LICENSE" --requires numpy --extra "compiler=kiln-lang-compiler==$own" \
    --script kiln=kiln.cli:main
  "$python" "$tools/wheel.py" "$compiler" kiln-lang-compiler "$own" "$to" --any-python \
    --summary "The compiler of kiln-lang" --license "$root/LICENSE"
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
    wheels "$work/wheels"
    mkdir -p "$out"
    mv -f "$work"/wheels/*.whl "$out/"
    ;;
  deb)
    . "$root/tools/package/deb.sh"
    debs "$work/debs"
    mkdir -p "$out"
    mv -f "$work"/debs/*.deb "$out/"
    ;;
  *) fail "no package '$1': expected tar, folder, wheel or deb" ;;
esac
