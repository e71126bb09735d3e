# Debian packages; tools/package.sh sources this. The programs use Debian's libraries.
#   libkiln1        the library that runs modules
#   libkiln-compile1  the library that compiles and runs kernels which programs write
#   libkiln-dev     the headers of both, and the files for CMake and pkg-config
#   python3-kiln    the Python package, the daemon, the command kiln
#   kiln-compiler   the worker, and what serves other machines
#   kiln            all that a user needs of these

# DEBFULLNAME and DEBEMAIL say who answers for the packages, as for Debian's own tools.
triplet=x86_64-linux-gnu
maintainer="${DEBFULLNAME:-Kiln developers} <${DEBEMAIL:-kiln@localhost.localdomain}>"

# debs FOLDER
debs() {
  mkdir -p "$1" "$work/shlibdeps/debian"
  build //client_py/native:_native.so //client_py/native/linalg:_linalg.so \
    //client_py/native/window:_window.so //server/daemon:kilnd //server/worker:kiln-worker \
    //server/grpc_front:kilnd-grpc //server/remote:kilnd-remote //server/web_front:kilnd-web \
    "//libkiln:libkiln.so.$major" "//client_cpp/dsl:libkiln-compile.so.$major"
  # dpkg-shlibdeps reads it.
  printf 'Source: kiln\n\nPackage: kiln\nArchitecture: amd64\n' >"$work/shlibdeps/debian/control"
  library_tree "$work/libkiln1" "$work/libkiln-dev"
  compile_tree "$work/libkiln-compile1" "$work/libkiln-dev"
  python_tree "$work/python3-kiln"
  compiler_tree "$work/kiln-compiler"
  mkdir -p "$work/kiln"

  package libkiln1 libs '' 'runs modules of Kiln kernels' \
    'The library loads modules, which kiln export writes, and runs their kernels. It' \
    'needs neither Python nor a compiler.'
  package libkiln-compile1 libs "python3-kiln (= $own)" 'compiles and runs kernels of C++ programs' \
    'The library has kernels that programs write compiled by the daemon, which is a' \
    'part of python3-kiln, or fetches them from its caches, and runs them.'
  package libkiln-dev libdevel "libkiln1 (= $own), libkiln-compile1 (= $own)" \
    'runs and compiles Kiln kernels (development files)' \
    'The headers for C and C++, and the files for CMake and pkg-config.'
  package python3-kiln python 'python3 (>= 3.11), python3 (<< 3.12), python3-numpy' \
    'Taichi-language kernels, compiled once and cached' \
    'The Python package, the command kiln and the daemon that caches compiled' \
    'kernels. Compiling them needs kiln-compiler, or a server that has it.'
  package kiln-compiler devel "python3-kiln (= $own)" 'compiler of Kiln kernels' \
    'The process that compiles kernels for python3-kiln, and the processes through' \
    'which the daemon serves other machines and browsers.'
  package kiln metapackages "python3-kiln (= $own), kiln-compiler (= $own), libkiln-dev (= $own)" \
    'compile server for Taichi-language kernels' \
    'This package depends on all that is needed to write kernels in Python, and to' \
    'run them from Python, C and C++.'
}

