"""Costs of sparse trees, measured by counters: compiled kernels, lists, memory."""

import json

import pytest

HEAD = """
import json
import kiln as ti
from kiln import events

ti.init(arch=ti.cpu, **OPTIONS)


def compiled():
    made = events.made.items()
    return [name for (name, tier), (count, *_) in made if tier == "compiled" for _ in range(count)]


def tree_of(node):
    return node._living_tree().stats()


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for I in ti.grouped(node):
        n += 1
    return n
"""


@pytest.fixture
def run(kiln, tmp_path):
    """Runs a program's text; returns the JSON values that it prints, one per line."""

    def run(text, **options):
        path = tmp_path / "program.py"
        path.write_text(HEAD.replace("OPTIONS", repr(options)) + text)
        done = kiln("python", path)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_shapes_made_again_use_the_same_code(run):
    sizes, kernels = run(
        """
@ti.kernel
def fill(x: ti.template()):
    for i in range(32):
        if i % 3 == 0:
            x[i] = i

sizes = []
for n in range(5):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    block = builder.pointer(ti.i, 8)
    block.bitmasked(ti.i, 4).place(x)
    tree = builder.finalize()
    fill(x)
    sizes.append(count(x))
    tree.destroy()
print(json.dumps(sizes))
print(json.dumps(sorted(compiled())))
"""
    )
    assert sizes == [11] * 5
    assert kernels == ["count", "fill"]


def test_fields_elsewhere_in_a_tree_change_no_code(run):
    program = """
x = ti.field(ti.i32)
block = ti.root.pointer(ti.ij, 4)
cells = block.dense(ti.ij, 2)
cells.place(x)
ELSEWHERE
x[3, 3] = 5

@ti.kernel
def double():
    for i, j in x:
        x[i, j] *= 2

double()
print(x[3, 3], count(x))
print(json.dumps(compiled()))
"""
    more = """
y, z = ti.field(ti.f32), ti.field(ti.i8)
ti.root.bitmasked(ti.k, 7).place(y)
ti.root.dense(ti.i, 3).dynamic(ti.j, 4).place(z)
"""
    before = """
y = ti.field(ti.f32)
ti.root.place(y)
"""
    first = run_lines(run, program.replace("ELSEWHERE", ""))
    assert first == ["10 4", '["double", "count"]']
    assert run_lines(run, program.replace("ELSEWHERE", more)) == ["10 4", "[]"]
    assert run_lines(run, program.replace("ELSEWHERE", before)) == ["10 4", "[]"]


def run_lines(run, text):
    return [
        line if isinstance(line, str) else json.dumps(line)
        for line in run(text.replace("print(x[3, 3], count(x))", PRINT))
    ]


PRINT = 'print(json.dumps(f"{x[3, 3]} {count(x)}"))'


def test_lists_are_made_when_something_changed(run):
    made, kept = run(
        """
x = ti.field(ti.i32)
block = ti.root.pointer(ti.i, 64)
block.dense(ti.i, 16).place(x)

@ti.kernel
def drop(i: ti.i32):
    ti.deactivate(block, i)

made, kept = [], []

def step(do):
    do()
    count(x)
    stats = tree_of(block)
    made.append(stats["lists_made"])
    kept.append(stats["lists_kept"])

def write(i):
    x[i] = 1

step(lambda: write(5))
step(lambda: None)
step(lambda: write(6))       # the block is there
step(lambda: write(500))
step(lambda: None)
step(lambda: drop(31))
step(lambda: drop(31))
step(block.deactivate_all)
step(lambda: None)
print(json.dumps(made))
print(json.dumps(kept))
"""
    )
    new = [b - a for a, b in zip(made, made[1:])]
    again = [b - a for a, b in zip(kept, kept[1:])]
    assert made[0] == 1
    assert new == [0, 0, 1, 0, 1, 0, 1, 0]
    assert again == [1, 1, 0, 1, 0, 1, 0, 1]


