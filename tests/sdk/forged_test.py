"""Modules whose tables were changed, with a checksum that fits: what can be checked without knowing
the code is refused by name, and does not crash."""

import os
import random
import re

import pytest

from tests.sdk.conftest import ROOT, run

KILN = ROOT / "kiln"
SOURCES = ROOT / "tests" / "sdk" / "modules"
HEADER_BYTES = 72
TABLE_BYTES = 16
BYTES = {"uint16_t": 2, "uint64_t": 8, "int64_t": 8}  # all other fields have 4

# Loads each module of a folder and uses all that it has, in processes of their own.
USE = """
import os, pathlib, sys
import numpy as np
import kiln as ti

def use(path):
    world = ti.aot.load(path).world()
    ones = np.ones(6, np.float32)
    calls = [("fill", 20), ("count",), ("clear",), ("scale", ones, ones, 2.0),
             ("swap", {"a": 1.0, "b": 2}, [1.0, 2.0, 3.0]), ("count",)]
    for name, *arguments in calls:
        attempt(lambda: getattr(world, name)(*arguments))
    for name in ("dense", "pointer", "bitmasked", "dynamic", "quantised"):
        attempt(lambda: getattr(world, name).from_numpy(getattr(world, name).to_numpy()))
    attempt(lambda: world.twice(numbers=ones, by=2.0))

def attempt(call):
    try:
        call()
    except Exception:
        pass  # forged names and types may not be those that this program uses

for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            use(str(path))
        except (ValueError, RuntimeError, MemoryError) as error:
            text = str(error).removeprefix(f"{path}: the module is damaged: ")
            print(path.name, text, flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        print(path.name, "ended with", os.waitstatus_to_exitcode(status), flush=True)
"""


FORMAT = (ROOT / "common" / "module" / "format.h").read_text()


def records():
    """The records of common/module/format.h: their tables' numbers, and where their fields are:
    {record: number}, {record: {field: (offset, bytes)}}."""
    (kinds,) = re.findall(r"enum class TableKind .*?\};", FORMAT, flags=re.DOTALL)
    numbers = {name: int(number) for name, number in re.findall(r"(k\w+) = (\d+),", kinds)}
    text = re.sub(r"enum \w+ : uint32_t \{.*?\};", "", re.sub(r"//.*", "", FORMAT), flags=re.DOTALL)
    tables, places = {}, {}
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", text, flags=re.DOTALL):
        for kind in re.findall(r"kTable = TableKind::(k\w+);", body):
            tables[name] = numbers[kind]
        places[name], at = {}, 0
        for kind, fields in re.findall(r"^  ([\w:]+) ([\w, ]+);", body, flags=re.MULTILINE):
            parts = {"Text": (".offset", ".size"), "Span": (".first", ".count")}.get(kind, ("",))
            for field in (field + part for field in fields.split(", ") for part in parts):
                places[name][field] = at, BYTES.get(kind, 4)
                at += BYTES.get(kind, 4)
    return tables, places


TABLES, RECORDS = records()


