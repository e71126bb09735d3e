#!/bin/bash
# Bazel with the flags that ./kiln and ./test use (tools/setup.sh): `tools/bazel.sh test //common/...`.
# Not named tools/bazel: Bazel's launcher runs a file of that name instead of itself.
set -u
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
cd "$root" || exit 1
. tools/setup.sh
bazel_command "$@"
