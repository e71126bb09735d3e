#!/bin/sh
exec /usr/bin/python3 tests/golden/ptx.py "$@"
