"""Captured graphs (ti.graph.capture) on the CPU and on the emulator of CUDA: the same programs, and
what a device has on top. tests/e2e/language/graphs.py has what graphs refuse."""

import pytest


@pytest.fixture
def run(run_on_emulator):
    def start(program, arch="cuda", settings="", init="", **options):
        return run_on_emulator(program, settings, arch, f"random_seed=5, {init}", **options)

    return start


STEPS = """
n = 200
x, y = ti.field(ti.f32, n), ti.ndarray(ti.f32, n)
total, least = ti.field(ti.i32, ()), ti.field(ti.f32, ())
cells = ti.field(ti.i32)
block = ti.root.pointer(ti.i, 16)
block.dense(ti.i, 4).place(cells)
items = ti.field(ti.i32)
row = ti.root.dense(ti.i, 3).dynamic(ti.j, 64, chunk_size=4)
row.place(items)


@ti.kernel
def draw():
    for i in x:
        x[i] = ti.random()


@ti.kernel
def mix(a: ti.types.ndarray(), k: ti.f32):
    for i in x:
        a[i] = a[i] * k + x[i]


@ti.kernel
def count(a: ti.types.ndarray()):
    s = 0
    m = 1.0
    for i in a:
        s += int(a[i] * 10)
        ti.atomic_min(m, a[i])
    total[None] += s
    least[None] = m


@ti.kernel
def grow():
    for i in cells:
        cells[i] += 1
        if i + 4 < 64 and cells[i] == 2:
            cells[i + 4] = 1


@ti.kernel
def shrink():
    for i in cells:
        if cells[i] > 3:
            ti.deactivate(block, [i // 4])


@ti.kernel
def append():
    for i in range(3):
        items[i].append(total[None] % 7)


def step():
    draw()
    mix(y, 0.5)
    count(y)
    grow()
    shrink()
    append()
    mix(y, 0.25)


cells[0] = 1
if sys.argv[1:] == ["plain"]:
    for _ in range(6):
        step()
else:
    with ti.graph() as graph:
        step()
    for _ in range(3):
        graph.launch()
    assert len(graph) == 7
    with ti.graph() as graph:  # kernels with instances
        for _ in range(3):
            step()
    graph.launch()
print(x.to_numpy().tobytes().hex(), y.to_numpy().tobytes().hex(), total[None], least[None])
print(cells.to_numpy().tolist(), items.to_numpy().tolist())
"""


@pytest.mark.parametrize(
    "arch, check", [("cpu", ""), ("cuda", ""), ("cuda", "seed=2;check=race,init")]
)
def test_graphs_compute_what_launches_compute(run, arch, check):
    """Random numbers, sums, trees and lists included, bit for bit."""
    plain = run("sys.argv[1:] = ['plain']\n" + STEPS, arch, check)
    assert run(STEPS, arch, check) == plain
    lines = plain.splitlines()
    assert len(set(lines[0].split())) == 4 and "[0, 0, 0, 0, " in lines[1]


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_the_host_between_launches(run, arch):
    out = run(
        """
x, y = ti.field(ti.i32, 100_000), ti.ndarray(ti.i32, 4)


@ti.kernel
def step(a: ti.types.ndarray()):
    for i in x:
        x[i] += 1
    for i in a:
        a[i] += x[i]


with ti.graph() as graph:
    step(y)
    step(y)
x[3] = 100
y.fill(7)
graph.launch()
print(x[3], x[99_999], y.to_numpy())
x.from_numpy(np.arange(100_000, dtype=np.int32))
y[0] = -1
graph.launch()
graph.launch()
step(y)
print(x[3], x[99_999], y.to_numpy())
gc.collect()
before = len(gc.get_objects())


class Owner:
    def __init__(self):
        self.y = ti.ndarray(ti.i32, 4)
        with ti.graph() as self.graph:
            step(self.y)


for _ in range(20):
    Owner().graph.launch()
gc.collect()
print(len(gc.get_objects()) - before < 20, x[99_999])
""",
        arch,
    )
    assert out == "102 2 [ 10  10  10 210]\n8 100004 [ 14  30  35 240]\nTrue 100024\n"


