"""ti.simt on CUDA: barriers, shared arrays, votes and shuffles, on the emulator, which runs the
warps of a block in a random order."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
START = """
import numpy as np
import kiln as ti

ti.init(arch=ti.cuda)
block, warp, grid = ti.simt.block, ti.simt.warp, ti.simt.grid
ALL = 0xFFFFFFFF
rng = np.random.default_rng(5)


def fault(call, *args):
    try:
        call(*args)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[-1])
    else:
        print("no error")
"""


@pytest.fixture(scope="module", autouse=True)
def emulator():
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)


@pytest.fixture
def run(run_python):
    def start(program, **options):
        environment = {"KILN_CUDA_DRIVER": "emulator", "KILN_SERVER": "off", **options}
        return run_python(START + program, **environment)

    return start


SHARED = """
D = 64


@ti.kernel
def block_sums(a: ti.types.ndarray(), sums: ti.types.ndarray()):
    ti.loop_config(block_dim=D)
    for i in range(a.shape[0]):
        pad = block.SharedArray((D,), ti.f32)
        t = block.thread_idx()
        pad[t] = a[i]
        block.sync()
        step = D // 2
        while step > 0:
            if t < step:
                pad[t] += pad[t + step]
            block.sync()
            step //= 2
        if t == 0:
            sums[i // D] = pad[0]


@ti.kernel
def reversed_blocks(a: ti.types.ndarray(), b: ti.types.ndarray()):
    ti.loop_config(block_dim=D)
    for i in range(a.shape[0]):
        pad = block.SharedArray(D, ti.i32)
        t = i % D
        pad[t] = a[i]
        block.sync()
        b[i] = pad[D - 1 - t]
        block.sync()  # before the next round of the loop writes


@ti.kernel
def transposed(a: ti.types.ndarray(), b: ti.types.ndarray()):
    ti.loop_config(block_dim=256)
    for i in range(a.shape[0] * a.shape[1]):
        tile = block.SharedArray((16, 16), ti.f64)
        t = block.thread_idx()
        across = a.shape[1] // 16
        number = i // 256
        row, column = number // across * 16, number % across * 16
        tile[t // 16, t % 16] = a[row + t // 16, column + t % 16]
        block.mem_sync()
        b[column + t // 16, row + t % 16] = tile[t % 16, t // 16]
        block.sync()


# One array of each type, updated by atomics of all threads; counts differ by block.
@ti.kernel
def histogram(a: ti.types.ndarray(), counts: ti.types.ndarray()):
    ti.loop_config(block_dim=128)
    for i in range(a.shape[0]):
        bins = block.SharedArray(16, ti.i32)
        most = block.SharedArray(1, ti.f32)
        t = block.thread_idx()
        if t < 16:
            bins[t] = 0
        if t == 0:
            most[0] = -1.0
        block.sync()
        bins[a[i]] += 1
        ti.atomic_max(most[0], ti.cast(a[i], ti.f32))
        block.sync()
        if t < 16:
            counts[t] += bins[t]
        if t == 0:
            ti.atomic_max(counts[16], ti.cast(most[0], ti.i32))
        block.sync()


for n in 64, 640, 64 * 1000:
    a = rng.integers(0, 100, n).astype(np.float32)
    sums = np.zeros(n // D, np.float32)
    block_sums(a, sums)
    assert (sums == a.reshape(-1, D).sum(1)).all(), n
for n in 64, 6400, 64 * 3000:
    a = rng.integers(0, 100, n).astype(np.int32)
    b = np.zeros_like(a)
    reversed_blocks(a, b)
    assert (b == a.reshape(-1, D)[:, ::-1].ravel()).all(), n
a = rng.random((64, 48))
b = np.zeros((48, 64))
transposed(a, b)
assert (b == a.T).all()
a = rng.integers(0, 15, 4096).astype(np.int32)
counts = np.zeros(17, np.int32)
histogram(a, counts)
assert (counts[:16] == np.bincount(a, minlength=16)).all() and counts[16] == a.max(), counts
print("ok")
"""


@pytest.mark.parametrize("server", ["", "off"])
def test_shared_arrays_and_barriers(run, server):
    assert run(SHARED, KILN_SERVER=server) == "ok\n"


@pytest.mark.parametrize("seed", range(2, 5))
def test_shared_arrays_in_other_orders(run, seed):
    assert run(SHARED, KILN_FAKE_CUDA=f"seed={seed};threads=1") == "ok\n"


TENSORS = """
vec6, mat2 = ti.types.vector(6, ti.f64), ti.types.matrix(2, 2, ti.f32)


@ti.func
def doubled(tile, i):
    tile[i // 8, i % 8] *= 2


@ti.kernel
def reversed_blocks(
    a: ti.types.ndarray(vec6, 1), b: ti.types.ndarray(mat2, 1), c: ti.types.ndarray(ti.i32, 1)
):
    ti.loop_config(block_dim=32)
    for i in range(a.shape[0]):
        vectors = block.SharedArray((32,), vec6)
        matrices = block.SharedArray((4, 8), mat2)
        numbers = block.SharedArray((4, 4, 2), ti.i32)
        t = i % 32
        vectors[t] = a[i]
        vectors[t][2] = -i
        vectors[t].x += 0.5
        matrices[t // 8, t % 8] = b[i]
        matrices[t // 8, t % 8][1, 0] -= 3
        doubled(matrices, t)
        numbers[t // 8, t // 2 % 4, t % 2] = 0
        block.sync()
        numbers[t // 8, t // 4 % 2, 1] += i
        block.sync()
        u = 31 - t
        a[i] = vectors[u]
        b[i] = matrices[u // 8, u % 8]
        c[i] = numbers[u // 8, u // 2 % 4, u % 2]
        block.sync()


n = 128
a, b, c = rng.random((n, 6)), rng.random((n, 2, 2)).astype(np.float32), np.zeros(n, np.int32)
want_a, want_b = a.copy(), b.copy()
want_a[:, 2] = -np.arange(n)
want_a[:, 0] += 0.5
want_b[:, 1, 0] -= 3
sums = np.zeros((n // 32, 4, 4, 2), np.int32)
for i in range(n):
    sums[i // 32, i % 32 // 8, i // 4 % 2, 1] += i
reversed_blocks(a, b, c)
for got, want in (a, want_a), (b, want_b * 2), (c, sums.reshape(n)):
    blocks = want.reshape(n // 32, 32, -1)
    assert (got.reshape(blocks.shape) == blocks[:, ::-1]).all(), got
print("ok")
"""


@pytest.mark.parametrize("check", ["check=race,init", "seed=3;threads=1"])
def test_shared_arrays_of_vectors_and_matrices(run, check):
    assert run(TENSORS, KILN_FAKE_CUDA=check) == "ok\n"


def test_operations_of_a_warp(run):
    out = run("""
n = 256
a = rng.integers(0, 3, n).astype(np.int32)
f = rng.random(n).astype(np.float32)


@ti.kernel
def votes(a: ti.types.ndarray(), out: ti.types.ndarray()):
    ti.loop_config(block_dim=64)
    for i in range(n):
        even = ALL & 0x55555555
        out[0, i] = warp.all_nonzero(ALL, a[i])
        out[1, i] = warp.any_nonzero(ALL, a[i] - 1)
        out[2, i] = warp.unique(ALL, a[i])
        out[3, i] = warp.ballot(a[i])
        out[4, i] = warp.shfl_sync_i32(ALL, a[i], 5)
        out[5, i] = warp.shfl_up_i32(ALL, a[i], 3)
        out[6, i] = warp.shfl_down_i32(ALL, a[i], 3)
        out[7, i] = warp.shfl_xor_i32(ALL, a[i], 9)
        out[8, i] = ti.bit_cast(warp.match_any(ALL, a[i]), ti.i32)
        out[9, i] = ti.bit_cast(warp.match_all(ALL, i // 32), ti.i32)
        out[10, i] = ti.bit_cast(warp.match_all(ALL, a[i]), ti.i32)
        out[11, i] = ti.bit_cast(warp.active_mask(), ti.i32)
        if i % 2 == 0:
            out[12, i] = warp.any_nonzero(0x55555555, a[i] == 2)
        warp.sync(ALL)


@ti.kernel
def floats(f: ti.types.ndarray(), out: ti.types.ndarray()):
    ti.loop_config(block_dim=64)
    for i in range(n):
        out[0, i] = warp.shfl_sync_f32(ALL, f[i], i % 32 ^ 1)
        out[1, i] = warp.shfl_up_f32(ti.u32(ALL), f[i], 1)
        out[2, i] = warp.shfl_down_f32(ALL, f[i], 1)
        s = f[i]
        for step in ti.static((16, 8, 4, 2, 1)):
            s += warp.shfl_down_f32(ALL, s, step)
        out[3, i] = s


out = np.zeros((13, n), np.int32)
votes(a, out)
rows = a.reshape(-1, 32)
lane = np.arange(32)
bits = lambda truth: (truth.astype(np.uint64) << lane.astype(np.uint64)).sum(-1).astype(np.uint32)
each = lambda x: np.repeat(x, 32)
signed = lambda x: x.astype(np.uint32).view(np.int32)
wanted = [
    each((rows != 0).all(1)),
    each((rows != 1).any(1)),
    each((rows != 0).all(1) | (rows == 0).all(1)),
    each(signed(bits(rows != 0))),
    each(rows[:, 5]),
    rows[:, np.where(lane >= 3, lane - 3, lane)].ravel(),
    rows[:, np.where(lane < 29, lane + 3, lane)].ravel(),
    rows[:, lane ^ 9].ravel(),
    signed(bits(rows[:, None, :] == rows[:, :, None]).ravel()),
    np.full(n, -1),
    np.zeros(n),
    np.full(n, -1),
    np.where(np.arange(n) % 2 == 0, each((rows[:, ::2] == 2).any(1)), 0),
]
for number, (got, want) in enumerate(zip(out, wanted)):
    assert (got == want).all(), (number, got[:40], want[:40])
g = np.zeros((4, n), np.float32)
floats(f, g)
rows = f.reshape(-1, 32)
assert (g[0] == rows[:, lane ^ 1].ravel()).all()
assert (g[1] == rows[:, np.maximum(lane - 1, 0)].ravel()).all()
assert (g[2] == rows[:, np.minimum(lane + 1, 31)].ravel()).all()
assert np.allclose(g[3].reshape(-1, 32)[:, 0], rows.sum(1))
print("ok")
""")
    assert out == "ok\n"


def test_blocks_and_threads(run):
    """Iterations keep their threads, whatever the loop's begin, guards and number of rounds."""
    out = run("""
x = ti.field(ti.i32, (8, 40))


@ti.kernel
def numbers(begin: ti.i32, end: ti.i32, out: ti.types.ndarray()):
    ti.loop_config(block_dim=32)
    for i in range(begin, end):
        out[i, 0] = block.thread_idx()
        out[i, 1] = block.global_thread_idx()


@ti.kernel
def guarded(out: ti.types.ndarray()):
    for i in range(300):
        if i >= 100:
            out[i] = block.thread_idx()


@ti.kernel
def over_field(out: ti.types.ndarray()):
    ti.loop_config(block_dim=64)
    for i, j in x:
        out[i, j] = block.thread_idx()


@ti.kernel
def counts(n: ti.i32, out: ti.types.ndarray()):
    ti.loop_config(block_dim=128)
    for i in range(n):
        out[0, i] = block.sync_count_nonzero(i % 3)
        out[1, i] = block.sync_any_nonzero(i == 130)
        out[2, i] = block.sync_all_nonzero(i != 130)


# The last block to finish adds what all have written: the fence comes between data and ticket.
@ti.kernel
def last_block(a: ti.types.ndarray(), parts: ti.types.ndarray(), ticket: ti.types.ndarray()):
    ti.loop_config(block_dim=32)
    for i in range(a.shape[0]):
        s = a[i]
        for step in ti.static((16, 8, 4, 2, 1)):
            s += warp.shfl_down_i32(ALL, s, step)
        if i % 32 == 0:
            parts[i // 32] = s
            grid.memfence()
            if ti.atomic_add(ticket[0], 1) == a.shape[0] // 32 - 1:
                grid.memfence()
                for p in range(a.shape[0] // 32):
                    ticket[1] += parts[p]


@ti.real_func
def summed(value: ti.i32) -> ti.i32:
    block.sync()
    pad = block.SharedArray(64, ti.i32)
    pad[block.thread_idx()] = value
    block.sync()
    total = 0
    for k in range(64):
        total += pad[k]
    return total


@ti.kernel
def by_function(out: ti.types.ndarray()):
    ti.loop_config(block_dim=64)
    for i in range(128):
        out[i] = summed(i)


out = np.zeros((5000, 2), np.int32)
numbers(7, 5000, out)
i = np.arange(7, 5000) - 7
assert (out[7:, 0] == i % 32).all() and (out[7:, 1] % 32 == i % 32).all()
out = np.full(300, -1, np.int32)
guarded(out)
assert (out == np.where(np.arange(300) >= 100, np.arange(300) % 128, -1)).all()
out = np.zeros((8, 40), np.int32)
over_field(out)
assert (out.ravel() == np.arange(320) % 64).all()
out = np.zeros((3, 256), np.int32)
counts(256, out)
i = np.arange(256).reshape(2, 128)
assert (out[0].reshape(2, 128) == (i % 3 != 0).sum(1)[:, None]).all()
assert (out[1] == np.repeat([0, 1], 128)).all() and (out[2] == np.repeat([1, 0], 128)).all()
a = rng.integers(0, 9, 2048).astype(np.int32)
ticket = np.zeros(2, np.int32)
last_block(a, np.zeros(64, np.int32), ticket)
assert ticket.tolist() == [64, a.sum()], ticket
out = np.zeros(128, np.int32)
by_function(out)
assert (out == np.repeat([2016, 2016 + 64 * 64], 64)).all(), out
print("ok")
""")
    assert out == "ok\n"


def test_where_threads_cannot_work_together(run):
    """The operation is refused at its line, in a function with the lines of the calls."""
    out = run("""
x = ti.field(ti.i32)
ti.root.pointer(ti.i, 4).place(x)

@ti.real_func
def synced() -> ti.i32:
    return block.sync_count_nonzero(1)

@ti.real_func
def outer() -> ti.i32:
    return synced() + 1

@ti.real_func
def voted() -> ti.i32:
    return warp.ballot(1)

@ti.kernel
def sparse():
    for i in x:
        block.sync()

@ti.kernel
def sparse_by_function():
    for i in x:
        x[i] = outer()

@ti.kernel
def serial_by_function() -> ti.i32:
    return voted()

@ti.kernel
def one_thread():
    ti.loop_config(serialize=True)
    for i in range(4):
        voted()

@ti.kernel
def dense(out: ti.types.ndarray()):
    ti.loop_config(block_dim=32)
    for i in range(32):
        out[i] = outer() + voted()

for kernel in sparse, sparse_by_function, serial_by_function, one_thread:
    try:
        kernel()
    except ti.TaichiCompilationError as error:
        print(error)
out = np.zeros(32, np.int32)
dense(out)
print(out[0], out[31])
""")
    sparse = "in a loop over pointer cells: not all threads of a block have an active cell; they "
    sparse += "do in a loop over a dense SNode below"
    alone = "ti.simt.warp.ballot outside of a parallel loop: one thread alone is not a warp"
    call = "in a function that is called here"
    # Each message follows its line, with the name of the function or kernel and a caret.
    wanted = [
        ("sparse:", "block.sync()", f"ti.simt.block.sync {sparse}"),
        ("synced:", "count_nonzero(1)", f"ti.simt.block.sync_count_nonzero {sparse}"),
        ("outer:", "synced() + 1", call),
        ("sparse_by_function:", "outer()", call),
        ("voted:", "warp.ballot(1)", alone),
        ("serial_by_function:", "voted()", call),
        ("voted:", "warp.ballot(1)", alone),
        ("one_thread:", "voted()", call),
    ]
    lines = [line for line in out.splitlines() if line]
    for number, (place, code, message) in enumerate(wanted):
        where, text, caret, what = lines[4 * number : 4 * number + 4]
        assert where.startswith("File") and where.endswith(place), out
        assert text.endswith(code) and set(caret.strip()) == {"^"} and what == message, out
    assert lines[4 * len(wanted) :] == ["32 32"], out  # the same functions in a dense loop


def test_a_sum_beside_votes(run):
    """Threads that have no iteration left do not wait in the sum for those that vote."""
    out = run("""
@ti.kernel
def votes(a: ti.types.ndarray()) -> ti.i32:
    s = 0
    ti.loop_config(block_dim=64)
    for i in range(a.shape[0]):
        s += warp.any_nonzero(ALL, a[i]) + block.sync_any_nonzero(a[i])
    return s

for n in 64, 96, 64 * 5000 + 32:
    a = np.ones(n, np.int32)
    assert votes(a) == 2 * n, (n, votes(a))
print("ok")
""")
    assert out == "ok\n"


def test_mistakes(run):
    out = run("""
@ti.kernel
def float_vote() -> ti.i32:
    r = 0
    for i in range(32):
        r += warp.ballot(1.5)
    return r

@ti.kernel
def signed_mask() -> ti.i32:
    r = 0
    for i in range(32):
        m = 3
        r += warp.all_nonzero(m, 1)
    return r

@ti.kernel
def vulkan():
    for i in range(32):
        ti.simt.subgroup.barrier()

@ti.kernel
def serial() -> ti.i32:
    return warp.ballot(1)

@ti.kernel
def outside():
    pad = block.SharedArray(4, ti.i32)
    for i in range(4):
        pad[i] = i

@ti.kernel
def large():
    for i in range(64):
        one = block.SharedArray(8192, ti.f32)
        other = block.SharedArray(8192, ti.f32)
        one[i] = 1.0
        other[i] = one[i]

@ti.kernel
def wide():
    ti.loop_config(block_dim=2048)
    for i in range(4096):
        one = block.SharedArray(2048, ti.f32)
        one[i % 2048] = 1.0

y = ti.field(ti.f32, (), needs_grad=True)
@ti.kernel
def differentiated():
    for i in range(32):
        y[None] += warp.shfl_down_f32(ALL, 1.0, 1)

for kernel in float_vote, signed_mask, vulkan, serial, outside, large, wide, block.sync:
    fault(kernel)
print(ti.simt.grid.memfence.__name__)
""")
    lines = out.splitlines()
    wanted = [
        "ti.simt.warp.ballot: argument 1 must be of type i32, not f32",
        "ti.simt.warp.all_nonzero: argument 1 must be of type u32, not i32",
        "ti.subgroup.barrier is not supported for arch cuda",
        "ti.simt.warp.ballot outside of a parallel loop",
        "ti.simt.block.SharedArray belongs to a block of threads",
        "65536 bytes of shared arrays in a loop (at most 49152)",
        "in a loop with block_dim=2048: a block has at most 1024 threads",
        "ti.simt.block.sync can only be called in a kernel",
        "memfence",
    ]
    for line, text in zip(lines, wanted, strict=True):
        assert text in line, out


def test_export_to_the_cpu_is_refused(run):
    out = run("""
v = ti.field(ti.i32, 32)

@ti.func
def shared_by(i):
    pad = block.SharedArray(32, ti.i32)
    return pad[i]

@ti.kernel
def votes():
    for i in range(32):
        v[i] = warp.ballot(i)

@ti.kernel
def pads():
    for i in range(32):
        v[i] = shared_by(i)

for kernel in votes, pads:
    module = ti.aot.Module(targets=["sm_90", "x86-64-v2"])
    module.add_field("v", v)
    module.add_kernel(kernel)
    try:
        module.export("/nowhere/never.kiln")
    except ti.TaichiCompilationError as error:
        print(error)
""")
    target = "needs a CUDA target, such as sm_80 or compute_75, and this compilation is for a CPU"
    for text in (
        ", in votes:\n        v[i] = warp.ballot(i)\n               ^^^^^^^^^^^^^^\n"
        f"ti.simt.warp.ballot {target}\n",
        ", in pads:\n        v[i] = shared_by(i)\n",
        ", in shared_by:\n    pad = block.SharedArray(32, ti.i32)\n",
        f"ti.simt.block.SharedArray {target}\n",
    ):
        assert text in out, out
