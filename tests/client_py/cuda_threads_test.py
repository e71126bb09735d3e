"""Threads of Python that read and write elements while others launch kernels on a CUDA device."""

import pytest

START = """
import time

sys.setswitchinterval(1e-5)


def beside(other, call):
    # Calls `call` while a thread repeats `other`.
    ended = threading.Event()
    errors = []

    def repeat():
        try:
            while not ended.is_set():
                other()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        call()
    finally:
        ended.set()
        thread.join()
    assert not errors, errors


def others_run(wait):
    # Whether other threads run in the middle of the span that `wait` returns.
    ticks, spans = [], []

    def tick():
        ticks.append(time.monotonic())
        time.sleep(0.001)

    beside(tick, lambda: spans.append(wait()))
    (begin, end), = spans
    quarter = (end - begin) / 4
    return any(begin + quarter < at < end - quarter for at in ticks), end - begin
"""


@pytest.fixture
def run(run_on_emulator):
    return lambda program: run_on_emulator(START + program, settings="seed=7")


def test_copies_of_all_elements_beside_launches(run):
    """Launches of other threads, which only read, take nothing from what is copied."""
    out = run("""
N = 1 << 20
x, other, total = ti.field(ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, ())
a = ti.ndarray(ti.i32, N)
cells = ti.field(ti.i32)
ti.root.pointer(ti.i, 64).dense(ti.i, 64).place(cells)

@ti.kernel
def look():
    total[None] += x[5]

@ti.kernel
def look_at(a: ti.types.ndarray()):
    total[None] += a[5]

@ti.kernel
def look_at_cell():
    total[None] += cells[5]

@ti.kernel
def activate():
    for i in range(4096):
        cells[i] = 1

def look_at_all():
    look()
    look_at(a)
    look_at_cell()

look_at_all()
activate()

def copy():
    for turn in range(1, 9):
        numbers = np.arange(N, dtype=np.int32) + turn
        x.from_numpy(numbers)
        other.copy_from(x)
        a.from_numpy(numbers)
        cells.from_numpy(numbers[:4096])
        assert (x.to_numpy() == numbers).all()
        assert (other.to_numpy() == numbers).all()
        assert (a.to_numpy() == numbers).all()
        assert (cells.to_numpy() == numbers[:4096]).all()
        x.fill(turn)
        a.fill(turn)
        assert (x.to_numpy() == turn).all() and (a.to_numpy() == turn).all()

beside(look_at_all, copy)
print("as they should be")
""")
    assert out == "as they should be\n"


@pytest.mark.parametrize("kernel", ["returns", "asserts", "prints", "of_array"])
@pytest.mark.parametrize("access", ["read", "write", "copy", "deactivate"])
def test_elements_beside_launches(run, access, kernel):
    """What a launch has changed is seen after it, and stays."""
    out = run(f"""
x = ti.field(ti.i32, 64)
cells = ti.field(ti.i32)
pointers = ti.root.pointer(ti.i, 4)
pointers.dense(ti.i, 4).place(cells)
a = ti.ndarray(ti.i32, 64)

@ti.kernel
def returns() -> ti.i32:
    for i in range(48):
        x[i] += 1
    cells[9] += 1
    return x[3]

@ti.kernel
def asserts():
    for i in range(48):
        x[i] += 1
        assert x[i] > 0
    cells[9] += 1

@ti.kernel
def prints():
    for i in range(48):
        x[i] += 1
    cells[9] += 1
    print(end="")

@ti.kernel
def of_array(a: ti.types.ndarray()) -> ti.i32:
    for i in range(48):
        a[i] += 1
        x[i] += 1
    cells[9] += 1
    return a[3]

def launch():
    for turn in range(1, 300):
        {kernel}({"a" if kernel == "of_array" else ""})
        assert x[3] == turn, (x[3], turn)
        if "{kernel}" == "of_array":
            assert a[3] == turn, (a[3], turn)
        if "{access}" != "deactivate":
            assert cells[9] == turn, (cells[9], turn)

numbers = [0]

def access():
    if "{access}" == "read":
        x[50], a[50], cells[2]
    elif "{access}" == "write":
        numbers[0] += 1
        x[50] = a[50] = cells[8] = numbers[0]
        assert x[50] == a[50] == cells[8] == numbers[0]
    elif "{access}" == "copy":
        x.to_numpy(), a.to_numpy(), cells.to_numpy()
    else:
        x[50] += 1
        pointers.deactivate_all()

{kernel}({"a" if kernel == "of_array" else ""})
x.fill(0)
a.fill(0)
pointers.deactivate_all()
beside(access, launch)
print("as they should be")
""")
    assert out == "as they should be\n"