def test_a_graph_is_one_call_of_the_driver(run):
    """But for the look at the thread's context, and for each task that draws random numbers."""
    out = run("""
x = ti.field(ti.f32, 100)


@ti.kernel
def step():
    for i in x:
        x[i] += 1
    for i in range(99):
        x[i] += 1


@ti.kernel
def draw():
    for i in x:
        x[i] = ti.random()


with ti.graph() as graph:
    for _ in range(40):
        step()
ti.sync()
graph.launch()
print(calls_of(graph.launch))
print(calls_of(step))
print(x[0], x[99])
with ti.graph() as graph:
    step()
    draw()
print(calls_of(graph.launch))
""")
    assert out == (
        "['cuCtxGetCurrent', 'cuGraphLaunch']\n"
        "['cuLaunchKernel', 'cuLaunchKernel']\n"
        "162.0 81.0\n"
        "['cuCtxGetCurrent', 'cuGraphExecKernelNodeSetParams', 'cuGraphLaunch']\n"
    )


CHECKED = """
x = ti.field(ti.i32, 8)


@ti.kernel
def up():
    for i in x:
        x[i] += 1


@ti.kernel
def check(limit: ti.i32):
    for i in x:
        assert x[i] < limit, f"{i} has {x[i]}"


with ti.graph() as graph:
    up()
    check(3)
    up()
graph.launch()
fault(graph.launch)
print(x[0])
"""


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_checks(run, arch):
    """A graph with checks launches what has some by itself, and ends with the one that fails."""
    out = run(CHECKED, arch, init="debug=True")
    assert out.startswith("TaichiAssertionError: ") and "has 3" in out and out.endswith("\n3\n")


def test_failures_name_the_kernels(run):
    out = run(
        """
x = ti.field(ti.i32, 8)


# No other test has such kernels: the names in errors are those of the first one with this code.
@ti.kernel
def paint():
    for i in x:
        x[i] += 12345


@ti.kernel
def erase():
    for i in x:
        x[i] = 54321


with ti.graph() as graph:
    paint()
    erase()
graph.launch()
fault(ti.sync)
fault(graph.launch)
""",
        settings="fail_launch=2",
    )
    first, second = out.splitlines()
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in first and "the last ones are `paint`, `erase`" in first
    assert second.startswith("TaichiRuntimeError: the launch of a captured graph failed: ")


def test_a_device_without_memory(run):
    """Neither an activation nor the graph's own memory: the program goes on."""
    out = run(
        """
x = ti.field(ti.i32)
block = ti.root.pointer(ti.i, 1 << 14)
block.dense(ti.i, 1 << 10).place(x)
total = ti.field(ti.i32, ())


@ti.kernel
def fill(n: ti.i32):
    for i in range(n):
        x[i * 1024] = 1


@ti.kernel
def count():
    s = 0
    for i in x:
        s += x[i]
    total[None] = s


fill(7)  # the order of blocks decides which other cells have memory
with ti.graph() as graph:
    fill(1 << 14)
graph.launch()
fault(ti.sync)
with ti.graph() as graph:
    fill(7)
graph.launch()
ti.sync()
print(x[1024 * 6])
""",
        init="device_memory_GB=0.01",
    )
    lines = out.splitlines()
    assert "no memory" in lines[0] or "memory" in lines[0], out
    assert lines[1] == "1"


def test_profiles(run):
    out = run(
        """
x = ti.field(ti.i32, 8)


@ti.kernel
def up():
    for i in x:
        x[i] += 1


with ti.graph() as graph:
    up()
    up()
graph.launch()
graph.launch()
print(ti.profiler.query_kernel_profiler_info("captured graph").counter)
""",
        init="kernel_profiler=True",
    )
    assert out == "2\n"


def test_arrays_of_other_libraries(run):
    """In place, and in the order of their streams."""
    out = run("""
from cuda_arrays import CudaArray, make_stream, read


@ti.kernel
def double(a: ti.types.ndarray()):
    for i in a:
        a[i] = a[i] * 2


stream = make_stream()
array = CudaArray(np.ones(1000, np.int32), stream=stream)
with ti.graph() as graph:
    double(array)
    double(array)
for turn in range(3):
    array.set(np.full(1000, turn, np.int32), stream)
    graph.launch()
    assert (read(array.address, array.shape, array.dtype, stream) == turn * 4).all()


def capture(numbers):
    with ti.graph():
        double(numbers)


fault(capture, np.ones(4, np.int32))
double(np.ones(4, np.int32))
""")
    assert "a captured graph cannot have the call of kernel 'double'" in out
    assert "the array 'a'" in out and len(out.splitlines()) == 1


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_other_threads_during_a_capture(run, arch):
    """Their calls take place."""
    out = run(
        """
x, y = ti.field(ti.i32, 8), ti.field(ti.i32, 8)


@ti.kernel
def up(f: ti.template()):
    for i in f:
        f[i] += 1


def other():
    up(y)
    y[1] += 10
    seen.append(y.to_numpy().tolist())


seen = []
with ti.graph() as graph:
    up(x)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
print(seen, x[0], len(graph))
graph.launch()
print(x[0], y[1])
""",
        arch,
    )
    assert out == "[[1, 11, 1, 1, 1, 1, 1, 1]] 0 1\n1 11\n"