library_tree() {
  local lib=$1/usr/lib/$triplet dev=$2/usr
  mkdir -p "$lib" "$dev/lib/$triplet/cmake/kiln" "$dev/lib/$triplet/pkgconfig" "$dev/include" "$1/DEBIAN"
  copy "libkiln/libkiln.so.$major" "$lib/$library"
  chmod 644 "$lib/$library"
  ln -s "$library" "$lib/libkiln.so.$major"
  ln -s "libkiln.so.$major" "$dev/lib/$triplet/libkiln.so"
  cp "$root/libkiln/libkiln1.symbols" "$1/DEBIAN/symbols"
  printf 'libkiln %s libkiln1 (>= %s)\n' "$major" "$own" >"$1/DEBIAN/shlibs"
  echo activate-noawait ldconfig >"$1/DEBIAN/triggers"
  lay_out_texts "$work/texts"
  cp -r "$work/texts/include/kiln" "$dev/include/"
  cp "$work"/texts/lib/cmake/kiln/* "$dev/lib/$triplet/cmake/kiln/"
  # From lib/TRIPLET/cmake/kiln, the headers are one folder further than in a tarball.
  fill_in "$root/libkiln/cmake/kilnConfig.cmake.in" ../../../../include \
    >"$dev/lib/$triplet/cmake/kiln/kilnConfig.cmake"
  sed -e 's|^prefix=.*|prefix=/usr|' -e "s|^libdir=.*|libdir=\${prefix}/lib/$triplet|" \
    "$work/texts/lib/pkgconfig/kiln.pc" >"$dev/lib/$triplet/pkgconfig/kiln.pc"
}

compile_tree() {
  local name=libkiln-compile.so.$major lib=$1/usr/lib/$triplet dev=$2/usr
  mkdir -p "$lib" "$1/DEBIAN"
  copy "client_cpp/dsl/$name" "$lib/$name"
  chmod 644 "$lib/$name"
  ln -s "$name" "$dev/lib/$triplet/libkiln-compile.so"
  cp "$root/client_cpp/dsl/libkiln-compile1.symbols" "$1/DEBIAN/symbols"
  printf 'libkiln-compile %s libkiln-compile1 (>= %s)\n' "$major" "$own" >"$1/DEBIAN/shlibs"
  echo activate-noawait ldconfig >"$1/DEBIAN/triggers"
  cp -r "$root"/client_cpp/dsl/include/kiln/* "$dev/include/kiln/"
  fill_in "$root/libkiln/cmake/kiln-compile.pc.in" '' |
    sed -e 's|^prefix=.*|prefix=/usr|' -e "s|^libdir=.*|libdir=\${prefix}/lib/$triplet|" \
      >"$dev/lib/$triplet/pkgconfig/kiln-compile.pc"
}

python_tree() {
  local packages=$1/usr/lib/python3/dist-packages programs=$1/usr/libexec/kiln
  mkdir -p "$programs" "$1/usr/bin" "$1/DEBIAN"
  python_files "$packages"
  copy client_py/native/_native.so "$packages/kiln/_native.so"
  copy client_py/native/linalg/_linalg.so "$packages/kiln/_linalg.so"
  copy client_py/native/window/_window.so "$packages/kiln/_window.so"
  chmod 644 "$packages"/kiln/*.so
  copy server/daemon/kilnd "$programs/kilnd"
  copy server/remote/kilnd-remote "$programs/kilnd-remote"
  printf '#!/usr/bin/python3\nimport sys\n\nfrom kiln.cli import main\n\nsys.exit(main())\n' \
    >"$1/usr/bin/kiln"
  chmod 755 "$1/usr/bin/kiln"
  mkdir -p "$1/usr/share/man/man1"
  manual_page | gzip -9n >"$1/usr/share/man/man1/kiln.1.gz"
  # As dh_python3 writes them.
  cat >"$1/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
  py3compile -p python3-kiln
fi
END
  cat >"$1/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
  py3clean -p python3-kiln
fi
END
  chmod 755 "$1"/DEBIAN/p*
}

# The manual page: what the command says of itself.
manual_page() {
  printf '.TH KILN 1\n.SH NAME\nkiln \\- compile server for Taichi-language kernels\n'
  printf '.SH SYNOPSIS\n.B kiln\n.I command\n[\\fIargument\\fR ...]\n.SH DESCRIPTION\n.nf\n'
  /usr/bin/python3 -I "$root/client_py/kiln/cli.py" --help |
    sed -e 's/\\/\\\\/g' -e 's/^[.'"'"']/\\\&&/' -e 's/…/.../g'
  printf '.fi\n'
}

compiler_tree() {
  local programs=$1/usr/libexec/kiln name
  mkdir -p "$programs"
  copy server/worker/kiln-worker "$programs/kiln-worker"
  # libMLIR is in LLVM's own folder alone.
  mkdir -p "$1/usr/share/lintian/overrides"
  echo 'kiln-compiler: custom-library-search-path RUNPATH /usr/lib/llvm-19/lib *' \
    >"$1/usr/share/lintian/overrides/kiln-compiler"
  copy server/grpc_front/kilnd-grpc "$programs/kilnd-grpc"
  copy server/web_front/kilnd-web "$programs/kilnd-web"
}

# package NAME SECTION DEPENDS SUMMARY LINE...: writes NAME's package of the tree $work/NAME.
package() {
  local name=$1 section=$2 depends=$3 summary=$4 tree=$work/$1 binaries
  shift 4
  mkdir -p "$tree/DEBIAN"
  documents "$name"
  find "$tree" -type d -exec chmod 755 {} +
  find "$tree/usr" -type f ! -perm -100 -exec chmod 644 {} +
  mapfile -t binaries < <(find "$tree" -type f \( -perm -100 -o -name '*.so*' \) \
    -exec sh -c 'head -c 4 "$1" | grep -q ELF' _ {} \; -print | LC_ALL=C sort)
  if [ ${#binaries[@]} -gt 0 ]; then
    local needs
    needs=$(cd "$work/shlibdeps" && dpkg-shlibdeps -O --ignore-missing-info -l/usr/lib/llvm-19/lib \
      "${binaries[@]/#/-e}" 2>"$work/said") ||
      fail "dpkg-shlibdeps: $(cat "$work/said")"
    needs=${needs#shlibs:Depends=}
    depends=$depends${depends:+${needs:+, }}$needs
  fi
  {
    printf 'Package: %s\nSource: kiln\nVersion: %s\nArchitecture: amd64\n' "$name" "$own"
    printf 'Maintainer: %s\n' "$maintainer"
    printf 'Installed-Size: %s\n' "$(du -sk --exclude=DEBIAN "$tree" | cut -f1)"
    [ -z "$depends" ] || printf 'Depends: %s\n' "$depends"
    [ "$name" != python3-kiln ] || printf '%s\n' \
      'Recommends: kiln-compiler, libegl1, libgl1, libgl1-mesa-dri, libsdl2-2.0-0' \
      'Suggests: ffmpeg, python3-pil'
    case $name in libkiln*) printf 'Multi-Arch: same\n' ;; esac
    printf 'Section: %s\nPriority: optional\nDescription: %s\n' "$section" "$summary"
    printf ' %s\n' "$@"
  } >"$tree/DEBIAN/control"
  (cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 -r md5sum >DEBIAN/md5sums)
  # One time for all files, so that the bytes follow from the content.
  find "$tree" -exec touch -h -d @315532800 {} +
  SOURCE_DATE_EPOCH=315532800 dpkg-deb --root-owner-group -Zxz --build "$tree" "$work/debs" >/dev/null
}

# documents NAME: what Debian wants of every package.
documents() {
  local to=$work/$1/usr/share/doc/$1
  mkdir -p "$to"
  {
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n'
    printf 'Files: *\nCopyright: 2026 Kiln developers\nLicense: Apache-2.0\n\nLicense: Apache-2.0\n'
    printf ' On Debian systems, the full text of the Apache License 2.0 is in\n'
    printf ' /usr/share/common-licenses/Apache-2.0.\n'
  } >"$to/copyright"
  {
    printf 'kiln (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n' "$own"
    printf ' -- %s  Tue, 01 Jan 1980 00:00:00 +0000\n' "$maintainer"
  } | gzip -9n >"$to/changelog.gz"
}
