#!/bin/bash
# Tries Debian's packages in a fresh Debian: tools/package.sh check-debs (root, mmdebstrap, lintian)
# The packages' dependencies come from Debian's archive; then everything runs without a network.
set -eu
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
work=$(mktemp -d /tmp/kiln-check-XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT

fail() {
  printf 'check-debs: FAILED: %s\n' "$*" >&2
  exit 1
}
passed() { printf 'check-debs: %s\n' "$*"; }

# Lintian complains of a maintainer without a real address.
DEBFULLNAME="Kiln developers" DEBEMAIL=kiln@example.org "$root/tools/package.sh" deb "$work/debs"
lintian --no-cfg --allow-root --fail-on error,warning "$work"/debs/*.deb || fail "lintian"
passed "lintian has no complaint"

tree=$work/chroot
mmdebstrap --variant=apt --include=python3,g++,cmake,make,pkg-config bookworm "$tree" \
  ${KILN_DEBIAN:+"$KILN_DEBIAN"} >"$work/said" 2>&1 ||
  fail "mmdebstrap: $(tail "$work/said")"
mkdir "$tree/check"
cp "$work"/debs/*.deb "$tree/check/"
cp /etc/resolv.conf "$tree/etc/"
chroot "$tree" sh -c 'apt-get update && apt-get install -y --no-install-recommends /check/*.deb' \
  >"$work/said" 2>&1 || fail "apt-get: $(tail "$work/said")"
passed "the packages install in a fresh Debian"

kernels=$root/tests/sdk/consumer/kernels
cp "$root/examples/mpm88.py" "$kernels"/main.c* "$kernels/CMakeLists.txt" "$tree/check/"
cp "$root/tools/package/check_debs_inside.sh" "$tree/check/"
unshare --net --pid --fork --mount-proc="$tree/proc" chroot "$tree" \
  env -i HOME=/root PATH=/usr/bin:/bin bash /check/check_debs_inside.sh >"$work/said" 2>&1 ||
  fail "in the chroot: $(cat "$work/said")"
passed "kernels of Python, C and C++ run, a module from C++, and a picture appears"
