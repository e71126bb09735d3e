"""Threads of Python that read and write elements while others launch kernels on a CUDA device."""

import pytest

START = """
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


def test_ndarrays_for_modules_beside_reads(run, tmp_path):
    out = run(f"""

@ti.kernel
def add(a: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
    for i in range(48):
        a[i] += 1
    return a[3]

module = ti.aot.Module()
module.add_kernel(add)
module.export({str(tmp_path / "m.kiln")!r})
loaded = ti.aot.load({str(tmp_path / "m.kiln")!r})
a = ti.ndarray(ti.i32, 64)

def launch():
    for turn in range(1, 300):
        loaded.add(a)
        assert a[3] == turn, (a[3], turn)

beside(lambda: a[50], launch)
print("as they should be")
""")
    assert out == "as they should be\n"


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
