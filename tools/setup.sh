# Making the checkout ready: packages installed, binaries built. Sourced by ./kiln and ./test, which
# set `root`. Messages go to stderr, so that a program's own output stays clean.

say() { printf 'kiln: %s\n' "$*" >&2; }

# missing_packages FILE...: names in the files (# starts a comment) that are not installed.
missing_packages() {
  local wanted
  wanted=$(sed 's/#.*//' "$@" | sort -u)
  # shellcheck disable=SC2086  # one word a package
  comm -13 <(dpkg-query -W -f='${db:Status-Abbrev}${binary:Package}\n' $wanted 2>/dev/null |
    sed -n 's/^ii *//p' | sed 's/:.*//' | sort) <(printf '%s\n' $wanted | sort)
}

# install_packages FILE...: installs what is missing, as root; otherwise says how and stops.
install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: taking it that you have what is listed in" "$@"
    return
  fi
  missing=$(missing_packages "$@" | tr '\n' ' ')
  missing=${missing% }
  [ -z "$missing" ] && return
  if [ "$(id -u)" != 0 ]; then
    say "these packages are missing: $missing"
    say "install them, then try again:"
    printf '\n  sudo apt-get install %s\n\n' "$missing" >&2
    exit 1
  fi
  say "installing $missing"
  # shellcheck disable=SC2086
  if ! apt_install $missing; then
    say "refreshing the package lists, then trying again"
    apt-get update -q >&2 && apt_install $missing || {
      say "apt-get could not install: $missing"
      exit 1
    }
  fi
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

# Bazel with our flags: as many jobs as there are cores and 2 GB of memory for each (files with MLIR
# headers take that much), outputs of earlier builds reused from a cache outside the checkout.
# BAZEL replaces the command, KILN_DISK_CACHE the cache's folder, KILN_JOBS the number of jobs.
bazel_command() {
  local verb=$1 memory jobs
  shift
  memory=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 2000000))
  jobs=$(nproc)
  [ "$memory" -lt "$jobs" ] && jobs=$((memory > 0 ? memory : 1))
  local flags=()
  case $verb in
    build | test)
      flags+=(--symlink_prefix=.kiln/bazel- --jobs="${KILN_JOBS:-$jobs}"
        --disk_cache="${KILN_DISK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kiln-bazel}")
      ;;
  esac
  # shellcheck disable=SC2086
  ${BAZEL:-bazel --host_jvm_args=-Xmx1g} "$verb" "${flags[@]}" "$@"
}

# What runs: Bazel target, file under bazel-bin, name in .kiln/bin.
binaries='
//server/daemon:kilnd               server/daemon/kilnd                 kilnd
//server/grpc_front:kilnd-grpc       server/grpc_front/kilnd-grpc         kilnd-grpc
//server/remote:kilnd-remote        server/remote/kilnd-remote          kilnd-remote
//server/web_front:kilnd-web         server/web_front/kilnd-web           kilnd-web
//server/worker:kiln-worker         server/worker/kiln-worker           kiln-worker
//client_py/native:_native.so        client_py/native/_native.so          _native.so
//client_py/native/linalg:_linalg.so client_py/native/linalg/_linalg.so   _linalg.so
'

# build_binaries: builds them and copies what changed to .kiln/bin. Copies, because a daemon may be
# running the old ones, and because clients know the compiler by its file's time and size.
build_binaries() {
  local target built name targets=()
  while read -r target built name; do
    [ -n "$target" ] && targets+=("$target")
  done <<<"$binaries"
  local progress=(--color=no --curses=no --show_progress_rate_limit=15)
  [ -t 2 ] && progress=()
  say "building (the first time takes some minutes)"
  (cd "$root" && bazel_command build "${progress[@]}" "${targets[@]}") >&2 || {
    say "the build failed"
    exit 1
  }
  mkdir -p "$root/.kiln/bin"
  while read -r target built name; do
    [ -n "$target" ] || continue
    built=$root/.kiln/bazel-bin/$built
    cmp -s "$built" "$root/.kiln/bin/$name" && continue
    cp -f "$built" "$root/.kiln/bin/$name.new"
    chmod 755 "$root/.kiln/bin/$name.new"
    mv -f "$root/.kiln/bin/$name.new" "$root/.kiln/bin/$name"
  done <<<"$binaries"
  # Which Python the modules are for: its version and its path. ./kiln and import errors read it.
  "${KILN_PYTHON:-/usr/bin/python3}" -c \
    'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)' >"$root/.kiln/bin/python"
  # Python may be told not to write bytecode, or not be allowed to: then every start would compile.
  /usr/bin/python3 -m compileall -q "$root/client_py/kiln" || true
}
