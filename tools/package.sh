#!/bin/bash
# Makes packages of libkiln, for programs in C and C++.
#   tools/package.sh tar OUT.tar.gz   a tarball; the same sources give the same bytes
#   tools/package.sh folder FOLDER    its content as a folder, which replaces one that is there
set -eu
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)

fail() {
  printf 'package.sh: %s\n' "$*" >&2
  exit 1
}

[ $# -eq 2 ] || fail "expected tar OUT.tar.gz, or folder FOLDER"
out=$(realpath -m -- "$2")
header=$root/libkiln/include/kiln/kiln.h
major=$(sed -n 's/^#define KILN_API_VERSION_MAJOR //p' "$header")
minor=$(sed -n 's/^#define KILN_API_VERSION_MINOR //p' "$header")
version=$major.$minor.0 # of the library; what kiln_version() says
own=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' "$root/common/wire/version.h")

built=$("$root/tools/bazel.sh" build --color=no --curses=no "//libkiln:libkiln.so.$major" 2>&1) ||
  fail "the build failed:
$built"

# fill_in FILE PATH_OF_HEADERS: a template's text.
fill_in() {
  sed -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" -e "s|@INCLUDE@|$2|g" "$1"
}

# lay_out FOLDER: the package's content.
lay_out() {
  local to=$1 library=libkiln.so.$version
  mkdir -p "$to/include/kiln" "$to/lib/cmake/kiln" "$to/lib/pkgconfig"
  cp "$root"/libkiln/include/kiln/* "$to/include/kiln/"
  strip --strip-unneeded -o "$to/lib/$library" "$root/.kiln/bazel-bin/libkiln/libkiln.so.$major"
  ln -s "$library" "$to/lib/libkiln.so.$major"
  ln -s "libkiln.so.$major" "$to/lib/libkiln.so"
  local name
  for name in kilnConfig kilnConfigVersion; do
    fill_in "$root/libkiln/cmake/$name.cmake.in" ../../../include >"$to/lib/cmake/kiln/$name.cmake"
  done
  fill_in "$root/libkiln/cmake/kiln.pc.in" '' >"$to/lib/pkgconfig/kiln.pc"
  cp "$root/LICENSE" "$to/"
  find "$to" -type d -exec chmod 755 {} +
  find "$to" -type f -exec chmod 644 {} +
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
    lay_out "$work/new"
    # Two renames: a program that starts meanwhile finds the old library or the new one.
    [ ! -e "$out" ] || mv "$out" "$work/old"
    mv "$work/new" "$out"
    ;;
  *) fail "no package '$1': expected tar or folder" ;;
esac
