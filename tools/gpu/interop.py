#!/usr/bin/python3
"""Checks Kiln beside PyTorch and CuPy on a CUDA device, in the same processes: one JSON line each.

    interop.py [--only CHECK...] [--long]

A line has the check's name, its seconds, and `passed`: true, false with `why`, or null if what it
needs is missing. Checks run in processes that end with the first failure, since a device that
failed stays so; those that spoil their process have one of their own. --long: memory over 10^4
calls of ti.init and 10^5 ndarrays.

    interop.py --stand-in

Runs, in one process on the emulator, the checks that need no more of PyTorch than stand_in.py has,
so that a cache has the kernels of all checks. Kernels that other checks launch appear in these. Of
many turns of a check only a few are made there, but with --long.
"""

import importlib
import sys

# PyTorch comes before Kiln. Checks run in this order.
for part in ("base", "tensors", "memory", "order", "device"):
    importlib.import_module(f"interop_{part}")
import checks  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.main(__doc__))
