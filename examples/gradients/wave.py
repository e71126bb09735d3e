"""Which wave becomes a ring? Gradient descent finds the shape of a membrane at the start from that
at the end.

    ./kiln run examples/gradients/wave.py [steps] [attempts]
"""

import sys

import numpy as np

N = 48
SPEED = 0.3  # the square of the distance that a wave runs in a step, in cells
DAMPING = 0.002


def losses(ti, steps=100, attempts=10):
    """The difference from the ring after each attempt."""
    u = ti.field(ti.f64, shape=(steps + 2, N, N), needs_grad=True)
    start = ti.field(ti.f64, shape=(N, N), needs_grad=True)
    target = ti.field(ti.f64, shape=(N, N))
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.func
    def laplacian(t, i, j):
        left, right = ti.max(i - 1, 0), ti.min(i + 1, N - 1)
        down, up = ti.max(j - 1, 0), ti.min(j + 1, N - 1)
        around = u[t, left, j] + u[t, right, j] + u[t, i, down] + u[t, i, up]
        return around - 4.0 * u[t, i, j]

    @ti.kernel
    def begin():
        for i, j in start:
            u[0, i, j] = start[i, j]
            u[1, i, j] = start[i, j]

    @ti.kernel
    def advance(t: ti.i32):
        for i, j in start:
            change = (1.0 - DAMPING) * (u[t, i, j] - u[t - 1, i, j]) + SPEED * laplacian(t, i, j)
            # A membrane that is stretched resists.
            u[t + 1, i, j] = u[t, i, j] + change / (1.0 + 0.1 * u[t, i, j] ** 2)

    @ti.kernel
    def compare():
        for i, j in start:
            loss[None] += (u[steps + 1, i, j] - target[i, j]) ** 2

    places = np.stack(np.meshgrid(np.arange(N), np.arange(N), indexing="ij")) - (N - 1) / 2
    radius = np.sqrt((places**2).sum(0))
    target.from_numpy(np.exp(-(((radius - N / 4) / 3) ** 2)))

    found = []
    for _ in range(attempts):
        with ti.ad.Tape(loss):
            begin()
            for t in range(1, steps + 1):
                advance(t)
            compare()
        found.append(loss[None])
        start.from_numpy(start.to_numpy() - 0.1 * start.grad.to_numpy())
    return found


if __name__ == "__main__":
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f64)
    for loss in losses(ti, *map(int, sys.argv[1:])):
        print(f"{loss:.6f}")
