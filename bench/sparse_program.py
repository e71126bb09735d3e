"""The sparse loops, lists and solvers that bench/sparse.py times, in the language itself.

Run as `python sparse_program.py kiln|taichi|quadrants GROUP [FILE]`: prints one JSON object,
{"seconds": {row: seconds, median}, "checks": {row: number}}. The same text runs on all three;
the checks are results of the rows, which are equal up to rounding on all sides.
GROUP: loops, append, lists, churn, mpm, bits, or mgpcg, which runs FILE, that program of Taichi's
wheel. Groups that a side lacks what they need for have no rows there.
"""

import json
import sys
import time
import types

IMPLEMENTATION, GROUP = sys.argv[1:3]
if IMPLEMENTATION == "kiln":
    import kiln as ti
elif IMPLEMENTATION == "quadrants":
    import quadrants as ti
else:
    import taichi as ti

SIZE = 2048  # cells along each axis of the loops
BLOCK = 16  # of them in one block
FIRST, END = BLOCK, SIZE - BLOCK  # those that may be active: their neighbours are inside
APPENDS = 1 << 18
LISTS = 4096
PARTICLES = 1 << 16
GRID = 512
FRAMES = 6

seconds = {}
checks = {}


def start(**options):
    """Starts a fresh runtime, without the trees of earlier rows."""
    if IMPLEMENTATION != "kiln":
        options["offline_cache"] = False
    ti.init(arch=ti.cpu, log_level=ti.ERROR, **options)