def test_memory_stays_flat_over_rounds(run):
    sizes, cells, bad = run(
        """
x, y = ti.field(ti.i32), ti.field(ti.f64)
block = ti.root.pointer(ti.i, 64)
inner = block.pointer(ti.i, 4)
inner.dense(ti.i, 4).place(x)
items = ti.root.dense(ti.j, 8).dynamic(ti.i, 1024, chunk_size=16)
items.place(y)

@ti.kernel
def round(n: ti.i32) -> ti.i32:
    bad = 0
    for i in range(1024):
        if x[i] != 0:
            bad += 1
        if i < 100 and y[i, n % 8] != 0:
            bad += 1
    for i in range(1024):
        if (i + n) % 7 != 0:
            x[i] = n
    for i in range(100):
        ti.append(items, n % 8, 1.5)
    for i in range(64):
        ti.deactivate(block, i)
    for i in range(8):
        ti.deactivate(items, i)
    return bad

bad, sizes = 0, []
for n in range(10000):
    bad += round(n + 1)
    if n in (999, 9999):
        sizes.append(tree_of(block)["cell_bytes"] + tree_of(block)["list_bytes"])
print(json.dumps(sizes))
print(json.dumps([n._num_dynamically_allocated for n in (block, inner, items)]))
print(json.dumps(bad))
"""
    )
    # A round makes some 20 kB of cells. If each round leaked them, megabytes would be lost.
    assert 0 < sizes[1] <= sizes[0] + (1 << 16)
    assert cells == [64, 256, 7]
    assert bad == 0


def test_a_limit_of_memory(run):
    text, active, value, after = run(
        """
x = ti.field(ti.f32, name="density")
block = ti.root.pointer(ti.i, 1 << 16)
block.dense(ti.i, 1 << 14).place(x)

@ti.kernel
def fill(n: ti.i32):
    for i in range(n):
        x[i << 14] = i

fill(10)
try:
    fill(1 << 16)
    print(json.dumps("nothing raised"))
except ti.TaichiRuntimeError as error:
    print(json.dumps(str(error)))
print(json.dumps(10 <= count(block) < 1 << 16))
print(json.dumps(x[9 << 14]))
block.deactivate_all()
fill(100)
print(json.dumps(count(block)))
""",
        snode_memory_GB=0.05,
    )
    assert "pointer" in text and "GB" in text or "bytes" in text, text
    assert active is True and value == 9.0 and after == 100


def test_many_threads_share_a_block_that_holds_most(run):
    (totals,) = run(
        """
x = ti.field(ti.i32)
block = ti.root.pointer(ti.i, 4)
block.pointer(ti.i, 1 << 8).bitmasked(ti.i, 1 << 8).place(x)

@ti.kernel
def fill():
    for i in range(1 << 16):
        x[i] = 1
    x[3 << 16] = 1

@ti.kernel
def total() -> ti.i32:
    s = 0
    for i in x:
        s += x[i]
    return s

fill()
print(json.dumps([total() for _ in range(3)]))
""",
        cpu_max_num_threads=8,
    )
    assert totals == [65537] * 3


def test_print_ir_names_lists_and_collection(kiln, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        """
import kiln as ti

ti.init(arch=ti.cpu, print_ir=True)
x = ti.field(ti.i32)
dense = ti.root.dense(ti.i, 4)
cells = dense.bitmasked(ti.i, 4)
cells.place(x)
y = ti.field(ti.i32)
block = ti.root.pointer(ti.i, 4)
block.dense(ti.i, 2).place(y)

@ti.kernel
def k():
    for i in x:
        x[i] += 1
    for i in block:
        ti.deactivate(block, i)

k()
"""
    )
    done = kiln("python", path)
    text = done.stdout + done.stderr
    for term in ("listgen", "struct_for", "gc", "bitmasked", "pointer"):
        assert term in text, term
