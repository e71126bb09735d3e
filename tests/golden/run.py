"""Runs kiln-opt on every input in this folder and compares the output with the input's CHECK lines.

    run.py KILN_OPT [--update] [FILE...]

An input is a .mlir file (IR) or a .textproto file (a CompileUnit). Its `args:` comment contains the
options of kiln-opt; lines of `-----` split it into separate inputs. --update rewrites the CHECK
lines; review the difference.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FILE_CHECK = "/usr/lib/llvm-19/bin/FileCheck"
# What kiln-opt says of math functions for CUDA on a machine without NVIDIA's toolkit.
NO_TOOLKIT = "needs libdevice.10.bc of NVIDIA's CUDA toolkit"
HERE = pathlib.Path(__file__).resolve().parent


def comment_mark(path):
    return "#" if path.suffix == ".textproto" else "//"


def output(kiln_opt, args, text):
    done = subprocess.run([kiln_opt, *args], input=text, capture_output=True, text=True)
    if done.returncode < 0:
        return f"kiln-opt died of signal {-done.returncode}\n"
    # Blank lines, which LLVM puts between functions, have no CHECK line.
    return re.sub(r"(?m)^[ \t]*\n", "", done.stdout + done.stderr)


def parts_of(path):
    mark = comment_mark(path)
    return re.split(rf"(?m)^{re.escape(mark)} -----\n", path.read_text())


def args_of(path, text):
    found = re.search(r"(?m)^(?://|#) args: (.*)$", text)
    args = found.group(1).split() if found else []
    return ["--unit", *args] if path.suffix == ".textproto" else args


def checked(mark, text):
    """The text as CHECK lines: the first may match anywhere, each other one on the next line."""
    lines = [line for line in text.splitlines() if line.strip()]
    words = ["CHECK"] + ["CHECK-NEXT"] * len(lines)
    return "".join(f"{mark} {word}: {line}\n" for word, line in zip(words, lines))


def update(kiln_opt, path):
    mark = comment_mark(path)
    new = []
    args = None
    for part in parts_of(path):
        text = re.sub(rf"(?m)^{re.escape(mark)} CHECK.*\n", "", part).rstrip() + "\n"
        args = args or args_of(path, text)
        new.append(text + "\n" + checked(mark, output(kiln_opt, args, text)))
    path.write_text(f"\n{mark} -----\n".join(new))


def check(kiln_opt, path):
    """What is wrong, or NO_TOOLKIT."""
    args = None
    problems = ""
    for part in parts_of(path):
        args = args or args_of(path, part)
        got = output(kiln_opt, args, part)
        if NO_TOOLKIT in got:
            return NO_TOOLKIT
        with tempfile.NamedTemporaryFile("w", suffix=path.suffix) as expected:
            expected.write(part)
            expected.flush()
            command = [FILE_CHECK, "--comment-prefixes=RUN", expected.name]
            done = subprocess.run(command, input=got, capture_output=True, text=True)
        problems += done.stderr if done.returncode else ""
    return problems


def main(kiln_opt, *rest):
    names = [name for name in rest if name != "--update"]
    paths = [pathlib.Path(name) for name in names]
    if not paths:
        paths = sorted([*HERE.glob("*.mlir"), *HERE.glob("*.textproto")])
    failed = 0
    for path in paths:
        if "--update" in rest:
            update(kiln_opt, path)
            continue
        problems = check(kiln_opt, path)
        if problems == NO_TOOLKIT:
            print(f"skipped {path.name}: it {NO_TOOLKIT}")
            continue
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'passed'} {path.name}\n{problems}", end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