# A module with a kernel of each way to end, and a graph. `x` and `y` share pages.
MODULE = """
x, y = ti.field(ti.i32), ti.field(ti.i32)
ti.root.dense(ti.i, 64).place(x, y)
array = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.kernel
def returns(a: array) -> ti.i32:
    for i in range(48):
        a[i] += 1
        x[i] += 1
    return a[3]


@ti.kernel
def starts(a: array):
    for i in range(48):
        a[i] += 1
        x[i] += 1


@ti.kernel
def copies(a: array, b: array):
    for i in range(48):
        a[i] += 1
        b[i] += 1
        x[i] += 1


@ti.func
def spend(a: ti.template(), times: ti.i32):
    for i in a:
        for j in range(times):
            a[i] = a[i] * 5 + j


@ti.kernel
def works(a: array, times: ti.i32):
    spend(a, times)


@ti.kernel
def copies_back(a: array, b: array, times: ti.i32):
    spend(b, times)
    a[3] += b[3]


@ti.kernel
def spends(a: array, times: ti.i32) -> ti.i32:
    spend(a, times)
    return a[3]


@ti.kernel
def speaks():
    print(end="")


def exported(path):
    module = ti.aot.Module()
    module.add_field("x", x)
    module.add_field("y", y)
    for kernel in returns, starts, copies, copies_back, spends:
        module.add_kernel(kernel)
    a = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a", ti.i32, ndim=1)
    times = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "times", ti.i32)
    for name, parts in ("twice", [starts, starts]), ("told", [starts, speaks]):
        builder = ti.graph.GraphBuilder()
        for part in parts:
            builder.dispatch(part, *[a] * (part is starts))
        module.add_graph(name, builder.compile())
    builder = ti.graph.GraphBuilder()
    for part in (works, a, times), (speaks,):
        builder.dispatch(*part)
    module.add_graph("spent", builder.compile())
    module.export(path)
    return ti.aot.load(path)
"""


@pytest.mark.parametrize(
    "launch",
    ["returns(a)", "starts(a)", "copies(a, b)", "twice.run({'a': a})", "told.run({'a': a})"],
)
def test_modules_beside_accesses(run, launch, tmp_path):
    """What a launch has changed is seen after it and stays, as does what another thread writes."""
    out = run(f"""{MODULE}
m = exported({str(tmp_path / "m.kiln")!r})
a, b = ti.ndarray(ti.i32, 64), np.zeros(64, np.int32)
steps = 2 if "twice" in {launch!r} else 1

def launch():
    for turn in range(1, 200):
        m.{launch}
        assert a[3] == steps * turn, (a[3], turn)
        assert b[3] == (turn if "copies" in {launch!r} else 0), (b[3], turn)
        if turn % 8 == 0:
            assert (m.x.to_numpy()[:48] == steps * turn).all()

numbers = [0]

def access():
    numbers[0] += 1
    a[50] = numbers[0]
    m.y.from_numpy(np.full(64, numbers[0], np.int32))
    assert a[50] == numbers[0]
    assert (m.y.to_numpy() == numbers[0]).all()

beside(access, launch)
print(set(m.x.to_numpy()[:48]) == {{steps * 199}})
""")
    assert out == "True\n"


@pytest.mark.parametrize(
    "launch",
    [
        "m.spends(a, times)",
        "m.copies_back(a, b, times)",
        "m.spent.run({'a': a, 'times': times})",
        "spends(a, times)",
        "works(b, times)",
        "works(a, times); ti.sync()",
        "works(a, times); a[3]",
        "works(a, times); a[3] = 1",
        "copies_back(a, b, times); a[3]",
    ],
)
def test_threads_run_while_kernels_are_waited_for(run, launch, tmp_path):
    out = run(f"""{MODULE}
m = exported({str(tmp_path / "m.kiln")!r})
a, b = ti.ndarray(ti.i32, 64), np.zeros(64, np.int32)
times = 10
{launch}
times = 20_000_000

def wait():
    begin = time.monotonic()
    {launch}
    return begin, time.monotonic()

print(*others_run(wait))
""")
    assert out.startswith("True "), out


