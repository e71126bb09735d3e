"""ti.block_local on CUDA: loops whose blocks read from shared memory give what the CPU gives."""

import pathlib
import struct
import subprocess
import zlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module", autouse=True)
def emulator():
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)


# Each function makes fields and kernels anew, runs them, and returns arrays.
PROGRAM = """
import sys
import numpy as np
import kiln as ti


def activate(x, share):
    rng = np.random.default_rng(7)
    mask = rng.random(x.shape) < share
    values = np.where(mask, rng.integers(-50, 50, x.shape), 0)

    @ti.kernel
    def fill(values: ti.types.ndarray(), mask: ti.types.ndarray()):
        for I in ti.grouped(ti.ndrange(*x.shape)):
            if mask[I] != 0:
                x[I] = values[I]

    fill(values.astype(np.float32), mask.astype(np.int32))


def stencil(dim, dtype=ti.f32, offset=0):
    x, y = ti.field(dtype), ti.field(dtype)
    block = ti.root.pointer(ti.ij, 5)
    block.dense(ti.ij, 8).place(x, y, offset=(offset, offset) if offset else None)

    @ti.kernel
    def k():
        ti.block_local(x)
        ti.loop_config(block_dim=dim)
        for i, j in y:
            s = x[i, j] * 2
            if i > offset:
                s += x[i - 1, j] - x[i + 1, j] * 3
            s += x[i, j - 2] + x[i + 1, j + 1]
            y[i, j] = s

    return x, y, k


def five_points(dim):
    x, y, k = stencil(dim)
    activate(x, 0.02)
    k()
    return y.to_numpy()


def shifted():
    x, y, k = stencil(64, offset=-16)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange((-16, 20), (-3, 12)):
            if (i * 7 + j * 3) % 11 == 0:
                x[i, j] = i * 100 + j

    fill()
    k()
    return y.to_numpy()


def bytes_and_truths():
    results = []
    for dtype in ti.u8, ti.i64, ti.f16:
        x, y, k = stencil(128, dtype)
        activate(x, 0.1)
        k()
        results.append(y.to_numpy().astype(np.float64))
    b, c = ti.field(ti.u1), ti.field(ti.i32)
    ti.root.pointer(ti.i, 9).dense(ti.i, 4).place(b, c)
    for i in range(0, 36, 5):
        b[i] = 1

    @ti.kernel
    def k():
        ti.block_local(b)
        for i in c:
            c[i] = ti.i32(b[i - 1]) + 2 * ti.i32(b[i]) + 4 * ti.i32(b[i + 1])

    k()
    return [*results, c.to_numpy()]


# Vectors have a tile for each component; deep trees, other trees and swapped indices.
def vectors_and_trees():
    v = ti.Vector.field(3, ti.f32)
    w, far, out = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32)
    root = ti.root.pointer(ti.ijk, 2).bitmasked(ti.ijk, 2)
    root.dense(ti.ijk, 4).place(v, w)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 4).place(far)
    ti.root.pointer(ti.ij, 2).dense(ti.ij, (8, 2)).place(out)
    for i in range(0, 16, 3):
        v[i, (i * 5) % 16, (i * 7) % 16] = (i, i + 1, i + 2)
        far[i, 15 - i] = i + 1
    for i in range(4):
        out[i * 5, i] = 1

    @ti.kernel
    def divergence():
        ti.block_local(v)
        for i, j, k in w:
            w[i, j, k] = (
                v[i + 1, j, k][0] - v[i - 1, j, k][0]
                + v[i, j + 1, k][1] - v[i, j - 1, k][1]
                + v[i, j, k + 1][2] - v[i, j, k - 1][2]
            )

    @ti.kernel
    def elsewhere():
        ti.block_local(far)
        for i, j in out:
            out[i, j] = far[j, i] + far[j + 1, i] * 10 + far[i + 8, j] + far[i + 7, j] * 100

    divergence()
    elsewhere()
    return w.to_numpy(), out.to_numpy()


# What has no tile, or only some of its reads: writes, atomics, sums, calls, own cells, far reads.
def without_tiles():
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 16).place(x, y, z)
    seen = ti.field(ti.i32, 128)
    activate(x, 0.2)

    @ti.func
    def at(i):
        return x[i + 1]

    @ti.real_func
    def real(i: ti.i32) -> ti.i32:
        return x[i] + 1

    @ti.kernel
    def added():
        ti.block_local(y)
        for i in x:
            y[i] += x[i]
            y[i + 1] += 1
            y[i - 1] -= 3

    @ti.kernel
    def summed() -> ti.i32:
        s = 0
        ti.block_local(x)
        for i in x:
            s += x[i] * x[i + 1]
        return s

    @ti.kernel
    def called():
        ti.block_local(x)
        for i in z:
            z[i] = real(i) + at(i) + x[i - 1]

    @ti.kernel
    def written():
        ti.block_local(z)
        for i in z:
            if i % 2 == 0:
                z[i] = z[i + 1] + z[i - 1]

    @ti.kernel
    def mixed():
        ti.block_local(x, z)
        for i in y:
            y[i] = x[i] + x[i - 1] + x[i * 3 % 128] + z[i] + z[i + 100000] + x[ti.min(i + 1, 127)]

    @ti.kernel
    def dropped():
        ti.block_local(x)
        for i in x:
            if i % 32 == 3:
                ti.deactivate(block, i // 16)
                seen[i] = x[i] + x[i + 1] * 3 + 1

    added()
    total = summed()
    called()
    written()
    mixed()
    results = [x.to_numpy(), y.to_numpy(), z.to_numpy(), np.array(total)]
    dropped()
    return [*results, x.to_numpy(), seen.to_numpy()]


# Atomics to the cells around a block, which neighbouring blocks update, too.
def gathered():
    results = []
    for dtype in ti.i32, ti.u32, ti.i64, ti.f32, ti.f64:
        x, y, z = (ti.field(dtype) for _ in range(3))
        n = ti.field(ti.i32)
        top = ti.root.pointer(ti.ij, 6)
        top.dense(ti.ij, (4, 8)).place(x, n)
        other = ti.root.pointer(ti.ij, 12)
        other.dense(ti.ij, (2, 4)).place(y, z)
        v = ti.Vector.field(2, dtype)
        ti.root.pointer(ti.ij, 6).bitmasked(ti.ij, 2).dense(ti.ij, (2, 4)).place(v)
        active = ti.field(ti.i32, ())
        activate(x, 0.03)

        @ti.kernel
        def spread():
            ti.block_local(x, y)
            for i, j in x:
                y[i, j] += x[i, j]
                if j > 1:
                    y[i, j - 2] -= x[i, j] + x[i, j - 1]
                if i < 23 and x[i, j] > 0:
                    y[i + 1, j] += 1
                # Adds nothing, but makes the cell active.
                if j % 16 == 15 and j < 47:
                    y[i, j + 1] += ti.cast(0, dtype)

        @ti.kernel
        def extreme():
            ti.block_local(z)
            for i, j in x:
                ti.atomic_max(z[i, j], ti.cast(i + j, dtype))
                if i > 0:
                    ti.atomic_max(z[i - 1, j], ti.cast(i * j, dtype))

        @ti.kernel
        def vectors():
            ti.block_local(v)
            for i, j in x:
                v[i, j] += ti.Vector([x[i, j], ti.cast(1, dtype)])
                if i > 1 and j > 0:
                    v[i - 2, j - 1][1] += ti.cast(2, dtype)

        # No tiles: with old values, and of a field whose cells are asked for.
        @ti.kernel
        def olds():
            ti.block_local(n)
            for i, j in x:
                old = ti.atomic_add(n[i, j], 1)
                if j > 0 and old >= 0:
                    n[i, j - 1] += 2

        @ti.kernel
        def asked():
            ti.block_local(y)
            for i, j in x:
                if i < 22:
                    y[i + 2, j] += 3
                    if not ti.is_active(other, [(i + 2) // 2, j // 4]):
                        y[i, j] += 100
                y[i, j] += 1

        @ti.kernel
        def count():
            for i, j in other:
                active[None] += 1

        for kernel in spread, extreme, vectors:
            kernel()
        if dtype is ti.i32:
            asked()
            olds()
        count()
        results += [field.to_numpy() for field in (y, z, v, n, active)]
    h = ti.field(ti.f16)
    ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(h)

    @ti.kernel
    def fill():
        for i in range(64):
            if i // 8 % 2:
                h[i] = 1

    @ti.kernel
    def halves():
        ti.block_local(h)
        for i in h:
            h[i - i % 2] += 1
            if i < 63:
                h[i + 1] += 2

    fill()
    halves()
    return [*results, h.to_numpy()]


# Many blocks, of more cells than threads and of fewer, in a tree that grows and shrinks.
def changing():
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    p = ti.root.pointer(ti.i, 600)
    p.dense(ti.i, 2).place(x, y)

    @ti.kernel
    def fill(k: ti.i32):
        for i in range(1200):
            if i % k < 2:
                x[i] = i + k

    @ti.kernel
    def drop():
        for i in p:
            if i % 3 == 0:
                ti.deactivate(p, i)

    @ti.kernel
    def smooth():
        ti.block_local(x)
        for i in x:
            y[i] = x[i - 1] + x[i] + x[i + 1] + ti.cast(ti.is_active(p, i // 2), ti.f32)

    results = []
    smooth()
    for k in 5, 3, 2:
        fill(k)
        smooth()
        results.append(y.to_numpy())
        drop()
        smooth()
        results.append(y.to_numpy())
    return results


def flat(value):
    return [value] if isinstance(value, np.ndarray) else [a for one in value for a in flat(one)]


CASES = {
    "threads of 32": lambda: five_points(32),
    "threads of 64": lambda: five_points(64),
    "threads of 256": lambda: five_points(256),
    "shifted": shifted,
    "bytes and truths": bytes_and_truths,
    "vectors and trees": vectors_and_trees,
    "without tiles": without_tiles,
    "gathered": gathered,
    "changing": changing,
}
for name, case in CASES.items():
    found = []
    for arch in ti.cpu, ti.cuda:
        ti.init(arch=arch, default_fp=ti.f32, fast_math=False)
        found.append(flat(case()))
    assert len(found[0]) == len(found[1])
    assert any(a.any() for a in found[0]), name
    for number, (cpu, cuda) in enumerate(zip(*found)):
        assert (cpu == cuda).all(), (name, number, cpu, cuda)
print("equal")
"""


