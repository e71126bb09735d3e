"""`kiln config`: prints where libkiln is, for the builds of programs in C and C++."""

import os
import shlex
import subprocess

from .common import failure
from .options import BadOption, parse

# What is asked -> what is printed, from the path of the package. Options of compilers are quoted
# for a shell.
_ANSWERS = {
    "--prefix": lambda prefix: prefix,
    "--cmakedir": lambda prefix: os.path.join(prefix, "lib", "cmake", "kiln"),
    "--cflags": lambda prefix: shlex.quote("-I" + os.path.join(prefix, "include")),
    "--libs": lambda prefix: shlex.quote("-L" + os.path.join(prefix, "lib")) + " -lkiln",
}


def main(argv):
    asked, rest = parse(argv, dict.fromkeys(_ANSWERS, False))
    if rest:
        raise BadOption(f"config takes no argument, got '{rest[0]}'")
    wanted = [option for option in _ANSWERS if asked[option[2:]]]
    if not wanted:
        raise BadOption(f"config needs one of {', '.join(_ANSWERS)}")
    try:
        prefix = _package()
    except (OSError, RuntimeError) as error:
        return failure(error)
    print(" ".join(_ANSWERS[option](prefix) for option in wanted))
    return 0


def _package():
    """The folder of the package: the one installed with this Python package, or laid out from
    this checkout. Bazel builds what is out of date."""
    installed = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sdk")
    if os.path.isdir(installed):
        return installed
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    tool = os.path.join(root, "tools", "package.sh")
    if not os.path.exists(tool):
        raise RuntimeError(
            f"libkiln is not installed here: there is neither {installed} nor {tool}; "
            "pkg-config knows the paths of Debian's package libkiln-dev"
        )
    prefix = os.path.join(root, ".kiln", "sdk")
    done = subprocess.run([tool, "folder", prefix], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return prefix
