"""ti.simt in loops over sparse SNodes on CUDA, compared with NumPy on the emulator: a block of
threads has neighbouring cells of one dense block."""

import pytest

START = """
block, warp, grid = ti.simt.block, ti.simt.warp, ti.simt.grid
ALL = 0xFFFFFFFF
rng = np.random.default_rng(5)


def blocked(a, *extents):
    # The cells of each block as one row: by the blocks' indices, then the cells' numbers.
    a = a.reshape([n for size, e in zip(a.shape, extents) for n in (size // e, e)])
    order = [*range(0, a.ndim, 2), *range(1, a.ndim, 2)]
    return a.transpose(order).reshape(*a.shape[::2], -1)


def fill(x, share, size):
    # Activates a share of the blocks of `size` cells along each axis; returns what x then holds.
    shape = tuple(e // size for e in x.shape)
    mask = np.kron(rng.random(shape) < share, np.ones([size] * len(shape), bool))
    values = np.where(mask, rng.integers(1, 100, x.shape), 0).astype(np.int32)

    @ti.kernel
    def k(values: ti.types.ndarray(), mask: ti.types.ndarray()):
        for I in ti.grouped(ti.ndrange(*x.shape)):
            if mask[I] != 0:
                x[I] = values[I]

    k(values, mask.astype(np.int32))
    return values
"""


@pytest.fixture
def run(run_on_emulator):
    def start(program, settings="", **options):
        checked = f"check=race,init;{settings}"
        return run_on_emulator(START + program, checked, KILN_SERVER="off", **options)

    return start


