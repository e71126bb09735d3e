# Prepares the checkout: installs packages and builds the binaries. ./kiln and ./test source this file
# and set `root`. Messages go to stderr, because stdout belongs to the user's program.

say() { printf 'kiln: %s\n' "$*" >&2; }

# missing_packages FILE...: prints the packages in the files that are not installed. # starts a comment.
missing_packages() {
  local wanted
  wanted=$(sed 's/#.*//' "$@" | sort -u)
  # shellcheck disable=SC2086  # one word per package
  comm -13 <(dpkg-query -W -f='${db:Status-Abbrev}${binary:Package}\n' $wanted 2>/dev/null |
    sed -n 's/^ii *//p' | sed 's/:.*//' | sort) <(printf '%s\n' $wanted | sort)
}

# show TEXT: shows progress. Rewrites a terminal's line; elsewhere writes a line every 15 seconds.
show_after=0
show() {
  if [ -t 2 ]; then
    printf '\r\033[Kkiln: %.*s' "$((${COLUMNS:-80} - 7))" "$*" >&2
  elif [ "$SECONDS" -ge "$show_after" ]; then
    say "$*"
    show_after=$((SECONDS + 15))
  fi
}

# show_end: ends the line of progress, so that the next message begins a new line.
show_end() { [ ! -t 2 ] || printf '\r\033[K' >&2; }

# install_packages FILE...: installs missing packages if root; otherwise prints the command and exits.
install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: assuming that the packages of these files are installed:" "$@"
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
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! apt_install "$log" $missing; then
    say "refreshing the package lists, then trying again"
    # shellcheck disable=SC2086
    if ! { apt-get update -q >"$log" 2>&1 && apt_install "$log" $missing; }; then
      cat "$log" >&2
      rm -f "$log"
      say "apt-get could not install: $missing"
      exit 1
    fi
  fi
  rm -f "$log"
}

# apt_install LOG PACKAGE...: installs packages. apt-get's output goes to the log, its progress to `show`.
apt_install() {
  local log=$1 percent text status
  shift
  # A line of progress is KIND:PACKAGE:PERCENT:TEXT.
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o APT::Status-Fd=3 "$@" 3>&1 >"$log" 2>&1 |
    while IFS=: read -r _ _ percent text; do
      show "installing packages, ${percent%.*} % done: $text"
    done
  status=${PIPESTATUS[0]}
  show_end
  return "$status"
}

# Runs Bazel with our flags. A job needs a core and 2 GB of memory, because files with MLIR headers need
# that much. A cache outside the checkout keeps the outputs of earlier builds. BAZEL replaces the
# command, KILN_DISK_CACHE the cache's folder, KILN_JOBS the number of jobs.
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

# Tables of binaries: Bazel target, file under bazel-bin, name in .kiln/bin. These serve every program.
# shellcheck disable=SC2034  # of both tables: ./kiln makes `binaries` of them
programs='
//server/daemon:kilnd               server/daemon/kilnd                 kilnd
//server/worker:kiln-worker         server/worker/kiln-worker           kiln-worker
//client_py/native:_native.so        client_py/native/_native.so          _native.so
//client_py/native/linalg:_linalg.so client_py/native/linalg/_linalg.so   _linalg.so
//client_py/native/window:_window.so client_py/native/window/_window.so   _window.so
'
# kilnd starts these to serve other machines and browsers, and to query shared tiers.
# shellcheck disable=SC2034
servers='
//server/grpc_front:kilnd-grpc       server/grpc_front/kilnd-grpc         kilnd-grpc
//server/remote:kilnd-remote        server/remote/kilnd-remote          kilnd-remote
//server/web_front:kilnd-web         server/web_front/kilnd-web           kilnd-web
'

# What `./kiln build emulator` adds: a CUDA driver for machines without a device.
# shellcheck disable=SC2034
emulator='
//tests/support/fake_cuda:libcuda-emulator.so tests/support/fake_cuda/libcuda-emulator.so libcuda-emulator.so
'

# Filters Bazel's output: progress goes to `show`; warnings and errors pass unchanged.
tell_build() {
  local line step
  while IFS= read -r line; do
    case $line in
      '['*' / '*']'*) # [212 / 243] Compiling server/worker/serve.cc; 4s ... (3 actions running)
        step=${line%%]*}
        line=${line#*] }
        show "building, step ${step#[} of those known so far: ${line%%;*}"
        ;;
      'INFO: From '*) ;; # the compiler's warnings follow
      INFO:* | Loading:* | Analyzing:* | 'Starting local Bazel server'*) ;;
      *)
        show_end
        printf '%s\n' "$line" >&2
        ;;
    esac
  done
  show_end
}

# note_python: writes the version and path of the Python that the modules need to .kiln/bin/python. ./kiln
# and import errors read them, maybe at this moment: the file is replaced whole.
note_python() {
  "${KILN_PYTHON:-/usr/bin/python3}" -c \
    'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)' >"$root/.kiln/bin/python.new"
  mv -f "$root/.kiln/bin/python.new" "$root/.kiln/bin/python"
}

# build_binaries: builds `binaries`, a table like `programs`, and copies changed ones to .kiln/bin. Bazel
# overwrites its outputs, but a running daemon needs its file, and clients identify the compiler by its
# file's time and size.
build_binaries() {
  local target built name targets=() before=$SECONDS
  while read -r target built name; do
    [ -n "$target" ] && targets+=("$target")
  done <<<"$binaries"
  say "building (the first time takes about six minutes on two cores)"
  (cd "$root" && bazel_command build --color=no --curses=no --show_progress_rate_limit=1 \
    --show_result=0 "${targets[@]}") 2>&1 >/dev/null | tell_build
  [ "${PIPESTATUS[0]}" = 0 ] || {
    say "the build failed"
    exit 1
  }
  say "built in $((SECONDS - before)) s"
  mkdir -p "$root/.kiln/bin"
  while read -r target built name; do
    [ -n "$target" ] || continue
    built=$root/.kiln/bazel-bin/$built
    cmp -s "$built" "$root/.kiln/bin/$name" && continue
    cp -f "$built" "$root/.kiln/bin/$name.new"
    chmod 755 "$root/.kiln/bin/$name.new"
    mv -f "$root/.kiln/bin/$name.new" "$root/.kiln/bin/$name"
  done <<<"$binaries"
  note_python
  # Writes the bytecode now: if users may not write it or turned it off, every start would compile.
  /usr/bin/python3 -m compileall -q "$root/client_py/kiln" || true
}
