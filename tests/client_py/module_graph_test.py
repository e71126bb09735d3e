"""Graphs of modules on the emulator of CUDA: what they capture, and what they launch instead."""

import pytest


@pytest.fixture
def run(run_on_emulator):
    def start(program, **options):
        return run_on_emulator(program, init="random_seed=5", **options)

    return start


MODULE = """
x, total = ti.field(ti.f32, 200), ti.field(ti.f32, ())
cells = ti.field(ti.i32)
ti.root.pointer(ti.i, 16).dense(ti.i, 4).place(cells)
array = ti.types.ndarray(dtype=ti.f32, ndim=1)


@ti.kernel
def draw():
    for i in x:
        x[i] = ti.random()


@ti.kernel
def mix(a: array, k: ti.f32):
    for i in x:
        a[i] = a[i] * k + x[i]


@ti.kernel
def grow(a: array):
    s = 0.0
    for i in a:
        s += a[i]
    total[None] += s
    cells[ti.cast(total[None], ti.i32) % 64] += 1


@ti.kernel
def speak():
    print("total", total[None])


def exported(path):
    module = ti.aot.Module(targets=["sm_90", "x86-64-v2"])
    for name, field in ("x", x), ("total", total), ("cells", cells):
        module.add_field(name, field)
    a = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a", ti.f32, ndim=1)
    k = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "k", ti.f32)
    for name, more in ("step", []), ("told", [speak]):
        builder = ti.graph.GraphBuilder()
        for turn in range(2):
            builder.dispatch(draw)
            builder.dispatch(mix, a, k)
            builder.dispatch(grow, a)
        for kernel in more:
            builder.dispatch(kernel)
        module.add_graph(name, builder.compile())
    module.export(path)
    return ti.aot.load(path, seed=3)
"""


def test_graphs_of_modules(run, tmp_path):
    """Runs with the same arguments are captured, and compute what launches one by one do."""
    out = run(f"""{MODULE}
m = exported({str(tmp_path / "m.kiln")!r})
assert m.target == "sm_90"
asks = {{"cuCtxGetCurrent", "cuPointerGetAttribute"}}

def run(world, kernels, values):
    # Whether by the graph or kernel by kernel.
    if not kernels:
        return world.step.run(values)
    for turn in range(2):
        for part in "draw", "mix", "grow":
            name = f"step.{{turn * 3 + ('draw', 'mix', 'grow').index(part)}}.{{part}}"
            a, k = values["a"], values["k"]
            world[name](*dict(draw=[], mix=[a, k], grow=[a])[part])

outcomes = []
for kernels in False, True:
    world = m.world(seed=7)
    a, b = ti.ndarray(ti.f32, 200), ti.ndarray(ti.f32, 200)
    numbers = np.ones(200, np.float32)
    a.fill(0), b.fill(1)
    for turn in range(6):
        calls = calls_of(lambda: run(world, kernels, {{"a": a, "k": 0.5}}))
        if not kernels:
            launches = [call for call in calls if call not in asks]
            print(launches if "cuGraphLaunch" in launches else "plain", end=" ")
            print(launches.count("cuGraphLaunch"), launches.count("cuLaunchKernel"))
        run(world, kernels, {{"a": b, "k": 0.25}})  # alternates
        run(world, kernels, {{"a": a, "k": 1 / (turn + 3)}})  # differs each time
        run(world, kernels, {{"a": numbers, "k": 0.5}})  # copied
    # What the host writes comes before the graph.
    world.x.from_numpy(np.arange(200))
    world.total.from_numpy(np.array(5))
    run(world, kernels, {{"a": a, "k": 0.5}})
    fields = [world.x, world.total, world.cells]
    outcomes.append([a.to_numpy(), b.to_numpy(), numbers, *[one.to_numpy() for one in fields]])
    world.seed(7)
assert all((one == other).all() for one, other in zip(*outcomes))
print(outcomes[0][4] > 0, outcomes[0][5].sum())

# Of a graph that prints, each kernel is launched.
for turn in range(5):
    calls = calls_of(lambda: m.told.run({{"a": a, "k": 0.5}}))
    assert "cuGraphLaunch" not in calls and calls.count("cuLaunchKernel") >= 7
del world, m, run
gc.collect()
log = pathlib.Path(os.environ["LOG"]).read_text().split()
print(log.count("cuGraphInstantiateWithFlags"), log.count("cuGraphExecDestroy"))
""")
    first, second, third, *later, told, _, _, _, _, _, graphs = out.splitlines()
    assert first == second == "plain 0 8", out
    assert "'cuGraphInstantiateWithFlags'" in third and third.endswith(" 1 0"), out
    draws = "'cuGraphExecKernelNodeSetParams'"
    assert later == [f"[{draws}, {draws}, 'cuGraphLaunch'] 1 0"] * 3, out
    assert told.startswith("True ") and graphs == "4 4", out