@pytest.mark.parametrize(
    "access", ["cells[3]", "cells[3] = 1", "cells[40] = 1", "pairs[3].x", "pairs[3] = [1, 2]"]
)
def test_threads_run_while_sparse_elements_are_waited_for(run, access):
    out = run(f"""
cells, pairs = ti.field(ti.i32), ti.Vector.field(2, ti.i32)
ti.root.pointer(ti.i, 16).dense(ti.i, 4).place(cells)
ti.root.bitmasked(ti.i, 64).place(pairs)

@ti.kernel
def work(times: ti.i32):
    for i in range(8):
        for j in range(times):
            cells[i] = cells[i] * 5 + j
        pairs[i] = [cells[i], i]

work(10)
{access}

def wait():
    work(10_000_000)
    begin = time.monotonic()
    {access}
    return begin, time.monotonic()

print(*others_run(wait))
""")
    assert out.startswith("True "), out


def test_cells_without_memory_beside_threads(run_on_emulator):
    program = """
cells = ti.field(ti.f32)
ti.root.pointer(ti.i, 1 << 12).dense(ti.i, 1 << 12).place(cells)

@ti.kernel
def fill():
    for i in range(1 << 12):
        cells[i << 12] = 1

def attempt():
    fill()
    try:
        cells[3]
    except ti.TaichiRuntimeError as error:
        print("in kernel `fill`" in str(error), "the field created at" in str(error))

attempt()
ended = threading.Event()
thread = threading.Thread(target=ended.wait)
thread.start()
attempt()
ended.set()
"""
    assert run_on_emulator(program, init="device_memory_GB=0.002") == "True True\n" * 2


@pytest.mark.parametrize("place", ["dense", "pointer", "apart"])
def test_elements_of_several_pages_beside_launches(run, place):
    """A launch between two pages of an element that is being written takes nothing from it."""
    out = run(f"""
N = 1 << 18
pairs = ti.Vector.field(2, ti.i32)
for part in range(2):
    tree = ti.FieldsBuilder() if {place!r} == "apart" else ti.root
    level = tree.pointer(ti.i, 4) if {place!r} == "pointer" else tree
    size = N // 4 if {place!r} == "pointer" else N
    level.dense(ti.i, size).place(pairs.get_scalar_field(part))
    if {place!r} == "apart":
        tree.finalize()
total = ti.field(ti.i32, ())

@ti.kernel
def look():
    total[None] += pairs[5].x + pairs[5].y

look()

def write():
    for n in range(1, 600):
        pairs[3] = [n, -n]
        assert list(pairs[3]) == [n, -n], (n, list(pairs[3]))

beside(look, write)
print("as they should be")
""")
    assert out == "as they should be\n"


def test_memory_destroyed_while_an_element_is_waited_for(run):
    out = run("""
@ti.kernel
def work(y: ti.template(), times: ti.i32):
    for i in y:
        for j in range(times):
            y[i] = y[i] * 5 + j

outcomes = set()
for turn in range(8):
    ti.init(arch=ti.cuda)
    x, y = ti.field(ti.i32, 64), ti.field(ti.i32)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 64).place(y)
    tree = builder.finalize()
    field, end = (y, tree.destroy) if turn % 2 else (x, ti.reset)
    work(field, 50_000)
    thread = threading.Thread(target=end)
    thread.start()
    try:
        if turn < 4:
            field[3]
        else:
            field[3] = 1
        outcomes.add("used")
    except ti.TaichiRuntimeError as error:
        outcomes.add("gone" if "is gone: its memory ended" in str(error) else str(error))
    thread.join()
print("gone" in outcomes, outcomes - {"gone", "used"})
""")
    assert out == "True set()\n"


def test_threads_that_use_new_fields_at_the_same_time(run):
    """The first one makes the tree; the others wait for it."""
    out = run("""
for turn in range(40):
    ti.init(arch=ti.cpu)
    fields = [ti.field(ti.i32, 1 << 12) for _ in range(8)]
    start = threading.Barrier(4)
    errors = []

    def use():
        start.wait()
        try:
            for field in fields:
                field[7] = 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
print("as they should be")
""")
    assert out == "as they should be\n"