def kernels_with_tiles(home):
    """The names of the kernels whose code has shared memory and barriers."""
    found = set()
    for path in (home / "cache").rglob("*.so"):
        entry = path.read_bytes()
        if not entry.startswith(b"KILNCUDA"):
            continue
        cubin, ptx, _ = struct.unpack_from("<QQQ", entry, 8)
        text = zlib.decompress(entry[32 + cubin : 32 + cubin + ptx])
        if b".shared" in text and b"bar.sync" in text:
            found |= {name for name in KERNELS if name.encode() in entry[32 + cubin + ptx :]}
    return found


# Of all names, none is part of another one.
TILED = {"divergence", "elsewhere", "smooth", "mixed", "added", "spread", "extreme", "vectors"}
KERNELS = {*TILED, "summed", "called", "written", "dropped", "halves", "asked", "olds"}


@pytest.mark.parametrize("options", ["", "seed=3;threads=1", "check=race,init"])
def test_tiles_give_what_memory_gives(run_python, tmp_path, options):
    environment = {
        "KILN_CUDA_DRIVER": "emulator",
        "KILN_SERVER": "off",
        "KILN_FAKE_CUDA": options,
        "KILN_HOME": str(tmp_path / "home"),
    }
    assert run_python(PROGRAM, **environment) == "equal\n"
    # Sums of a block have shared memory, too.
    assert kernels_with_tiles(tmp_path / "home") - {"summed"} == TILED