def test_a_forked_child_has_no_graphs(run):
    out = run("""
x = ti.field(ti.i32, 8)


@ti.kernel
def up():
    for i in x:
        x[i] += 1


with ti.graph() as graph:
    up()
if os.fork() == 0:
    fault(graph.launch)
    sys.stdout.flush()
    os._exit(0)
os.wait()
graph.launch()
print(x[0])
""")
    first, second = out.splitlines()
    assert "this process was forked from one that uses CUDA" in first and second == "1"


def test_arrays_of_the_host_on_the_cpu(run):
    """The CPU uses them in place; a graph keeps them."""
    out = run(
        """
@ti.kernel
def up(a: ti.types.ndarray()):
    for i in a:
        a[i] += 1


numbers = np.zeros(3, np.int32)
with ti.graph() as graph:
    up(numbers)
graph.launch()
print(numbers)
numbers[1] = 5
graph.launch()
print(numbers)
del numbers
graph.launch()
""",
        "cpu",
    )
    assert out == "[1 1 1]\n[2 6 2]\n"


TAPES = """
x = ti.field(ti.f32, 4, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)
turns, starts = ti.field(ti.i32, ()), ti.field(ti.i32, ())


@ti.kernel
def squares():
    for i in x:
        y = x[i]
        for _ in range(turns[None]):
            y = y * y
        loss[None] += y


@ti.kernel
def start(next_turns: ti.i32):
    turns[None] = next_turns
    starts[None] += 1
    loss.grad[None] = 1
    for i in x:
        x.grad[i] = 0


@ti.kernel
def descend():
    for i in x:
        x[i] -= 0.01 * x.grad[i]


def step():
    for next_turns in (1, 2):
        start(next_turns)
        squares.grad()
        descend()
        descend()


with ti.graph() as graph:
    step()
x.fill(2)
"""


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_gradients_with_tapes(run, arch):
    """The host has to see whether a tape had memory: a graph launches such gradients by themselves,
    and what is between them by one call."""
    plain = run(TAPES + "step()\nstep()\nprint(x, starts)", arch)
    out = run(
        TAPES
        + """
calls = calls_of(graph.launch)
graph.launch()
print(x, starts)
print([call for call in calls if "Launch" in call])
""",
        arch,
    )
    parts = ["cuGraphLaunch", "cuLaunchKernel", "cuGraphLaunch", "cuLaunchKernel", "cuGraphLaunch"]
    assert out == plain + (f"{parts}\n" if arch == "cuda" else "[]\n")


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_a_tape_without_memory(run, arch):
    """Ends the graph there, and the program goes on."""
    out = run(
        TAPES
        + """
with ti.graph() as long:
    start(1 << 24)
    squares.grad()
    start(1)
fault(long.launch)
print(starts)
graph.launch()
print(starts)
""",
        arch,
        init="ad_tape_GB=0.001",
    )
    *_, failed, after = out.splitlines()
    assert "The gradient's tape has no room" in out and (failed, after) == ("1", "3")


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_threads_that_launch_a_graph_and_its_kernels(run, arch):
    """Sums have memory between their tasks, which a launch of the graph must not touch."""
    out = run(
        """
x = ti.field(ti.i32, 2000)
sums, wrong = ti.field(ti.i32, ()), ti.field(ti.i32, ())


@ti.kernel
def count():
    s = 0
    for i in x:
        s += x[i]
    if s != 2000:
        wrong[None] += 1
    sums[None] += 1


def work(launch):
    for _ in range(30):
        launch()


x.fill(1)
count()
with ti.graph() as graph:
    count()
    count()
threads = [threading.Thread(target=work, args=(f,)) for f in (count, graph.launch) * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong[None], sums[None])
""",
        arch,
    )
    assert out == "0 181\n"