# Loops as long as arrays, arrays that may be the same, random numbers, a field that grows.
CHANGING = """
field, total = ti.field(ti.f32, 300), ti.field(ti.f64, ())
cells = ti.field(ti.i32)
ti.root.pointer(ti.i, 1 << 12).dense(ti.i, 1 << 9).place(cells)
array = ti.types.ndarray(dtype=ti.f32, ndim=1)


@ti.kernel
def shake(a: array):
    for i in a:
        a[i] += ti.random() - 0.5


@ti.kernel
def blend(a: array, b: array, k: ti.f32):
    for i in a:
        a[i] += b[i] * k


@ti.kernel
def keep(a: array, begin: ti.i32, end: ti.i32):
    s = 0.0
    for i in range(begin, end):
        s += a[i % a.shape[0]]
        cells[i << 9] += 1
    total[None] += s
    for i in field:
        field[i] = field[i] * 0.5 + a[i % a.shape[0]]


def exported(path):
    module = ti.aot.Module(targets=["sm_90", "x86-64-v2"])
    for name, one in ("field", field), ("total", total), ("cells", cells):
        module.add_field(name, one)
    a, b = (ti.graph.Arg(ti.graph.ArgKind.NDARRAY, name, ti.f32, ndim=1) for name in "ab")
    k = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "k", ti.f32)
    begin, end = (ti.graph.Arg(ti.graph.ArgKind.SCALAR, n, ti.i32) for n in ("begin", "end"))
    builder = ti.graph.GraphBuilder()
    builder.dispatch(shake, a)
    builder.dispatch(blend, a, b, k)
    builder.dispatch(keep, a, begin, end)
    builder.dispatch(blend, b, a, k)
    module.add_graph("step", builder.compile())
    module.export(path)
    return ti.aot.load(path, seed=3)
"""


def test_graphs_of_modules_with_other_arguments(run, tmp_path):
    """Runs whose arguments differ each time are one launch, after calls for what differs. They
    compute what launches one by one do."""
    out = run(
        f"""{CHANGING}
m = exported({str(tmp_path / "m.kiln")!r})


def ndarray(n):
    return ti.ndarray(ti.f32, n)


def by_kernels(world, a, b, k, begin, end):
    world["step.0.shake"](a)
    world["step.1.blend"](a, b, k)
    world["step.2.keep"](a, begin, end)
    world["step.3.blend"](b, a, k)


def by_graph(world, a, b, k, begin, end):
    world.step.run({{"a": a, "b": b, "k": k, "begin": begin, "end": end}})


outcomes = []
for step in by_graph, by_kernels:
    world = m.world(seed=7)
    outcome = []
    for turn in range(40):
        # Arrays that live for one run, of other sizes, on the device and of the host; one as both.
        make = (lambda n: np.ones(n, np.float32)) if turn % 4 == 3 else ndarray
        a = make(100 + 37 * turn)
        b = a if turn % 5 == 4 else make(a.shape[0])
        for one in {{id(a): a, id(b): b}}.values():
            one.fill(turn)
        values = a, b, 0.125 * (turn % 3), 8 * turn, 8 * turn + 4 * (turn % 3)
        calls = calls_of(lambda: step(world, *values))
        if step is by_graph:
            seen = [calls.count(name) for name in ("cuGraphLaunch", "cuLaunchKernel")]
            assert seen == ([0, 6] if turn < 8 else [1, 0]), (turn, seen)
            assert calls.count("cuGraphInstantiateWithFlags") == (turn == 8)
            changes = calls.count("cuGraphExecKernelNodeSetParams")
            assert changes == {{8: 1}}.get(turn, 6 if turn > 8 else 0), (turn, changes)
        outcome.append(np.array(a if isinstance(a, np.ndarray) else a.to_numpy()))
        if turn % 7 == 2:
            outcome.append(world.field.to_numpy())
            world.field.from_numpy(np.arange(300))
        outcome.append(np.array(world.total.to_numpy()))
    outcomes.append([*outcome, world.field.to_numpy(), world.cells.to_numpy()])
for one, other in zip(*outcomes):
    assert np.array_equal(one, other), (one, other)
print(outcomes[0][-1].sum(), outcomes[0][-2].any())

# What stays costs nothing.
world = m.world(seed=7)
a, b = ti.ndarray(ti.f32, 100), ti.ndarray(ti.f32, 100)
for turn in range(10):
    calls = calls_of(lambda: by_graph(world, a, b, turn * 0.5, 0, 4))
print(calls.count("cuGraphExecKernelNodeSetParams"), calls.count("cuGraphLaunch"))
""",
        settings="check=race,init",
    )
    assert out == "156 True\n3 1\n"


def test_threads_that_run_a_graph_of_a_module(run, tmp_path):
    """Each with its arguments: a start is not another one's."""
    out = run(
        f"""{CHANGING}
m = exported({str(tmp_path / "m.kiln")!r})
world = m.world()
RUNS = 30
wrong = []


def work(number):
    n = 50 + 100 * number
    a, b = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
    b.fill(1)
    for turn in range(RUNS):
        a.fill(0)
        begin = 64 * number
        world.step.run({{"a": a, "b": b, "k": 0, "begin": begin, "end": begin + turn % 2}})
        if not (abs(a.to_numpy()) <= 0.5).all() or not (b.to_numpy() == 1).all():
            wrong.append((number, turn))


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
log = pathlib.Path(os.environ["LOG"]).read_text().split()
print(wrong, world.cells.to_numpy().sum(), log.count("cuGraphLaunch"), log.count("cuLaunchKernel"))
"""
    )
    assert out == f"[] {4 * 15} {4 * 30 - 8} {8 * 6}\n"
