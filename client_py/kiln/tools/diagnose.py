"""`ti diagnose`: prints facts about the machine for bug reports."""

import platform
import sys


def main():
    """Prints the versions of Kiln, Python, NumPy and the system, and the processor."""
    from .. import __version__, kiln_version

    print(f"kiln: {kiln_version}, language {'.'.join(map(str, __version__))}")
    print(f"python: {sys.version}")
    print(f"system: {platform.platform()}, processor {platform.machine()}")
    try:
        import numpy

        print(f"numpy: {numpy.__version__}")
    except ImportError:
        print("numpy: not installed")


__all__ = ["main"]


def __dir__():
    return list(__all__)