def measure(row, call, before=None, rounds=9, calls=1):
    """Records the median seconds of call(); before() prepares each round, untimed."""
    times = []
    for warm in range(2 + rounds):
        if before:
            before()
        ti.sync()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        ti.sync()
        if warm >= 2:
            times.append((time.perf_counter() - begin) / calls)
    seconds[row] = sorted(times)[len(times) // 2]


# ---- loops over trees of one shape: dense, pointer over dense, bitmasked


def flat(x, y):
    ti.root.dense(ti.ij, SIZE).place(x)
    ti.root.dense(ti.ij, SIZE).place(y)
    return 1


def pointer(x, y):
    block = ti.root.pointer(ti.ij, SIZE // BLOCK)
    block.dense(ti.ij, BLOCK).place(x)
    block.dense(ti.ij, BLOCK).place(y)
    return BLOCK


def flat_pairs(x, y):
    ti.root.dense(ti.ij, SIZE).place(x, y)
    return 1


def bitmasked(x, y):
    ti.root.bitmasked(ti.ij, SIZE).place(x, y)
    return 1


def pointer_bitmasked(x, y):
    ti.root.pointer(ti.ij, SIZE // BLOCK).bitmasked(ti.ij, BLOCK).place(x, y)
    return 1


def loops():
    trees = {
        "dense": (flat, (100,)),
        "pointer, dense": (pointer, (1, 10, 100)),
        "dense, x and y in one cell": (flat_pairs, (100,)),
        "bitmasked": (bitmasked, (1, 10, 100)),
        "pointer, bitmasked": (pointer_bitmasked, (1, 10, 100)),
    }
    for name, (tree, activities) in trees.items():
        for activity in activities:
            start()
            time_loops(f"{name}, {activity} %" if len(activities) > 1 else name, tree, activity)


def time_loops(name, tree, activity):
    x = ti.field(ti.f32)
    y = ti.field(ti.f32)
    unit = tree(x, y)  # cells along an axis that become active together

    @ti.kernel
    def fill():
        for i, j in ti.ndrange((FIRST, END), (FIRST, END)):
            # Which units are active looks random and is the same everywhere.
            number = (i // unit * 73856093) ^ (j // unit * 19349663)
            number = (number * 1103515245 + 12345) >> 8
            if number % 100 < activity:
                x[i, j] = 0.001 * (i % 100) + 0.01 * (j % 100)
                y[i, j] = 1.0

    @ti.kernel
    def saxpy(a: ti.f32):
        for i, j in x:
            y[i, j] = a * x[i, j] + y[i, j]

    @ti.kernel
    def stencil():
        for i, j in x:
            y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @ti.kernel
    def dense_saxpy(a: ti.f32):
        for i, j in ti.ndrange((FIRST, END), (FIRST, END)):
            y[i, j] = a * x[i, j] + y[i, j]

    @ti.kernel
    def dense_stencil():
        for i, j in ti.ndrange((FIRST, END), (FIRST, END)):
            y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @ti.kernel
    def total() -> ti.f64:
        s = ti.cast(0.0, ti.f64)
        for i, j in ti.ndrange((FIRST, END), (FIRST, END)):
            s += ti.cast(y[i, j], ti.f64)
        return s

    fill()
    is_dense = tree in (flat, flat_pairs)
    measure(f"saxpy: {name}", lambda: (dense_saxpy if is_dense else saxpy)(0.5))
    checks[f"saxpy: {name}"] = total()
    measure(f"stencil: {name}", dense_stencil if is_dense else stencil)
    checks[f"stencil: {name}"] = total()


# ---- dynamic lists


def append():
    start()
    one = ti.field(ti.i32)
    ti.root.dynamic(ti.i, APPENDS, chunk_size=1024).place(one)
    many = ti.field(ti.i32)
    ti.root.dense(ti.i, LISTS).dynamic(ti.j, 1024, chunk_size=32).place(many)
    one_list, many_lists = one.parent(), many.parent()

    @ti.kernel
    def append_one():
        for i in range(APPENDS):
            ti.append(one_list, [], i)

    @ti.kernel
    def append_many():
        for i in range(APPENDS):
            ti.append(many_lists, i % LISTS, i)

    @ti.kernel
    def loop_one():
        for i in one:
            one[i] += 1

    @ti.kernel
    def loop_many():
        for i, j in many:
            many[i, j] += 1

    @ti.kernel
    def total(values: ti.template()) -> ti.i64:
        s = ti.cast(0, ti.i64)
        for i in ti.grouped(values):
            s += ti.cast(values[i], ti.i64)
        return s

    measure("append: one list", append_one, before=one_list.deactivate_all)
    checks["append: one list"] = total(one)
    measure("append: loop over it", loop_one)
    measure("append: many lists", append_many, before=many_lists.deactivate_all)
    checks["append: many lists"] = total(many)
    measure("append: loop over them", loop_many)


# ---- lists of elements


def lists():
    start()
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.ij, 128).pointer(ti.ij, 4)
    blocks.dense(ti.ij, 2).place(x)
    turn = [0]

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(512, 512):
            if i + j > 0:
                x[i * 2, j * 2] = 1

    @ti.kernel
    def toggle(on: ti.i32):
        if on:
            ti.activate(blocks, [0, 0])
        else:
            ti.deactivate(blocks, [0, 0])

    @ti.kernel
    def loop():
        for i, j in x:
            x[i, j] += 1

    @ti.kernel
    def total() -> ti.i64:
        s = ti.cast(0, ti.i64)
        for i, j in x:
            s += ti.cast(x[i, j], ti.i64)
        return s

    def change():
        turn[0] ^= 1
        toggle(turn[0])

    fill()
    measure("lists: 262,144 blocks, unchanged", loop)
    measure("lists: 262,144 blocks, one changed", loop, before=change)
    checks["lists: 262,144 blocks, one changed"] = total()


# ---- activation and deactivation


def churn():
    start()
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, 256)
    block.dense(ti.ij, 8).place(x)
    turn = [0]

    @ti.kernel
    def write():
        for i, j in ti.ndrange(256, 256):
            x[i * 8, j * 8] = 1.0

    @ti.kernel
    def write_tenth(turn: ti.i32):
        for i, j in ti.ndrange(256, 256):
            if (i + j + turn) % 10 == 0:
                x[i * 8, j * 8] = 1.0

    @ti.kernel
    def count() -> ti.i32:
        s = 0
        for i, j in block:
            s += 1
        return s

    def move():
        turn[0] += 1
        block.deactivate_all()
        write_tenth(turn[0])

    measure("churn: 65,536 blocks on", write, before=block.deactivate_all)
    checks["churn: 65,536 blocks on"] = count()
    measure("churn: 65,536 blocks off", block.deactivate_all, before=write)
    checks["churn: 65,536 blocks off"] = count()
    measure("churn: 6,554 others on, then off", move)


# ---- a solver whose grid is where the particles are


def mpm():
    start()
    dx = 1.0 / GRID
    dt = 2e-5
    volume = (dx * 0.5) ** 2
    mass = volume
    stiffness = 400.0
    x = ti.Vector.field(2, ti.f32, shape=PARTICLES)
    v = ti.Vector.field(2, ti.f32, shape=PARTICLES)
    C = ti.Matrix.field(2, 2, ti.f32, shape=PARTICLES)
    J = ti.field(ti.f32, shape=PARTICLES)
    grid_v = ti.Vector.field(2, ti.f32)
    grid_m = ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, GRID // 16)
    block.dense(ti.ij, 16).place(grid_v, grid_m)

    @ti.kernel
    def fill():
        for p in x:
            x[p] = [0.3 + 0.25 * (p % 256) / 256, 0.2 + 0.25 * (p // 256) / 256]
            v[p] = [0.0, -1.0]
            J[p] = 1.0

    @ti.kernel
    def scatter():
        for p in x:
            base = ti.cast(x[p] / dx - 0.5, ti.i32)
            fx = x[p] / dx - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * stiffness * volume * (J[p] - 1) / dx**2
            affine = ti.Matrix([[stress, 0], [0, stress]]) + mass * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                grid_v[base + offset] += weight * (mass * v[p] + affine @ ((offset - fx) * dx))
                grid_m[base + offset] += weight * mass

    @ti.kernel
    def move_grid():
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                grid_v[i, j] /= grid_m[i, j]
            grid_v[i, j].y -= dt * 9.8
            if i < 3 and grid_v[i, j].x < 0:
                grid_v[i, j].x = 0
            if i > GRID - 3 and grid_v[i, j].x > 0:
                grid_v[i, j].x = 0
            if j < 3 and grid_v[i, j].y < 0:
                grid_v[i, j].y = 0

    @ti.kernel
    def gather():
        for p in x:
            base = ti.cast(x[p] / dx - 0.5, ti.i32)
            fx = x[p] / dx - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector([0.0, 0.0])
            new_C = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                weight = w[i].x * w[j].y
                g = grid_v[base + offset]
                new_v += weight * g
                new_C += 4 * weight * g.outer_product((offset - fx) * dx) / dx**2
            v[p] = new_v
            x[p] += dt * new_v
            J[p] *= 1 + dt * new_C.trace()
            C[p] = new_C

    @ti.kernel
    def height() -> ti.f32:
        s = 0.0
        for p in x:
            s += x[p].y
        return s / PARTICLES

    def substep():
        block.deactivate_all()
        scatter()
        move_grid()
        gather()

    fill()
    measure("mpm: a substep, grid of pointers", substep, calls=10)
    checks["mpm: a substep, grid of pointers"] = height()


# ---- the wheel's multigrid solver


def mgpcg():
    shown = []

    class Window:
        """Replaces the GUI: counts frames and draws nothing."""

        def __init__(self, *args, **options):
            pass

        def set_image(self, image):
            self.image = image

        def show(self):
            ti.sync()
            shown.append(time.perf_counter())
            if len(shown) > FRAMES:
                checks["mgpcg: a frame"] = float(abs(self.image.to_numpy().astype("f8")).sum())
                raise SystemExit

    init = ti.init
    ti.init = lambda **options: init(**{**options, "log_level": ti.ERROR})
    ti.GUI = Window
    sys.modules["taichi"] = ti
    source = open(sys.argv[3], encoding="utf-8").read()
    program = types.ModuleType("__main__")
    program.__file__ = sys.argv[3]
    sys.modules["__main__"] = program
    try:
        exec(compile(source, sys.argv[3], "exec"), program.__dict__)
    except SystemExit:
        pass
    gaps = sorted(b - a for a, b in zip(shown, shown[1:]))
    seconds["mgpcg: a frame"] = gaps[len(gaps) // 2]


# ---- single bits, 32 in a word


def bits():
    if not hasattr(ti.types, "quant"):
        return  # Quadrants has no quantised types
    start()
    x, y = (ti.field(ti.types.quant.int(1, False)) for _ in range(2))
    block = ti.root.pointer(ti.ij, 8)
    for field in (x, y):
        words = block.dense(ti.ij, (SIZE // 8, SIZE // 8 // 32))
        words.quant_array(ti.j, 32, max_num_bits=32).place(field)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange((SIZE // 4, 3 * SIZE // 4), (SIZE // 4, 3 * SIZE // 4)):
            x[i, j] = ((i * 7919 + j * 104729) ^ (i * j)) % 7 < 3
            y[i, j] = 0

    @ti.kernel
    def step(x: ti.template(), y: ti.template()):
        ti.loop_config(bit_vectorize=True)
        for i, j in x:
            y[i, j] = x[i, j] ^ x[i - 1, j] ^ x[i + 1, j] ^ x[i, j - 1] ^ x[i, j + 1]

    @ti.kernel
    def digest() -> ti.i32:
        s = 0
        for i, j in ti.ndrange((SIZE // 4, 3 * SIZE // 4), (SIZE // 4, 3 * SIZE // 4)):
            s += x[i, j] * ((i * 37 + j * 101) % 1013 + 1)
        return s

    def both():
        step(x, y)
        step(y, x)

    fill()
    measure("bits: exclusive or of five, twice", both, calls=10)
    checks["bits: exclusive or of five, twice"] = digest()


GROUPS = {f.__name__: f for f in (loops, append, lists, churn, mpm, bits, mgpcg)}
GROUPS[GROUP]()
print()
print(json.dumps({"seconds": seconds, "checks": checks}))
