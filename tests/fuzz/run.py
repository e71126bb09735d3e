#!/usr/bin/python3
"""Builds the fuzzers with libFuzzer and AddressSanitizer and runs each on its corpus, then freely.

    tests/fuzz/run.py [seconds] [name...]

BUILD lists the fuzzers. Add inputs that one finds to its corpus by hand, as files named after the
mistake: `tools/bazel.sh test //tests/fuzz:all` tries them in the ordinary build.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOUND = ROOT / ".kiln" / "fuzz"  # inputs that failed
LINKS = ".kiln/fuzz-"  # of Bazel, beside those of the ordinary build
SECONDS = 10  # of new inputs


def fuzzers():
    """Their names."""
    return [path.stem[: -len("_fuzz")] for path in sorted(HERE.glob("*_fuzz.cc"))]


def build(names):
    """Builds these fuzzers; raises with the end of Bazel's output."""
    command = [ROOT / "tools" / "bazel.sh", "build", "--config=fuzz", f"--symlink_prefix={LINKS}"]
    targets = [f"//tests/fuzz:{name}_fuzz" for name in names]
    done = subprocess.run([*command, *targets], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the fuzzers were not built:\n{done.stderr[-3000:]}")


def run(name, seconds=SECONDS):
    """Runs the corpus and new inputs for `seconds`; returns (whether all passed, the output)."""
    corpus = HERE / "corpus" / name
    FOUND.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:  # libFuzzer adds new inputs to the first folder
        done = subprocess.run(
            [
                ROOT / f"{LINKS}bin" / "tests" / "fuzz" / f"{name}_fuzz",
                f"-max_total_time={seconds}",
                "-rss_limit_mb=2048",
                "-timeout=10",
                f"-artifact_prefix={FOUND}/",
                folder,
                corpus,
            ],
            capture_output=True,
            text=True,
        )
    return done.returncode == 0, done.stderr[-3000:]


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    names = sys.argv[2:] or fuzzers()
    build(names)
    good = True
    for name in names:
        passed, output = run(name, seconds)
        good &= passed
        print(f"{name}: {'passed' if passed else 'FAILED'}\n{output}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
