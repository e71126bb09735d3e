#!/bin/sh
# Bazel's rule for Python tests needs a command named "python", which Debian lacks.
exec /usr/bin/python3 tests/golden/run.py "$@"