# Each block of threads takes a block of cells, or a part of it, however many rounds there are.
SUMS = """
def sums(dim, most, size, levels):
    ti.init(arch=ti.cuda, saturating_grid_dim=most)
    x, thread = ti.field(ti.i32), ti.field(ti.i32)
    total, seen = ti.field(ti.i32), ti.field(ti.i32)
    leaf = ti.root.pointer(ti.ij, 5)
    leaf.place(total, seen)
    for extent in levels:
        leaf = leaf.dense(ti.ij, extent)
    leaf.place(x, thread)
    threads = dim or min(size * size, 128)

    @ti.kernel
    def shuffled():
        if ti.static(dim > 0):
            ti.loop_config(block_dim=dim)
        for i, j in x:
            v = x[i, j]
            for step in ti.static((16, 8, 4, 2, 1)):
                v += warp.shfl_down_i32(ALL, v, step)
            pad = block.SharedArray(32, ti.i32)
            t = block.thread_idx()
            if t % 32 == 0:
                pad[t // 32] = v
            block.sync()
            if t == 0:
                s = 0
                for k in range(threads // 32):
                    s += pad[k]
                total[i // size, j // size] += s
            block.sync()
            thread[i, j] = t
            count = block.sync_count_nonzero(x[i, j] > 50)
            if t == 0:
                seen[i // size, j // size] += count

    values = fill(x, 0.6, size)
    shuffled()
    assert (total.to_numpy() == blocked(values, size, size).sum(-1)).all(), (dim, most)
    assert (seen.to_numpy() == (blocked(values, size, size) > 50).sum(-1)).all(), (dim, most)
    # In the order of memory: level by level, each in C order.
    order = np.zeros((1, 1), int)
    for extent in levels:
        own = np.arange(extent * extent).reshape(extent, extent)
        order = (order[:, None, :, None] * extent * extent + own[None, :, None, :]).reshape(
            len(order) * extent, -1)
    wanted = np.tile(order % threads, (5, 5))
    assert (thread.to_numpy() == np.where(values > 0, wanted, 0)).all(), (dim, most, levels)


for dim in 0, 32, 64:
    for most in 0, 1, 3:
        sums(dim, most, 8, (8,))
sums(0, 2, 16, (4, 4))
sums(256, 0, 16, (2, 8))
sums(64, 3, 16, (16,))
print("ok")
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_sums_of_blocks(run, seed):
    assert run(SUMS, f"seed={seed}") == "ok\n"


def test_sums_of_blocks_on_one_thread(run):
    assert run(SUMS, "threads=1") == "ok\n"


# Sums over the threads of a block, in trees of any form. Their cells are numbered as memory is.
RANDOM = """
def random_tree(draw):
    dims = draw.integers(1, 4)
    axes = ti.axes(*range(dims))
    ti.init(arch=ti.cuda, saturating_grid_dim=int(draw.choice([0, 1, 2, 5])))
    x, y, thread = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    extents = lambda most: [int(e) for e in draw.integers(1, most + 1, dims)]
    node, levels = ti.root, []
    for kind in draw.choice(["pointer", "bitmasked", "dense", "pointer"], draw.integers(0, 3)):
        levels.append(extents(3))
        node = getattr(node, kind)(axes, levels[-1])
    levels.append(extents(4))
    node = getattr(node, draw.choice(["pointer", "bitmasked"]))(axes, levels[-1])
    dense = [extents(6 if dims < 3 else 4) for _ in range(draw.integers(1, 3))]
    for one in dense:
        node = node.dense(axes, one)
    node.place(x, y, thread)
    cells = int(np.prod(dense))
    fits = [d for d in range(1, min(cells, 1024) + 1) if cells % d == 0]
    default = [d for d in fits if d <= 128 and (d % 32 == 0 or d == cells)] or [
        d for d in fits if 32 <= d <= 128]
    dim = int(draw.choice([0, *fits])) if default else int(draw.choice(fits))
    size = dim or max(default)

    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for I in ti.grouped(ti.ndrange(*x.shape)):
            if a[I] != 0:
                x[I] = a[I]

    @ti.kernel
    def add():
        if ti.static(dim > 0):
            ti.loop_config(block_dim=dim)
        for I in ti.grouped(x):
            pad = block.SharedArray(size, ti.i32)
            t = block.thread_idx()
            pad[t] = x[I]
            block.sync()
            s = 0
            for k in range(size):
                s += pad[k]
            y[I] = s
            thread[I] = t
            block.sync()

    a = draw.integers(1, 1000, x.shape) * (draw.random(x.shape) < 3 / cells)
    fill(a.astype(np.int32))
    add()
    index = np.indices(x.shape)
    inner = np.prod(dense, axis=0)[:, *[None] * dims]
    number, group, below = 0, 0, index % inner
    for e, whole in zip(index // inner, np.array(x.shape) // inner.ravel()):
        group = group * whole + e
    for level, one in enumerate(dense):
        under = np.prod([[1] * dims, *dense[level + 1 :]], axis=0)
        for d in range(dims):
            number = number * one[d] + below[d] // under[d] % one[d]
    group = group * cells + number // size
    sums = np.zeros(group.max() + 1, np.int64)
    np.add.at(sums, group.ravel(), a.ravel())
    active = np.zeros(group.max() // cells + 1, bool)
    np.logical_or.at(active, group.ravel() // cells, a.ravel() != 0)
    runs = active[group // cells]
    form = levels, dense, dim
    assert (y.to_numpy() == np.where(runs, sums[group], 0)).all(), form
    assert (thread.to_numpy() == np.where(runs, number % size, 0)).all(), form


for turn in range(TURNS):
    random_tree(np.random.default_rng([SEED, turn]))
print("ok")
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_random_trees(run, seed):
    program = RANDOM.replace("TURNS", "12").replace("SEED", str(seed))
    assert run(program, f"seed={seed}") == "ok\n"


def test_stencils_votes_and_functions(run):
    out = run("""
x, y, z, v, b = [ti.field(ti.i32) for _ in range(5)]
ti.root.pointer(ti.ij, (4, 3)).bitmasked(ti.ij, (1, 2)).dense(ti.ij, 8).place(x, y, offset=(-8, 4))
ti.root.dynamic(ti.i, 32).dense(ti.j, 96).place(z)
small = ti.root.pointer(ti.i, 20)
small.place(b)
small.dense(ti.jk, (3, 5)).place(v)

# What the threads of a block load once, with a rim: inactive neighbours read as zeros.
@ti.kernel
def stencil():
    for I in ti.grouped(x):
        pad = block.SharedArray((10, 10), ti.i32)
        i, j = I[0] + 8, I[1] - 4
        corner = ti.Vector([i // 8 * 8 - 9, j // 8 * 8 + 3])
        t = block.thread_idx()
        for k in range(2):
            if t + 64 * k < 100:
                row, column = (t + 64 * k) // 10, (t + 64 * k) % 10
                at = corner + ti.Vector([row, column])
                pad[row, column] = x[at]
        block.sync()
        r, c = i % 8 + 1, j % 8 + 1
        y[I] = pad[r - 1, c] + 2 * pad[r + 1, c] + 3 * pad[r, c - 1] + 5 * pad[r, c + 1]
        block.sync()

@ti.real_func
def rank(value: ti.i32) -> ti.i32:
    # How many threads of the block have less.
    pad = block.SharedArray(96, ti.i32)
    t = block.thread_idx()
    pad[t] = value
    block.sync()
    found = 0
    for k in range(96):
        found += pad[k] < value
    block.sync()
    return found

@ti.kernel
def ranks():
    for i, j in z:
        z[i, j] = rank(z[i, j])

@ti.kernel
def ranks_of(a: ti.types.ndarray()):
    ti.loop_config(block_dim=96)
    for i in range(960):
        a[i] = rank(a[i])

# 15 cells: the other threads of the warp do not exist.
@ti.kernel
def votes():
    for i, j, k in v:
        bits = warp.ballot(v[i, j, k] % 2)
        whole = warp.all_nonzero((1 << 15) - 1, v[i, j, k])
        last = warp.shfl_sync_i32(ALL, v[i, j, k], 14)
        most = block.sync_count_nonzero(v[i, j, k] > 50)
        if block.thread_idx() == 0:
            b[i] = bits + (whole << 16) + (most << 20)
        v[i, j, k] = last

mask = np.kron(rng.random((4, 6)) < 0.6, np.ones((8, 8), int))
values = np.where(mask, rng.integers(1, 100, mask.shape), 0)

@ti.kernel
def set_all(values: ti.types.ndarray(), other: ti.types.ndarray(), third: ti.types.ndarray()):
    for i, j in ti.ndrange(32, 48):
        if values[i, j] != 0:
            x[i - 8, j + 4] = values[i, j]
    for i, j in ti.ndrange(21, 96):
        z[i, j] = other[i, j]
    for i, j, k in ti.ndrange(20, 3, 5):
        if i % 3 != 1:
            v[i, j, k] = third[i, j, k]

other = rng.integers(0, 30, (32, 96))
third = rng.integers(0, 100, (20, 3, 5))
third[0] += 1
set_all(values.astype(np.int32), other.astype(np.int32), third.astype(np.int32))
stencil()
a = np.pad(values, 1)
wanted = a[:-2, 1:-1] + 2 * a[2:, 1:-1] + 3 * a[1:-1, :-2] + 5 * a[1:-1, 2:]
assert (y.to_numpy() == np.where(mask, wanted, 0)).all()
ranks()
less = lambda a: (a[:, None, :] < a[:, :, None]).sum(-1)
assert (z.to_numpy()[:21] == less(other[:21])).all()
flat = other[:10].ravel().astype(np.int32)
ranks_of(flat)
assert (flat.reshape(10, 96) == less(other[:10])).all()
votes()
rows = np.where((np.arange(20) % 3 != 1)[:, None], third.reshape(20, 15), 0)
bits = ((rows % 2) << np.arange(15)).sum(1)
wanted = bits + ((rows != 0).all(1) << 16) + ((rows > 50).sum(1) << 20)
assert (b.to_numpy() == wanted).all(), (b.to_numpy(), wanted)
assert (v.to_numpy().reshape(20, 15) == np.where(rows.any(1), rows[:, 14], 0)[:, None]).all()
print("ok")
""")
    assert out == "ok\n"


def test_beside_other_features(run):
    """Loops that make cells active and inactive, sum, draw random numbers, name tiles, run over
    words of quantised numbers, or over an SNode."""
    out = run("""
def trees():
    x, y, far = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    leaf = ti.root.pointer(ti.i, 24)
    inner = leaf.dense(ti.i, 32)
    inner.place(x, y)
    ti.root.pointer(ti.i, 24).dense(ti.i, 2).place(far)
    return x, y, far, leaf, inner

def results(simt):
    # With operations of threads, or the same without.
    x, y, far, leaf, inner = trees()
    q = ti.field(ti.types.quant.int(8))
    ti.root.pointer(ti.i, 3).dense(ti.i, 16).quant_array(ti.i, 4, max_num_bits=32).place(q)
    f = ti.field(ti.f32)
    ti.root.bitmasked(ti.i, 7).dense(ti.i, 6).place(f)

    @ti.kernel
    def begin():
        for i in range(24 * 32):
            if i // 32 % 3 != 1:
                x[i] = i % 61
        for i in range(40):
            q[i * 4] = i
        for i in range(3):
            f[i * 12] = 1

    # Each block makes a cell of its tree and one of another tree.
    @ti.kernel
    def grow():
        for i in x:
            if ti.static(simt):
                block.sync()
                if block.thread_idx() == 0:
                    x[(i + 32) % 768] += 1000
                    far[i // 16] = i
            elif i % 32 == 0:
                x[(i + 32) % 768] += 1000
                far[i // 16] = i

    @ti.kernel
    def shrink():
        for i in x:
            if ti.static(simt):
                block.sync()
                if block.thread_idx() == 31 and i // 32 % 5 == 0:
                    ti.deactivate(leaf, [i // 32])
            elif i % 160 == 31:
                ti.deactivate(leaf, [i // 32])

    @ti.kernel
    def total() -> ti.i32:
        s, most = 0, 0
        for i in x:
            s += x[i]
            ti.atomic_max(most, x[i])
            if ti.static(simt):
                s += block.sync_count_nonzero(1)
            else:
                s += 32
        return s + most

    @ti.kernel
    def draw():
        for i in f:
            if ti.static(simt):
                block.sync()
            f[i] += ti.random()
            f[i] += ti.random() * 2

    @ti.kernel
    def tiled():
        ti.block_local(x)
        for i in y:
            r = x[i - 1] + x[i] * 3
            if ti.static(simt):
                r += block.sync_any_nonzero(1) - 1
            y[i] = r

    @ti.kernel
    def over_node():
        for i in inner:
            y[i] += i + (block.sync_count_nonzero(1) if ti.static(simt) else 32)

    @ti.kernel
    def words():
        for i in q:
            if ti.static(simt):
                q[i] += block.sync_count_nonzero(1)  # a thread has all cells of a word
            else:
                q[i] += 16

    found = []
    for step in begin, grow, shrink, draw, tiled, over_node, words:
        step()
        found += [x.to_numpy(), y.to_numpy(), far.to_numpy(), f.to_numpy(), q.to_numpy()]
    return [*found, np.array(total())]

wanted = None
for arch in ti.cpu, ti.cuda, ti.cuda:
    ti.init(arch=arch, random_seed=3)
    got = results(simt=wanted is not None)
    wanted = wanted or got
    for number, (a, b) in enumerate(zip(got, wanted)):
        assert (a == b).all(), (number, a, b)
print("ok")
""")
    assert out == "ok\n"


def test_cells_that_are_sparse_themselves(run):
    """A thread may ask for its number, the threads beside it and fences; not for company."""
    out = run("""
b, p, d = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
ti.root.pointer(ti.i, 5).bitmasked(ti.i, 40).place(b)
ti.root.pointer(ti.i, 300).place(p)
ti.root.dynamic(ti.i, 300, chunk_size=16).place(d)

@ti.kernel
def fill():
    for i in range(200):
        if i % 7 != 2 and i // 40 != 3:
            b[i] = 1
            p[i] = 1
        d[i] = 1

@ti.kernel
def numbers(x: ti.template(), dim: ti.template()):
    ti.loop_config(block_dim=dim)
    for i in x:
        grid.memfence()
        t = block.thread_idx()
        mine = ti.cast(1, ti.u32) << (t % 32)
        known = (warp.active_mask() & mine) != 0 and block.global_thread_idx() % dim == t
        x[i] = 1 + t if known else -1

fill()
for dim in 32, 48, 128:
    for x in b, p, d:
        was = x.to_numpy() != 0
        numbers(x, dim)
        a = x.to_numpy()
        assert ((a != 0) == was).all() and a.min() == 0 and 1 < a.max() <= dim, (dim, a)

@ti.kernel
def shared():
    for i in b:
        pad = block.SharedArray(4, ti.i32)
        pad[0] = 1

@ti.kernel
def synced():
    for i in p:
        block.mem_sync()

@ti.kernel
def voted():
    for i in d:
        d[i] = warp.ballot(1)

@ti.kernel
def alone():
    ti.loop_config(serialize=True)
    for i in b:
        pad = block.SharedArray(4, ti.i32)
        pad[0] = i
        block.sync()
        b[i] = pad[0] + block.sync_count_nonzero(1)

for kernel in shared, synced, voted:
    try:
        kernel()
    except ti.TaichiCompilationError as error:
        print(str(error).splitlines()[-1])
alone()
a = b.to_numpy()
assert (a[a != 0] == np.arange(200)[a != 0] + 1).all()
""")
    active = "not all threads of a block have an active cell; they do in a loop over a dense SNode"
    assert out.splitlines() == [
        f"ti.simt.block.SharedArray in a loop over bitmasked cells: {active} below",
        f"ti.simt.block.mem_sync in a loop over pointer cells: {active} below",
        f"ti.simt.warp.ballot in a loop over dynamic cells: {active} below",
    ], out


def test_sizes_of_blocks(run):
    """Only those that divide the cells of a block; by default the cells, or whole warps."""
    out = run("""
SIZES = 1, 15, 32, 100, 128, 160, 216, 251, 1000, 1024, 1331, 2048
fields = [ti.field(ti.i32) for _ in SIZES]
for x, size in zip(fields, SIZES):
    ti.root.pointer(ti.i, 2).dense(ti.i, size).place(x)
    x[size] = 1

@ti.kernel
def threads(x: ti.template(), dim: ti.template()):
    if ti.static(dim > 0):
        ti.loop_config(block_dim=dim)
    for i in x:
        x[i] = block.sync_count_nonzero(1)

def show(x, dim=0):
    try:
        threads(x, dim)
        print(x.shape[0] // 2, x.to_numpy().max(), (x.to_numpy() > 0).sum())
    except ti.TaichiCompilationError as error:
        print(str(error).splitlines()[-1])

for x in fields:
    show(x)
for size, dim in (251, 251), (100, 20), (2048, 1024), (2048, 2048), (1024, 48), (15, 32):
    show(fields[SIZES.index(size)], dim)
""")
    error = "ti.simt.block.sync_count_nonzero in a loop over blocks of {} cells: each thread of a "
    error += "block needs a cell, so block_dim{} has to divide them: {}"
    assert out.splitlines() == [
        "1 1 1",
        "15 15 15",
        "32 32 32",
        "100 100 100",
        "128 128 128",
        "160 32 160",
        "216 108 216",
        error.format(251, "", "251, 1"),
        "1000 125 1000",
        "1024 128 1024",
        "1331 121 1331",
        "2048 128 2048",
        "251 251 251",
        "100 20 100",
        "2048 1024 2048",
        error.format(2048, ", here 2048,", "1024, 512, 256, 128, 64, 32, 16, 8"),
        error.format(1024, ", here 48,", "1024, 512, 256, 128, 64, 32, 16, 8"),
        error.format(15, ", here 32,", "15, 5, 3, 1"),
    ], out


def test_threads_that_fail_keep_nobody_waiting(run):
    out = run(
        """
x = ti.field(ti.i32)
ti.root.pointer(ti.i, 4).dense(ti.i, 64).place(x)

@ti.kernel
def k(n: ti.i32):
    for i in x:
        assert x[i] < n, "x is large"
        x[i] += block.sync_count_nonzero(1)

for i in range(0, 256, 64):
    x[i] = i
k(1000)
assert (x.to_numpy().reshape(4, 64)[:, 1:] == 64).all()
fault(k, 200)
k(1000)
""",
        init="debug=True",
    )
    assert out.startswith("TaichiAssertionError") and "\nx is large\n" in out, out


def test_prints(run):
    """Of one thread of each block, after its threads have met."""
    out = run("""
x = ti.field(ti.i32)
ti.root.pointer(ti.i, 8).dense(ti.i, 64).place(x)

@ti.kernel
def k():
    for i in x:
        shared = block.SharedArray((64,), ti.i32)
        shared[i % 64] = x[i]
        written = block.sync_count_nonzero(1)
        if i % 64 == 0:
            print("block", i // 64, "ends with", shared[63], "of", written)

for i in 5, 130, 200, 511:
    x[i] = i
k()
ti.sync()
""")
    assert sorted(out.splitlines()) == [
        "block 0 ends with 0 of 64",
        "block 2 ends with 0 of 64",
        "block 3 ends with 0 of 64",
        "block 7 ends with 511 of 64",
    ], out
