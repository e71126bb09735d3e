#!/bin/sh
# Bazel's own starter of Python tests wants a command called "python", which Debian does
# not have.
exec /usr/bin/python3 tests/golden/run.py "$@"