class Whole:
    """The module's bytes, and where its records are."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.tables = int.from_bytes(self.data[-32:-24], "little")
        count = self.number(self.tables + RECORDS["Header"]["tables"][0], 4)
        self.places = {}
        for i in range(count):
            at = self.tables + HEADER_BYTES + i * TABLE_BYTES
            kind, *place = (self.number(at + 4 * part, 4) for part in range(4))
            self.places[kind] = place

    def number(self, at, size):
        return int.from_bytes(self.data[at : at + size], "little")

    def count(self, record):
        return self.places.get(TABLES[record], (0, 0, 0))[1]

    def field(self, record, number, field):
        """The place and the bytes of a field."""
        offset, _, stride = self.places[TABLES[record]]
        at, size = RECORDS[record][field]
        return self.tables + offset + number * stride + at, size

    def forged(self, at, size, value):
        value %= 1 << 8 * size
        return self.data[:at] + value.to_bytes(size, "little") + self.data[at + size :]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("all") / "all.kiln"
    environment = {**os.environ, "KILN_SERVER": "off"}
    target = ("--target", "x86-64-v2")
    run(KILN, "export", SOURCES / "all_kinds.py", "-o", path, *target, env=environment)
    return Whole(path)


@pytest.fixture(scope="module")
def seal(tmp_path_factory):
    program = tmp_path_factory.mktemp("seal") / "seal"
    run("gcc", "-O2", "-Wall", "-Wextra", "-Werror", SOURCES / "seal.c", "-o", program)
    return program


def outcomes(seal, folder, mutants):
    """What becomes of modules with these bytes: {number: error}."""
    folder.mkdir()
    for number, data in enumerate(mutants):
        path = folder / f"{number:04}"
        path.write_bytes(data)
        run(seal, path)
    text = run(KILN, "python", "-c", USE, folder)
    lines = re.findall(r"^(\d{4}) (.*)$", text, re.MULTILINE)  # kernels print others
    return {int(number): error for number, error in lines}


# (record, number, field, value, error)
FORGED = [
    ("Node", 1, "parent", 1, "node parent of tree 0"),
    ("Node", 3, "parent", 2, "node parent of tree 0"),
    ("Node", 1, "kind", 99, "node kind of tree 0"),
    ("Node", 1, "kind", 1, "node kind of tree 0"),
    ("Node", 1, "num_cells", 11, "number of cells of tree 0"),
    ("Node", 1, "cell_bytes", 16, "container size of tree 0"),
    ("Node", 1, "cell_bytes", 1 << 60, "cell size of tree 0"),
    ("Node", 0, "container_bytes", 8, "container size of tree 0"),
    ("Node", 1, "alignment", 0, "alignment of tree 0"),
    ("Node", 3, "offset", 16, "node offset of tree 0"),
    ("Node", 3, "offset", 8, "node offset of tree 0"),
    ("Node", 8, "mask_offset", 4, "mask offset of tree 0"),
    ("Node", 10, "chunk_cells", 0, "chunk size of tree 0"),
    ("Node", 14, "bit_offset", 64, "bit offset of tree 0"),
    ("Level", 0, "extent", 0, "node axes of tree 0"),
    ("Level", 0, "axis", 12, "node axes of tree 0"),
    ("Level", 0, "multiplier", 3, "node axes of tree 0"),
    ("Tree", 0, "nodes.count", 0, "number of nodes of tree 0"),
    ("Tree", 0, "contents.count", 1, "contents of tree 0"),
    ("Slot", 4, "kind", 9, "slot kind of kernel 'fill'"),
    ("Slot", 4, "scalar", 99, "slot type of kernel 'fill'"),
    ("Slot", 5, "kind", 2, "binding kind of kernel 'fill'"),
    ("Kernel", 2, "name.size", 1 << 30, "text of kernel 2"),
    ("Kernel", 2, "bindings.count", 5, "argument slots of kernel 'fill'"),
    ("Kernel", 2, "params.count", 99, "record span of kernel 'fill'"),
    ("Param", 0, "kind", 3, "parameter kind of kernel 'fill'"),
    ("Param", 0, "scalar", 99, "type of kernel 'fill'"),
    ("Param", 0, "scalar", 11, "parameter slots of kernel 'fill'"),
    ("Param", 0, "first_slot", 1, "parameter slots of kernel 'fill'"),
    ("Param", 3, "rank", 0, "argument slots of kernel 'scale'"),
    ("Param", 3, "rank", (1 << 32) - 1, "parameter slots of kernel 'scale'"),
    ("Param", 4, "first_slot", 0, "argument slots of kernel 'scale'"),
    ("Param", 6, "scalars.count", 0, "type of kernel 'swap'"),
    ("Result", 0, "first_slot", 1, "result slots of kernel 'count'"),
    ("Result", 1, "scalar", 4, "type of kernel 'swap'"),
    ("Binding", 4, "kind", 9, "binding kind of kernel 'fill'"),
    ("Binding", 4, "slot", 2, "binding kind of kernel 'fill'"),
    ("Binding", 4, "tree", 1, "binding tree of kernel 'fill'"),
    ("Binding", 4, "value", 1 << 40, "binding address of kernel 'fill'"),
    ("Binding", 4, "bytes", 1 << 40, "binding address of kernel 'fill'"),
    ("Binding", 4, "value", 4, "binding address of kernel 'fill'"),
    ("Binding", 5, "value", 6, "binding number of kernel 'fill'"),
    ("Binding", 8, "value", 0, "binding nodes of kernel 'fill'"),
    ("Binding", 8, "value", 124, "binding nodes of kernel 'fill'"),
    ("Binding", 9, "nodes.count", 1 << 30, "number span of kernel 'fill'"),
    ("Binding", 9, "nodes.count", 0, "binding nodes of kernel 'fill'"),
    ("Binding", 9, "nodes.first", 34, "binding nodes of kernel 'fill'"),
    ("Variant", 2, "level", 0, "code level of kernel 'fill'"),
    ("Variant", 2, "tasks.first", 0, "record span of kernel 'fill'"),
    ("Kernel", 2, "variants.count", 2, "code level of kernel 'fill'"),
    ("Kernel", 2, "variants.first", 1, "record span of kernel 'fill'"),
    ("Kernel", 1, "results.count", 0, "record span of kernel 'swap'"),
    ("Kernel", 6, "results.count", 0, "number of records of the module"),
    ("Task", 3, "node", 0, "task SNode of kernel 'count'"),
    ("Task", 3, "node", 1 << 30, "task SNode of kernel 'count'"),
    ("Field", 1, "scalar", 99, "type of field 'dense'"),
    ("Field", 1, "scalar", 12, "type of field 'dense'"),
    ("Field", 1, "components.count", 2, "number of components of field 'dense'"),
    ("Field", 1, "tree", 7, "tree of field 'dense'"),
    ("Field", 1, "gradient", 99, "gradient of field 'dense'"),
    ("Field", 1, "offsets.count", 1, "first indices of field 'dense'"),
    ("Field", 3, "flags", 0, "sparse flag of field 'pointer'"),
    ("Field", 4, "flags", 0, "quantised flag of field 'quantised'"),
    ("Component", 1, "place", 1, "component place of field 'dense'"),
    ("Component", 1, "place", 99, "component place of field 'dense'"),
    ("Component", 1, "axes.count", 1, "component axes of field 'dense'"),
    ("Component", 1, "axes.first", 0, "component axes of field 'dense'"),
    ("GraphArg", 0, "kind", 1, "launch arguments of graph 'twice'"),
    ("GraphArg", 0, "scalar", 99, "type of graph 'twice'"),
    ("Dispatch", 0, "kernel", 99, "launch kernel of graph 'twice'"),
    ("Dispatch", 0, "args.count", 2, "launch arguments of graph 'twice'"),
    ("Dispatch", 0, "constants.count", 1, "launch constants of graph 'twice'"),
    ("Piece", 1, "scalar", 99, "number type of piece 1"),
    ("Fact", 0, "value.offset", 1 << 30, "text of fact 0"),
]


def test_errors_name_what_is_wrong(whole, seal, tmp_path):
    mutants = [
        whole.forged(*whole.field(record, number, field), value)
        for record, number, field, value, _ in FORGED
    ]
    got = outcomes(seal, tmp_path / "forged", [whole.data, *mutants])
    wanted = {i: f"wrong {error}" for i, (*_, error) in enumerate(FORGED, start=1)}
    named = {i: (FORGED[i - 1][:4], text) for i, text in got.items() if i > 0}
    assert 0 not in got, got[0]
    assert named == {i: (FORGED[i - 1][:4], text) for i, text in wanted.items()}


def test_contents_fit_their_trees(seal, tmp_path):
    whole = Whole(ROOT / "tests" / "sdk" / "golden" / "mesh_abi4.kiln")
    trees = range(whole.count("Tree"))
    (sparse,) = (n for n in trees if whole.number(*whole.field("Tree", n, "flags")) == 1)
    counts = [whole.number(*whole.field("Tree", n, "contents.count")) for n in trees]
    filled = counts.index(max(counts))
    forged = [
        (filled, "count", counts[filled] + 1),
        (filled, "first", 1 << 30),
        (sparse, "count", 1),  # where the host follows pointers
    ]
    mutants = [
        whole.forged(*whole.field("Tree", tree, f"contents.{part}"), value)
        for tree, part, value in forged
    ]
    got = outcomes(seal, tmp_path / "forged", [whole.data, *mutants])
    assert got == {n: f"wrong contents of tree {tree}" for n, (tree, *_) in enumerate(forged, 1)}


# What describes the code: how far its loops run, what it writes to, which numbers it gets.
OF_CODE = {
    *(("Task", field) for field in RECORDS["Task"]),
    *(("Kernel", "temporary_bytes"), ("Node", "chunk_cells"), ("Binding", "nodes.count")),
}


def test_other_fields_crash_nothing(whole, seal, tmp_path):
    draw = random.Random(1)
    sites = [
        (record, number, field)
        for record in TABLES
        for number in range(whole.count(record))
        for field in RECORDS[record]
        if (record, field) not in OF_CODE
    ]
    chosen, mutants = [], []
    for site in draw.sample(sites, 300):
        at, size = whole.field(*site)
        old = whole.number(at, size)
        near = [old + 1, old - 1, 2 * old]
        value = draw.choice([0, 1, 2, 5, 12, 31, 1 << 20, 1 << 31, -1, -2, *near])
        chosen.append((*site, value))
        mutants.append(whole.forged(at, size, value))
    got = outcomes(seal, tmp_path / "random", mutants)
    crashes = [(chosen[i], text) for i, text in got.items() if text.startswith("ended")]
    assert crashes == []
    assert len(got) > 50  # the others changed nothing that matters, such as names of parameters
