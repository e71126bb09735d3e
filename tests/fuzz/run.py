#!/usr/bin/python3
"""Builds the fuzzers with libFuzzer and AddressSanitizer and runs each on its corpus, then freely.

    tests/fuzz/run.py [seconds] [name...]

A fuzzer names its sources and messages in its first comment, on one or more lines. Add inputs that
it finds to the corpus by hand, as files named after the mistake.
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REMOTE_APIS = ROOT / "third_party" / "remote_apis"
BUILT = ROOT / ".kiln" / "fuzz"
SECONDS = 10  # of new inputs
FLAGS = ["-std=c++17", "-O1", "-g", "-fsanitize=fuzzer,address"]
LIBRARIES = """
protobuf hogweed nettle absl_status absl_statusor absl_strings absl_strings_internal absl_cord
absl_time absl_time_zone absl_int128 absl_base absl_raw_logging_internal absl_throw_delegate
absl_hash absl_str_format_internal absl_raw_hash_set absl_synchronization pthread zstd curl
""".split()


def fuzzers():
    """Name to source file."""
    return {path.stem[: -len("_fuzz")]: path for path in sorted(HERE.glob("*_fuzz.cc"))}


def build(name):
    """The fuzzer's binary, rebuilt when its sources changed; raises with the compiler's output."""
    source = fuzzers()[name]
    listed = {
        key: " ".join(re.findall(rf"^// {key}: (.*)$", source.read_text(), re.M)).split()
        for key in ("Sources", "Messages")
    }
    sources = [source, *(ROOT / path for path in listed["Sources"])]
    # Protos in other folders belong to the Remote Execution API.
    protos = [
        (REMOTE_APIS if "/" in message else ROOT / "proto") / f"{message}.proto"
        for message in listed["Messages"]
    ]
    state = hashlib.sha256(" ".join(FLAGS).encode())
    for path in [*sources, *protos, *sorted((ROOT / "common").rglob("*.h"))]:
        state.update(path.read_bytes())
    binary = BUILT / f"{name}-{state.hexdigest()[:16]}"
    if binary.exists():
        return binary
    BUILT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILT) as folder:
        if protos:
            _call("protoc", f"-I{REMOTE_APIS}", f"-I{ROOT}", f"--cpp_out={folder}", *protos)
        generated = sorted(pathlib.Path(folder).rglob("*.pb.cc"))
        _generate_tables(pathlib.Path(folder) / "common" / "language")
        unfinished = pathlib.Path(folder) / name
        includes = [f"-I{ROOT}", f"-I{folder}"]
        libraries = [f"-l{library}" for library in LIBRARIES]
        _call("clang++-19", *FLAGS, *includes, *sources, *generated, "-o", unfinished, *libraries)
        unfinished.rename(binary)
    return binary


def run(name, seconds=SECONDS):
    """Runs the corpus and new inputs for `seconds`; returns (whether all passed, the output)."""
    binary = build(name)
    corpus = HERE / "corpus" / name
    with tempfile.TemporaryDirectory() as folder:  # libFuzzer adds new inputs to the first folder
        done = subprocess.run(
            [
                binary,
                f"-max_total_time={seconds}",
                "-rss_limit_mb=2048",
                "-timeout=10",
                f"-artifact_prefix={BUILT}/",
                folder,
                corpus,
            ],
            capture_output=True,
            text=True,
        )
    return done.returncode == 0, done.stderr[-3000:]


def _generate_tables(folder):
    """What common/language/BUILD generates."""
    folder.mkdir(parents=True)
    maker = [sys.executable, ROOT / "common" / "language" / "generate_tables.py"]
    for what, name in (("tables", "op_table_data.inc"), ("views", "node_views_data.inc")):
        done = subprocess.run([*maker, what], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        (folder / name).write_bytes(done.stdout)


def _call(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[-3000:]}")


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    good = True
    for name in sys.argv[2:] or fuzzers():
        passed, output = run(name, seconds)
        good &= passed
        print(f"{name}: {'passed' if passed else 'FAILED'}\n{output}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
