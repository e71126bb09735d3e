#!/usr/bin/python3
"""Runs kernels whose threads cooperate on a CUDA device, for tools that look for races: shared
arrays, barriers, votes and shuffles, reductions, private histograms, tiles of block_local, and
activations of the same cells by many threads. Raises AssertionError where a result is wrong.
"""

import kiln as ti
import numpy as np

ti.init(arch=ti.cuda)
block, warp = ti.simt.block, ti.simt.warp
ALL = 0xFFFFFFFF
COUNT = 1 << 15
numbers = np.random.default_rng(5).integers(0, 100, COUNT).astype(np.int32)


@ti.kernel
def block_sums(a: ti.types.ndarray(), sums: ti.types.ndarray()):
    ti.loop_config(block_dim=64)
    for i in range(a.shape[0]):
        pad = block.SharedArray((64,), ti.i32)
        t = block.thread_idx()
        pad[t] = a[i]
        block.sync()
        step = 32
        while step > 0:
            if t < step:
                pad[t] += pad[t + step]
            block.sync()
            step //= 2
        if t == 0:
            sums[i // 64] = pad[0]
        block.sync()


@ti.kernel
def transpose(a: ti.types.ndarray(), b: ti.types.ndarray()):
    ti.loop_config(block_dim=256)
    for i in range(a.shape[0] * a.shape[1]):
        tile = block.SharedArray((16, 16), ti.i32)
        t = block.thread_idx()
        across = a.shape[1] // 16
        number = i // 256
        row, column = number // across * 16, number % across * 16
        tile[t // 16, t % 16] = a[row + t // 16, column + t % 16]
        block.sync()
        b[column + t // 16, row + t % 16] = tile[t % 16, t // 16]
        block.sync()


@ti.kernel
def shared_bins(a: ti.types.ndarray(), counts: ti.types.ndarray()):
    ti.loop_config(block_dim=128)
    for i in range(a.shape[0]):
        bins = block.SharedArray(100, ti.i32)
        t = block.thread_idx()
        if t < 100:
            bins[t] = 0
        block.sync()
        bins[a[i]] += 1
        block.sync()
        if t < 100:
            counts[t] += bins[t]
        block.sync()


@ti.kernel
def warp_sums(a: ti.types.ndarray(), sums: ti.types.ndarray(), even: ti.types.ndarray()):
    ti.loop_config(block_dim=64)
    for i in range(a.shape[0]):
        s = a[i]
        for k in ti.static(range(5)):
            s += warp.shfl_down_i32(ALL, s, 16 >> k)
        votes = warp.ballot(a[i] % 2 == 0)
        if i % 32 == 0:
            sums[i // 32] = s
            even[i // 32] = ti.cast(ti.math.popcnt(votes), ti.i32)


bins = ti.field(ti.i32, 100)
result, least, most = ti.field(ti.i64, ()), ti.field(ti.i32, ()), ti.field(ti.f32, ())


@ti.kernel
def private_bins(a: ti.types.ndarray()):
    for i in a:
        bins[a[i]] += 1


@ti.kernel
def reductions(a: ti.types.ndarray()):
    for i in a:
        result[None] += a[i]
        ti.atomic_min(least[None], a[i])
        ti.atomic_max(most[None], ti.cast(a[i], ti.f32))


cells, after = ti.field(ti.i32), ti.field(ti.i32)
tiles = ti.root.pointer(ti.ij, 8)
tiles.dense(ti.ij, 8).place(cells, after)
entries = ti.field(ti.i32)
lists = ti.root.pointer(ti.i, 16).dynamic(ti.j, 4096, chunk_size=32)
lists.place(entries)


@ti.kernel
def activate(a: ti.types.ndarray()):
    for i in a:
        ti.atomic_add(cells[a[i] % 64, a[i] * 7 % 64], 1)
        entries[a[i] % 16].append(a[i])


@ti.kernel
def stencil():
    ti.block_local(cells)
    for i, j in cells:
        s = cells[i, j]
        if i > 0:
            s += cells[i - 1, j]
        if j < 63:
            s += cells[i, j + 1]
        after[i, j] = s


@ti.kernel
def entries_sum() -> ti.i64:
    s = ti.i64(0)
    for i, j in entries:
        s += entries[i, j]
    return s


def main():
    sums = np.zeros(COUNT // 64, np.int32)
    block_sums(numbers, sums)
    assert (sums == numbers.reshape(-1, 64).sum(1)).all()
    matrix, turned = numbers.reshape(128, 256), np.zeros((256, 128), np.int32)
    transpose(matrix, turned)
    assert (turned == matrix.T).all()
    counts, wanted = np.zeros(100, np.int32), np.bincount(numbers, minlength=100)
    shared_bins(numbers, counts)
    assert (counts == wanted).all()
    sums, even = np.zeros(COUNT // 32, np.int32), np.zeros(COUNT // 32, np.int32)
    warp_sums(numbers, sums, even)
    assert (sums == numbers.reshape(-1, 32).sum(1)).all()
    assert (even == (numbers.reshape(-1, 32) % 2 == 0).sum(1)).all()
    private_bins(numbers)
    assert (bins.to_numpy() == wanted).all()
    least[None] = 1000
    reductions(numbers)
    assert (result[None], least[None], most[None]) == (numbers.sum(), numbers.min(), numbers.max())
    for _ in range(2):
        few = numbers[: 1 << 12]
        activate(few)
        grid = np.zeros((64, 64), np.int32)
        np.add.at(grid, (few % 64, few * 7 % 64), 1)
        assert (cells.to_numpy() == grid).all()
        stencil()
        around = grid.copy()
        around[1:] += grid[:-1]
        around[:, :-1] += grid[:, 1:]
        is_active = np.kron(grid.reshape(8, 8, 8, 8).any((1, 3)), np.ones((8, 8), bool))
        assert (after.to_numpy() == around * is_active).all()
        assert entries_sum() == few.sum()
        tiles.deactivate_all()
        lists.parent().deactivate_all()


if __name__ == "__main__":
    main()
